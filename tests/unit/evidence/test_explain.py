# SPDX-License-Identifier: Apache-2.0
"""A verdict is told in few lines that say no more than was established, and every code in it is documented."""

import re
from pathlib import Path

from actum.evidence.explain import explain
from actum.evidence.signers import KeyFault
from actum.evidence.verdict import Aspect
from tests.unit.evidence import samples
from tests.unit.evidence.samples import judge

ROOT = Path(__file__).resolve().parents[3]
EVIDENCE = ROOT / "src" / "actum" / "evidence"


def test_a_verdict_is_told_in_six_lines_and_what_is_not_covered() -> None:
    text = explain(judge(samples.small_ledger().bundle()))
    for aspect in Aspect:
        assert len(re.findall(rf"^{aspect.value} ", text, re.MULTILINE)) == 1
    assert "what is not covered: a rollback could hide every record after leaf 4" in text
    assert len(text.splitlines()) < 20


def test_a_long_list_of_contradictions_is_cut_and_counted() -> None:
    ledger = samples.Ledger()
    for number in range(60):
        ledger.receipt(number, looks=[])
    verdict = judge(ledger.bundle())
    assert verdict.problem_count == 60
    assert len(verdict.problems) == 50
    assert "60 contradictions:" in explain(verdict)
    assert "and 50 more" in explain(verdict)


def test_what_is_not_intact_is_not_judged_further() -> None:
    text = explain(judge(b"{}\n"))
    assert text.startswith("no readable bundle")
    assert text.count("not judged, because the bundle is not intact") == 5


def test_every_problem_code_is_documented_and_none_besides() -> None:
    page = (ROOT / "docs" / "reference" / "bundle.md").read_text()
    table = page.partition("## Problem codes")[2]
    documented = {
        code
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for code in re.findall("`([a-z_]+)`", row)
    }
    source = "".join(path.read_text() for path in sorted(EVIDENCE.glob("*.py")))
    raised = set(re.findall(r'(?:BundleFault\(\s*|_contradict\(\s*|_corrupt\(\s*)"([a-z_]+)"', source))
    raised |= {fault.value for fault in KeyFault}
    raised |= {fault.value.replace("signer", "grant") for fault in KeyFault}
    assert raised == documented
