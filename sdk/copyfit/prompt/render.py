"""Render admitted sections to one system prompt."""

from copyfit.shapes.stages import Admitted, RenderedPrompt

SEPARATOR = "\n"
"""What stands between two sections; the admission budget counts one code point for it."""


class DeterministicSystemPromptRenderer:
    """Joins sections in their order, with nothing added: the same sections always give the same bytes."""

    def render(self, admitted: Admitted) -> RenderedPrompt:
        """Return the system prompt of the `admitted` sections, empty when there are none."""
        placed = sorted(admitted.sections, key=lambda each: each.sort_key)
        return RenderedPrompt(
            SEPARATOR.join(each.section.content for each in placed if each.section.content),
            tuple(each.section.id for each in placed),
        )
