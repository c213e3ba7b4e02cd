# SPDX-License-Identifier: Apache-2.0
"""A question is shown whole: every line of what it is about, nothing shortened, nothing hidden.

Rules
1. What is displayed is read from the bytes whose digest the question names, and that digest goes into the grant.
2. Every line of the effect and every member of a subject is printed; text that could hide is spelled out.
3. An argument that the described lines do not show whole is printed whole behind them; only one too long for any
   terminal is named with its length and the command that prints it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from actum.cli.render import Described, plain_lines, spelled_out, when
from actum.model import canonical, foreign
from actum.model.question import Question, QuestionReason
from actum.model.visible import mixed_script, visible
from actum.service import content
from actum.service.line import Line
from actum.service.view import unknown

if TYPE_CHECKING:
    from actum.bootstrap import Kernel
    from actum.ports.store import Tx

Shown = dict[str, Any]
ARGUMENT_MAX = 64 * 1024
REASONS = {
    QuestionReason.CONFIRM: "may this run?",
    QuestionReason.JUDGMENT: "what is to be decided?",
    QuestionReason.CHECK_REQUIRED: "did this happen? nobody knows",
    QuestionReason.DEAD_LETTER: "this did not take hold and is not tried again",
    QuestionReason.ESCALATED_DEADLINE: "a deadline passed",
    QuestionReason.BINDING_MISMATCH: "a rule depends on something that changed",
}


class Displayed(NamedTuple):
    """A question with what is displayed of it, the digest of exactly those bytes, and a confirm's arguments."""

    question: Question
    shown: Shown
    digest: str
    arguments: dict[str, object]


def displayed(kernel: Kernel, question_id: str) -> Displayed:
    """Return a question as it is displayed (rule 1); UsageError ``not_found`` where there is none."""
    line = kernel.line

    def load(tx: Tx) -> Displayed:
        question = tx.question(question_id)
        if question is None:
            raise unknown("question", question_id)
        return display(line, tx, question)

    return line.store.read(load)


def display(line: Line, tx: Tx, question: Question) -> Displayed:
    """Return a loaded question as it is displayed."""
    body = content.load(line, tx, question.shown_digest)
    effect = tx.effect(question.subject_ref) if question.reason is QuestionReason.CONFIRM else None
    arguments: dict[str, object] = {} if effect is None else foreign.decode_foreign(effect.arguments)
    return Displayed(question, msgspec.json.decode(body), canonical.digest_bytes(body), arguments)


def question_json(one: Displayed) -> Shown:
    """Return a question for --json."""
    shown = dict(one.shown)
    if "packet_json" in shown:
        packet = foreign.decode_foreign(shown.pop("packet_json").encode())
        shown = {"packet": foreign.to_plain(packet), "choices": shown["choices"]}
    return {**msgspec.to_builtins(one.question), "shown": shown}


def question_lines(one: Displayed) -> Iterator[str]:
    """Yield everything a person needs to answer, and how to answer."""
    question = one.question
    what = _subject(one)
    yield f"{question.question_id}  {visible(what)}: {REASONS[question.reason]}"
    yield f"    asked {when(question.asked_at_ms)}, turn {question.turn_id}"
    match question.reason:
        case QuestionReason.CONFIRM:
            yield from _confirm(one.shown, one.arguments)
        case QuestionReason.JUDGMENT:
            yield from _judgment(one.shown)
        case _:
            yield from plain_lines(one.shown, indent="    ")
    if question.state.value == "open":
        yield from (f"    {line}" for line in _how(one))
    else:
        yield f"    {question.state.value} by {visible(question.answered_by or '-')}: {visible(question.answer or '-')}"


def _subject(one: Displayed) -> str:
    if one.question.reason is QuestionReason.JUDGMENT:
        return f"{one.shown['process']}/{one.shown['step_id']}"
    return str(one.shown.get("capability", one.question.subject_ref))


def _confirm(shown: Shown, arguments: dict[str, object]) -> Iterator[str]:
    # Rule 2
    for line in cast("list[str]", shown["lines"]):
        yield from effect_line(line, indent="    ")
    yield from _not_shown(arguments, "\n".join(shown["lines"]), effect=shown["effect_digest"])
    odd = mixed_script("\n".join(shown["lines"]))
    if odd:
        yield f"    look closely, letters of another script: {', '.join(odd)}"
    for name in ("destinations", "recipients"):
        if shown[name]:
            yield f"    {name}: {', '.join(map(visible, shown[name]))}"
    far = str(shown["externality"]).replace("_", " ")
    kind = str(shown["class"]).replace("_", " and ")
    back = shown["reversibility"].replace("_", " ")
    yield f"    {kind}, {back}, {far}; touches {shown['objects']} of at most {shown['blast_radius']}"
    if not shown["observable"]:
        yield "    nothing can look at the outcome: it will stay not verified, whatever happens"
    if shown["qualification"] is not None:
        rehearsal = shown["qualification"]
        how = f"{visible(str(rehearsal['reason']))} ({visible(str(rehearsal['method']))})"
        yield f"    rehearsal: {rehearsal['result'].replace('_', ' ')}, {how}"
    yield f"    effect {shown['effect_digest']}"


def _not_shown(arguments: dict[str, object], described: str, *, effect: str) -> Iterator[str]:
    # Rule 3
    for name, value in arguments.items():
        text = value if isinstance(value, str) else foreign.dump_foreign(value).decode()
        if all(visible(line) in described for line in text.split("\n")):
            continue
        if len(text) > ARGUMENT_MAX:
            yield f"    {visible(name)}: {len(text):,} characters; read them with: actum show {effect}"
        else:
            yield from plain_lines({f"in full, {name}": value}, indent="    ")


def effect_line(text: str, *, indent: str) -> Iterator[str]:
    """Yield one described line of an effect, which may hold escapes of its own: those are not escaped again."""
    for line in text.split("\n"):
        yield f"{indent}| {spelled_out(Described(line))}"


def _judgment(shown: Shown) -> Iterator[str]:
    packet = foreign.decode_foreign(shown["packet_json"].encode())
    why = str(packet["reason"]).replace("_", " ")
    yield f"    why you: {why}" + (f": {visible(str(packet['detail']))}" if packet["detail"] else "")
    if packet["fields_missing"]:
        yield f"    missing: {', '.join(visible(str(one)) for one in packet['fields_missing'])}"
    yield f"    {visible(str(packet['work_type']))}:"
    yield from plain_lines(packet["subject"], indent="      ")
    if packet["suggestions"]:
        yield "    suggested, and not acted upon:"
        yield from plain_lines(packet["suggestions"], indent="      ")


def _how(one: Displayed) -> tuple[str, ...]:
    ident = one.question.question_id
    match one.question.reason:
        case QuestionReason.CONFIRM:
            needs = one.shown["qualification"]
            accept = " --accept-unqualified" if needs and needs["result"] == "not_possible" else ""
            return (f"yes: actum confirm {ident}{accept}", f"no:  actum refuse {ident} --reason WHY")
        case QuestionReason.JUDGMENT:
            return (*(f"actum judge {ident} --choice {choice}" for choice in one.shown["choices"]),
                    "with a field: --set FIELD=VALUE; with your reason: --reason WHY")  # fmt: skip
        case QuestionReason.CHECK_REQUIRED:
            return (
                f"look again:     actum settle {ident}",
                f"you know it:    actum settle {ident} --happened (or --did-not)",
                f"leave it there: actum settle {ident} --stop",
            )
        case QuestionReason.DEAD_LETTER:
            if not one.shown.get("dispatched", True):
                return (f"it never left; close it: actum settle {ident} --stop",)
            return (f"look again: actum settle {ident}", f"leave it:   actum settle {ident} --stop")
        case _:
            return (f"see: actum show {ident}",)
