import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.stages import TurnRecord
from copyfit.trace.schema import candidate_input, sent_input, trace_document, trace_schema

NOW = datetime(2026, 11, 30, 13, tzinfo=timezone(timedelta(hours=1)))
ALWAYS = {"schemaVersion", "contextId", "turn", "exportedAt", "contextConfig", "selectedPath", "llmInput"}


def document(record: TurnRecord) -> dict[str, Any]:
    """Return the document as a reader of its file sees it."""
    found: dict[str, Any] = json.loads(json.dumps(trace_document(record, exported_at=NOW), allow_nan=False))
    return found


def check(found: dict[str, Any]) -> None:
    Draft202012Validator(trace_schema(), format_checker=Draft202012Validator.FORMAT_CHECKER).validate(found)


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(trace_schema())


def test_every_document_obeys_the_schema(any_record: TurnRecord) -> None:
    check(document(any_record))


def test_every_document_has_the_version_of_its_schema(any_record: TurnRecord) -> None:
    assert document(any_record)["schemaVersion"] == 5
    with pytest.raises(ValidationError):
        check({**document(any_record), "schemaVersion": 99})


def test_the_schema_refuses_a_document_with_a_field_it_does_not_know(dynamic: TurnRecord) -> None:
    with pytest.raises(ValidationError):
        check({**document(dynamic), "extra": 1})


def test_a_dynamic_document_has_every_part(dynamic: TurnRecord) -> None:
    found = document(dynamic)
    assert set(found) == ALWAYS | {"collection", "admitted", "renderedContext", "planProgress"}
    assert (found["schemaVersion"], found["contextId"], found["turn"]) == (5, "session:run", 2)
    assert (found["exportedAt"], found["selectedPath"]) == ("2026-11-30T12:00:00.000+00:00", "dynamic")
    assert found["contextConfig"]["mode"] == "dynamic"
    assert found["contextConfig"]["scope"] == "main"
    assert found["contextConfig"]["budget"]["windowRounds"] == 3
    assert found["contextConfig"]["budget"]["windowTokens"] is None
    assert len(found["contextConfig"]["budget"]) == len(fields(ContextBudgets))
    given, broken = found["collection"]["contributors"]
    assert (given["status"], given["durationMs"], given["required"]) == ("contributed", 0.25, True)
    assert given["contribution"]["systemSections"][0]["id"] == "workspace.identity"
    assert (broken["status"], broken["error"]) == ("failed", "offline")
    assert found["admitted"]["messages"][0]["contributorId"] == "memory"
    assert found["renderedContext"]["sectionIds"] == ["workspace.identity"]
    assert found["renderedContext"]["abandonedCalls"] == ["call-0"]


def test_statistics_and_compaction_keep_the_names_of_the_reference(dynamic: TurnRecord) -> None:
    rendered = document(dynamic)["renderedContext"]
    assert rendered["statistics"] == {
        "estimatedInputTokens": 30,
        "inputMessages": 9,
        "outputMessages": 5,
        "removedMessages": 4,
    }
    assert rendered["compaction"] == {
        "reason": "token-pressure",
        "beforeTokens": 90,
        "afterTokens": 20,
        "prunedToolResults": 1,
        "summarizedMessages": 0,
        "summaryAttempts": 0,
        "summaryRejected": 0,
        "summaryValidationWarnings": [],
        "toolOutputRefs": ["tool-output-0a"],
    }
    assert [each["code"] for each in rendered["diagnostics"]] == ["CONTEXT_HISTORY_WINDOWED"]


def test_plan_progress_is_copied_from_the_admitted_diagnostics(dynamic: TurnRecord) -> None:
    found = document(dynamic)
    [observed, _] = found["admitted"]["diagnostics"]
    assert found["planProgress"] == observed["details"]
    assert found["planProgress"]["anchorFound"] is False


def test_a_detail_that_json_cannot_say_is_named_by_its_type(dynamic: TurnRecord) -> None:
    odd = document(dynamic)["admitted"]["diagnostics"][1]
    assert odd["details"] == {"object": "<object>", "nan": None, "none": None}


def test_a_legacy_document_has_no_candidate(legacy: TurnRecord) -> None:
    found = document(legacy)
    assert set(found) == ALWAYS
    assert found["llmInput"]["systemPrompt"] == "Static."


def test_a_shadow_document_keeps_candidate_and_sent_apart(shadow: TurnRecord) -> None:
    found = document(shadow)
    assert found["selectedPath"] == "legacy"
    assert (found["llmInput"]["systemPrompt"], found["renderedContext"]["systemPrompt"]) == ("Static.", "You.")


def test_a_failed_document_says_why_and_that_nothing_was_sent(failed: TurnRecord) -> None:
    found = document(failed)
    assert found["llmInput"] is None
    assert found["error"].startswith("Protected context sections require")
    assert sent_input(found) is None
    assert candidate_input(found) is None


def test_a_recovery_is_marked(recovery: TurnRecord) -> None:
    assert document(recovery)["recovery"] == {"attempt": 1, "reason": "model-input-overflow"}


def test_the_model_inputs_can_be_read_back_exactly(shadow: TurnRecord) -> None:
    found = document(shadow)
    assert shadow.candidate is not None
    assert sent_input(found) == shadow.sent
    assert candidate_input(found) == shadow.candidate.model_input


def test_the_same_record_gives_the_same_document(dynamic: TurnRecord) -> None:
    same = trace_document(replace(dynamic), exported_at=NOW.astimezone(UTC))
    assert json.dumps(same) == json.dumps(trace_document(dynamic, exported_at=NOW))
