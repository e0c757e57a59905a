"""Overflows in wordings that no provider of the corpus used: each is known by its family."""

import json

import pytest

from copyfit_adapters.overflow import Kind
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.judge import judge

ENGLISH = """
You don't have enough context left for this conversation
The conversation no longer fits; its 140000 tokens are beyond what the session allows
Unable to fit the prompt in 8192 tokens
The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).
Unable to submit request because the input token count is 40000 but the model supports up to 32768.
Requested token count exceeds the model's maximum context length of 8192 tokens.
The decoder prompt (length 9000) is longer than the maximum model length of 8192.
Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192
Requested input length 40000 exceeds maximum input length 32767
Input text length should not exceed 512 tokens
Prompt tokens too long, the max length is 5120
prompt length (9000) exceeds max_input_len (8192)
The sum of prompt length (9000.0) and max_new_tokens (100) should not exceed max_seq_len (8192)
Token indices sequence length is longer than the specified maximum sequence length for this model (9000 > 512).
input (9000 tokens) is larger than the max context size (8192 tokens). skipping
failed to find free space in the KV cache, retrying with smaller batch size
the request exceeds the model's context limit of 32k tokens
Invalid request: Your request exceeded model token limit: 131072 (requested: 200000)
Total tokens of image and text exceed max message tokens
invalid params, context window exceeds limit (2013)
Your messages are too long for this model. Remove some and try again.
Conversation too long. Press esc twice to go up a few messages and try again.
Context limit reached - /compact or /clear to continue
Codex ran out of room in the model's context window.
prompt tokens(9000) + max_tokens(1000) > 8192
This model can only handle 8192 tokens, but 9000 were sent
The model's context is limited to 4096 tokens and your request has 5000
Your prompt has 200000 tokens, which is more than the 128000 this model supports
Unable to process: 200000 tokens in request, limit 128000 tokens
Input length (9000) exceeds model's maximum (8192)
InputTooLong: the text is over the limit of 8192 tokens
Message history is too large for the model
Exceeded max context
num_tokens 9000 > context_length 8192
n_tokens (9000) >= n_ctx (8192)
Context size exceeded
ran out of context
not enough context left to generate
The prompt would overflow the model's window
prompt token count of 140000 exceeds the limit of 128000
Request has 140000 input tokens, max is 128000
too many tokens in prompt: 9000
Max context length is 4096, got 5000 tokens
The total number of tokens (prompt + completion) may not exceed 8192
Input exceeds the model's token capacity
Input exceeds maximum allowed token limit
Prompt exceeds token limit
Maximum input tokens exceeded
Maximum token count exceeded: 9000/8192
maximum number of input tokens is 8192
Your request is longer than the 8192-token context of this model
Request too large for model context
Sorry, the text you sent is too long for this model. Please shorten it.
Request exceeds context length
sequence too long for model: 9000 tokens
The supplied messages amount to 140k tokens; this model takes 128k at most
litellm.ContextWindowExceededError: ContextWindowExceededError: OpenAIException - too long
length of prompt_tokens (9000) must be less than max_seq_len (8192).
prefill exceeds max sequence length
max_position_embeddings exceeded
Input validation error: `inputs` must have less than 1024 tokens. Given: 1500
Input tokens limit exceeded
Trying to keep the first 4321 tokens when context the overflows.
The number of tokens to keep from the initial prompt is greater than the context length
This request has 9000 tokens; reduce it below 8192 to fit this model
The prompt size exceeds the allowed maximum of 8192 tokens
prompt exceeds the available window
The conversation history has become too large to send; 212k of 200k tokens used
Your input has 33,000 tokens. The model can process a maximum of 32,768.
exceeds_context_window
Cannot process request: prompt length 50000 > max length 40960
Prompt length exceeds model_max_length
Tokenized prompt is 9000 tokens which is over the 8192 limit
The request's token usage (9000) exceeds the model's maximum sequence length
Maximum context window of 32768 tokens exceeded by 1200 tokens
You passed 9000 input tokens. However, the model's context length is only 8192 tokens.
prompt_tokens: 9000 exceeds max_prompt_tokens: 8192
Context length of 8192 was surpassed.
The chat history you provided is longer than what the model can handle
Please shorten your prompt and try again
Input is longer than the maximum number of tokens
Model input cannot exceed 8192 tokens
the number of tokens in the input (9000) is greater than the allowed maximum (8192)
Query is too long, it has 9000 tokens but the maximum is 8192
Document too long: the input would take 9000 tokens; the window is 8192 tokens
This conversation exceeds the length limit for this model
Reached maximum context length
Input sequence length exceeds limit
You have exceeded the maximum number of tokens allowed in a prompt
The context budget of the model has been exhausted
Error: context window overflow
request too long for context
The tokens in your prompt exceed what this model supports
The model cannot accept more than 8192 tokens of input
Total input exceeds 131072 tokens
prompt (9500 tokens) exceeds max window of 8192
This thread is too long for the selected model
Requested 9000 tokens, but the model window is 8192
Tokens in request: 9000; limit: 8192
input_tokens_exceeded
Text too long: 9000 tokens, limit 8192
Your message is over the model's size limit. Shorten it.
Context limit exceeded for this model
Payload contains 300000 tokens which exceeds the 262144 token context of the model
Model context is only 4096 tokens
Maximum prompt length exceeded
max input length is 3072 but got 4000
Length of input (9000) must not exceed 8192
The sequence you sent has more tokens than the model supports
inputs.length should be no more than 8192 tokens
would exceed the model's context
Not enough room in context for the request
no space left in the context window
The request was rejected because the number of tokens in the prompt and history (9000) is over 8192
""".strip().split("\n")

CHINESE = """
输入的 token 数超过模型上限
token超过上限。对话历史+问题的字数太多
Prompt 超长
输入超长
tokens数量超过模型最大限制 32768
请求内容超出模型最大上下文长度 8192
模型上下文长度不足，请缩短输入
当前对话长度已达上限，请开启新对话
您的输入过长，超过模型支持的最大长度
提示词长度不能超过 8000 个token
输入 token 数不得超过 32768
上下文窗口已用尽
历史消息过长，请清空对话后重试
输入文本长度超过限制：最大 8000 字符
该模型最大支持 32768 个 tokens，当前请求为 40000 tokens
请求 token 总数（输入 + 输出）超过模型上限 8192
模型最大上下文为 8192，当前为 9000
请减少输入内容
输入内容太长了
输入长度应在 [1, 30720] 之间
超出最大上下文窗口
上下文超限
messages 参数过长
对话轮次过多，内容超过模型处理上限
输入过长
prompt 长度超过模型限制
输入tokens超过最大值
对话历史超过模型的上下文窗口
问题太长了，请缩短后再试
字数超出限制
文本超长，最大支持 4096 token
""".strip().split("\n")


@pytest.mark.parametrize("message", [*ENGLISH, *CHINESE])
@pytest.mark.parametrize("status", [400, 500, None])
def test_an_overflow_is_known_whatever_the_status(message: str, status: int | None) -> None:
    body = json.dumps({"error": {"message": message}})
    assert judge(lift(status, body)).kind is Kind.CONTEXT_OVERFLOW


@pytest.mark.parametrize("message", ["", "400 status code (no body)"])
def test_an_empty_refusal_is_an_overflow_where_the_provider_is_known_for_it(message: str) -> None:
    assert judge(lift(400, message, provider="cerebras")).kind is Kind.CONTEXT_OVERFLOW
    assert judge(lift(400, message, provider="openai")).kind is Kind.INVALID_REQUEST


@pytest.mark.parametrize(
    "message", ["truncating input prompt limit=4095 prompt=5354", "the prompt was truncated", "输入已被截断"]
)
def test_a_server_that_says_it_cut_the_input_did_so_silently(message: str) -> None:
    assert judge(lift(None, message)).kind is Kind.SILENT_TRUNCATION
    assert judge(lift(400, message)).kind is not Kind.SILENT_TRUNCATION


def test_a_runner_that_died_for_a_stated_reason_did_not_die_of_its_input() -> None:
    assert judge(lift(500, "llama runner process has terminated")).kind is Kind.SILENT_TRUNCATION
    assert judge(lift(500, "llama runner process has terminated: out of memory")).kind is Kind.OVERLOADED
