"""Read the goal of a run out of its contract."""

from dataclasses import dataclass
from typing import Any

from copyfit.state.values import read_object


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The contract as it was written, and the fields of a contract that is a JSON object."""

    raw: str
    objective: str | None = None
    constraints: tuple[str, ...] | None = None
    output_requirements: tuple[str, ...] | None = None


def read_goal(contract: str) -> Goal | None:
    """Return the goal that `contract` states, or None when it is blank.

    A field of the wrong type counts as absent.
    """
    raw = contract.strip()
    if not raw:
        return None
    stated = read_object(raw)
    objective = stated.get("objective")
    return Goal(
        raw=raw,
        objective=objective if isinstance(objective, str) else None,
        constraints=_texts(stated.get("constraints")),
        output_requirements=_texts(stated.get("outputRequirements")),
    )


def _texts(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None
