"""The pytest plugin, seen from a project that uses it, in a pytest of its own."""

import socket
from collections.abc import Callable

import pytest

Run = Callable[..., pytest.RunResult]

SERVER = """
    import http.server, threading
    import httpx, pytest

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *args):
            pass

    @pytest.fixture(scope="session")
    def port():
        with http.server.HTTPServer(("127.0.0.1", {port}), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            yield server.server_port
            server.shutdown()
            thread.join()

    def ask(recorder, text):
        with httpx.Client(transport=recorder.transport()) as client:
            return client.post("http://127.0.0.1:{port}/v1", json={{"text": text}}).text
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest in a process of its own, with no plugin but ours and outside of any build server."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run_pytest(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "copyfit_pytest", *arguments)

    return run_pytest


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Give a project whose one test sends one request to its own server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pytester.makeconftest(SERVER.format(port=port))
    pytester.makepyfile(
        test_agent="""
        from conftest import ask

        def test_asks(recorder, request):
            if request.config.getoption("--copyfit-record") != "none":
                request.getfixturevalue("port")
            assert ask(recorder, "hello") == "ok"
        """
    )
    return pytester


def test_recording_once_then_replaying_needs_no_server(project: pytest.Pytester, run: Run) -> None:
    run("--copyfit-record=once").assert_outcomes(passed=1)
    assert (project.path / "cassettes/test_agent/test_asks.yaml").is_file()
    run().assert_outcomes(passed=1)


def test_replay_without_a_cassette_says_how_to_record_one(project: pytest.Pytester, run: Run) -> None:
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*No cassette at *test_asks.yaml: record it first *--copyfit-record=once*"])


@pytest.mark.parametrize("mode", ["once", "new", "all"])
def test_on_a_build_server_recording_is_refused(
    project: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("CI", "true")
    result = run(f"--copyfit-record={mode}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--copyfit-record={mode} is refused where CI is set*"])
    assert not (project.path / "cassettes").exists()


@pytest.mark.parametrize("value", ["", "0", "false"])
def test_a_false_ci_variable_is_no_build_server(
    project: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CI", value)
    run("--copyfit-record=once").assert_outcomes(passed=1)


def test_an_unknown_mode_is_refused(project: pytest.Pytester, run: Run) -> None:
    assert run("--copyfit-record=sometimes").ret == pytest.ExitCode.USAGE_ERROR


def test_a_mismatch_fails_the_test_and_shows_the_difference(project: pytest.Pytester, run: Run) -> None:
    run("--copyfit-record=once").assert_outcomes(passed=1)
    source = project.path / "test_agent.py"
    source.write_text(source.read_text().replace('"hello"', '"hullo"'))
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*~ text: differs from code point 1 on*", "*recorded: hello*", "*sent: *hullo*"])


def test_a_mismatch_that_the_code_swallowed_fails_the_test_in_teardown(project: pytest.Pytester, run: Run) -> None:
    run("--copyfit-record=once").assert_outcomes(passed=1)
    project.makepyfile(
        test_agent="""
        import contextlib
        from conftest import ask

        def test_asks(recorder):
            ask(recorder, "hello")
            with contextlib.suppress(Exception):
                ask(recorder, "something else")
        """
    )
    result = run()
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_asks*", "*~ text: differs*"])


def test_an_exchange_that_was_never_asked_for_fails_the_test(project: pytest.Pytester, run: Run) -> None:
    run("--copyfit-record=once").assert_outcomes(passed=1)
    project.makepyfile(test_agent="def test_asks(recorder): pass")
    result = run()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*1 recorded exchange(s) of *test_asks.yaml were never asked for*"])


def test_a_test_that_failed_or_skipped_by_itself_is_not_blamed_for_what_it_left_unplayed(
    project: pytest.Pytester, run: Run
) -> None:
    run("--copyfit-record=once").assert_outcomes(passed=1)
    for line, outcome in (("assert 0", {"failed": 1}), ("pytest.skip('no')", {"skipped": 1})):
        project.makepyfile(test_agent=f"import pytest\ndef test_asks(recorder): {line}")
        run().assert_outcomes(**outcome)


def test_an_interrupted_test_ends_pytest_as_an_interruption_and_nothing_else(
    project: pytest.Pytester, run: Run
) -> None:
    run("--copyfit-record=once").assert_outcomes(passed=1)
    project.makepyfile(test_agent="def test_asks(recorder): raise KeyboardInterrupt")
    result = run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "CassetteUnplayed" not in result.stderr.str()


def test_the_marker_names_the_cassette_and_the_option_its_folder(project: pytest.Pytester, run: Run) -> None:
    source = project.path / "test_agent.py"
    marked = source.read_text().replace(
        "def test_asks", "@pytest.mark.copyfit_cassette('a/b.yaml')\ndef test_asks"
    )
    source.write_text(f"import pytest\n{marked}")
    run("--copyfit-record=once", "--copyfit-cassettes=kept").assert_outcomes(passed=1)
    assert (project.path / "kept/a/b.yaml").is_file()
    project.makeini("[pytest]\ncopyfit_cassettes = kept")
    run().assert_outcomes(passed=1)


def test_parameters_that_differ_in_forbidden_characters_get_two_cassettes(
    project: pytest.Pytester, run: Run
) -> None:
    project.makepyfile(
        test_agent="""
        import pytest
        from conftest import ask

        @pytest.mark.parametrize("text", ["a/b", "a?b", "plain"])
        def test_asks(recorder, port, text):
            assert ask(recorder, text) == "ok"
        """
    )
    run("--copyfit-record=once").assert_outcomes(passed=3)
    names = sorted(path.name for path in (project.path / "cassettes/test_agent").iterdir())
    assert len(names) == 3
    assert "test_asks-plain.yaml" in names


def test_a_project_sets_loosenings_and_redaction_by_overriding_fixtures(
    project: pytest.Pytester, run: Run
) -> None:
    project.makepyfile(
        test_agent="""
        import os, pytest
        from dataclasses import replace
        from conftest import ask
        from copyfit_harness.cassettes.matching import ignoring
        from copyfit_harness.wire.secrets import BODY_FIELDS

        @pytest.fixture
        def copyfit_redaction(copyfit_redaction):
            return replace(copyfit_redaction, body_fields=BODY_FIELDS | {"text"})

        def test_asks(recorder, request):
            if request.config.getoption("--copyfit-record") != "none":
                request.getfixturevalue("port")
            assert ask(recorder, str(os.getpid())) == "ok"
        """
    )
    run("--copyfit-record=once").assert_outcomes(passed=1)
    assert "REDACTED" in (project.path / "cassettes/test_agent/test_asks.yaml").read_text()
    run().assert_outcomes(passed=1)


NETWORK_TEST = """
import contextlib, socket, pytest

{marker}
def test_goes_out():
    with contextlib.suppress({suppressed}):
        socket.create_connection(("192.0.2.1", 80), timeout=0.01)

def test_stays_here():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
"""


def test_the_gate_is_open_until_the_project_closes_it(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(NETWORK_TEST.format(marker="", suppressed="OSError"))
    run().assert_outcomes(passed=2)


@pytest.mark.parametrize("how", ["setting", "option"])
def test_a_closed_gate_refuses_the_outside_and_leaves_loopback(
    pytester: pytest.Pytester, run: Run, how: str
) -> None:
    pytester.makepyfile(NETWORK_TEST.format(marker="", suppressed="OSError"))
    if how == "setting":
        pytester.makeini("[pytest]\ncopyfit_block_network = true")
    result = run(*(["--copyfit-block-network"] if how == "option" else []))
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*LiveCallBlocked: A connection to 192.0.2.1:80 was refused*"])


def test_a_swallowed_refusal_fails_the_test_in_teardown(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(NETWORK_TEST.format(marker="", suppressed="Exception"))
    result = run("--copyfit-block-network")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*A connection to 192.0.2.1:80 was refused: the test went on without it*"])


def test_a_marked_test_is_let_out_if_it_says_why(pytester: pytest.Pytester, run: Run) -> None:
    marker = "@pytest.mark.copyfit_network(reason='tries the real thing')"
    pytester.makepyfile(NETWORK_TEST.format(marker=marker, suppressed="OSError"))
    run("--copyfit-block-network").assert_outcomes(passed=2)
    pytester.makepyfile(NETWORK_TEST.format(marker="@pytest.mark.copyfit_network", suppressed="OSError"))
    result = run("--copyfit-block-network")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_goes_out: write copyfit_network(reason=*"])


def test_a_project_that_uses_nothing_of_it_loads_none_of_the_harness(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_light():
            loaded = {name.partition(".")[0] for name in sys.modules}
            assert "copyfit_pytest" in loaded
            assert not loaded & {"copyfit", "copyfit_harness", "httpx", "httpx2", "yaml", "pydantic"}
        """
    )
    run().assert_outcomes(passed=1)


def test_pytest_finds_the_plugin_by_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    result = pytester.runpytest_subprocess("--copyfit-record=none")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["plugins: *copyfit-*"])


def test_the_options_do_not_collide_with_the_recorders_people_have(pytester: pytest.Pytester, run: Run) -> None:
    result = run("--help", "--markers")
    text = result.stdout.str()
    assert "--copyfit-record" in text
    for taken in ("--record-mode", "--block-network", "--vcr"):
        assert f" {taken}" not in text
