"""Errors that speak of tokens, limits and lengths and are no overflow: each is known by its family."""

import dataclasses
import json
from typing import Any

import pytest

from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.judge import RULES, judge
from copyfit_adapters.overflow.rules import Kind, Rule
from copyfit_adapters.overflow.wording import compiled, plain

OTHERS = """
output_limit | 400 | max_tokens must be between 1 and 8192
output_limit | 400 | The maximum value for max_output_tokens is 65536
output_limit | 400 | max_tokens 99999 exceeds limit 8192
output_limit | 400 | Invalid value for maxOutputTokens: 100000, supported range is from 1 to 65537
output_limit | 400 | max_new_tokens is set too high; the model can generate at most 4096 tokens
output_limit | 400 | The requested number of output tokens is more than the model can produce
output_limit | 400 | max_tokens 参数非法：取值范围应为 [1, 4095]
output_limit | 400 | max_tokens 不能超过 8192
output_limit | 400 | Integer below minimum value: max_output_tokens must be >= 16
output_limit | None | The model reached its maximum output length
rate_limit_tokens | 429 | Rate limit reached: tokens per min. Limit: 90000 / min. Current: 95000 / min.
rate_limit_tokens | 429 | Number of request tokens has exceeded your daily rate limit
rate_limit_tokens | 429 | Too many tokens, please wait before trying again.
rate_limit_tokens | 429 | Too many tokens per day, please wait before trying again.
rate_limit_tokens | 429 | 每分钟 token 数超过限制
rate_limit_tokens | 429 | TPM 超限
rate_limit_tokens | 429 | Tokens per day limit exceeded - too many tokens processed.
rate_limit_tokens | 429 | You exceeded your token rate limit
rate_limit_requests | 429 | 您的账户已达到速率限制
rate_limit_requests | 429 | Requests rate limit exceeded, please try again later
rate_limit_requests | 429 | Too Many Requests
rate_limit_requests | 429 | 当前请求过多，请稍后再试
quota | 429 | You exceeded your current quota, please check your plan and billing details
quota | 403 | 您的账户已欠费
quota | 402 | This request requires more credits, or fewer max_tokens.
quota | 400 | Your credit balance is too low to access the Anthropic API
quota | 429 | Extra usage is required for long context requests
quota | 402 | Insufficient Balance
overloaded | 529 | Overloaded
overloaded | 429 | The engine is currently overloaded, please try again later
overloaded | 503 | Service temporarily unavailable
overloaded | 503 | 当前服务繁忙，请稍后再试
overloaded | 503 | Model is too busy
payload_too_large | 413 | Request Entity Too Large
payload_too_large | 400 | Request payload size exceeds the limit: 20971520 bytes.
payload_too_large | 413 | request body exceeds 10MB
payload_too_large | 413 | Failed to buffer the request body: length limit exceeded
payload_too_large | 413 | 请求体过大
image_limit | 400 | Too many images and documents: 120 + 0 > 100
image_limit | 400 | image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes
image_limit | 400 | This model does not support more than 10 images
image_limit | 400 | At most 1 image(s) may be provided in one request.
image_limit | 400 | 图片数量超过上限
tool_limit | 400 | Invalid 'tools': array too long.
tool_limit | 400 | Too many tools: 150 > 128
tool_limit | 400 | Maximum of 128 functions allowed
tool_limit | 400 | 工具数量超过上限 128
content_filter | 400 | Content violates usage policies
content_filter | 400 | 系统检测到输入或生成内容可能包含不安全或敏感内容
auth | 401 | Incorrect API key provided: sk-x
auth | 401 | 令牌已过期或验证不正确
auth | 401 | Invalid Authentication
auth | 403 | permission denied
auth | 400 | 无效的 API key
timeout | 408 | Request timed out.
timeout | 504 | Gateway Timeout
timeout | 504 | upstream request timeout
timeout | 504 | 请求超时
invalid_request | 400 | Invalid type for 'messages[0].content'
invalid_request | 404 | model not found
invalid_request | 400 | tool_use ids were found without tool_result blocks immediately after
invalid_request | 400 | temperature must be between 0 and 2
invalid_request | 400 | stop sequences: at most 4 allowed
invalid_request | 400 | thinking.budget_tokens: must be less than max_tokens
invalid_request | 400 | Invalid 'input[3].call_id': string too long.
invalid_request | 400 | messages: at least one message is required
invalid_request | 400 | messages.1: all messages must have non-empty content
invalid_request | 400 | The system prompt exceeds 4 cache_control blocks
invalid_request | 400 | A maximum of 4 blocks with cache_control may be provided. Found 5.
invalid_request | 400 | function name is too long: at most 64 characters
invalid_request | 400 | 参数错误：messages 不能为空
invalid_request | 400 | Unknown parameter: 'context_management'
invalid_request | 400 | context_length is not a supported parameter
invalid_request | 400 | Invalid schema for function: nesting exceeds limit
invalid_request | 400 | top_logprobs must be at most 20
invalid_request | 400 | The number of stop words exceeds the limit
invalid_request | 400 | n must be at most 8
invalid_request | 400 | unexpected end of JSON input
invalid_request | 400 | input must not be empty
invalid_request | 400 | Message content must be text or a list of parts, at most 100 parts
output_limit | 400 | max_tokens is larger than allowed: 9000 > 8192
output_limit | 422 | max_output_tokens: Input should be less than or equal to 8192
output_limit | 400 | max_completion_tokens: 200000 exceeds the model's output limit of 128000
output_limit | 400 | The maximum output tokens must be less than 8192
output_limit | 400 | maxTokens must be less than or equal to 4096
output_limit | 400 | Requested max tokens of 100000 exceeds the model maximum of 64000
output_limit | 400 | 输出 token 数超过限制 4096
output_limit | 400 | max_tokens must be greater than thinking.budget_tokens
rate_limit_tokens | 429 | Limit of 100000 tokens per day reached
rate_limit_tokens | 429 | Input tokens per minute (ITPM) exceeded
rate_limit_tokens | 429 | Token quota per minute exhausted
rate_limit_tokens | 429 | You are sending tokens too fast; tokens/min limit 60000
rate_limit_tokens | 429 | tokens per second limit exceeded
rate_limit_requests | 429 | Request was throttled. Expected available in 5 seconds.
rate_limit_requests | 429 | RPM limit reached
rate_limit_requests | 429 | Concurrency limit exceeded for account
rate_limit_requests | 429 | 调用频率超限
rate_limit_requests | 429 | Slow down
quota | 402 | You have run out of credits
quota | 403 | Monthly usage limit reached for this key
quota | 403 | Key limit exceeded (total limit)
quota | 402 | Your free trial has ended
quota | 403 | Free tier tokens used up
quota | 402 | Prompt tokens limit exceeded: 230799 > 91442.
overloaded | 503 | upstream connect error or disconnect/reset before headers. reset reason: overflow
overloaded | 503 | server is busy
overloaded | 503 | no available capacity
overloaded | 503 | Model is at capacity. Please try a different model.
overloaded | 503 | The service is currently unavailable
payload_too_large | 413 | 413 Payload Too Large
payload_too_large | 413 | Request body size 40 MB is over the 30 MB limit
payload_too_large | 413 | http: request body too large
payload_too_large | 413 | PayloadTooLargeError: request entity too large
payload_too_large | 413 | file upload too big
image_limit | 400 | Image size 12 MB is too large
image_limit | 400 | number of images exceeds limit
image_limit | 400 | image dimensions exceed 8000 pixels
image_limit | 400 | Only 20 images are allowed
image_limit | 400 | messages.0.content: too many images
image_limit | 400 | The PDF has too many pages
tool_limit | 400 | Too many functions specified: 200, maximum 128
tool_limit | 400 | tools: at most 64 items allowed
tool_limit | 400 | The number of tools exceeds the limit of 128
tool_limit | 400 | You may only specify 128 tools
content_filter | 400 | Input flagged by moderation
content_filter | 400 | Response blocked by safety settings
content_filter | 400 | 输入内容不合规，触发内容安全策略
auth | 401 | Invalid token
auth | 403 | You do not have access to this model
auth | 401 | x-api-key header is required
auth | 403 | The security token included in the request is expired
auth | 400 | API key not valid. Please pass a valid API key.
timeout | 504 | The operation timed out while waiting for the model
timeout | None | Read timeout on endpoint URL
timeout | None | Connection closed before message completed
timeout | None | connect ETIMEDOUT
invalid_request | 400 | Missing required parameter: 'messages'
invalid_request | 400 | Unsupported value: 'temperature' does not support 0.2 with this model
invalid_request | 400 | messages: roles must alternate between user and assistant
invalid_request | 400 | The model does not support tools
invalid_request | 400 | An assistant message with 'tool_calls' must be followed by tool messages
invalid_request | 400 | context_management: Extra inputs are not permitted
invalid_request | 400 | Invalid 'messages[3].name': string too long. Expected a string with maximum length 64
invalid_request | 400 | top_k must be less than the vocabulary size
invalid_request | 400 | input_schema does not support oneOf at the top level
invalid_request | 400 | `prompt_cache_key` must be at most 64 characters
invalid_request | 404 | prompt template not found
invalid_request | 400 | tool_choice requires tools
invalid_request | 400 | The number of messages must be odd
invalid_request | 400 | Message 3 has no content
invalid_request | 400 | The input contains invalid unicode
invalid_request | 400 | system message must be at the beginning
invalid_request | 400 | JSON input should contain the word json
invalid_request | 400 | Expected at most 2048 items in input array
invalid_request | 400 | stop: array too long, maximum length 4
invalid_request | 400 | tool name exceeds 64 characters
invalid_request | 400 | tool description longer than 1024 characters
invalid_request | 400 | context_id expired
invalid_request | 400 | assistant message prefill is not supported
invalid_request | 400 | reasoning effort 'max' is not supported
invalid_request | 400 | The request is missing a body
invalid_request | 400 | number of choices n exceeds 8
invalid_request | 400 | 参数 temperature 超出范围
invalid_request | 400 | 消息格式错误
invalid_request | 400 | messages 中 role 不合法
invalid_request | 404 | 模型不存在
invalid_request | 400 | thinking budget 100 is less than minimum 1024 tokens
output_limit | 400 | max_tokens value 10000 too large, must be no greater than 4096
output_limit | 400 | Output length limit is 4096 tokens
output_limit | 400 | Completion tokens requested exceed model max
output_limit | 400 | max_tokens 超出最大值 8192
output_limit | 400 | generation length 5000 exceeds max_new_tokens limit 4096
rate_limit_tokens | 429 | Quota of tokens per minute exceeded for model
rate_limit_tokens | 429 | Daily token limit reached: tokens per day 500000
rate_limit_tokens | 429 | Your org sent 90k tokens in the last minute; the rate is 80k tokens/minute
rate_limit_requests | 429 | Requests per second limit reached
rate_limit_requests | 429 | rate limit hit
rate_limit_requests | 429 | 并发数超限
quota | 402 | Account balance is negative
quota | 402 | Your plan does not include this model's usage; credits exhausted
quota | 403 | 账户额度不足
overloaded | 503 | Server overloaded. Context: request 123
overloaded | 529 | We are experiencing high load
payload_too_large | 413 | Body exceeded 20mb limit
payload_too_large | 413 | request entity exceeds 32MB
image_limit | 400 | You can attach at most 5 images per message
image_limit | 400 | Image too large
image_limit | 400 | video exceeds maximum duration
tool_limit | 400 | Number of functions exceeds 64
content_filter | 400 | Content was blocked due to safety
auth | 401 | Bad API key
auth | 403 | Access denied
timeout | 504 | Timeout waiting for response
timeout | None | ECONNRESET
invalid_request | 400 | Message ordering invalid: after tool must come assistant
invalid_request | 400 | "messages" is required
invalid_request | 400 | unknown field context_size
invalid_request | 400 | The value of frequency_penalty exceeds 2
invalid_request | 400 | response_format schema too large
invalid_request | 400 | max 5 stop sequences
invalid_request | 400 | metadata value exceeds 512 characters
invalid_request | 400 | tool call id is longer than 40 chars
invalid_request | 400 | The token 'foo' is not in vocabulary
invalid_request | 400 | logit_bias: too many entries
invalid_request | 400 | cache_control ttl too long
invalid_request | 400 | Input must be a string
invalid_request | 400 | model name too long
invalid_request | 400 | context parameter must be an array
invalid_request | 400 | seed is over the limit
invalid_request | 400 | the input is missing the field text
invalid_request | 400 | batch size exceeds 100 requests
invalid_request | 400 | embedding dimensions must be at most 3072
invalid_request | 400 | 工具调用格式错误
invalid_request | 400 | 输入不能为空
""".strip().split("\n")


@pytest.mark.parametrize("line", OTHERS)
def test_what_is_no_overflow_gets_its_own_kind(line: str) -> None:
    kind, status, message = line.split(" | ")
    body = json.dumps({"error": {"message": message}})
    assert judge(lift(None if status == "None" else int(status), body)).kind == Kind(kind)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.cues], ids=lambda rule: rule.name)
def test_the_cues_of_a_rule_only_save_time(rule: Rule) -> None:
    without = dataclasses.replace(rule, cues=())
    for line in OTHERS:
        message = plain(line.split(" | ")[2])
        assert rule.match(message) == without.match(message), message


def test_a_pattern_in_chinese_is_in_chinese_throughout() -> None:
    mixed = [
        pattern
        for rule in RULES
        for pattern in rule.patterns
        if not pattern.isascii()
        and any(compiled(pattern).search(plain(line)) for line in OTHERS if line.isascii())
    ]
    assert mixed == []


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "Something odd."}, Kind.RATE_LIMIT_REQUESTS),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Hm."}}, Kind.OVERLOADED),
        ({"response": {"error": {"code": "server_error", "message": "Invalid content."}}}, Kind.OVERLOADED),
        ({"__type": "throttlingException", "message": "Slow."}, Kind.RATE_LIMIT_REQUESTS),
        ({"__type": "modelTimeoutException", "message": "Long."}, Kind.TIMEOUT),
        ({"error": {"code": "invalid_api_key", "message": "Wrong."}}, Kind.AUTH),
        ({"error": "an error was encountered while running the model: unexpected EOF"}, Kind.TIMEOUT),
    ],
    ids=str,
)
def test_without_a_status_the_machine_word_says_what_kind_it_is(error: dict[str, Any], kind: Kind) -> None:
    verdict = judge(error)
    assert verdict is not None
    assert verdict.kind is kind


def test_a_status_says_more_than_the_machine_word() -> None:
    verdict = judge({"error": {"type": "server_error", "message": "Odd."}}, status=400)
    assert verdict is not None
    assert verdict.kind is Kind.INVALID_REQUEST
