"""The rules of everything that is not an overflow, though it may speak of tokens, limits and lengths.

A pattern names a family (what is said of what), never one provider's sentence, so that a wording nobody has seen
yet still lands in the right row. `source` says whose errors the family was drawn from.
"""

from copyfit_adapters.overflow.rules import Kind, Rule
from copyfit_adapters.overflow.wording import CAP, CAP_CUES, EXCEEDS, SAID, WINDOW

VETOES: tuple[Rule, ...] = (
    Rule(
        name="unauthorized",
        kind=Kind.AUTH,
        statuses=frozenset({401}),
        source="HTTP 401",
    ),
    Rule(
        name="rate-of-tokens",
        kind=Kind.RATE_LIMIT_TOKENS,
        patterns=(
            r"\btokens?[ -]per[ -](?:min|minute|hour|day|second|month)\b",
            r"(?<![a-z])(?:tpm|tpd|itpm|otpm)(?![a-z])|\btokens? ?/ ?(?:m|min|minute|s|sec|hour|day)\b",
            r"\b(?:hourly|daily|weekly|monthly)\b[^\n]{0,12}\btokens? (?:limit|quota|budget|allowance)",
            r"\btokens?\b[^\n]{0,40}\brate[ -]limit|\btokens? usage[ -]limit"
            r"|\btokens?\b[^\n]{0,30}\bper[- ](?:minute|hour|day|week|month)\b",
            r"too many tokens\b[^\n]{0,30}\b(?:wait|retry|later|slow)",
            r"\bquota\b[^\n]{0,120}token_count\b"
            r"|\btokens?\b[^\n]{0,40}\b(?:within|in|over|during) (?:a|an|the|this|any) (?:\w{1,20} )?time\b",
            r"每(?:一)?(?:分钟|天|日|小时)[^\n]{0,12}token|token[^\n]{0,12}(?:速率|频率|限流)",
        ),
        source="Groq, OpenAI, Anthropic, Azure, Moonshot: tokens over a time; Bedrock: too many tokens, wait",
    ),
    Rule(
        name="quota",
        kind=Kind.QUOTA,
        patterns=(
            r"\b(?:insufficient|low|no|more|enough|overdue)\b[^\n]{0,20}\b(?:credits?|balance|funds?|quota)\b",
            r"\binsufficient_quota\b|\bcredit balance\b|\bcan only afford\b|\brecharge\b|\bpayment required\b"
            r"|\bbilling\b|\bspending\b|\bextra usage\b|\bkey limit\b",
            r"\bfree (?:tier|trial)\b[^\n]{0,30}\b(?:used|ended|expired|exhausted|over)\b",
            r"\b(?:quota|(?:usage|inference|monthly|daily|weekly|plan) limit)\b",
            r"余额|欠费|充值|额度|配额|套餐|用量[^\n]{0,8}(?:上限|超)",
        ),
        source="OpenAI insufficient_quota, OpenRouter credits and key budgets, Z.ai balance, Gemini quota",
    ),
    Rule(
        name="quota-word",
        kind=Kind.QUOTA,
        words=frozenset(
            {
                "insufficient_quota",
                "insufficient_user_quota",
                "pre_consume_token_quota_failed",
                "billing_not_active",
                "insufficient_balance",
                "budgetexceedederror",
            }
        ),
        source="the error codes of OpenAI and NewAPI, LiteLLM's budgets",
    ),
    Rule(
        name="payment-required",
        kind=Kind.QUOTA,
        statuses=frozenset({402}),
        source="HTTP 402; OpenRouter, DeepSeek",
    ),
    Rule(
        name="capacity",
        kind=Kind.OVERLOADED,
        patterns=(
            r"\boverload(?:ed|ing)\b|\b(?:out of|over) capacity\b|\bcapacity limit\b",
            r"\bkv[ _-]?cache\b[^\n]{0,90}\blater\b",
            r"\bcurrently loading\b|\bloading model\b",
            r"\bhigh (?:demand|traffic|volume)\b|\btemporarily (?:unavailable|overloaded)\b",
            r"服务(?:器)?(?:繁忙|过载)|(?:访问|请求|流)量[^\n]{0,2}[过太较][大高]|负载[^\n]{0,2}[过太较]高|算力",
        ),
        cues=("load", "capacity", "high", "tempor", "later", "服务", "量", "负载", "算力"),
        source="Anthropic overloaded_error, TGI, Together, Vertex, Bedrock, Hugging Face, llama.cpp",
    ),
    Rule(
        name="time-is-up",
        kind=Kind.TIMEOUT,
        patterns=(r"\bdeadline exceeded\b|\btimed? ?-?out\b|\betimedout\b|\bgateway time", r"超时"),
        cues=("dead", "time", "超时"),
        source="Go servers (context deadline exceeded), gateways, sockets",
    ),
    Rule(
        name="rate-of-requests",
        kind=Kind.RATE_LIMIT_REQUESTS,
        patterns=(
            r"\brate[ _-]?limit|\btoo many requests\b|\bthrottl|\bconcurren(?:t|cy)\b",
            r"\b(?:requests?|calls?)[ -]per[ -](?:min|minute|hour|day|second)\b|\brpm\b",
            r"\b(?:try again|retry) (?:in|after) \d|\bwait before\b",
            r"速率|频率|频繁|限流|并发|次数",
        ),
        source="Anthropic, Azure, Mistral, Groq and the Chinese providers: requests over a time",
    ),
    Rule(
        name="too-many-requests",
        kind=Kind.RATE_LIMIT_REQUESTS,
        statuses=frozenset({429}),
        source="HTTP 429; never an overflow in the corpus",
    ),
    Rule(
        name="key",
        kind=Kind.AUTH,
        patterns=(
            r"\b(?:api|subscription|security|access)[ _-]?(?:key|token)\b[^\n]{0,40}"
            r"\b(?:invalid|missing|expired|wrong|not valid)",
            r"\b(?:invalid|incorrect|missing|wrong|expired)\b[^\n]{0,20}\b(?:api[ _-]?key|credentials?)",
            r"\bunauthori[sz]ed\b|\bnot authori[sz]ed\b|\bauthentication\b[^\n]{0,20}\b(?:fail|error|required)",
            r"(?:无效|错误|不正确|过期)[^\n]{0,8}(?:api ?key|密钥|令牌)",
            r"(?:api ?key|密钥|令牌)[^\n]{0,8}(?:无效|错误|不正确|过期)",
            r"鉴权|未授权|认证失败",
        ),
        cues=("key", "token", "auth", "credential", "密钥", "令牌", "鉴权", "授权", "认证"),
        source="OpenAI, DeepSeek, Perplexity, Bedrock",
    ),
    Rule(
        name="filter-word",
        kind=Kind.CONTENT_FILTER,
        words=frozenset(
            {
                "content_filter",
                "content_policy_violation",
                "sensitive_words_detected",
                "contentfilterfinishreasonerror",
                "contentpolicyviolationerror",
                "guardrailraisedexception",
                "rejectedrequesterror",
            }
        ),
        source="the error codes of OpenAI and Azure, the exceptions of OpenAI's SDK and of LiteLLM",
    ),
    Rule(
        name="filtered",
        kind=Kind.CONTENT_FILTER,
        patterns=(
            r"\bcontent (?:management )?(?:policy|filter)|\bwas (?:filtered|flagged|blocked)\b|\bmoderation\b",
            r"\bviolat\w{1,5}\b[^\n]{0,40}\bpolic|\binappropriate content\b|\bblocked by\b[^\n]{0,20}\bsafety\b",
            r"敏感|审核|不合规|违规|内容安全|内容[^\n]{0,4}(?:过滤|拦截)",
        ),
        cues=("polic", "content", "was", "block", "moderat", "敏感", "审核", "不合规", "违规", "内容"),
        source="Azure content management policy, OpenAI moderation, DashScope inspection",
    ),
    Rule(
        name="media",
        kind=Kind.IMAGE_LIMIT,
        patterns=(
            r"\b(?:images?|pdf|videos?|audio|media|pixels?)\b[^\n]{0,50}"
            r"\b(?:exceeds?|too (?:large|big|many|long)|allowed size|(?:may|can) be provided|limit|at most)\b",
            r"\bimages?\b[^\n]{0,90}\bvision\b",
            r"\b(?:at most|maximum of|more than|up to|too many|only) (?:\d*|one|a single) ?"
            r"(?:images?|pdf|videos?|audio|media)\b",
            r"图片|图像",
        ),
        unless=r"\b(?:prompt|input)\b[^\n]{0,60}\b(?:longer than|too long)\b|\btotal (?:\w{1,20} )?tokens\b"
        r"|上下文|token ?数",
        cues=("image", "pdf", "video", "audio", "media", "pixel", "图"),
        source="Anthropic PDF pages and pixels, Gemini image parts, Mistral vision, vLLM images in one request",
    ),
    Rule(
        name="tools",
        kind=Kind.TOOL_LIMIT,
        patterns=(
            r"\b(?:tools|functions)\b[^\n]{0,20}\b(?:array too long|too many|at most)",
            r"\b(?:too many|number of|(?:maximum of|at most|more than|only|specify) \d+) (?:tools|functions)\b",
            r"工具[^\n]{0,8}(?:过多|超|上限)",
        ),
        cues=("tools", "functions", "工具"),
        source="OpenAI and Copilot: 128 tools",
    ),
    Rule(
        name="body-size",
        kind=Kind.PAYLOAD_TOO_LARGE,
        patterns=(
            r"(?:\b|_)(?:payload|body|entity|upload)\b[^\n]{0,40}\b(?:exceed\w{0,5}|too large|length limit)",
            r"\brequest (?:exceeds the maximum size|size exceeds|(?:is )?too large)\b",
            rf"{EXCEEDS}[^\n]{{0,40}}\d ?(?:[kmg]i?b|(?:mega)?bytes?)\b",
            r"请求体",
        ),
        unless=rf"\btokens?\b|\b{WINDOW}",
        cues=("payload", "body", "entity", "upload", "request", "byte", "kb", "mb", "gb", "ib", "请求体"),
        source="Anthropic request_too_large, nginx, Azure AI Foundry, Gemini payload size: bytes of the body",
    ),
    Rule(
        name="other-thing",
        kind=Kind.INVALID_REQUEST,
        patterns=(
            r"\bunsupported parameter\b|\bis not supported with this model\b",
            r"\bfile\b[^\n]{0,40}\bexceed|\bcontext window (?:is )?too small[^\n]{0,10}minimum",
            r"\b(?:name|id|key|url|user|metadata) (?:is |are )?too long\b",
            r"\b(?:batch|array|list) of (?:\d+ )?(?:inputs|prompts|texts)\b"
            r"|\b\d+ (?:inputs|prompts|texts)\b(?! tokens)",
            r"\bstop[ _]?(?:sequences?|words?)\b|\b(?:nesting|recursion) depth\b",
            r"(?:文件|附件|函数|用户名)(?![^\n]*(?:token|上下文|模型))[^\n]{0,12}(?:超|过[大长多])",
            r"\bminimum (?:token|number of tokens|context)",
            r"\b(?:name|id|description|key|metadata|url|user|schema)\b'?[^\n]{0,30}"
            r"(?:exceed|string too long|max_?length)",
            r"\b(?:retries|attempts)\b[^\n]{0,20}exceeded\b(?! with url)"
            r"|exceeded[^\n]{0,30}\b(?:retries|attempts)\b",
            r"\bmax(?:imum)?[ _](?:seq|sequence|model|context)[ _]?len(?:gth)?\b(?: \(\d+\))? is "
            r"(?:larg|great|long|high)er than\b",
        ),
        unless=rf"\b(?:prompt|messages|conversation) (?:is |are )?too long"
        rf"|{SAID}[^\n]{{0,40}}{EXCEEDS}[^\n]{{0,40}}\bcontext|{WINDOW}[^\n]{{0,12}}(?:exceeded|overflow)",
        source="a file tool's own cap, a client's minimum window, Vertex cache minimum, OpenAI caps on names; "
        "vLLM cannot start with the window it is given",
    ),
)
"""Rates, quotas, keys, filters, media, tools, sizes of other things; tried before any overflow by wording."""

OUTPUT_CAPS: tuple[Rule, ...] = (
    Rule(
        name="output-word",
        kind=Kind.OUTPUT_LIMIT,
        words=frozenset({"lengthfinishreasonerror"}),
        source="OpenAI's SDK: the answer to be parsed ended at its cap",
    ),
    Rule(
        name="output-cap",
        kind=Kind.OUTPUT_LIMIT,
        patterns=(
            rf"{CAP}(?:(?!prompt|input|message)[^\n]){{0,60}}"
            r"(?:too large|(?:must|should)(?: not)? be|cannot (?:be|exceed)|can not|range|exceed|valid\b|> ?\d|<="
            r"|at most|(?:less|more|greater|larger|smaller) than|too high|is not supported|maximum"
            r"|not valid|reached)",
            rf"(?:smaller than|range of|invalid|maximum (?:allowed )?number of|(?:value|values) (?:for|of)"
            rf"|(?:reached|hit|exceeded) (?:its|the|your)) {CAP}",
            rf"{CAP}: input should be",
            r"\b(?:output|completion|generation|response) (?:length|size)\b[^\n]{0,30}"
            r"\b(?:limit|exceeds?|maximum|too)\b",
            r"(?<![+和与] )(?<![+和与])输出[^\n]{0,10}(?:超|上限|过长)",
            rf"{CAP}[^\n]{{0,12}}(?:不能|不得|非法|无效|取值|范围|应|超|过大)",
            rf"(?:exceeded the|supports at most) [\d,]* ?{CAP}",
            r"\b(?:finish|stop|incomplete)?[ _]?reason\W{1,3}(?:max_(?:output_|completion_)?tokens|length)\b",
            r"\bmaximum tokens you requested\b|\bis not less or equal to\b",
            r"输出长度|最大输出",
        ),
        cues=(*CAP_CUES, "reason", "less or equal", "输出"),
        source="every provider's cap on the answer: OpenAI, Anthropic, Groq, DeepSeek, DashScope, TGI, Bedrock",
    ),
)
"""Caps on the answer alone; tried after the overflows that count the answer with the input."""

FAULTS: tuple[Rule, ...] = (
    Rule(
        name="server-fault",
        kind=Kind.OVERLOADED,
        statuses=frozenset({None, 200, 500, 502, 503}),
        patterns=(
            r"\b(?:internal server error|bad gateway|service unavailable|server_error|upstream error)\b",
            r"\b(?:error|problem) occurred\b[^\n]{0,40}\bprocessing\b|\bserver had an error\b",
            r"\byou can retry your request\b",
            r"服务(?:器)?(?:内部)?(?:错误|异常|不可用)",
        ),
        source="OpenAI and Codex in mid-stream, gateways: the server failed and says no more",
    ),
    Rule(
        name="connection-lost",
        kind=Kind.TIMEOUT,
        statuses=frozenset({None, 200, 500, 502, 503}),
        patterns=(
            r"\berror sending request\b|\bconnection (?:error|reset|refused|closed|aborted|lost|terminated)\b",
            r"\bstream (?:disconnected|closed|ended) (?:before|unexpectedly|prematurely)\b|\bsocket hang up\b",
            r"\beconn(?:reset|refused|aborted)\b|\bbroken pipe\b|\bnetwork error\b|\bfetch failed\b",
            r"\bunexpected eof\b|\b(?:failed to|unable to|could not|cannot) connect\b",
            r"\bfailed to (?:resolve|establish)\b|\bname resolution\b|\bgetaddrinfo\b",
        ),
        source="Codex, Node, Rust and Python clients: the connection broke before an answer came",
    ),
)
"""The server or the connection failed; tried late, for an outer layer says this of every error within."""

_WITHOUT_STATUS: frozenset[int | None] = frozenset({None, 200})


def _named(name: str, kind: Kind, *words: str) -> Rule:
    return Rule(
        name=name,
        kind=kind,
        words=frozenset(words),
        statuses=_WITHOUT_STATUS,
        source="the error codes of OpenAI, Anthropic, Google and AWS, whose events in a stream have no status",
    )


NAMED: tuple[Rule, ...] = (
    _named(
        "rate-word",
        Kind.RATE_LIMIT_REQUESTS,
        "rate_limit_exceeded",
        "rate_limit_error",
        "too_many_requests",
        "resource_exhausted",
        "throttlingexception",
    ),
    _named(
        "auth-word",
        Kind.AUTH,
        "invalid_api_key",
        "authentication_error",
        "permission_error",
        "permission_denied",
        "unauthenticated",
        "accessdeniedexception",
    ),
    _named("timeout-word", Kind.TIMEOUT, "timeout_error", "deadline_exceeded", "modeltimeoutexception"),
    _named(
        "fault-word",
        Kind.OVERLOADED,
        "overloaded_error",
        "engine_overloaded_error",
        "server_error",
        "internal_server_error",
        "api_error",
        "internal",
        "unavailable",
        "internalserverexception",
        "serviceunavailableexception",
        "modelstreamerrorexception",
        "modelnotreadyexception",
    ),
)
"""Words that say what kind of error it is where neither its sentence nor a status does; tried at the very last."""
