import pytest

from copyfit.runtime.loop_guard import LoopGuard, Repetition


def verdicts(guard: LoopGuard, times: int) -> list[Repetition]:
    return [guard.count("look", {"a": 1, "b": [1, 2]})[1] for _ in range(times)]


def test_the_tenth_equal_call_is_warned_about_and_the_twentieth_fails() -> None:
    counted = verdicts(LoopGuard(), 21)
    assert counted[:9] == [Repetition.FEW] * 9
    assert counted[9:19] == [Repetition.MANY] * 10
    assert counted[19:] == [Repetition.ENDLESS] * 2


def test_the_order_of_the_keys_does_not_tell_two_calls_apart() -> None:
    guard = LoopGuard()
    assert guard.count("look", {"a": 1, "b": {"c": 2, "d": 3}})[0] == 1
    assert guard.count("look", {"b": {"d": 3, "c": 2}, "a": 1})[0] == 2


@pytest.mark.parametrize(
    ("name", "arguments"), [("see", {"a": 1}), ("look", {"a": 2}), ("look", {"a": 1.0}), ("look", {})]
)
def test_another_tool_or_another_value_is_another_call(name: str, arguments: dict[str, float]) -> None:
    guard = LoopGuard()
    guard.count("look", {"a": 1})
    assert guard.count(name, arguments)[0] == 1


@pytest.mark.parametrize(("warn_at", "fail_at"), [(0, 2), (3, 3), (4, 2)])
def test_the_thresholds_must_ascend(warn_at: int, fail_at: int) -> None:
    with pytest.raises(ValueError, match="ascending"):
        LoopGuard(warn_at=warn_at, fail_at=fail_at)
