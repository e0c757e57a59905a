"""Take in what the contributors gave, each whole or not at all, and bring it into its final order."""

from collections.abc import Collection, Iterator

from copyfit.errors import CollectionFailed, DuplicateId
from copyfit.ports.contributor import ContextContributor
from copyfit.shapes.contributions import (
    ATTACHMENT_HARD_CAP_CHARS,
    SECTION_HARD_CAP_CHARS,
    Contribution,
    Diagnostic,
    check_id,
)
from copyfit.shapes.stages import (
    Collected,
    ContributorReport,
    PlacedAttachment,
    PlacedMessage,
    PlacedSection,
)


class Intake:
    """What one collection has accepted so far; contributors come in the order of their ids."""

    def __init__(self) -> None:
        self._sections: dict[str, PlacedSection] = {}
        self._attachments: dict[str, PlacedAttachment] = {}
        self._messages: list[PlacedMessage] = []
        self._diagnostics: list[Diagnostic] = []
        self._reports: list[ContributorReport] = []

    def take(
        self, contributor: ContextContributor, outcome: Contribution | BaseException, *, duration_ms: float
    ) -> None:
        """Accept the `outcome` of `contributor`, or report why it failed; `required` counts unless it is False."""
        contribution = outcome if isinstance(outcome, Contribution) else None
        error = _failure(outcome) if contribution is None else next(self._faults(contribution), None)
        required = getattr(contributor, "required", True) is not False
        self._reports.append(
            ContributorReport(
                contributor_id=contributor.id,
                required=required,
                status="contributed" if error is None else "failed",
                duration_ms=duration_ms,
                contribution=contribution,
                error=error,
            )
        )
        if error is None and contribution is not None:
            self._accept(contributor.id, contribution)
        elif not required:
            self._diagnostics.append(
                Diagnostic(
                    code="CONTRIBUTOR_FAILED",
                    message=f"The optional contributor {contributor.id!r} failed and gives nothing: {error}",
                    contributor_id=contributor.id,
                )
            )

    def collected(self) -> Collected:
        """Return everything accepted, in its final order.

        Raises:
            CollectionFailed: a required contributor failed.

        """
        fatal = {
            report.contributor_id: report.error
            for report in self._reports
            if report.required and report.error is not None
        }
        if fatal:
            raise CollectionFailed(fatal, self._reports)
        return Collected(
            sections=tuple(sorted(self._sections.values(), key=lambda placed: placed.sort_key)),
            messages=tuple(self._messages),
            attachments=tuple(
                sorted(
                    self._attachments.values(), key=lambda placed: (placed.contributor_id, placed.attachment.id)
                )
            ),
            diagnostics=tuple(self._diagnostics),
            reports=tuple(self._reports),
        )

    def _accept(self, giver: str, contribution: Contribution) -> None:
        self._sections.update((section.id, PlacedSection(section, giver)) for section in contribution.sections)
        self._attachments.update((each.id, PlacedAttachment(each, giver)) for each in contribution.attachments)
        self._messages.extend(PlacedMessage(message, giver) for message in contribution.messages)
        self._diagnostics.extend(
            diagnostic.model_copy(update={"contributor_id": giver}) for diagnostic in contribution.diagnostics
        )

    def _faults(self, contribution: Contribution) -> Iterator[str]:
        """Yield why `contribution` cannot be accepted; it may have been built without validation."""
        sections, attachments = contribution.sections, contribution.attachments
        yield from _id_faults("section", [section.id for section in sections], self._sections)
        yield from _id_faults("attachment", [attachment.id for attachment in attachments], self._attachments)
        for section in sections:
            if not section.content.strip():
                yield f"section {section.id!r} is blank; leave it out instead"
            if len(section.content) > SECTION_HARD_CAP_CHARS:
                yield (
                    f"section {section.id!r} is too large: {len(section.content)} characters, "
                    f"{SECTION_HARD_CAP_CHARS} are allowed"
                )
        for attachment in attachments:
            if len(attachment.content) > ATTACHMENT_HARD_CAP_CHARS:
                yield (
                    f"attachment {attachment.id!r} is too large: {len(attachment.content)} characters, "
                    f"{ATTACHMENT_HARD_CAP_CHARS} are allowed"
                )


def _id_faults(kind: str, ids: list[str], taken: Collection[str]) -> Iterator[str]:
    seen = set(taken)
    for value in ids:
        try:
            check_id(value)
        except ValueError as error:
            yield f"{kind} {error}"
        if value in seen:
            yield str(DuplicateId(kind, value))
        seen.add(value)


def _failure(outcome: object) -> str:
    if isinstance(outcome, BaseException):
        return str(outcome) or type(outcome).__name__
    return f"gave {type(outcome).__name__} where a Contribution belongs"
