import pytest

from copyfit_harness.errors import ScriptEnded, ScriptUnplayed
from copyfit_harness.scripted.script import Script


def test_answers_come_in_order_and_each_once() -> None:
    with Script("ab") as script:
        assert (script.take("x"), script.left, script.take("y"), script.left) == ("a", 1, "b", 0)


def test_an_answer_that_is_left_fails_the_run() -> None:
    script = Script("abc")
    script.take("x")
    with pytest.raises(ScriptUnplayed) as raised:
        script.finish()
    assert (raised.value.left, raised.value.answers) == (2, 3)


def test_a_request_too_many_fails_at_once_and_again_at_the_end() -> None:
    script = Script("a")
    script.take("x")
    with pytest.raises(ScriptEnded, match="POST /y asked for one more"):
        script.take("POST /y")
    with pytest.raises(ScriptEnded):
        script.finish()


def test_an_error_on_its_way_out_is_not_covered_up() -> None:
    with pytest.raises(ZeroDivisionError), Script("a"):
        raise ZeroDivisionError
