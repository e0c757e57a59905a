"""The rules of overflow: machine words that mean nothing else, and families of wording.

A pattern names a family (what is said of what), never one provider's sentence, so that a wording nobody has seen
yet still lands in the right row. `source` says whose errors the family was drawn from.
"""

from copyfit_adapters.overflow.rules import Kind, Rule
from copyfit_adapters.overflow.wording import AT_MOST, CAP, EXCEEDED, EXCEEDS, LIMIT, NO_FIT, NUMBER, SAID, WINDOW

_OVERFLOW_WORDS = (
    "context_length_exceeded",
    "context_window_exceeded",
    "contextwindowexceedederror",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "model_max_prompt_tokens_exceeded",
    "too_many_prompt_tokens",
    "tokens_limit_reached",
    "max_tokens_per_request",
    "prompt_too_long",
    "input_too_long",
)

_PER_REQUEST = r"per (?:\w{1,20} )?(?:batch|request|input|prompt|sequence)\b"

MACHINE_WORDS: tuple[Rule, ...] = (
    Rule(
        name="overflow-word",
        kind=Kind.CONTEXT_OVERFLOW,
        words=frozenset(_OVERFLOW_WORDS),
        source="OpenAI, Azure, TabbyAPI, llama.cpp, Anthropic, Bedrock, Z.ai, Copilot, Perplexity, GitHub Models",
    ),
    Rule(
        name="overflow-word-in-text",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(rf"\b(?:{'|'.join(_OVERFLOW_WORDS)})\b",),
        source="the same words in the texts of SDK exceptions and of the LiteLLM proxy",
    ),
)
"""Tried before everything else."""

WITH_OUTPUT: tuple[Rule, ...] = (
    Rule(
        name="no-room-for-output",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            rf"{CAP} (?:must|should) be (?:at least|greater than|>=?|positive)[^\n]{{0,16}}\bgot (?:-\d|0\b)",
        ),
        combined=True,
        source="vLLM: window less prompt, as a cap on the answer",
    ),
    Rule(
        name="input-plus-output",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            rf"\b(?:inputs?|prompt|messages?)\b[^\n]{{0,40}}(?:\band\b|\bplus\b|\+)[^\n]{{0,20}}{CAP}[^\n]{{0,40}}"
            rf"(?:{EXCEEDS}[^\n]{{0,30}}(?:{WINDOW}|{LIMIT})|(?:must|should) be <=?)",
            rf"{CAP}[^\n]{{0,20}}(?:\band\b|\bplus\b|\+)[^\n]{{0,20}}\b(?:inputs?|prompt|messages?)\b"
            rf"[^\n]{{0,40}}{EXCEEDS}",
            r"(?:context|sequence) (?:length|window|size) (?:is|of)\b[^\n]{0,60}\byou requested\b[^\n]{0,80}"
            r"\b(?:output|completion)\b",
            rf"{EXCEEDS}[^\n]{{0,30}}\bcontext (?:length|window|size)[^\n]{{0,120}}"
            r"\bfor the (?:completion|output)\b",
        ),
        combined=True,
        source="Anthropic, TGI, vLLM and OpenAI: so many tokens in the messages, so many for the answer",
    ),
    Rule(
        name="window-stated",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            r"\bmax(?:imum)? (?:allowed )?(?:context|prompt|input|sequence|model|message)(?: token)?s? ?"
            rf"(?:length|size|window|limit|tokens?|characters|chars)? ?(?:is|of|:|=) ?{NUMBER}",
            rf"\b{WINDOW} (?:limit )?(?:is|of) (?:only )?{NUMBER}[^\n]{{0,60}}"
            r"\b(?:requested|but|however|got|given|has)\b",
            rf"\bmax(?:imum)?:? (?:allowed )?{NUMBER} tokens? {_PER_REQUEST}",
        ),
        unless=rf"\A{CAP}",
        source="OpenAI, DeepSeek, NIM, OpenRouter, xAI: this model's maximum context length is N tokens",
    ),
    Rule(
        name="tokens-exceeded",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(rf"\bmax(?:imum)? (?:number of )?tokens? (?:of )?{NUMBER} (?:was |has been )?exceeded\b",),
        source="Snowflake Cortex",
    ),
)
"""Wordings that speak of the answer's room as well, or name the window outright; tried before the output caps."""

WORDINGS: tuple[Rule, ...] = (
    Rule(
        name="window-exceeded",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            rf"{EXCEEDS}[^\n]{{0,60}}?\b{WINDOW}",
            rf"{NO_FIT}[^\n]{{0,60}}?\b{WINDOW}",
            rf"\b{WINDOW}[^\n]{{0,40}}{EXCEEDED}",
            rf"\w >=? ?{WINDOW}|\b(?:more|larger|bigger|longer) context\b[^\n]{{0,20}}\bthan\b",
            rf"\bout of (?:room|space)\b[^\n]{{0,40}}\b{WINDOW}",
            rf"\bno\b[^\n]{{0,40}}\b{WINDOW}[^\n]{{0,20}}\b(?:large|long|big) enough",
            r"\b(?:no|not enough|free)\b[^\n]{0,20}\b(?:space|slots?|room)\b[^\n]{0,20}\bkv[ -]?cache",
        ),
        source="llama.cpp, SGLang, vLLM, Ollama, LM Studio, OpenAI, GPT4All, TabbyAPI, Codex, LiteLLM's router",
    ),
    Rule(
        name="limit-exceeded",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            rf"{SAID}[^\n]{{0,60}}?{EXCEEDS}[^\n]{{0,40}}?\b{LIMIT}",
            rf"{SAID}[^\n]{{0,40}}?{AT_MOST}[^\n]{{0,30}}?(?:\btokens?\b|\b{LIMIT})",
            rf"{SAID}[^\n]{{0,60}}?\bbut\b[^\n]{{0,40}}?\b(?:supports?|allows?|accepts?|takes?)\b"
            rf"[^\n]{{0,20}}?{NUMBER}",
            r"\btoken(?: count)? limit (?:was |has been |is )?exceeded\b",
            r"\bmax(?:imum)? (?:allowed )?(?:length|tokens?) (?:was |has been )?exceeded\b",
            rf"\bmax(?:imum)? (?:allowed )?(?:number of )?tokens? {_PER_REQUEST}",
            rf"\brange of (?:the )?{SAID}[^\n]{{0,20}}(?:should|must) be\b",
            r"\b(?:prompt|input|messages?|sequence)\b[^\n]{0,12}\b(?:length|tokens?|count|size) (?:should|must) "
            r"be (?:in|within|between) [\[(]?\d",
            rf"\btoo large\b[^\n]{{0,60}}\bmax(?:imum)? (?:size|length)[^\n]{{0,10}}{NUMBER} tokens\b",
        ),
        source="Copilot, Gemini, Moonshot, opencode, Z.ai, TensorRT-LLM, Petals, TGI, SiliconFlow, Voyage, Qwen",
    ),
    Rule(
        name="too-long",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            r"\b(?:prompt|input|messages?|conversation|chat|context|history|sequence)s?(?: \w{1,20}){0,2}? "
            r"(?:is |are |was )?(?:far |way |much )?too long\b|\b(?:over-?)?long prompt\b",
            r"\b(?:prompt|input|conversation|context|history)s? (?:is |are )?too (?:large|big)\b",
            r"\btoo many (?:\w{1,20} ){0,2}?(?:tokens|text bytes)\b",
            r"\bsize limit exceeded by \d+ tokens\b",
            r"\b(?:messages|input|contents?)\[\d+\](?:\.(?:content|parts?|text)(?:\[\d+\])?)+'?: "
            r"string too long\b",
        ),
        source="Anthropic, Bedrock, Fireworks, Perplexity, Cohere, RTP-LLM; OpenAI's cap on characters",
    ),
    Rule(
        name="too-long-in-chinese",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            r"(?:上下文|提示词?|输入|对话|会话|消息|历史|文本|prompt|tokens?)"
            r"[^\n]{0,24}(?:超|过长|太长|溢出|已满|过大|过多|大于)",
            r"(?:超[过出]|大于)[^\n]{0,24}(?:上下文|输入|最大(?:长度|token)|token|窗口)",
            r"(?:压缩|缩短|精简|减少)[^\n]{0,8}(?:上下文|提示词?|输入|对话|会话|消息|历史)",
        ),
        source="Chinese gateways: the context, prompt or input is too long, shorten it",
    ),
    Rule(
        name="advice-to-shorten",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            r"\b(?:reduce|shorten|decrease|trim|truncate|compress|compact) (?:the |your )?"
            r"(?:(?:length|size|number) of )?(?:the |your )?(?:tokens in )?(?:the |your )?(?:input |chat )?"
            r"(?:prompt|inputs?|messages?|conversation|context|history)\b",
            r"\bshorter (?:prompt|input|messages?|conversation|text)\b",
        ),
        source="OpenAI, Copilot, LM Studio: the advice alone, when a proxy cut the rest",
    ),
)
"""Tried last."""
