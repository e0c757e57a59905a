"""The rules of overflow: machine words that mean nothing else, and families of wording.

A pattern names a family (what is said of what), never one provider's sentence, so that a wording nobody has seen
yet still lands in the right row. `source` says whose errors the family was drawn from.
"""

from copyfit_adapters.overflow.rules import Kind, Rule
from copyfit_adapters.overflow.wording import (
    AT_MOST,
    CAP,
    CAP_CUES,
    EXCEEDED,
    EXCEEDS,
    LIMIT,
    NO_FIT,
    NUMBER,
    SAID,
    WINDOW,
)

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

_WORD_FAMILY = (
    r"context_?(?:length|window|size|limit)?_?(?:is_)?(?:exceed|overflow|full|too_?(?:long|large))"
    r"|(?:prompt|input)_?(?:length|size)?_?(?:exceeded|too_?(?:long|large|big))|exceed\w{0,5}?_?context"
)

_PER_REQUEST = r"per (?:\w{1,20} )?(?:batch|request|input|prompt|sequence)\b"

MACHINE_WORDS: tuple[Rule, ...] = (
    Rule(
        name="overflow-word",
        kind=Kind.CONTEXT_OVERFLOW,
        words=frozenset(_OVERFLOW_WORDS),
        word_pattern=_WORD_FAMILY,
        source="OpenAI, Azure, TabbyAPI, llama.cpp, Anthropic, Bedrock, Z.ai, Copilot, Perplexity, GitHub Models",
    ),
    Rule(
        name="overflow-word-in-text",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            rf"\b(?:{'|'.join(_OVERFLOW_WORDS)})\b",
            r"(?:\b|_)context_(?:\w{1,20}_)?(?:exceeded|overflow|full)\b",
        ),
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
        cues=CAP_CUES,
        combined=True,
        source="vLLM: window less prompt, as a cap on the answer",
    ),
    Rule(
        name="input-plus-output",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            rf"\b(?:inputs?|prompt|messages?)\b[^\n]{{0,40}}(?:\band\b|\bplus\b|\+)[^\n]{{0,20}}{CAP}[^\n]{{0,40}}"
            rf"(?:{EXCEEDS}[^\n]{{0,30}}(?:{WINDOW}|{LIMIT}|allowed\b|\d)|>=? ?\d|(?:must|should) be <=?)",
            rf"{CAP}[^\n]{{0,20}}(?:\band\b|\bplus\b|\+)[^\n]{{0,20}}\b(?:inputs?|prompt|messages?)\b"
            rf"[^\n]{{0,40}}{EXCEEDS}",
            r"(?:context|sequence) (?:length|window|size) (?:is|of)\b[^\n]{0,60}\byou requested\b[^\n]{0,80}"
            r"\b(?:output|completion)\b",
            rf"{EXCEEDS}[^\n]{{0,30}}\bcontext (?:length|window|size)[^\n]{{0,120}}"
            r"\bfor the (?:completion|output)\b",
        ),
        cues=CAP_CUES,
        combined=True,
        source="Anthropic, TGI, vLLM and OpenAI: so many tokens in the messages, so many for the answer",
    ),
    Rule(
        name="window-stated",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            r"\bmax(?:imum)? (?:number of |allowed )?"
            r"(?:context|prompt|input|sequence|model|message)(?: token)?s? ?"
            rf"(?:length|size|window|limit|tokens?|characters|chars)? ?(?:is|of|:|=) ?{NUMBER}",
            rf"\b{WINDOW} (?:is|of) only {NUMBER}",
            rf"\b{WINDOW} (?:limit )?(?:is|of) (?:only |limited to |capped at )?{NUMBER}[^\n]{{0,60}}"
            r"\b(?:requested|but|however|got|given|has|your)\b",
            rf"\bmax(?:imum)?:? (?:allowed )?{NUMBER} tokens? {_PER_REQUEST}",
            r"超[过出][^\n]{0,12}(?:上下文|窗口)",
        ),
        unless=rf"\A{CAP}",
        source="OpenAI, DeepSeek, NIM, OpenRouter, xAI: this model's maximum context length is N tokens",
    ),
    Rule(
        name="tokens-exceeded",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            rf"\bmax(?:imum)? (?:number of )?tokens? (?:of )?{NUMBER} (?:was |has been )?exceeded\b",
            r"\bmax(?:imum)? (?:\w{1,20} )?token (?:count|limit) (?:was |has been |is )?exceeded\b",
        ),
        source="Snowflake Cortex and its like: the maximum of tokens was exceeded",
    ),
)
"""Wordings that speak of the answer's room as well, or name the window outright; tried before the output caps."""

WORDINGS: tuple[Rule, ...] = (
    Rule(
        name="window-exceeded",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            rf"{EXCEEDS}[^\n]{{0,60}}?(?<![a-z]){WINDOW}",
            rf"{NO_FIT}[^\n]{{0,60}}?\b{WINDOW}",
            rf"{SAID}[^\n]{{0,20}}(?:\bnot|n't|unable to|failed to) fit\b"
            r"(?![^\n]{0,20}\b(?:schema|format|type))",
            rf"{WINDOW}[^\n]{{0,20}}(?:small|short|low)er than[^\n]{{0,20}}{SAID}",
            rf"\b{WINDOW}[^\n]{{0,40}}{EXCEEDED}",
            rf"\b{WINDOW} exceeds? (?:the |its )?limits?\b|\bcannot truncate\b",
            rf"\d\)[^\n]{{0,12}}{AT_MOST}[^\n]{{0,24}}\b{WINDOW}",
            r"\b(?:context|prompt|input) (?:length|window|size|limit)(?: check| validation)? failed\b",
            rf"[\w)] ?>=? ?{WINDOW}|\b(?:more|larger|bigger|longer) context\b[^\n]{{0,20}}\bthan\b",
            rf"\bout of (?:room|space)\b[^\n]{{0,40}}\b{WINDOW}",
            rf"\bno\b[^\n]{{0,40}}\b{WINDOW}[^\n]{{0,20}}\b(?:large|long|big) enough",
            r"(?:\b(?:not enough|insufficient|out of|no more)|n't have enough) context "
            r"(?:left|remaining|available|length|window|size|space|to)\b",
            rf"\b(?:no|not enough|free|insufficient)\b[^\n]{{0,20}}\b(?:space|slots?|room)\b[^\n]{{0,20}}"
            rf"\b{WINDOW}",
        ),
        source="llama.cpp, SGLang, vLLM, Ollama, LM Studio, OpenAI, GPT4All, TabbyAPI, Codex, LiteLLM's router",
    ),
    Rule(
        name="limit-exceeded",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            rf"{SAID}[^\n]{{0,60}}?{EXCEEDS}[^\n]{{0,40}}?\b{LIMIT}",
            rf"{SAID}[^\n]{{0,40}}? >=? ?{LIMIT}",
            rf"{SAID}[^\n]{{0,60}}?{EXCEEDS} (?:is |what is )?(?:allowed|permitted|supported)\b",
            rf"{SAID}[^\n]{{0,40}}? (?:is|are|was|has|have) ?{NUMBER}[^\n]{{0,16}}\b(?:but|while|and)\b"
            rf"[^\n]{{0,30}}?(?:\b{LIMIT}|\b{WINDOW})[^\n]{{0,16}}?{NUMBER}",
            rf"{EXCEEDS} (?:the )?(?:session|context|model|prompt|input|sequence|conversation)(?:'s)? "
            r"max(?:imum)? (?:length|tokens?|size)\b",
            r"(?:\A|\n) ?tokens? limit[ .!]{0,3}(?:\n|\Z)",
            rf"{SAID}[^\n]{{0,30}}?(?:{EXCEEDS}|(?:must|should|can|may)(?: ?not|n't) exceed) (?:the )?"
            r"\d[\d,_]{2,14} ?k?(?: tokens?\b|\W*$)",
            rf"{SAID}[^\n]{{0,60}}?{EXCEEDS}[^\n]{{0,20}}?"
            r"\bmodel (?:can|could|supports?|allows?|accepts?|handles?)\b",
            rf"{EXCEEDS} (?:the |your )?max(?:imum)? (?:allowed )?number of (?:input |prompt )?tokens\b(?! per)",
            rf"{SAID}[^\n]{{0,40}}?{AT_MOST}[^\n]{{0,30}}?(?:\btokens?\b|\b{LIMIT})",
            rf"{SAID}[^\n]{{0,60}}?\bbut\b[^\n]{{0,40}}?\b(?:supports?|allows?|accepts?|takes?)\b"
            rf"[^\n]{{0,20}}?{NUMBER}",
            r"\btokens?(?: count)? limit (?:was |has been |is )?exceeded\b",
            r"\btokens? limit (?:was |has been |is )?reached\b[^\n]{0,20}"
            r"\b(?:conversation|chat|context|model|prompt)",
            r"\bmax(?:imum)? (?:allowed )?(?:length|tokens?) (?:was |has been )?exceeded\b",
            rf"\bmax(?:imum)? (?:allowed )?(?:number of )?tokens? {_PER_REQUEST}",
            rf"\brange of (?:the )?{SAID}[^\n]{{0,20}}(?:should|must) be\b",
            r"\b(?:prompt|input|messages?|sequence)\b[^\n]{0,12}\b(?:length|tokens?|count|size) (?:should|must) "
            r"be (?:in|within|between|(?:less|shorter|smaller) than|at most|under|below|<=?) [\[(]?\d",
            rf"\btokens?\b[^\n]{{0,40}}(?:{EXCEEDS}|(?:must|should|can|may)(?: ?not|n't) exceed)"
            rf" (?:the |a |an )?{NUMBER}",
            rf"{NUMBER} (?:\w{{1,20}} )?tokens?\b[^\n]{{0,50}}\b(?:limit|max(?:imum)?|at most|below|under|only|but"
            rf"|window|allows?|accepts?|handles?|supports?|takes?)\b[^\n]{{0,30}}{NUMBER}",
            rf"\b(?:at most|up to|limit of|max(?:imum)? of) {NUMBER} tokens\b[^\n]{{0,24}}"
            rf"\b(?:received|got|given|found|has|have|sent) {NUMBER}",
            rf"\btokens?\b[^\n]{{0,30}}{NUMBER}[^\n]{{0,10}}\b(?:limit|max(?:imum)?|context|window)\b[^\n]{{0,10}}{NUMBER}",
            rf"\b(?:handle|process|support|accept|take)s? "
            r"(?:only |up to |at most |(?:no )?more than |a maximum of )?"
            rf"{NUMBER} tokens\b",
            rf"\btoo large\b[^\n]{{0,60}}\bmax(?:imum)? (?:size|length)[^\n]{{0,10}}{NUMBER} tokens\b",
        ),
        source="Copilot, Gemini, Moonshot, opencode, Z.ai, TensorRT-LLM, Petals, TGI, SiliconFlow, Voyage, Qwen",
    ),
    Rule(
        name="too-long",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            r"\b(?:prompt|input|messages?|conversation|chat|context|history|sequence)s?"
            r"(?: \w{1,20}){0,3}? too long\b"
            r"|\b(?:over-?)?long prompt\b|\boversized? (?:prompt|input|context|messages?)\b"
            r"|\btexts? (?:is |are )?too long\b[^\n]{0,30}\btokens\b",
            r"\b(?:prompt|input|conversation|context|history)s?"
            r"(?: (?:is|are|was|has|have|become|grown|far|way|much)){0,3} too (?:large|big)\b",
            r"\b(?:prompt|input|context|text)[ _]?too[ _]?long",
            r"(?:context|input|prompt|tokens?)(?:[ _](?:length|limit|window|size|tokens?))?[ _]exceeded\b",
            r"\btoo (?:long|large|big) for (?:this|the|that) (?:\w{1,20} )?model\b",
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
            r"(?:上下文|提示词?|输入|对话|会话|消息|历史|文本|问题|内容|字数|prompt|tokens?)"
            r"[^\n]{0,24}(?:超|过长|太长|溢出|已满|过大|过多|大于|达到?[^\n]{0,6}(?:上限|最大长度)|用尽|用完|放不下)"
            r"|上下文[^\n]{0,12}不足",
            r"达到[^\n]{0,6}(?:上下文|对话|会话|输入|提示词?|消息)[^\n]{0,8}(?:上限|最大|限制)",
            r"(?:超[过出]|大于)[^\n]{0,24}(?:上下文|输入|最大(?:长度|token)|token|窗口)",
            r"messages?[^\n]{0,8}(?:过长|太长)|超长(?:文本|输入|提示|上下文|内容)",
            r"(?:输入|提示词?|上下文|消息|input|prompt)[^\n]{0,4}(?:长度|token|length)[^\n]{0,6}(?:应|必须|需)",
            r"(?:上下文|最[大多高](?:支持|允许|可))[^\n]{0,12}\d[^\n]{0,12}(?:当前|实际|但|请求|输入)",
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
    Rule(
        name="loosely-said",
        kind=Kind.CONTEXT_OVERFLOW,
        patterns=(
            r"(?:\A|\n)(?=[^\n]*\b(?:context|prompts?|inputs?|conversation|sequence|history|messages)(?:\b|_))"
            r"(?=[^\n]*(?:\b|_)(?:length|len|size|tokens?|window|long|longer)\b)"
            r"[^\n]*\b(?:exceed\w{0,5}|overflow\w{0,5}|too (?:long|large|big|many)|(?:long|larg|great|bigg)er than"
            r"|over|above|beyond|more than|less than|at most|no more|fits?|enough|limit(?:s|ed)?"
            r"|max(?:imum)?)(?:\b|_)",
        ),
        unless=r"\b(?:un(?:recogni[sz]ed|known|supported|expected)|missing|required|deprecated|empty|invalid|malformed"
        r"|not (?:supported|found|available|permitted|allowed|valid|a|an)|does not support|at least|minimum"
        r"|must be (?:an?|one of|positive)|json|schema|roles?|images?|tools?|files?|outputs?|completions?"
        r"|responses?|rates?|later|retry|keys?|min|parallel|hours?|day)\b|truncat|cache_key",
        source="whatever names the input, its size and an excess in one sentence, in no order that is known",
    ),
)
"""Tried after everything that may speak of tokens and mean something else."""

PROVIDER_HABITS: tuple[Rule, ...] = (
    Rule(
        name="cut-by-server",
        kind=Kind.SILENT_TRUNCATION,
        statuses=frozenset({None, 200}),
        patterns=(
            r"\btruncat(?:ing|ed) (?:the )?(?:input|prompt|context|history|messages?)\b",
            r"\b(?:input|prompt|context|history|messages?)(?: \w{1,20})? (?:is|was|were|has been|being)"
            r"(?: \w{1,20})? truncated\b",
            r"(?:输入|上下文|提示词?|历史|消息)[^\n]{0,6}(?:被|已)[^\n]{0,4}(?:截断|裁剪)",
        ),
        source="Ollama's log: the server cut the input to fit and answered all the same",
    ),
    Rule(
        name="empty-answer",
        kind=Kind.SILENT_TRUNCATION,
        statuses=frozenset({200}),
        patterns=(r"\b(?:zero|no|empty|without)\b[^\n]{0,12}\b(?:content|text|output)\b",),
        source="LM Studio: status 200 and an answer that holds nothing",
    ),
    Rule(
        name="runner-died",
        kind=Kind.SILENT_TRUNCATION,
        statuses=frozenset({500}),
        patterns=(r"\b(?:llama|model|runner|inference)\b[^\n]{0,20}\bprocess (?:has |was )?terminated\b",),
        unless=r"\b(?:exit status|signal|memory|cuda|gpu|error)\b",
        source="Ollama: its runner dies over a cut input and gives no reason; with a reason it is another fault",
    ),
    Rule(
        name="refused-without-a-word",
        kind=Kind.CONTEXT_OVERFLOW,
        statuses=frozenset({400, 413}),
        providers=frozenset({"cerebras", "mistral"}),
        patterns=(r"\A\W*\Z|\(no body\)",),
        source="Cerebras and Mistral answer an overflow with an empty body",
    ),
)
"""What only the server's habits make an overflow; tried after every wording."""
