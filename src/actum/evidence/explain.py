# SPDX-License-Identifier: Apache-2.0
"""A verdict is told in a dozen short lines, and no line says more than was established."""

from __future__ import annotations

from actum.evidence.verdict import Verdict, count_of

MAX_SHOWN = 10
_STATE_WIDTH = len("not established")
_ASPECT_WIDTH = len("anchored")


def explain(verdict: Verdict) -> str:
    """Return the verdict as text for a person, ending with a newline."""
    lines = [_head(verdict), ""]
    for finding in verdict.findings:
        state = finding.state.value.replace("_", " ").ljust(_STATE_WIDTH)
        lines.append(f"{finding.aspect.value.ljust(_ASPECT_WIDTH)}  {state}  {finding.sentence}")
        if finding.by:
            lines.append(f"{' ' * (_ASPECT_WIDTH + _STATE_WIDTH + 4)}by {', '.join(finding.by)}")
    if verdict.statuses:
        lines += ["", "newest receipts: " + ", ".join(f"{n} {s}" for s, n in verdict.statuses.items())]
    if verdict.problem_count:
        lines += ["", f"{count_of(verdict.problem_count, 'contradiction')}:"]
        shown = verdict.problems[:MAX_SHOWN]
        lines += [f"  line {problem.line}: {problem.code}: {problem.sentence}" for problem in shown]
        if verdict.problem_count > len(shown):
            lines.append(f"  and {verdict.problem_count - len(shown)} more")
    lines += ["", f"what is not covered: {verdict.could_hide}"]
    required = ", ".join(aspect.value for aspect in verdict.require) or "nothing"
    lines.append(f"required: {required}: {_outcome(verdict.exit_code)}")
    return "\n".join(lines) + "\n"


def _head(verdict: Verdict) -> str:
    if verdict.origin is None:
        return "no readable bundle"
    root = f", root {verdict.root}" if verdict.root else ""
    what = [count_of(verdict.tree_size, "record"), count_of(verdict.receipts, "receipt")]
    if verdict.withheld:
        what.append(f"{verdict.withheld} withheld")
    return f"{verdict.origin}: {', '.join(what)}{root}"


def _outcome(code: int) -> str:
    return {0: "met", 3: "not met", 4: "the bundle does not hold"}[code]
