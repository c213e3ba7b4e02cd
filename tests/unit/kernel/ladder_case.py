# SPDX-License-Identifier: Apache-2.0
"""A small process with every kind of rule, and one call that walks a step of it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from actum.kernel.index import RulebookIndex
from actum.kernel.ladder import decide
from actum.model.errors import Refused
from actum.model.foreign import from_plain
from actum.model.message import ExecutionMode
from actum.model.model_call import ModelAnswer
from actum.model.process import Process, Rulebook, Step
from actum.model.walk import Decided, LadderContext, ModelReply, NeedModel, Residual
from actum.process.activate import confirm_pattern, index_of, staging_patterns
from actum.process.load import load_process

DESK = """
process: desk
work_types: [ticket]
fields:
  owner: string
  kind: {type: string}
  count: int
  urgent: bool
  sender: {type: email, class: identity}
  link: url
  sent: time
  place: {type: json_pointer}
  weight: decimal
  tags: strings
  text: string
  vendor.tier: string
  amount: {type: int, class: money_legal}
  label: string
actions:
  notify:
    capability: mail.send
    class: action
    arguments: {to: {field: sender}, subject: {cel: '"Re: " + text'}}
  note: {capability: files.write, arguments: {path: /n.txt, body: {field: label}}}
  pay: {capability: bank.pay, class: money_legal, arguments: {amount: {pointer: /amount}}}
skills:
  sort:
    actions: [note]
    rules:
      - {id: spam, when: 'text.matches("^WIN .*!$")', then: {set: {label: spam}}}
      - id: internal
        when: sender.endsWith("@desk.example")
        then: {set: {label: internal}, stage: [note]}
      - id: reopened
        when: ctx.status == "reopened" && ctx.work_type == "ticket"
        then: {set: {label: again}}
      - {id: stale, when: 'ctx.now_ms - sent > 1000', then: {set: {label: stale}}}
  read: {actions: [notify, note, pay]}
  price: {rules: [{id: free, when: 'kind == "gift"', then: {set: {amount: 0}}}]}
  bill: {actions: [pay], then: {stage: [pay]}}
patterns:
  - {id: gold, step: route, when: {vendor.tier: gold, kind: order}, then: {set: {owner: sales}}}
  - {id: many, step: route, when: 'kind == "order" && count > 100', then: {set: {owner: bulk}}}
  - {id: loud, step: route, when: {urgent: true}, then: {set: {label: loud}, stage: [notify]}}
  - {id: old, step: route, when: {kind: legacy}, active: false}
  - {id: auto, step: enrich, when: {kind: plain}, then: {set: {label: plain}}}
  - {id: hint, step: decide, when: {kind: order}, then: {set: {owner: sales}, stage: [notify]}}
steps:
  - {id: sort, kind: plumbing, skill: sort, fields: [owner]}
  - {id: route, kind: plumbing}
  - {id: strict, kind: plumbing, fields: [owner], residual: fail}
  - id: enrich
    kind: reasoning
    skill: read
    contract: {tier: fast, max_tokens: 100, output: [label, count]}
  - {id: quote, kind: reasoning, skill: read, contract: {tier: capable, output: [amount]}}
  - {id: price, kind: plumbing, skill: price, residual: fail}
  - {id: bill, kind: plumbing, skill: bill, fields: [owner]}
  - {id: decide, kind: judgment}
  - {id: choose, kind: judgment, choices: [{id: yes-pay, then: {set: {amount: 5}, stage: [pay]}}, no-pay]}
  - {id: file, kind: judgment, choices: [{id: keep, then: {stage: [note]}}]}
"""

CONTEXT = LadderContext(turn_id="01TURN", now_ms=5000, work_type="ticket", status="new")


def desk() -> Process:
    """Return the compiled desk process."""
    return load_process(DESK, path="desk.yaml")


def desk_index(*, confirmed: bool = False) -> RulebookIndex:
    """Return the index of the desk process, all its staging patterns confirmed or none."""
    rulebook = Rulebook(processes=(desk(),))
    for pending in staging_patterns(rulebook) if confirmed else ():
        changed = confirm_pattern(rulebook, digest=pending.digest, person="ann")
        assert isinstance(changed, Rulebook)
        rulebook = changed
    return index_of(rulebook)


INDEX = desk_index()
CONFIRMED = desk_index(confirmed=True)


def step(step_id: str, *, index: RulebookIndex = INDEX) -> Step:
    """Return one step of the desk process."""
    return index.steps[("desk", step_id)].step


def walk(
    step_id: str,
    subject: Mapping[str, object],
    *,
    index: RulebookIndex = INDEX,
    context: LadderContext = CONTEXT,
    reply: ModelReply | None = None,
) -> Decided | Residual | NeedModel | Refused:
    """Walk one step for a plain Python subject."""
    return decide(
        step(step_id, index=index),
        subject=from_plain(dict(subject)),
        context=context,
        index=index,
        model_reply=reply,
    )


def decided(step_id: str, subject: Mapping[str, object], **more: object) -> Decided:
    """Walk a step that must decide."""
    found = walk(step_id, subject, **more)  # type: ignore[arg-type]
    assert isinstance(found, Decided), found
    return found


def residual(step_id: str, subject: Mapping[str, object], **more: object) -> Residual:
    """Walk a step that must leave a residual."""
    found = walk(step_id, subject, **more)  # type: ignore[arg-type]
    assert isinstance(found, Residual), found
    return found


def needs(step_id: str, subject: Mapping[str, object]) -> NeedModel:
    """Walk a step that must need a model."""
    found = walk(step_id, subject)
    assert isinstance(found, NeedModel), found
    return found


def answer(text: object, *, output_tokens: int = 20, finish_reason: str = "stop") -> ModelAnswer:
    """Return a model's answer; anything but text is written as JSON."""
    return ModelAnswer(
        text=text if isinstance(text, str) else json.dumps(text),
        input_tokens=50,
        output_tokens=output_tokens,
        finish_reason=finish_reason,
        model_id="scripted@1",
        provider="scripted",
        runtime="tests",
        execution_kind=ExecutionMode.LOCAL_MODEL,
        immutable=True,
    )


def replied(step_id: str, subject: Mapping[str, object], text: object, **more: object) -> Decided | Residual:
    """Walk a reasoning step, answer its packet, and walk it again with the reply."""
    asked = needs(step_id, subject)
    reply = ModelReply(packet_digest=asked.packet_digest, answer=answer(text, **more))  # type: ignore[arg-type]
    found = walk(step_id, subject, reply=reply)
    assert isinstance(found, Decided | Residual), found
    return found
