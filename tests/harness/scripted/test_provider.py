import pytest

from copyfit import (
    AssistantMessage,
    ContextOverflow,
    FinishReason,
    ModelInput,
    ModelOutput,
    ProviderModelClient,
    TextPart,
    ToolCall,
    UserMessage,
)
from copyfit.shapes.model_output import Finished, TextDelta, ToolCallDelta
from copyfit_harness.errors import ScriptEnded, ScriptUnplayed
from copyfit_harness.scripted.provider import ScriptedProvider

pytestmark = pytest.mark.anyio

CALLING = AssistantMessage(content=(TextPart(text="let me see"), ToolCall(id="c", name="look", arguments="{}")))


def asked(text: str) -> ModelInput:
    return ModelInput(system="", messages=(UserMessage(content=text),))


async def test_every_input_is_kept_as_it_came_refused_ones_too() -> None:
    refusal = ContextOverflow("too long", provider="scripted", model="m")
    with ScriptedProvider([refusal, "four"]) as provider:
        client: ProviderModelClient = provider
        with pytest.raises(ContextOverflow):
            await client.complete(asked("long"))
        output = await client.complete(asked("short"))
    assert provider.inputs == [asked("long"), asked("short")]
    assert (output.message.text, output.finish_reason) == ("four", FinishReason.STOP)


async def test_a_streamed_answer_ends_with_the_same_output() -> None:
    with ScriptedProvider([CALLING, CALLING]) as provider:
        events = [event async for event in provider.stream(asked("x"))]
        assert events == [
            TextDelta("let me see"),
            ToolCallDelta(0, "{}", "c", "look"),
            Finished(await provider.complete(asked("x"))),
        ]
    assert isinstance(events[-1], Finished)
    assert events[-1].output.finish_reason is FinishReason.TOOL_CALLS


async def test_a_whole_output_is_given_as_it_is() -> None:
    output = ModelOutput(message=AssistantMessage(content="cut"), finish_reason=FinishReason.LENGTH)
    with ScriptedProvider([output]) as provider:
        assert await provider.complete(asked("x")) is output


async def test_a_script_that_is_not_played_to_its_end_fails() -> None:
    provider = ScriptedProvider(["one", "two"])
    await provider.complete(asked("x"))
    with pytest.raises(ScriptUnplayed):
        provider.finish()


async def test_an_input_too_many_is_kept_and_fails() -> None:
    provider = ScriptedProvider([])
    with pytest.raises(ScriptEnded, match=r"1 message"):
        await provider.complete(asked("x"))
    assert provider.inputs == [asked("x")]
