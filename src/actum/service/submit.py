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
from collections.abc import Mapping, Sequence

import msgspec

from actum.kernel.index import RulebookIndex
from actum.kernel.redaction import Finding, redact
from actum.model import canonical, foreign
from actum.model.activity import FailureCategory
from actum.model.errors import InvariantViolation, RefusedError, UsageError
from actum.model.process import Rulebook
from actum.model.visible import visible
from actum.model.work import StepState, StepVisit, Submission, Turn, TurnReason, WorkItem
from actum.ports.store import Tx
from actum.service import content
from actum.service.line import Line
from actum.service.points import commit
from actum.service.rows import Walked, failed, write_walk
from actum.service.standing import refresh
from actum.service.view import TurnView
from actum.service.walk import find

NO_PROCESS = "no_process"
AGENT_WORK = "agent.action"
"""The work type by which an agent names one action itself."""
TITLE_MAX = 120


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """A stored submission: its turn, and whether it was there already."""

    work_item_id: str
    turn_id: str
    known: bool


class _Ready(msgspec.Struct, kw_only=True):
    """A submission with everything done that needs no transaction. ``view`` is None where no process takes it."""

    submission: Submission
    item: WorkItem
    turn: Turn
    subject: bytes
    attachments: dict[str, bytes]
    findings: tuple[Finding, ...]
    view: TurnView | None
    title: str
    walked: Walked | None = None


def submit(line: Line, submission: Submission, *, principal: str | None = None) -> Accepted:
    """Store one submission and walk it as far as it goes, in one commit."""
    return submit_many(line, [submission], principal=principal)[0]


def submit_many(
    line: Line, submissions: Sequence[Submission], *, principal: str | None = None
) -> list[Accepted]:
    """Store submissions and walk each as far as it goes, in one commit; the answers are in the order given.

    The walk is made before the commit and written with it, so nothing is stored that was not also walked. What
    turns out to be known already is not stored again, and its walk is thrown away.
    """
    who = principal or line.principal
    rulebook, index = line.rules.active()  # Activates new rules in a commit of its own, before ours begins.
    ready = [_prepare(line, one, principal=who, rulebook=rulebook, index=index) for one in submissions]
    for one in ready:
        if one.view is not None:
            one.walked = find(line, one.view)
    return commit(line, "accept", lambda tx: [_store(line, tx, one) for one in ready])


def _prepare(
    line: Line, submission: Submission, *, principal: str, rulebook: Rulebook, index: RulebookIndex
) -> _Ready:
    # Rule 1
    clean, findings = content.without_secrets(submission.subject)
    attachments: dict[str, bytes] = {}
    for name, text in (submission.attachments or {}).items():
        attachments[name], more = redact(_decoded(name, text))
        findings = (*findings, *more)
    if submission.work_type == AGENT_WORK:
        _require_key(clean.get("idempotency_key"))
    value = foreign.from_plain(clean)
    subject = foreign.encode_foreign(value)
    now = line.now()
    item = WorkItem(
        work_item_id=line.ids.ulid(now),
        tenant=line.store.tenant,
        principal=principal,
        work_type=submission.work_type,
        subject_digest=canonical.digest_bytes(subject),
        key=submission.key,
        on_behalf_of=submission.on_behalf_of,
        received_at_ms=now,
    )
    process = rulebook.process_for(item.work_type)
    turn = Turn(
        turn_id=line.ids.ulid(now),
        tenant=item.tenant,
        work_item_id=item.work_item_id,
        process=process.name if process else NO_PROCESS,
        rulebook_digest=index.rulebook_digest,
        reason=TurnReason.SUBMITTED,
        started_at_ms=now,
    )
    view = None
    if process is not None:
        view = TurnView(
            turn=turn, item=item, process=process, index=index, subject=value, visits={}, decided=set()
        )
    return _Ready(
        submission=submission, item=item, turn=turn, subject=subject, attachments=attachments, findings=findings,
        view=view, title=_title(item, value),
    )  # fmt: skip


def _require_key(key: object) -> None:
    """Stop where an agent gives a key that is none: without one its action would not be protected from a repetition."""
    if key is not None and not (isinstance(key, str) and key):
        raise UsageError(
            "idempotency_key_malformed",
            failed=f"the idempotency key {key!r} is no text, or is empty",
            state="This work item was not stored",
            next_step="Give a text that names this one action, or leave the key out",
        )


def _decoded(name: str, text: str) -> bytes:
    foreign.from_plain(name, path="/attachments")  # A name that is no text is told before it reaches the log.
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError(
            "attachment_not_base64",
            failed=f"the attachment {name!r} is not standard base64",
            state="This work item was not stored",
            next_step="Encode the attachment's bytes with padding, or leave it out",
            attachment=name,
        ) from error


def _store(line: Line, tx: Tx, ready: _Ready) -> Accepted:
    item, turn = ready.item, ready.turn
    if item.key is not None:
        found = tx.find_work_item(principal=item.principal, key=item.key)
        if found is not None:
            return _same(tx, found, digest=item.subject_digest, submission=ready.submission)
    content.keep(line, tx, ready.subject)
    tx.add_work_item(item)
    tx.add_turn(turn)
    _note(line, tx, turn.turn_id, ready)
    if ready.view is not None and ready.walked is not None:
        write_walk(line, tx, ready.view, ready.walked, title=ready.title)
    else:
        _no_process(line, tx, item, turn, title=ready.title)
    return Accepted(work_item_id=item.work_item_id, turn_id=turn.turn_id, known=False)


def _no_process(line: Line, tx: Tx, item: WorkItem, turn: Turn, *, title: str) -> None:
    # Rule 3
    tx.add_visit(StepVisit(turn_id=turn.turn_id, step_id="route", position=0, state=StepState.FAILED))
    reason = f"no process takes work type {item.work_type}"
    failed(line, tx, turn.turn_id, category=FailureCategory.ROUTING, reason=reason)
    refresh(tx, turn.turn_id, now_ms=line.now(), title=title)


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


def _title(item: WorkItem, subject: Mapping[str, object]) -> str:
    """Return how people recognise a turn: the action an agent names, what the subject calls itself, or its key."""
    named = (
        subject.get("capability")
        if item.work_type == AGENT_WORK
        else subject.get("subject", subject.get("title"))
    )
    if isinstance(named, str) and named.strip():
        return visible(f"{item.work_type}: {named}")[:TITLE_MAX]
    return visible(f"{item.work_type} {item.key}" if item.key else item.work_type)[:TITLE_MAX]


def _note(line: Line, tx: Tx, turn_id: str, ready: _Ready) -> None:
    if ready.findings:
        kinds = sorted({finding.kind.value for finding in ready.findings})
        line.event(tx, "redacted", turn_id=turn_id, body={"count": len(ready.findings), "kinds": kinds})
    if ready.attachments:
        kept = {name: content.keep(line, tx, body) for name, body in ready.attachments.items()}
        line.event(tx, "attached", turn_id=turn_id, body={"attachments": kept})
