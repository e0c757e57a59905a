"""Tell an input that is too long from every other error: lift the evidence first, judge it second, by a table.

`judge` takes what a client has at hand (a response, an exception, an event, an answer, text) and needs none of
their libraries; `explain` says in words why it judged so.
"""

from copyfit_adapters.overflow.explanation import explain
from copyfit_adapters.overflow.judge import Verdict, judge
from copyfit_adapters.overflow.rules import Kind

__all__ = ["Kind", "Verdict", "explain", "judge"]
