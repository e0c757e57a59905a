import json

import pytest

from copyfit.runtime.deferred import DeferredTools, PreferWhen
from copyfit.shapes.tools import ToolSpec

CATALOGUE = {
    "fold_protein": "Predict the shape of a protein.",
    "align_protein": "Align two sequences.",
    "plot_spectrum": "Draw a mass spectrum.",
    "read_spectrum": "Read a spectrum of a protein from a file.",
    "weigh": "Weigh a sample [kg].",
}


def deferred(
    catalogue: dict[str, str] = CATALOGUE,
    *,
    prefer: dict[str, PreferWhen] | None = None,
    hide: str = "",
) -> DeferredTools:
    specs = {name: ToolSpec(name=name, description=description) for name, description in catalogue.items()}
    return DeferredTools(specs, prefer or {}, lambda name: name != hide)


def found(tools: DeferredTools, query: str) -> list[str]:
    return [tool["name"] for tool in json.loads(tools.search(query))["tools"]]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("select:weigh,fold_protein", ["fold_protein", "weigh"]),
        ("select: weigh , nothing", ["weigh"]),
        ("+protein", ["fold_protein", "align_protein"]),
        ("+PROTEIN sequences align", ["align_protein", "fold_protein"]),
        ("+absent protein", []),
        ("spectrum|protein", ["fold_protein", "align_protein", "plot_spectrum", "read_spectrum"]),
        ("protein", ["fold_protein", "align_protein", "read_spectrum"]),
        ("^WEI", ["weigh"]),
        ("[kg", ["weigh"]),
        ("+", []),
        ("  ", []),
    ],
)
def test_a_search_finds_by_name_by_word_or_by_pattern(query: str, names: list[str]) -> None:
    assert found(deferred(), query) == names


@pytest.mark.parametrize("query", ["tool", "+tool", "tool|Tool[[:alpha:]]"])
def test_a_search_by_word_or_pattern_promotes_five_at_most(query: str) -> None:
    many = deferred({f"tool_{number}": "" for number in range(9)})
    assert found(many, query) == [f"tool_{number}" for number in range(5)]
    assert many.hidden == {f"tool_{number}" for number in range(5, 9)}


def test_a_search_by_name_promotes_as_many_as_it_names() -> None:
    many = deferred({f"tool_{number}": "" for number in range(9)})
    assert len(found(many, "select:" + ",".join(f"tool_{number}" for number in range(9)))) == 9
    assert many.hidden == set()


def test_what_is_found_stays_promoted_and_comes_back_as_a_schema() -> None:
    tools = deferred()
    (schema,) = json.loads(tools.search("select:weigh"))["tools"]
    assert schema == {
        "name": "weigh",
        "description": "Weigh a sample [kg].",
        "parameters": {"type": "object", "properties": {}},
    }
    found(tools, "select:fold_protein")
    assert tools.hidden == CATALOGUE.keys() - {"weigh", "fold_protein"}


def test_a_search_that_finds_nothing_promotes_nothing_and_lists_the_names() -> None:
    tools = deferred()
    assert "align_protein, fold_protein" in json.loads(tools.search("xyzzy"))["message"]
    assert tools.hidden == CATALOGUE.keys()


def test_a_tool_that_cannot_be_used_is_not_found_and_not_named() -> None:
    tools = deferred(hide="weigh")
    assert found(tools, "select:weigh") == []
    assert "weigh" not in "".join(tools.prompt_sections())


def test_the_prompt_names_every_deferred_tool_sorted_also_when_promoted() -> None:
    tools = deferred()
    before = tools.prompt_sections()
    found(tools, "select:weigh")
    assert tools.prompt_sections() == before
    (section,) = before
    assert section.endswith(": align_protein, fold_protein, plot_spectrum, read_spectrum, weigh")


def test_the_request_promotes_the_three_preferred_tools_of_highest_priority() -> None:
    prefer = {name: PreferWhen(("Protein", "蛋白"), priority=rank) for rank, name in enumerate(CATALOGUE)}
    tools = deferred(prefer=prefer)
    tools.promote_preferred("fold this 蛋白 please")
    assert tools.hidden == {"fold_protein", "align_protein"}


def test_a_request_that_mentions_no_keyword_promotes_nothing() -> None:
    tools = deferred(prefer={"weigh": PreferWhen(("mass",))})
    tools.promote_preferred("how long is it?")
    assert tools.hidden == CATALOGUE.keys()


def test_the_prompt_hints_at_preferred_tools_deferred_or_not() -> None:
    tools = deferred(prefer={"weigh": PreferWhen(("mass", "weight")), "scan": PreferWhen(("image",))})
    hints = tools.prompt_sections()[-1]
    assert hints.splitlines()[1:] == ["- scan: image", "- weigh: mass, weight"]


def test_without_deferred_and_preferred_tools_the_prompt_says_nothing() -> None:
    assert deferred({}).prompt_sections() == ()
