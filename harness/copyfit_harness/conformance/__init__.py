"""What any adapter must pass, ours or not: classes of tests to subclass, and model inputs to try it with.

Needs hypothesis and pytest, and is imported by tests alone.
"""

import pytest

pytest.register_assert_rewrite("copyfit_harness.conformance.client", "copyfit_harness.conformance.codec")
