"""What any adapter must pass, ours or not: classes of tests to subclass, and model inputs to try it with.

`codec.CodecConformance` tries the pure functions with what `inputs.InputStrategies` draws,
`client.ClientConformance` the client, over httpx and, where it is installed, httpx2. Needs hypothesis and pytest
(the extra ``conformance``), and is imported by tests alone.
"""

import pytest

pytest.register_assert_rewrite("copyfit_harness.conformance.client", "copyfit_harness.conformance.codec")
