import json

from copyfit.state.goal import Goal, read_goal


def test_a_contract_in_json_gives_its_fields_and_its_exact_text() -> None:
    """Case: DUR-02."""
    contract = json.dumps(
        {
            "objective": "map the field",
            "constraints": ["public data"],
            "outputRequirements": ["a table", "a note"],
        },
        indent=1,
    )
    assert read_goal(contract) == Goal(
        raw=contract,
        objective="map the field",
        constraints=("public data",),
        output_requirements=("a table", "a note"),
    )


def test_a_plain_contract_is_only_its_text() -> None:
    """Case: DUR-28."""
    assert read_goal(" plain text\n") == Goal(raw="plain text")


def test_a_blank_contract_is_no_goal() -> None:
    """Case: DUR-28."""
    assert read_goal(" \n") is None


def test_a_field_of_the_wrong_type_is_left_out() -> None:
    contract = '{"objective": 5, "constraints": ["a", 1], "outputRequirements": []}'
    assert read_goal(contract) == Goal(raw=contract, output_requirements=())
