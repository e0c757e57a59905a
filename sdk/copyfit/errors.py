"""Every error of the sdk.

CopyfitError
    SettingsError               a setting is wrong, or two settings contradict each other
    AssemblyError
        InvalidId               an id is malformed
        DuplicateId             an id is used twice
        RegistryFrozen          something was registered after the run began
        CollectionFailed        a required contributor failed
        ProtectedOverBudget     protected sections alone exceed the prompt budget
        ForgedRole              a contributor's message has a role other than user
        WindowCannotFit         what must be kept does not fit the input limit
        InvalidContext          the finished input breaks a rule of the validator
    HistoryUnreadable           a line of a stored history is no message
    StateError                  a state component is missing, keeps changing, or is no JSON
    ToolOutputError             a stored tool output cannot be read as asked
    ToolError                   a tool registry or batch of calls is malformed
    ProviderError
        ContextOverflow         the input is too long for the model
        RateLimited
        AuthFailed
        BadRequest
        Unavailable             no answer, or a server error
        MalformedReply          an answer that cannot be understood
            StreamBroken        a stream that ended before its end

Each error keeps its facts in attributes, says in one sentence what happened and what to do next, and chains its
cause.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class CopyfitError(Exception):
    """Base of every error that copyfit raises on purpose."""


class SettingsError(CopyfitError):
    """A setting has a value that is not allowed: `variable`, `value` and what is `allowed`."""

    def __init__(self, variable: str, value: object, allowed: str) -> None:
        super().__init__(f"{variable} is {value!r}; it must be {allowed}.")
        self.variable = variable
        self.value = value
        self.allowed = allowed


class AssemblyError(CopyfitError):
    """Base of the errors that stop an assembly before the provider is called.

    `reached` holds the records of the stages that it came through, in order.
    """

    reached: tuple[Any, ...] = ()


class InvalidId(AssemblyError):
    """`value` cannot be the id of a `kind` (contributor, factory, section or attachment)."""

    def __init__(self, kind: str, value: str, reason: str) -> None:
        super().__init__(f"This {kind} {reason}.")
        self.kind = kind
        self.value = value


class DuplicateId(AssemblyError):
    """The id `value` of a `kind` is used a second time."""

    def __init__(self, kind: str, value: str) -> None:
        super().__init__(f"Duplicate context {kind} id {value!r}; give each {kind} an id of its own.")
        self.kind = kind
        self.value = value


class RegistryFrozen(AssemblyError):
    """`contributor_id` was registered after the registry was frozen for its run."""

    def __init__(self, contributor_id: str) -> None:
        super().__init__(
            f"The contributor {contributor_id!r} came after the registry was frozen; register it before turn one."
        )
        self.contributor_id = contributor_id


class CollectionFailed(AssemblyError):
    """Required contributors failed; `reasons` maps their ids to why, `reports` holds what every one gave."""

    def __init__(self, reasons: Mapping[str, str], reports: Sequence[Any]) -> None:
        listed = "; ".join(f"{key}: {reason}" for key, reason in reasons.items())
        super().__init__(
            f"Required context contributor failed ({listed}); mend it, or register it with required=False."
        )
        self.reasons = dict(reasons)
        self.reports = tuple(reports)


class ProtectedOverBudget(AssemblyError):
    """The protected sections need `required` code points, `budget` are allowed."""

    def __init__(self, required: int, budget: int) -> None:
        super().__init__(
            f"Protected context sections require {required} characters, and "
            f"SCIENCE_AGENT_CONTEXT_PROMPT_BUDGET_CHARS allows {budget}: raise it or shorten the sections."
        )
        self.required = required
        self.budget = budget


class ForgedRole(AssemblyError):
    """The contributor `contributor_id` gave a message with `role`."""

    def __init__(self, contributor_id: str, role: str) -> None:
        super().__init__(
            f"Contributors may only add user messages; {contributor_id!r} gave one with role {role!r}."
        )
        self.contributor_id = contributor_id
        self.role = role


class WindowCannotFit(AssemblyError):
    """What must be kept needs `required` tokens, and the input `limit` is smaller."""

    def __init__(self, required: int, limit: int) -> None:
        super().__init__(
            f"The system prompt, tools, task, checkpoint, newest step and open calls require {required} tokens, "
            f"over the model-aware input budget of {limit}: use a larger window, a smaller output reserve, fewer "
            "tools or a shorter request."
        )
        self.required = required
        self.limit = limit


class InvalidContext(AssemblyError):
    """The finished input breaks `rule`; `where` names the section, tool or call."""

    def __init__(self, rule: str, where: str) -> None:
        super().__init__(f"The assembled context breaks a rule: {rule} ({where}).")
        self.rule = rule
        self.where = where


class HistoryUnreadable(CopyfitError):
    """Line `line` (counted from 1) of the history at `path` is no message, for `reason`."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(
            f"Line {line} of the history {path} is no message: {reason}; mend or remove that line, or start a new "
            "history under another name."
        )
        self.path = path
        self.line = line
        self.reason = reason


class StateError(CopyfitError):
    """A state view cannot be captured or read as asked; `component` is the id concerned."""

    def __init__(self, component: str, sentence: str) -> None:
        super().__init__(sentence)
        self.component = component


class ToolOutputError(CopyfitError):
    """A stored tool output cannot be read as asked; `ref` is the name that was given."""

    def __init__(self, ref: str, sentence: str) -> None:
        super().__init__(sentence)
        self.ref = ref


class ToolError(CopyfitError):
    """A tool registry or a batch of calls is malformed; `name` is the tool or call concerned."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.name = name


class ProviderError(CopyfitError):
    """A provider did not give an answer.

    `provider` and `model` say who, `status` is the HTTP status (None when there was none), `code` the provider's
    own code or type, `retryable` whether the same request may succeed later, `retry_after` the seconds that the
    provider asked for. A turn that gave up hangs its attempts on the error as `attempts`, in order.
    """

    def __init__(
        self,
        sentence: str,
        *,
        provider: str,
        model: str | None = None,
        status: int | None = None,
        code: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(sentence)
        self.provider = provider
        self.model = model
        self.status = status
        self.code = code
        self.retryable = retryable
        self.retry_after = retry_after
        self.attempts: tuple[Any, ...] = ()


class ContextOverflow(ProviderError):
    """The input is too long for the model.

    `limit_tokens` is the window that the provider named and `requested_tokens` what it counted, each None when
    it did not say; `combined` says that what it counted includes the longest answer asked for, so that a shorter
    one helps as well; `rule` names the rule that judged the error.
    """

    def __init__(
        self,
        sentence: str,
        *,
        limit_tokens: int | None = None,
        requested_tokens: int | None = None,
        combined: bool = False,
        rule: str = "",
        **facts: Any,
    ) -> None:
        super().__init__(sentence, **facts)
        self.limit_tokens = limit_tokens
        self.requested_tokens = requested_tokens
        self.combined = combined
        self.rule = rule


class RateLimited(ProviderError):
    """The provider wants fewer requests or tokens per time."""


class AuthFailed(ProviderError):
    """The key is missing, wrong, or not allowed to do this."""


class BadRequest(ProviderError):
    """The provider refuses this request for a reason other than its length."""


class Unavailable(ProviderError):
    """The provider cannot be reached, timed out, or failed by itself."""


class MalformedReply(ProviderError):
    """The answer cannot be understood."""


class StreamBroken(MalformedReply):
    """The stream ended before its end; `arrived` is the text that came until then."""

    def __init__(self, sentence: str, *, arrived: str = "", **facts: Any) -> None:
        super().__init__(sentence, **facts)
        self.arrived = arrived
