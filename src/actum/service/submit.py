# SPDX-License-Identifier: Apache-2.0
"""Work comes in once: stored before anybody is told, redacted before it is stored, and walked from there.

Rules
1. Secrets are taken out of a subject and its attachments before anything is kept.
2. The same key of the same principal is the same work item; another subject under it is a conflict.
3. A work type that no process takes is stored and fails visibly; nothing is dropped.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import msgspec

from actum.kernel.redaction import Finding, redact
from actum.model import foreign
from actum.model.activity import FailureCategory
from actum.model.errors import InvariantViolation, RefusedError, UsageError
from actum.model.work import StepState, StepVisit, Submission, Turn, TurnReason, WorkItem
from actum.ports.store import Tx
from actum.service import content
from actum.service.line import Line
from actum.service.rows import failed
from actum.service.standing import refresh
from actum.service.view import TurnView, find_process
from actum.service.walk import walk_loaded

NO_PROCESS = "no_process"


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """A stored submission: its turn, and whether it was there already."""

    work_item_id: str
    turn_id: str
    known: bool


class _Ready(msgspec.Struct, kw_only=True):
    """A submission with everything done that needs no transaction."""

    submission: Submission
    subject: bytes
    subject_value: dict[str, Any]
    attachments: dict[str, bytes]
    findings: tuple[Finding, ...]
    view: TurnView | None = None


def submit(line: Line, submission: Submission, *, principal: str | None = None) -> Accepted:
    """Store one submission and walk it as far as it goes."""
    return submit_many(line, [submission], principal=principal)[0]


def submit_many(
    line: Line, submissions: Sequence[Submission], *, principal: str | None = None
) -> list[Accepted]:
    """Store submissions in one commit, then walk each turn; the answers are in the order given."""
    who = principal or line.principal
    ready = [_prepare(submission) for submission in submissions]
    line.rules.active()  # Activates new rules in a commit of its own, before ours begins.
    accepted = line.store.write(lambda tx: [_store(line, tx, one, principal=who) for one in ready])
    for one in ready:
        if one.view is not None:
            walk_loaded(line, one.view)
    return accepted


def _prepare(submission: Submission) -> _Ready:
    # Rule 1
    subject, findings = redact(submission.subject)
    attachments: dict[str, bytes] = {}
    for name, text in (submission.attachments or {}).items():
        try:
            body, more = redact(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError) as error:
            raise UsageError(
                "attachment_not_base64",
                failed=f"the attachment {name!r} is not standard base64",
                state="This work item was not stored",
                next_step="Encode the attachment's bytes with padding, or leave it out",
                attachment=name,
            ) from error
        attachments[name] = body
        findings = (*findings, *more)
    value = foreign.from_plain(subject)
    return _Ready(
        submission=submission,
        subject=foreign.encode_foreign(value),
        subject_value=value,
        attachments=attachments,
        findings=findings,
    )


def _store(line: Line, tx: Tx, ready: _Ready, *, principal: str) -> Accepted:
    submission = ready.submission
    digest = content.keep(line, tx, ready.subject)
    if submission.key is not None:
        found = tx.find_work_item(principal=principal, key=submission.key)
        if found is not None:
            return _same(tx, found, digest=digest, submission=submission)
    now = line.now()
    item = WorkItem(
        work_item_id=line.ids.ulid(now),
        tenant=tx.tenant,
        principal=principal,
        work_type=submission.work_type,
        subject_digest=digest,
        key=submission.key,
        on_behalf_of=submission.on_behalf_of,
        received_at_ms=now,
    )
    tx.add_work_item(item)
    turn_id = start_turn(line, tx, item, ready=ready, reason=TurnReason.SUBMITTED)
    _note(line, tx, turn_id, ready)
    return Accepted(work_item_id=item.work_item_id, turn_id=turn_id, known=False)


def _same(tx: Tx, item: WorkItem, *, digest: str, submission: Submission) -> Accepted:
    # Rule 2
    if item.subject_digest != digest or item.work_type != submission.work_type:
        raise RefusedError(
            "key_conflict",
            failed=f"the key {submission.key!r} already names another subject",
            state=f"Work item {item.work_item_id} is as it was; nothing was stored",
            next_step="Use a new key for new work, or submit the same subject to get its turn again",
            work_item_id=item.work_item_id,
        )
    turns = tx.turns_of_item(item.work_item_id)
    if not turns:
        raise InvariantViolation("a work item has a turn", work_item=item.work_item_id)
    return Accepted(work_item_id=item.work_item_id, turn_id=turns[-1].turn_id, known=True)


def start_turn(line: Line, tx: Tx, item: WorkItem, *, ready: _Ready, reason: TurnReason) -> str:
    """Store a turn of an item; where a process takes it, leave its view for the walk."""
    rulebook, index = line.rules.active()
    process = rulebook.process_for(item.work_type)
    turn = Turn(
        turn_id=line.new_id(),
        tenant=tx.tenant,
        work_item_id=item.work_item_id,
        process=process.name if process else NO_PROCESS,
        rulebook_digest=index.rulebook_digest,
        reason=reason,
        started_at_ms=line.now(),
    )
    tx.add_turn(turn)
    if process is None:
        # Rule 3
        visit = StepVisit(turn_id=turn.turn_id, step_id="route", position=0, state=StepState.FAILED)
        tx.add_visit(visit)
        failed(
            line, tx, turn.turn_id, category=FailureCategory.ROUTING,
            reason=f"no process takes work type {item.work_type}",
        )  # fmt: skip
    else:
        ready.view = TurnView(
            turn=turn,
            item=item,
            process=find_process(rulebook, process.name),
            index=index,
            subject=ready.subject_value,
            visits={},
            decided=set(),
        )
    refresh(tx, turn.turn_id, now_ms=line.now(), title=_title(item))
    return turn.turn_id


def _title(item: WorkItem) -> str:
    return f"{item.work_type} {item.key}" if item.key else item.work_type


def _note(line: Line, tx: Tx, turn_id: str, ready: _Ready) -> None:
    if ready.findings:
        kinds = sorted({finding.kind.value for finding in ready.findings})
        line.event(tx, "redacted", turn_id=turn_id, body={"count": len(ready.findings), "kinds": kinds})
    if ready.attachments:
        kept = {name: content.keep(line, tx, body) for name, body in ready.attachments.items()}
        line.event(tx, "attached", turn_id=turn_id, body={"attachments": kept})
