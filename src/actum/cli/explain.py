# SPDX-License-Identifier: Apache-2.0
"""`actum explain` says why a turn went as it did, from its records alone, and where what is known ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from actum.cli.opened import opened, store_options
from actum.cli.questions import effect_line
from actum.cli.render import Described, count_of, emit, spelled_out, when
from actum.cli.show import receipt_lines, state_line
from actum.model.look import Level
from actum.model.visible import visible
from actum.model.wording import LIMITS
from actum.service.why import why

Record = dict[str, Any]
INDEPENDENCE = {
    Level.L0: "the look was made in the process that acted: it guards against error, not against code there",
    Level.L1: "the look was made by another process of the same user: it guards against errors and lying tools, "
    "not against code that runs as that user",
    Level.L2: "the look was made under another user of this machine",
    Level.L3: "the look was made from another machine",
}
OUTCOMES = {
    "no_match": "nothing matched",
    "conflict": "several matched",
    "needs_person": "a person has to decide",
    "unresolved": "a value could not be worked out",
    "not_active": "it has no rules here",
    "not_allowed": "this kind of step does not use it",
    "not_reached": "not reached",
    "shown": "shown to the person, not acted upon",
    "answer_refused": "the model's answer was not admitted",
}


@click.command("explain")
@click.argument("record_id", metavar="ID")
@store_options
def explain(record_id: str, *, store: str | None, who: str | None, as_json: bool) -> int:
    """Say why: which rung decided and why not the others, who allowed what, and how well the outcome is known.

    ID is a turn, or any record of one. Exit code 1 where there is no such record.
    """
    with opened(store, who) as kernel:
        found = why(kernel.line, record_id)
    if as_json:
        emit({**found, "limits": LIMITS})
        return 0
    for line in _lines(found):
        click.echo(line)
    return 0


def _lines(found: Record) -> Iterator[str]:
    activity = found["activity"]
    title = spelled_out(Described(activity["title"]))
    yield f"turn {found['turn_id']}, {title}: {state_line(activity)}"
    for one in found["decisions"]:
        yield ""
        yield from _decision(one)
    for one in found["questions"]:
        if one["state"] == "open":
            yield ""
            yield f"waiting for a person: {one['reason'].replace('_', ' ')}, question {one['question_id']}"
    for one in found["effects"]:
        yield ""
        yield from _effect(one)
    for one in found["recorded"]:
        yield ""
        yield from receipt_lines(one, indent="")
        yield "  It shows that the decision was recorded, and nothing else."
    if not found["decisions"] and not found["effects"]:
        yield "Nothing was decided and nothing was proposed."
    yield ""
    yield LIMITS


def _decision(one: Record) -> Iterator[str]:
    step = f"step {visible(one['step_id'])} ({one['kind']})"
    yield f"{step}: decided by the rung {one['rung']}, {when(one['decided_at_ms'])}"
    yield f"  because {_condition(one['condition'])}"
    judgment = one["judgment"]
    if judgment is not None:
        why_so = f", because: {visible(judgment['reason'])}" if judgment["reason"] else ""
        yield f"  {visible(judgment['person'])} chose {visible(judgment['choice'])}{why_so}"
    for entry in one["rungs"]:
        if entry["outcome"] != "won":
            yield f"  not {entry['rung']}: {_why_not(entry)}"
    if one["writes"]:
        yield f"  wrote: {', '.join(visible(write['field']) for write in one['writes'])}"
    if one["staged"]:
        yield f"  proposed: {', '.join(visible(stage['capability']) for stage in one['staged'])}"
    if one["withheld"]:
        yield f"  not proposed, because nobody confirmed the pattern: {', '.join(map(visible, one['withheld']))}"
    if one["model_call"] is not None:
        spent = one["tokens"]["input"] + one["tokens"]["output"]
        yield f"  model {visible(one['model_call']['model'] or 'not named')}, {count_of(spent, 'token')}"
    else:
        yield "  no model was called"


def _condition(condition: Record) -> str:
    kind: str = condition["kind"]
    ident = visible(condition["id"] or "")
    if kind == "fields_present":
        return f"every field it needs is present and typed: {', '.join(map(visible, condition['fields']))}"
    if kind == "no_fields_required":
        return "the step asks for no field and no rule says otherwise"
    words: dict[str, str] = {
        "rule": f"the rule {ident} holds",
        "pattern": f"the pattern {ident} matches",
        "learned": f"the learned rule {ident} holds",
        "answer": "a model's answer was admitted",
        "choice": f"a person chose {ident}",
    }
    return words[kind]


def _why_not(entry: Record) -> str:
    outcome: str = entry["outcome"]
    said = OUTCOMES.get(outcome) or outcome.replace("_", " ")
    detail = [visible(entry["reason"])] if entry["reason"] else []
    detail += [f"hits: {', '.join(map(visible, entry['hits']))}"] if entry["hits"] else []
    detail += [f"{count_of(entry['considered'], 'rule')} looked at"] if entry["considered"] else []
    detail += [
        f"{skip['count']} skipped, {visible(skip['reason'])} {visible(skip['detail'])}".rstrip()
        for skip in entry["skipped"]
    ]
    return f"{said} ({'; '.join(detail)})" if detail else said


def _effect(one: Record) -> Iterator[str]:
    proposal, shown = one["proposal"], one["shown"]
    yield f"effect {visible(proposal['capability'])}: {proposal['state']}"
    if shown is not None:
        for line in shown["lines"]:
            yield from effect_line(line, indent="  ")
    if proposal["refusal"]:
        yield f"  not carried out: {visible(proposal['refusal'].replace('_', ' '))}{_changed(one)}"
    yield from _grant(one["grant"], row=one["row_state"])
    for receipt in one["receipts"]:
        yield from receipt_lines(receipt, indent="  ")
        for level in dict.fromkeys(look["independence"]["level"] for look in receipt["looks"]):
            yield f"    {INDEPENDENCE[Level(level)]}"
    if one["row_state"] is not None and not one["receipts"]:
        yield f"  not carried out yet: {one['row_state'].replace('_', ' ')}"


def _changed(one: Record) -> str:
    """Say what of an action's declaration is not as it was confirmed."""
    results = [receipt["native_result"] for receipt in one["receipts"]]
    found = next((result["changed"] for result in results if result and "changed" in result), "")
    return f" ({visible(str(found)).replace('_', ' ')})" if found else ""


def _grant(grant: Record | None, *, row: str | None) -> Iterator[str]:
    if grant is None:
        if row is not None:
            yield "  no confirm stands behind it"
        return
    key = (
        "signed by the store's key, for a session"
        if grant["signed_by_store"]
        else "signed by that person's own key"
    )
    yield f"  allowed by {visible(grant['principal'])}, {when(grant['issued_at_ms'])}, {key}"
    used = f"used once, by {grant['used_by']}" if grant["used_by"] else "not used"
    void = f", void since {when(grant['voided_at_ms'])}" if grant["voided_at_ms"] else ""
    yield f"  for exactly {grant['subject_digest']}, until {when(grant['expires_at_ms'])}; {used}{void}"
    if grant["accepts_unqualified"]:
        yield "  it accepts that the effect could not be rehearsed"
