import json
import logging
from typing import Any

import pytest

from copyfit.modes import Selected
from copyfit.runtime.assembled_log import log_assembled
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.scope import Mode, Scope
from copyfit.shapes.stages import CompactionStatistics, Pressure, Recovery, TurnRecord, TurnRequest
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript


def selected(recovery: Recovery | None = None) -> Selected:
    request = TurnRequest(
        context_id="s:1",
        scope=Scope.SUBAGENT,
        turn=4,
        history=Transcript(),
        budgets=ContextBudgets(model_max_tokens=1_000, output_reserve_tokens=400),
        recovery=recovery,
    )
    model_input = ModelInput(
        system="be secret", messages=(UserMessage(content="a secret"),), tools=(ToolSpec(name="secret"),)
    )
    return Selected(
        model_input=model_input,
        history=Transcript(),
        estimated_tokens=77,
        pressure=Pressure(limit=1, line=1, retain=1, reserved=0, contributed=0, history=0),
        compaction=CompactionStatistics(reason="forced", before_tokens=90, after_tokens=60, pruned_tool_results=2),
        record=TurnRecord(mode=Mode.LEGACY, selected_path="legacy", request=request, sent=model_input),
    )


def logged(caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    (record,) = caplog.records
    name, _, figures = record.getMessage().partition(" ")
    assert (record.name, record.levelname, name) == ("copyfit", "INFO", "context.assembled")
    read: dict[str, Any] = json.loads(figures)
    return read


def test_one_line_says_how_much_went_out_and_what_was_cut(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "copyfit"):
        log_assembled(selected())
    figures = logged(caplog)
    assert (figures["turn"], figures["mode"], figures["used"], figures["scope"]) == (
        4,
        "legacy",
        "legacy",
        "subagent",
    )
    assert (figures["systemChars"], figures["messages"], figures["tools"]) == (9, 1, 1)
    assert (figures["estimatedInputTokens"], figures["inputLimitTokens"]) == (77, 600)
    assert figures["compaction"]["reason"] == "forced"
    assert figures["compaction"]["prunedToolResults"] == 2


def test_the_line_holds_no_content(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "copyfit"):
        log_assembled(selected())
    assert "secret" not in caplog.text


@pytest.mark.parametrize(("recovery", "said"), [(None, False), (Recovery(), True)])
def test_the_line_tells_a_recovery_from_a_first_attempt(
    recovery: Recovery | None, said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "copyfit"):
        log_assembled(selected(recovery))
    assert logged(caplog)["recovery"] is said
