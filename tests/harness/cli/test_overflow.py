"""`copyfit overflow` as a user meets it: one error in words, many as JSON lines."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from copyfit_harness.cli.app import app

CORPUS = Path(__file__).parents[3].parent / "shared" / "overflow" / "corpus.jsonl"
SENTENCE = "prompt is too long: 9 tokens > 8 maximum"
KEYS = ["id", "kind", "is_context_overflow", "limit_tokens", "requested_tokens", "rule"]


def overflow(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["overflow", *arguments], input=stdin)


def judged(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    result = overflow("--jsonl", "-", stdin="\n".join(json.dumps(entry) for entry in entries))
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_line_in_gives_one_line_out() -> None:
    first, second = judged(
        {
            "id": "a",
            "http_status": 400,
            "body": {"error": {"message": SENTENCE}},
            "channel": "http_error",
            "api": "x",
        },
        {"id": 7, "http_status": 429, "text": "slow down"},
    )
    assert list(first) == KEYS
    assert list(first.values()) == ["a", "context_overflow", True, 8, 9, "too-long"]
    assert (second["id"], second["kind"], second["is_context_overflow"]) == (7, "rate_limit_requests", False)


@pytest.mark.parametrize("body", [{"message": SENTENCE}, [{"message": SENTENCE}], SENTENCE, json.dumps(SENTENCE)])
def test_a_body_may_be_an_object_a_list_or_text(body: Any) -> None:
    assert judged({"body": body})[0]["kind"] == "context_overflow"


def test_the_text_is_judged_where_there_is_no_body() -> None:
    assert judged({"text": SENTENCE, "body": None})[0]["limit_tokens"] == 8


def test_the_window_of_a_line_is_held_against_the_usage_in_its_body() -> None:
    body = {"choices": [{"finish_reason": "length"}], "usage": {"prompt_tokens": 4095, "completion_tokens": 1}}
    known, unknown = judged({"body": body, "limit_tokens": 4096}, {"body": body})
    assert (known["kind"], known["limit_tokens"]) == ("silent_truncation", 4096)
    assert unknown["kind"] == "output_limit"


def test_the_window_of_a_line_is_not_repeated_as_the_errors_own_number() -> None:
    assert judged({"text": "the prompt is too long", "limit_tokens": 4096})[0]["limit_tokens"] is None


def test_an_answer_with_nothing_wrong_has_no_kind() -> None:
    (line,) = judged({"id": "a", "http_status": 200, "body": {"choices": [{"finish_reason": "stop"}]}})
    assert (line["kind"], line["is_context_overflow"], line["rule"]) == (None, False, None)


def test_a_line_that_is_an_error_itself_is_judged_as_its_body() -> None:
    (line,) = judged({"id": "e1", "error": {"message": SENTENCE}})
    assert (line["id"], line["kind"], line["limit_tokens"]) == ("e1", "context_overflow", 8)


def test_what_the_options_say_holds_for_lines_that_do_not_say_it() -> None:
    body = {"choices": [{"finish_reason": "length"}], "usage": {"prompt_tokens": 4095, "completion_tokens": 1}}
    lines = "\n".join(json.dumps({"body": body} | own) for own in ({}, {"limit_tokens": 9_000}))
    told = overflow("--jsonl", "-", "--window", "4096", stdin=lines)
    kinds = [json.loads(line)["kind"] for line in told.stdout.splitlines()]
    assert kinds == ["silent_truncation", "output_limit"]


def test_blank_lines_are_skipped_and_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "errors.jsonl").write_text('{"id": 1, "text": "no"}\n\n{"id": 2, "text": "上下文超限"}\n', "utf-8")
    result = overflow("--jsonl", str(tmp_path / "errors.jsonl"))
    assert [json.loads(line)["is_context_overflow"] for line in result.stdout.splitlines()] == [False, True]


@pytest.mark.parametrize("line", ["{bad", "[]", '{"http_status": "many"}', '{"http_status": 42}', '{"body": 3}'])
def test_a_line_that_cannot_be_read_is_misuse_and_named(line: str) -> None:
    result = overflow("--jsonl", "-", stdin='{"text": "no"}\n' + line)
    assert result.exit_code == 2
    assert "line 2" in result.output


@pytest.mark.parametrize("options", [(), ("--jsonl",)])
def test_a_missing_file_and_a_directory_are_a_lack_of_the_environment(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    missing, directory = overflow(*options, str(tmp_path / "none.json")), overflow(*options, str(tmp_path))
    assert (missing.exit_code, directory.exit_code) == (3, 3)
    assert "No such file" in missing.output
    assert "Is a directory" in directory.output


def test_bytes_that_are_no_text_are_misuse_in_a_line_and_replaced_in_an_error(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00 " + SENTENCE.encode())
    assert "8" in overflow(str(tmp_path / "binary")).stdout
    as_lines = overflow("--jsonl", str(tmp_path / "binary"))
    assert as_lines.exit_code == 2
    assert "line 1" in as_lines.output


def test_a_mark_of_byte_order_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "marked.jsonl").write_text(json.dumps({"text": SENTENCE}), "utf-8-sig")
    assert json.loads(overflow("--jsonl", str(tmp_path / "marked.jsonl")).stdout)["limit_tokens"] == 8


def test_a_reader_that_leaves_ends_the_command_well(tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_text('{"text": "no"}\n' * 3000, "utf-8")
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from copyfit_harness.cli import main; main()",
            "overflow",
            "--jsonl",
            "many.jsonl",
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.readline()
        command.stdout.close()
        said = command.stderr.read()
    assert (command.returncode, said) == (0, b"")


@pytest.mark.parametrize("arguments", [(), ("text", "--jsonl", "-")])
def test_neither_or_both_is_misuse(arguments: tuple[str, ...]) -> None:
    assert overflow(*arguments).exit_code == 2


def as_text(tmp_path: Path) -> Result:
    return overflow(SENTENCE, "--status", "400")


def as_file(tmp_path: Path) -> Result:
    (tmp_path / "error.txt").write_text(SENTENCE, "utf-8")
    return overflow(str(tmp_path / "error.txt"))


def as_stdin(tmp_path: Path) -> Result:
    return overflow("-", stdin=SENTENCE)


@pytest.mark.parametrize("given", [as_text, as_file, as_stdin])
def test_one_error_is_explained_in_words(given: Callable[[Path], Result], tmp_path: Path) -> None:
    result = given(tmp_path)
    assert result.exit_code == 0
    assert "The rule too-long fits" in result.stdout


def test_one_error_is_one_document_with_json() -> None:
    document = json.loads(overflow(SENTENCE, "--json").stdout)
    assert document["kind"] == "context_overflow"
    assert "too-long" in document["why"]


def test_the_provider_and_the_window_can_be_told() -> None:
    assert "context_overflow" in overflow("", "--status", "400", "--provider", "cerebras").stdout
    answer = '{"usage": {"prompt_tokens": 9}, "choices": [{"finish_reason": "stop"}]}'
    assert "silent_truncation" in overflow(answer, "--window", "8").stdout


@pytest.mark.skipif(not CORPUS.is_file(), reason="the shared corpus is not beside this checkout")
def test_every_line_of_the_corpus_gets_its_kind() -> None:
    entries = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    result = overflow("--jsonl", str(CORPUS))
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["id"], line["kind"]) for line in lines] == [(entry["id"], entry["kind"]) for entry in entries]
    assert all(
        line["is_context_overflow"] == entry["is_context_overflow"]
        for line, entry in zip(lines, entries, strict=True)
    )
