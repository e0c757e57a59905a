"""What looks like a secret, and what does not."""

import pytest

from copyfit_harness.wire.secrets import DEFAULT_REDACTION, MARKER, find_secrets

# The shapes are published by their makers; none of these is a key.
SECRETS = {
    "sk-proj-AbCdEfGh1234567890_-xyz": "API key",
    "sk-ant-api03-abcdefgh1234567890": "API key",
    "gsk_abcdefghij1234567890abcd": "API key",
    "hf_abcdefghij1234567890abcd": "API key",
    "xai-abcdefghij1234567890abcd": "API key",
    "pplx-abcdefghij1234567890abcd": "API key",
    "r8_abcdefghij1234567890abcd": "API key",
    "nvapi-abcdefghij1234567890_-cd": "API key",
    "glpat-abcdefghij1234567890abcd": "API key",
    "AKIAIOSFODNN7EXAMPLE": "AWS access key",
    "ASIAIOSFODNN7EXAMPLE": "AWS access key",
    "ABSKQmVkcm9ja0FQSUtleS1leGFtcGxlLWF0LTEyMzQ1Njc4OTAxMjpub25lPQ==": "Bedrock API key",
    "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29tLz9BY3Rpb249Q2FsbFdpdGhCZWFyZXJUb2tlbg==": "Bedrock API key",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234": "Google API key",
    "ya29.a0AbCdEfGhIjKlMnOpQrStUv": "Google access token",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "GitHub token",
    "github_pat_11ABCDEFG0abcdefghijkl_mnop": "GitHub token",
    "xoxb-123456789012-abcdef": "Slack token",
    "sk_live_abcdefghij123456": "payment key",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N": "JSON web token",
}

INNOCENT = [
    "task-management-guide-2024-edition-for-all",
    "risk-assessment-2024-framework-x1",
    "sk-learn and scikit-learn",
    "Bearer responsibilities are described below.",
    "the basic infrastructure1234 of",
    "AKIA is a prefix, and so is ASIA",
    "bedrock-api-key-rotation-and-other-duties-of-an-operator-in-2026",
    "chatcmpl-9abcdefghijklmnopqrstu1234567",
    "https://host:8080/path?max_tokens=5",
    "mailto:someone@example.org",
    "00000000-0000-4000-8000-000000000000",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAf",
    "eyJ is how base64 of an object starts",
    MARKER.decode(),
    "Bearer REDACTED",
]


def kinds(text: str, *known: bytes) -> list[str]:
    return [found.kind for found in find_secrets(text.encode(), DEFAULT_REDACTION, known)]


@pytest.mark.parametrize(("secret", "kind"), SECRETS.items())
@pytest.mark.parametrize("around", ["{}", "key={}&x", '"{}"', "my key is {}.", "\\n{}\\n"])
def test_a_key_is_found_wherever_it_stands(secret: str, kind: str, around: str) -> None:
    assert kind in kinds(around.format(secret))


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_is_left_alone(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize(
    ("text", "secret", "kind"),
    [
        ("Authorization: bearer  abc.def-0123456789", "abc.def-0123456789", "bearer token"),
        ('{"headers":{"Authorization":"Basic dXNlcjpwYXNz"}}', "dXNlcjpwYXNz", "basic credential"),
        (r"curl -H \"authorization: Basic dXNlcjpwYXNz\"", "dXNlcjpwYXNz", "basic credential"),
        ("postgres://admin:hunter2@db/x", "hunter2", "password in a URL"),
    ],
)
def test_only_the_secret_part_is_taken(text: str, secret: str, kind: str) -> None:
    (found,) = find_secrets(text.encode(), DEFAULT_REDACTION)
    assert (text[found.start : found.end], found.kind) == (secret, kind)


@pytest.mark.parametrize("name", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_is_taken_whole_and_up_to_its_string_if_it_was_cut(name: str) -> None:
    whole = f"-----BEGIN {name}PRIVATE KEY-----\\nMIIB\\n-----END {name}PRIVATE KEY-----"
    (found,) = find_secrets(f'{{"k":"{whole}","x":1}}'.encode(), DEFAULT_REDACTION)
    assert found.end - found.start == len(whole)
    cut = f"-----BEGIN {name}PRIVATE KEY-----\\nMIIB"
    (found,) = find_secrets(f'{{"k":"{cut}","x":1}}'.encode(), DEFAULT_REDACTION)
    assert found.end - found.start == len(cut)


def test_known_values_are_found_every_time() -> None:
    assert kinds("a corp-key b corp-key", b"corp-key") == ["credential of this very request"] * 2
