"""Say what a secret looks like: the rules by which exchanges are cleaned before they reach a disk.

A secret is known by where it stands (a header, a query key, a named field) or by what it looks like (the published
shapes of the providers' keys). Rules are frozen data; `dataclasses.replace` makes a variant with other names.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MARKER = b"REDACTED"
"""What stands in place of every secret. It matches no rule, so that cleaning twice changes nothing."""


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """The shape of one kind of secret.

    The named group ``secret`` of `pattern` is what gets replaced. `hints` are literal bytes one of which occurs in
    every match: looking for them first keeps the scan of a large body cheap.
    """

    kind: str
    hints: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


def _shape(kind: str, hints: Sequence[bytes], pattern: bytes) -> SecretPattern:
    return SecretPattern(kind, tuple(hints), re.compile(pattern, re.DOTALL))


# A key does not continue a word, is long and holds a digit: "task-management-guide" and "Bearer responsibilities"
# are prose. In JSON and in forms it may follow an escape, whose last character looks like part of a word.
_START = rb"(?:(?<![\w-])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4})|(?<=%[0-9a-fA-F]{2}))"
_WITH_DIGIT = rb"(?=[\w-]{0,80}\d)"

PATTERNS = (
    _shape("API key", [b"sk-"], _START + rb"(?P<secret>sk-" + _WITH_DIGIT + rb"[\w-]{16,})"),
    _shape(
        "API key",
        [b"gsk_", b"hf_", b"xai-", b"pplx-", b"r8_", b"nvapi-", b"npm_", b"glpat-", b"dapi"],
        _START
        + rb"(?P<secret>(?:gsk_|hf_|xai-|pplx-|r8_|nvapi-|npm_|glpat-|dapi)"
        + _WITH_DIGIT
        + rb"[\w-]{20,})",
    ),
    _shape("payment key", [b"_live_", b"_test_"], _START + rb"(?P<secret>[rs]k_(?:live|test)_\w{16,})"),
    _shape("AWS access key", [b"AKIA", b"ASIA"], _START + rb"(?P<secret>(?:AKIA|ASIA)[A-Z0-9]{16})(?!\w)"),
    _shape(
        "Bedrock API key",
        [b"ABSK", b"bedrock-api-key-"],
        _START + rb"(?P<secret>(?:ABSK|bedrock-api-key-)(?=[\w+/]{0,80}\d)[\w+/]{40,}=*)",
    ),
    _shape("Google API key", [b"AIza"], _START + rb"(?P<secret>AIza[\w-]{30,})"),
    _shape("Google access token", [b"ya29."], _START + rb"(?P<secret>ya29\.[\w.-]{20,})"),
    _shape(
        "GitHub token",
        [b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"],
        _START + rb"(?P<secret>(?:gh[pousr]|github_pat)_\w{20,})",
    ),
    _shape("Slack token", [b"xox"], _START + rb"(?P<secret>xox[abeprs]-[\w-]{10,})"),
    _shape("JSON web token", [b"eyJ"], _START + rb"(?P<secret>eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,})"),
    _shape(
        "bearer token",
        [b"earer ", b"EARER "],
        _START + rb"(?i:bearer) +(?P<secret>(?=[\w.~+/-]{0,80}\d)[\w.~+/-]{16,}=*)",
    ),
    _shape(
        "basic credential",
        [b"asic ", b"ASIC "],
        rb"(?i:authorization)[\\\"']*\s*[:=]\s*[\\\"']*(?i:basic) +(?P<secret>[\w+/]{8,}=*)",
    ),
    _shape("password in a URL", [b"://"], rb"://[^\s/:@\"'\\?#]*:(?P<secret>[^\s/@\"'\\?#]+)@"),
    _shape(
        "private key",
        [b"PRIVATE KEY-----"],
        # A key that was cut off is hidden up to the end of the text that holds it.
        rb"(?P<secret>-----BEGIN [A-Z ]*PRIVATE KEY-----[^\"]*?(?:-----END [A-Z ]*PRIVATE KEY-----|(?=\"|\Z)))",
    ),
)

CREDENTIAL_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "x-amz-security-token"}
)

KEPT_REQUEST_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "anthropic-beta",
        "anthropic-version",
        "connection",
        "content-length",
        "content-type",
        "host",
        "openai-beta",
        "transfer-encoding",
        "user-agent",
    }
)

# What clients act upon. Cookies, organisation ids and the traces of proxies are what people forget in cassettes.
KEPT_RESPONSE_HEADERS = frozenset(
    {
        "anthropic-ratelimit-*",
        "content-length",
        "content-type",
        "location",
        "openai-processing-ms",
        "openai-version",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "x-amzn-bedrock-*",
        "x-amzn-errortype",
        "x-amzn-requestid",
        "x-ratelimit-*",
        "x-request-id",
        "x-should-retry",
    }
)

QUERY_KEYS = frozenset(
    {"key", "api_key", "access_token", "token", "code", "sig", "signature", "password", "secret", "client_secret"}
    | {"subscription-key"}
    | {"x-amz-credential", "x-amz-security-token", "x-amz-signature"}
)

BODY_FIELDS = frozenset(
    {"api_key", "access_token", "refresh_token", "id_token", "auth_token", "bearer_token", "session_token"}
    | {"client_secret", "secret_key", "secret_access_key", "private_key", "authorization", "password", "passwd"}
)


@dataclass(frozen=True, slots=True)
class Redaction:
    """The rules of what never reaches the disk.

    Names are compared without case, and ``_``, ``-`` or nothing between their words are the same. Body fields also
    match as the end of a longer name (``openai_api_key``). The two sets of kept headers are allow-lists, where a
    trailing ``*`` stands for any ending: the value of another request header is replaced, another response header
    is left out. The values of `credential_headers` and of secret query keys are also looked for everywhere else in
    their exchange.
    """

    credential_headers: frozenset[str] = CREDENTIAL_HEADERS
    kept_request_headers: frozenset[str] = KEPT_REQUEST_HEADERS
    kept_response_headers: frozenset[str] = KEPT_RESPONSE_HEADERS
    query_keys: frozenset[str] = QUERY_KEYS
    body_fields: frozenset[str] = BODY_FIELDS
    patterns: tuple[SecretPattern, ...] = PATTERNS


DEFAULT_REDACTION = Redaction()


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """A secret in a text of bytes, from `start` up to `end`, and what kind it is."""

    kind: str
    start: int
    end: int


def find_secrets(text: bytes, rules: Redaction, known: Sequence[bytes] = ()) -> Iterator[FoundSecret]:
    """Yield every stretch of `text` that looks like a secret or is one of the `known` ones; they may overlap."""
    for shape in rules.patterns:
        if any(hint in text for hint in shape.hints):
            for match in shape.pattern.finditer(text):
                if match["secret"] != MARKER:
                    yield FoundSecret(shape.kind, *match.span("secret"))
    for value in known:
        at = text.find(value)
        while at >= 0:
            yield FoundSecret("credential of this very request", at, at + len(value))
            at = text.find(value, at + len(value))
