"""Turn the record of an assembly into a trace document of schema v5, and read its model inputs back.

The document is plain JSON data; ``schema-v5.json`` beside this file is its JSON Schema. Messages, sections, tools
and settings keep the field names of their shapes; everything around them has the camelCase names of the schema.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Final

from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.contributions import Contribution, Diagnostic
from copyfit.shapes.messages import Message, Shape, message_adapter
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.stages import (
    Admitted,
    AssembledTurn,
    Collected,
    CompactionStatistics,
    ContributorReport,
    PlacedAttachment,
    PlacedMessage,
    PlacedSection,
    TurnRecord,
    WindowStatistics,
)
from copyfit.shapes.tools import ToolSpec
from copyfit.state.plan import PLAN_PROGRESS_CODE

SCHEMA_VERSION: Final = 5


def trace_document(record: TurnRecord, *, exported_at: datetime) -> dict[str, Any]:
    """Return the trace document of `record`: JSON data that the JSON Schema of `trace_schema` accepts.

    A part that the assembly did not reach, or that its mode does not have, is absent. `llmInput` is what went to
    the provider, and null where nothing did.
    """
    request, candidate = record.request, record.candidate
    document: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "contextId": request.context_id,
        "turn": request.turn,
        "exportedAt": exported_at.astimezone(UTC).isoformat(timespec="milliseconds"),
        "contextConfig": {
            "budget": _budget(request.budgets),
            "mode": record.mode.value,
            "scope": request.scope.value,
        },
        "selectedPath": record.selected_path,
        "llmInput": None if record.sent is None else _model_input(record.sent),
    }
    collected = candidate.collected if candidate else record.collected
    admitted = candidate.admitted if candidate else record.admitted
    if collected is not None:
        document["collection"] = _collection(collected)
    if admitted is not None:
        document["admitted"] = _lists(admitted)
        progress = _plan_progress(admitted.diagnostics)
        if progress is not None:
            document["planProgress"] = progress
    if candidate is not None:
        document["renderedContext"] = _rendered(candidate)
    if request.recovery is not None:
        document["recovery"] = asdict(request.recovery)
    if record.error is not None:
        document["error"] = record.error
    return document


def trace_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a trace document."""
    schema: dict[str, Any] = json.loads(files("copyfit.trace").joinpath("schema-v5.json").read_text("utf-8"))
    return schema


def sent_input(document: Mapping[str, Any]) -> ModelInput | None:
    """Return the model input that a trace document says was sent, or None when nothing was."""
    return _read_input(document.get("llmInput"))


def candidate_input(document: Mapping[str, Any]) -> ModelInput | None:
    """Return the dynamically assembled input of a trace document, or None when it has none.

    The document keeps no settings for the candidate, for both paths ask with the same ones; they are those sent.
    """
    rendered = document.get("renderedContext")
    if rendered is None:
        return None
    sent = document.get("llmInput") or {}
    return _read_input({**rendered, "settings": sent.get("settings", {})})


def _read_input(part: Mapping[str, Any] | None) -> ModelInput | None:
    if part is None:
        return None
    return ModelInput(
        system=part["systemPrompt"],
        messages=tuple(message_adapter().validate_python(message) for message in part["history"]),
        tools=tuple(ToolSpec.model_validate(tool) for tool in part["tools"]),
        settings=ModelSettings.model_validate(part["settings"]),
    )


def _model_input(sent: ModelInput) -> dict[str, Any]:
    return {
        "history": _dumped(sent.messages),
        "systemPrompt": sent.system,
        "tools": _dumped(sent.tools),
        "settings": _dump(sent.settings),
    }


def _rendered(candidate: AssembledTurn) -> dict[str, Any]:
    windowed = candidate.windowed
    return {
        "systemPrompt": candidate.model_input.system,
        "sectionIds": list(candidate.prompt.section_ids),
        "history": _dumped(candidate.model_input.messages),
        "tools": _dumped(candidate.model_input.tools),
        "statistics": _statistics(windowed.statistics),
        "diagnostics": [_diagnostic(each) for each in windowed.diagnostics],
        "compaction": _compaction(candidate.compaction),
        "abandonedCalls": list(candidate.abandoned_calls),
    }


def _collection(collected: Collected) -> dict[str, Any]:
    return {"collected": _lists(collected), "contributors": [_report(report) for report in collected.reports]}


def _lists(stage: Collected | Admitted) -> dict[str, Any]:
    return {
        "attachments": [_placed(each, each.attachment) for each in stage.attachments],
        "diagnostics": [_diagnostic(each) for each in stage.diagnostics],
        "messages": [_placed(each, each.message) for each in stage.messages],
        "sections": [_placed(each, each.section) for each in stage.sections],
    }


def _placed(placed: PlacedSection | PlacedAttachment | PlacedMessage, thing: Shape) -> dict[str, Any]:
    return {"contributorId": placed.contributor_id, **_dump(thing)}


def _report(report: ContributorReport) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "contributorId": report.contributor_id,
        "required": report.required,
        "status": report.status,
        "durationMs": report.duration_ms,
    }
    if report.contribution is not None:
        shown["contribution"] = _contribution(report.contribution)
    if report.error is not None:
        shown["error"] = report.error
    return shown


def _contribution(contribution: Contribution) -> dict[str, Any]:
    return {
        "systemSections": _dumped(contribution.sections),
        "messages": _dumped(contribution.messages),
        "attachments": _dumped(contribution.attachments),
        "diagnostics": [_diagnostic(each) for each in contribution.diagnostics],
    }


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    shown = _dump(diagnostic)
    giver = shown.pop("contributor_id", None)
    return shown if giver is None else {"contributorId": giver, **shown}


def _plan_progress(diagnostics: Iterable[Diagnostic]) -> dict[str, Any] | None:
    for diagnostic in diagnostics:
        if diagnostic.code == PLAN_PROGRESS_CODE and diagnostic.details is not None:
            return dict(diagnostic.details)
    return None


def _statistics(statistics: WindowStatistics) -> dict[str, int]:
    return {
        "estimatedInputTokens": statistics.estimated_input_tokens,
        "inputMessages": statistics.input_messages,
        "outputMessages": statistics.output_messages,
        "removedMessages": statistics.removed_messages,
    }


def _compaction(statistics: CompactionStatistics) -> dict[str, Any]:
    shown = {
        "reason": statistics.reason,
        "beforeTokens": statistics.before_tokens,
        "afterTokens": statistics.after_tokens,
        "prunedToolResults": statistics.pruned_tool_results,
        "summarizedMessages": statistics.summarized_messages,
        "summaryAttempts": statistics.summary_attempts,
        "summaryRejected": statistics.summary_rejected,
        "summaryCheckpointTokens": statistics.summary_checkpoint_tokens,
        "summarySourceTokens": statistics.summary_source_tokens,
        "summaryInputCharacters": statistics.summary_input_chars,
        "summaryOutputCharacters": statistics.summary_output_chars,
        "summaryValidationWarnings": list(statistics.summary_warnings),
        "toolOutputRefs": list(statistics.tool_output_refs),
    }
    return {name: value for name, value in shown.items() if value is not None}


def _budget(budgets: ContextBudgets) -> dict[str, int | None]:
    return {_camel(name): value for name, value in asdict(budgets).items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _dumped(things: Sequence[Shape] | Sequence[Message]) -> list[dict[str, Any]]:
    return [_dump(thing) for thing in things]


def _dump(thing: Shape) -> dict[str, Any]:
    """Return `thing` as JSON data without its empty fields; a value that JSON has no form for is named by type."""
    return thing.model_dump(mode="json", exclude_none=True, fallback=lambda value: f"<{type(value).__name__}>")
