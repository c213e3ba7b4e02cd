# SPDX-License-Identifier: Apache-2.0
"""`actum show` prints any record by its id or digest, whole, with what belongs to it.

Rules
1. A grade is never printed without its sentence, and never without the receipt it stands on.
2. A message without evidence of where it came from is shown without an attribution.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from actum.cli.opened import opened, store_options
from actum.cli.render import Described, emit, in_words, plain_lines, spelled_out, text_block, when
from actum.model.grading import EffectConfidence, EffectFinality, GradePair, ReasonCode
from actum.model.visible import visible
from actum.model.wording import explain_grade, explain_reason

Record = dict[str, Any]


@click.command("show")
@click.argument("record_id", metavar="ID")
@store_options
def show(record_id: str, *, store: str | None, who: str | None, as_json: bool) -> int:
    """Show any record by its id or digest: turn, work item, question, proposal, effect, receipt, grant, decision.

    With --json everything that is stored of it is printed. Exit code 1 where there is no such record.
    """
    with opened(store, who) as kernel:
        found = kernel.show(record_id)
    if as_json:
        emit(found)
        return 0
    for line in _turn(found) if found["kind"] == "turn" else _other(found):
        click.echo(line)
    return 0


def _other(found: Record) -> Iterator[str]:
    yield found["kind"].replace("_", " ")
    if found["kind"] == "receipt":
        yield from receipt_lines(found, indent="  ")
        yield ""
    yield from plain_lines({name: value for name, value in found.items() if name != "kind"}, indent="  ")


def _turn(turn: Record) -> Iterator[str]:
    activity = turn["activity"]
    yield f"turn {turn['turn_id']}, {spelled_out(Described(activity['title']))}"
    yield f"  state: {state_line(activity)}"
    yield f"  process {visible(turn['process'])}, started {when(turn['started_at_ms'])}"
    item = turn["work_item"]
    acted_for = f", acted for: {visible(item['on_behalf_of'])}" if item["on_behalf_of"] else ""
    yield f"  work item {turn['work_item_id']}, submitted by {visible(item['principal'])}{acted_for}"
    yield "  subject:"
    yield from plain_lines(turn["subject"], indent="    ")
    if turn["steps"]:
        yield "  steps: " + ", ".join(
            f"{visible(one['step_id'])} {_step(one['state'])}" for one in turn["steps"]
        )
    for one in turn["decisions"]:
        yield f"  decision at {visible(one['step_id'])}: rung {one['rung']} ({one['digest']})"
    yield from _questions(turn["questions"])
    for one in turn["proposals"]:
        refused = f": {visible(one['refusal'])}" if one["refusal"] else ""
        yield f"  proposal {one['proposed_action_id']}: {visible(one['capability'])} {one['state']}{refused}"
    for one in turn["rows"]:
        yield f"  effect {one['outbox_id']}: {visible(one['capability'])} {one['state'].replace('_', ' ')}"
    for one in turn["receipts"]:
        yield from receipt_lines(one, indent="  ")
    yield from _messages(turn)


def _step(state: str) -> str:
    # A step of that state was decided and has nothing open; the word says no more here.
    return "ended" if state == "done" else state.replace("_", " ")


def state_line(activity: Record) -> str:
    """Return the state of a turn with what it rests on."""
    notes = [activity["label"], activity["failure_reason"] and in_words(activity["failure_reason"])]
    notes += ["waits for a person"] if activity["open_questions"] else []
    said = "; ".join(visible(note) for note in notes if note)
    return activity["state"].replace("_", " ") + (f" ({said})" if said else "")


def _questions(questions: list[Record]) -> Iterator[str]:
    for one in questions:
        how = "open" if one["open"] else f"{one['state']} {visible(one['answer'] or '')}".rstrip()
        by = f" by {visible(one['answered_by'])}" if one["answered_by"] else ""
        yield f"  question {one['question_id']}: {one['reason'].replace('_', ' ')}, {how}{by}"


def receipt_lines(receipt: Record, *, indent: str) -> Iterator[str]:
    """Yield what a receipt says, its grade with the sentence that belongs to it (rule 1)."""
    graded = receipt["graded"]
    kind = receipt.get("receipt_kind", receipt["kind"])  # Shown alone, a receipt says first that it is one.
    yield f"{indent}receipt {receipt['receipt_id']}: {visible(receipt['capability_id'])}, {kind}"
    pair = GradePair(
        finality=EffectFinality(graded["finality"]), confidence=EffectConfidence(graded["confidence"])
    )
    yield f"{indent}  graded {graded['finality']}, {graded['confidence']}: {explain_grade(pair)}"
    for reason in receipt["reasons"]:
        yield f"{indent}  {explain_reason(ReasonCode(reason))}"
    if receipt["person_says"]:
        word = receipt["person_says"].replace("_", " ")
        yield f"{indent}  the word of {visible(receipt['said_by'])}, not an observation: {word}"
    if receipt["failure_code"]:
        yield f"{indent}  why: {visible(receipt['failure_code'].replace('_', ' '))}"
    yield f"{indent}  touched: {visible(receipt['resolved_resource_summary'])}"
    yield f"{indent}  destination: {visible(receipt['destination_summary'])}"
    for look in receipt["looks"]:
        level = look["independence"]["level"]
        verifier = visible(look["verifier_id"])
        yield f"{indent}  looked at by {verifier} at {look['at']}: {look['outcome']}, independence {level}"
        if look["outcome"] == "unclear" and look["detail"].get("why"):
            yield f"{indent}    it could not tell: {visible(str(look['detail']['why']))}"


def _messages(turn: Record) -> Iterator[str]:
    for one in turn["messages"]:
        # Rule 2
        source = f", {visible(one['attribution'])}" if one["attribution"] else ""
        yield f"  message of the {one['role']}{source}:"
        yield from text_block(one["text"], indent="    ")
    for one in turn["assertions"]:
        backed = "" if one["outbox_id"] else ", and no effect stands behind it"
        yield f"  a model asserted this{backed}:"
        yield from text_block(one["text"], indent="    ")
