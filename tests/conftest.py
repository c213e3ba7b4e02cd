# SPDX-License-Identifier: Apache-2.0
"""Every run is repeatable, and under ACTUM_REQUIRE_ALL=1 a skipped test fails the run."""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

from actum.testing.require import everything_is_required, may_be_absent

# Examples are derived from the test itself: no clock, no stored database, the same cases each time.
settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# A mutant only has to fail: the smallest failing example is of no interest there.
settings.register_profile(
    "mutant",
    parent=settings.get_profile("repeatable"),
    phases=[Phase.explicit, Phase.generate],
    report_multiple_bugs=False,
)
settings.load_profile("mutant" if os.environ.get("ACTUM_MUTANT") == "1" else "repeatable")


def _reason(report: pytest.TestReport) -> str:
    """The text after "Skipped: ", whatever form the report carries it in."""
    longrepr = report.longrepr
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return text.removeprefix("Skipped: ")


def _forbidden_skips(terminal: object) -> list[str]:
    reports = getattr(terminal, "stats", {}).get("skipped", [])
    return [f"{r.nodeid}: {_reason(r)}" for r in reports if not may_be_absent(_reason(r))]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run that must have everything does not end well with a skip in it."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or not everything_is_required():
        return
    ended_well = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if ended_well and _forbidden_skips(terminal):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: object) -> None:
    """Name each skip that ACTUM_REQUIRE_ALL=1 forbids."""
    forbidden = _forbidden_skips(terminalreporter) if everything_is_required() else []
    if forbidden:
        terminalreporter.section("skipped although ACTUM_REQUIRE_ALL=1", red=True)  # type: ignore[attr-defined]
        for line in forbidden:
            terminalreporter.line(line)  # type: ignore[attr-defined]
