# SPDX-License-Identifier: Apache-2.0
"""The state of a store is told as findings: what is wrong, how bad it is, and what to do.

Nothing is mended and nothing is written. A clean answer says that these checks found nothing, and no more.

Rules
1. A record that does not hold is `corrupt`; something to act upon is a `problem`; a `note` is only said.
2. What the machine says comes in as facts; this module reads the store and judges.
3. A dispatched or claimed row is overdue only past its lease and a grace.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator

import msgspec

from actum.model.delivery import OutboxState
from actum.model.errors import ActumError, CorruptRecordError
from actum.model.process import pattern_digest
from actum.model.question import QuestionReason
from actum.ports.store import RunnerRow, Tx
from actum.process.problems import ProcessFileError
from actum.service.line import Line

GRACE_MS = 60_000
DISK_LOW = 256 << 20
"""Bytes free on the store's disk below which a person should know."""

INDEPENDENCE = (
    "looks are made by another process of the same user (level L1): that guards against errors and lying tools; "
    "an agent that can run a shell as this user can read the keys and answer for you, so run it as another user "
    "or in a container"
)


class Severity(enum.Enum):
    """How bad a finding is."""

    CORRUPT = "corrupt"
    PROBLEM = "problem"
    NOTE = "note"


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that was found: a stable code, how bad it is, what it is, and what to do about it."""

    code: str
    severity: Severity
    sentence: str
    next_step: str = ""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine says of an open store's place (rule 2).

    ``behind_ms`` is how far the wall clock is behind the newest record; ``drafts`` are the names of drafts left.
    """

    engine: str
    engine_ok: bool
    disk_free: int
    behind_ms: int
    moved: bool
    drafts: tuple[str, ...]
    people_with_key: tuple[str, ...]
    user: str
    log_problems: tuple[str, ...]


def _line(text: str) -> str:
    # A finding is one line, also where a database or a rule says several.
    return " ".join(text.split())


def problem(code: str, sentence: str, next_step: str = "") -> Finding:
    """Return a finding to act upon."""
    return Finding(code=code, severity=Severity.PROBLEM, sentence=_line(sentence), next_step=next_step)


def corrupt(code: str, sentence: str, next_step: str = "") -> Finding:
    """Return a finding of a record that does not hold (rule 1)."""
    return Finding(code=code, severity=Severity.CORRUPT, sentence=_line(sentence), next_step=next_step)


def note(code: str, sentence: str, next_step: str = "") -> Finding:
    """Return something that is only said."""
    return Finding(code=code, severity=Severity.NOTE, sentence=_line(sentence), next_step=next_step)


def of_error(error: ActumError) -> Finding:
    """Return the finding an error comes to."""
    failed, state, next_step = error.sentences()
    kind = Severity.CORRUPT if isinstance(error, CorruptRecordError) else Severity.PROBLEM
    return Finding(code=error.code, severity=kind, sentence=_line(f"{failed} {state}"), next_step=next_step)


def examine(line: Line, machine: Machine) -> list[Finding]:
    """Return everything found in an open store, the worst first."""
    found = [
        *of_machine(machine),
        *_database(line),
        *(
            corrupt("log_differs", text, "Restore a backup and run `actum adopt`")
            for text in machine.log_problems
        ),
        *line.store.read(lambda tx: list(_rows(tx, line))),
        *_rules(line),
        note("independence", INDEPENDENCE),
    ]
    return worst_first(found)


def worst_first(found: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order of how bad they are, and otherwise as they were found."""
    order = list(Severity)
    return sorted(found, key=lambda one: order.index(one.severity))


def of_machine(machine: Machine) -> Iterator[Finding]:
    """Yield what is wrong with the machine and the place."""
    if not machine.engine_ok:
        yield problem("engine_old", f"SQLite {machine.engine} can corrupt a file that several processes write",
                      "Install a newer apsw")  # fmt: skip
    if machine.disk_free < DISK_LOW:
        yield problem("disk_low", f"{machine.disk_free >> 20} MiB are free on the store's disk",
                      "Free some space: a full disk stops every write")  # fmt: skip
    if machine.behind_ms > 0:
        yield problem(
            "clock_behind",
            f"the clock is {machine.behind_ms / 1000:.1f} s behind the newest record of this store",
            "Set the clock; until then nothing new is written",
        )
    if machine.moved:
        yield problem("store_moved", "this store was copied, restored or moved to another machine",
                      "Run `actum adopt`: nothing is dispatched before")  # fmt: skip
    if machine.drafts:
        names = ", ".join(machine.drafts[:3])
        yield problem(
            "drafts_left",
            f"{len(machine.drafts)} draft(s) lie in the store's folder: {names}; they may be stored already",
            "Look at them, then `actum submit` or remove each; work with a key is not stored twice",
        )
    if machine.user not in machine.people_with_key:
        yield note(
            "session_only",
            f"{machine.user} has no key here: the store's own key signs what {machine.user} answers",
            "A store made with a passphrase gives its owner a key; `actum init --person NAME` enrols others",
        )


def _database(line: Line) -> Iterator[Finding]:
    for text in line.store.check():
        if "reader keeps it" in text:
            yield problem("wal_large", text, "End the process that reads for so long")
        else:
            yield corrupt("database_damaged", text, "Keep a copy, restore a backup, and run `actum adopt`")


def _rows(tx: Tx, line: Line) -> Iterator[Finding]:
    now = _now(line)
    overdue = [
        row
        for row in tx.outbox_in(OutboxState.CLAIMED, OutboxState.DISPATCHED)
        if row.lease_until_ms is not None and row.lease_until_ms + GRACE_MS < now  # Rule 3
    ]
    if overdue:
        yield problem("rows_overdue", f"{len(overdue)} row(s) are past their lease: their runner stopped",
                      "Run `actum run`: it puts them in order and looks")  # fmt: skip
    counts = tx.outbox_counts()
    if counts.get("check_required"):
        yield problem("check_required", f"of {counts['check_required']} effect(s) nobody knows whether they happened",
                      "See `actum inbox`, or look again with `actum settle`")  # fmt: skip
    if counts.get("dead"):
        yield problem("dead_letters", f"{counts['dead']} effect(s) did not take hold and are not tried again",
                      "See `actum inbox`")  # fmt: skip
    yield from _runner(tx.runner(), now_ms=now, is_gone=line.is_gone)
    judgments = [one for one in tx.open_questions() if one.reason is QuestionReason.BINDING_MISMATCH]
    if judgments:
        yield problem("binding_mismatch", f"{len(judgments)} rule(s) depend on something that changed",
                      "See `actum inbox`")  # fmt: skip


def _now(line: Line) -> int:
    try:
        return line.now()
    except ActumError:  # A clock that is behind is a finding of its own; nothing is overdue by it.
        return 0


def _runner(
    runner: RunnerRow | None, *, now_ms: int, is_gone: Callable[[RunnerRow], bool]
) -> Iterator[Finding]:
    if runner is None or runner.lease_until_ms <= now_ms or not now_ms:
        return
    where = f"pid {runner.pid} on {runner.host}"
    if is_gone(runner):
        yield note("runner_gone", f"the last runner ({where}) stopped without giving its lease back",
                   "The next `actum run` takes over")  # fmt: skip
    else:
        yield note("runner_elsewhere", f"a runner ({where}) dispatches from this store")


def _rules(line: Line) -> Iterator[Finding]:
    try:
        rulebook, _ = line.rules.active()
    except ProcessFileError as error:
        # Whoever mends a file wants all of it at once.
        yield from (problem(error.code, str(one), error.next_step) for one in error.problems)
        return
    except ActumError as error:
        yield of_error(error)
        return
    for one in getattr(line.rules, "findings", ()):
        yield note("process_finding", str(one))
    waiting = [
        f"{pattern.id} ({pattern_digest(process, pattern)})"
        for process in rulebook.processes
        for pattern in process.patterns
        if pattern.active
        and pattern.then.stage
        and pattern_digest(process, pattern) not in rulebook.confirmed
    ]
    if waiting:
        yield note("patterns_unconfirmed",
                   f"{len(waiting)} pattern(s) decide and do not propose, because nobody confirmed them: "
                   f"{', '.join(waiting[:5])}",
                   "Read them in the process file, then `actum confirm DIGEST`")  # fmt: skip
    reasons = any(step.kind.value == "reasoning" for process in rulebook.processes for step in process.steps)
    if reasons and line.models is None:
        yield note("no_model", "no model is configured, so every reasoning step goes to a person",
                   "Configure [models.fast] in actum.toml if a model should be asked")  # fmt: skip
