import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.shapes.growing import Growing

items = st.lists(st.integers(0, 9), max_size=4)
growth = st.tuples(st.integers(0, 20), st.sampled_from(["extended", "followed_by"]), items, items)


@given(items, items, st.lists(growth, max_size=12))
def test_whatever_grows_out_of_it_a_sequence_stays_what_it_is(
    first: list[int], tail: list[int], steps: list[tuple[int, str, list[int], list[int]]]
) -> None:
    made = [(Growing(first, tail=tail), [*first], [*tail])]
    for place, how, more, end in steps:
        base, shared, own = made[place % len(made)]
        if how == "extended":
            made.append((base.extended(more, tail=end), [*shared, *more], end))
        else:
            made.append((base.followed_by(more), shared, [*own, *more]))
    for growing, shared, own in made:
        assert list(growing) == [*shared, *own]
        assert growing.shared == len(shared)


@given(items, items, st.integers(-10, 10) | st.slices(10))
def test_it_is_indexed_like_a_tuple(shared: list[int], tail: list[int], index: int | slice) -> None:
    growing, same = Growing(shared, tail=tail), (*shared, *tail)
    try:
        expected = same[index]
    except IndexError:
        with pytest.raises(IndexError):
            growing[index]
    else:
        assert growing[index] == expected


@given(items, items, items)
def test_it_compares_and_hashes_like_a_tuple(shared: list[int], tail: list[int], other: list[int]) -> None:
    growing = Growing(shared, tail=tail)
    assert growing == (*shared, *tail) == growing
    assert hash(growing) == hash((*shared, *tail))
    assert (growing == Growing(other)) == ([*shared, *tail] == other)
    assert growing != [*shared, *tail]


def test_growing_at_the_end_shares_and_going_on_from_an_earlier_one_copies() -> None:
    base = Growing("ab", tail="x")
    left = base.extended("c")
    right = base.extended("d")
    assert (base.shared_with(left), left.shared_with(left.extended("e"))) == (2, 3)
    assert (base.shared_with(right), left.shared_with(right)) == (0, 0)
    assert (tuple(base), tuple(left), tuple(right)) == (("a", "b", "x"), ("a", "b", "c"), ("a", "b", "d"))


def test_the_tail_is_never_said_to_be_shared() -> None:
    base = Growing("ab", tail="c")
    assert base.shared_with(base.followed_by("d")) == 2


@pytest.mark.parametrize(
    ("longer", "shorter", "expected"),
    [
        (Growing("abc"), Growing("ab"), True),
        (Growing("ab", tail="c"), Growing("a", tail="b"), True),
        (Growing("abc"), Growing("ac"), False),
        (Growing("ab"), Growing("abc"), False),
        (Growing("ab"), Growing[str](), True),
    ],
)
def test_it_knows_its_beginning_whether_or_not_it_grew_there(
    longer: Growing[str], shorter: Growing[str], expected: bool
) -> None:
    assert longer.begins_with(shorter) is expected
    assert longer.extended("z").begins_with(longer) == (longer.shared == len(longer))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_is_equal_and_grows_by_itself(copied: object) -> None:
    growing = Growing("ab", tail="c")
    other = copied(growing)  # type: ignore[operator]
    assert (other, other.shared) == (growing, 2)
    assert other.extended("x") == ("a", "b", "x")
    assert growing.extended("y") == ("a", "b", "y")


class Hesitant(list[int]):
    """A list that lets every other thread go first between being asked for its length and telling it."""

    def __len__(self) -> int:
        length = super().__len__()
        time.sleep(0.02)
        return length


def test_threads_that_go_on_from_one_sequence_do_not_see_each_other() -> None:
    base = Growing([-1, -2])
    base._log.items = Hesitant(base)
    barrier = Barrier(4)

    def grow(name: int) -> Growing[int]:
        barrier.wait()
        return base.extended([name])

    with ThreadPoolExecutor(4) as pool:
        grown = list(pool.map(grow, range(4)))
    assert [tuple(each) for each in grown] == [(-1, -2, name) for name in range(4)]
    assert tuple(base) == (-1, -2)
    assert sum(base.shared_with(each) for each in grown) == 2
