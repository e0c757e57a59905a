import gc

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import UserMessage


def test_equal_messages_are_remembered_apart() -> None:
    memo: IdentityMemo[str] = IdentityMemo()
    first, second = UserMessage(content="same"), UserMessage(content="same")
    memo.keep(first, "first")
    assert (memo.get(first), memo.get(second)) == ("first", None)
    memo.keep(second, "second")
    assert (memo.get(first), memo.get(second)) == ("first", "second")


def test_a_value_kept_again_takes_the_place_of_the_first() -> None:
    memo: IdentityMemo[int] = IdentityMemo()
    message = UserMessage(content="x")
    memo.keep(message, 1)
    memo.keep(message, 2)
    gc.collect()
    assert (memo.get(message), len(memo)) == (2, 1)


def test_what_is_remembered_goes_with_its_message() -> None:
    memo: IdentityMemo[int] = IdentityMemo()
    kept = UserMessage(content="kept")
    memo.keep(kept, -1)
    for number in range(100):
        memo.keep(UserMessage(content=str(number)), number)
    gc.collect()
    assert (len(memo), memo.get(kept)) == (1, -1)
