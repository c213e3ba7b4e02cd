# SPDX-License-Identifier: Apache-2.0
"""Nine expectations, each computed from stored records and from the world; none is taken from the story's plan.

a  a true claim: finalized and verified, by a look from another process
b  a claim without a call: no receipt, and the turn cannot be completed
c  a tool that says ok while its write is lost: never finalized and verified
d  a reply lost after the effect: indeterminate first, finalized and verified by a later look, one effect
e  a process killed between act and record: the same, after a restart
f  an argument changed after the confirm: refused before dispatch, and the world holds what was confirmed
g  auto_confirm in a process file: it still waits for a person
h  a file swapped between confirm and act: refused, and the other file is as it was
i  decisions by rung equal a recount, and plumbing cost no tokens
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import msgspec

from actum.bootstrap import Kernel
from actum.demo.claims import (
    Shown,
    all_turns,
    claims_of,
    count_executed,
    count_metered,
    count_rungs,
    count_tokens,
)
from actum.demo.setting import PERSON, Setting, Story
from actum.demo.world import OLD_PHONE, STRANGERS_PRICES, World
from actum.model.errors import ActumError

PROMISES = {
    "a": "A true claim is looked at by another process, and graded.",
    "b": "A claim without a call earns no receipt and completes nothing.",
    "c": "A tool's ok is not evidence: the lost write is found missing.",
    "d": "A lost reply is unknown first; a later look settles it, and nothing is repeated.",
    "e": "A kill between act and record repeats nothing; a look settles it after the restart.",
    "f": "A changed argument is another effect: the old yes does not cover it.",
    "g": "auto_confirm confirms nothing: the effect waits for a person.",
    "h": "A file that was swapped after the yes is not written over.",
    "i": "Each decision counts on the rung that took it, and plumbing cost no tokens.",
}
SEEN = ("finalized", "verified")


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """One expectation: whether it held, the id of the record that shows it, and each part that did not."""

    id: str
    held: bool
    record: str
    broken: tuple[str, ...] = ()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What `actum demo --json` prints, and beside it what the told story needs."""

    store: str
    expectations: tuple[Expectation, ...]
    rungs: dict[str, int]
    tokens: int
    plumbing_tokens: int
    claims: list[dict[str, Any]]
    executed: int
    repeated: int
    turns: dict[str, Any]
    also: dict[str, Any]
    killed: tuple[int, int]

    @property
    def held(self) -> bool:
        """Tell whether every expectation held."""
        return all(one.held for one in self.expectations)

    def to_json(self) -> dict[str, object]:
        """Return exactly the members that the demo promises."""
        return {
            "store": self.store,
            "expectations": [
                {"id": one.id, "held": one.held, "record": one.record} for one in self.expectations
            ],
            "rungs": self.rungs,
            "tokens": self.tokens,
            "claims": self.claims,
            "effects": {"executed": self.executed, "repeated": self.repeated},
        }


def judge(setting: Setting) -> Outcome:
    """Compute all nine from the store and the world as they are now."""
    kernel, world, story = setting.kernel, setting.world, setting.story
    turns = all_turns(kernel)
    checks = _Checks(kernel, world, story, turns)
    return Outcome(
        store=str(world.store),
        expectations=tuple(checks.answer(name) for name in PROMISES),
        rungs=count_rungs(turns),
        tokens=count_tokens(turns),
        plumbing_tokens=count_tokens(turns, kind="plumbing"),
        claims=claims_of(turns),
        executed=count_executed(kernel, turns),
        repeated=world.repeated(),
        turns={name: kernel.show(turn_id) for name, turn_id in story.turns.items()},
        also={name: kernel.show(turn_id) for name, turn_id in story.also.items()},
        killed=story.killed,
    )


class _Checks:
    def __init__(self, kernel: Kernel, world: World, story: Story, turns: list[Shown]) -> None:
        self._kernel = kernel
        self._world = world
        self._story = story
        self._turns = turns

    def answer(self, name: str) -> Expectation:
        """Return one expectation; a part that cannot even be computed is broken."""
        check: Callable[[], tuple[str, dict[str, bool]]] = getattr(self, f"_{name}")
        try:
            record, parts = check()
        except (KeyError, IndexError, TypeError, ActumError, OSError) as error:
            record, parts = self._story.turns.get(name, ""), {f"its records were found ({error})": False}
        broken = tuple(part for part, holds in parts.items() if not holds)
        if name in self._story.stopped:
            broken = (*broken, f"played to its end ({self._story.stopped[name]})")
        return Expectation(id=name, held=not broken, record=record, broken=broken)

    def _turn(self, name: str) -> Shown:
        return self._kernel.show(self._story.turns[name])

    def _a(self) -> tuple[str, dict[str, bool]]:
        turn = self._turn("a")
        receipt = turn["receipts"][-1]
        return receipt["receipt_id"], {
            "graded finalized and verified": _grade(receipt) == SEEN,
            "the claim is about that effect": turn["assertions"][-1]["outbox_id"] == receipt["outbox_id"],
            "another process looked": _other_process(receipt),
            "the turn is completed": turn["activity"]["state"] == "completed",
            "a named person allowed it": _allowed_by(self._kernel, turn) == PERSON,
            "the world holds one": self._in_world(turn) == 1,
        }

    def _b(self) -> tuple[str, dict[str, bool]]:
        turn = self._turn("b")
        refused = self._story.refused
        return turn["turn_id"], {
            "the claim names a call": turn["assertions"][-1]["asserts"] is not None,
            "no call belongs to it": turn["assertions"][-1]["outbox_id"] is None and _effect_rows(turn) == [],
            "no receipt": turn["receipts"] == [],
            "not completed": turn["activity"]["state"] != "completed",
            "completing it was refused": refused.get("b.completed") not in ("", None),
            "completing it with a made-up receipt count was refused": refused.get("b.forged")
            not in ("", None),
            "saying it natively was refused": refused.get("b.said_natively") not in ("", None),
        }

    def _c(self) -> tuple[str, dict[str, bool]]:
        receipt = self._turn("c")["receipts"][-1]
        parts = {
            "the tool said ok": receipt["executor_said"] == "ok",
            "a look found the world as before": _grade(receipt) == ("failed", "verified"),
            "the card is as it was": self._world.phone() == OLD_PHONE,
        }
        if "c" in self._story.also:
            mail = self._kernel.show(self._story.also["c"])
            parts |= {
                "the server accepted": mail["receipts"][-1]["executor_said"] == "accepted",
                "the message is not called delivered": _grade(mail["receipts"][-1])[0] == "indeterminate",
                "no mailbox has it": self._in_world(mail) == 0,
            }
        return receipt["receipt_id"], parts

    def _d(self) -> tuple[str, dict[str, bool]]:
        turn = self._turn("d")
        return turn["receipts"][-1]["receipt_id"], self._settled_by_a_look(turn)

    def _e(self) -> tuple[str, dict[str, bool]]:
        turn = self._turn("e")
        return turn["receipts"][-1]["receipt_id"], {
            "killed with SIGKILL": self._story.killed[0] == signal.SIGKILL,
            "the tool had not answered": turn["receipts"][0]["executor_said"] is None,
            **self._settled_by_a_look(turn),
        }

    def _settled_by_a_look(self, turn: Shown) -> dict[str, bool]:
        first, last = turn["receipts"][0], turn["receipts"][-1]
        executions = self._kernel.show(last["outbox_id"])["executions"]
        return {
            "indeterminate first": first["kind"] == "effect"
            and first["graded"]["finality"] == "indeterminate",
            "settled by a look": last["kind"] == "settlement" and last["person_says"] is None,
            "it settles the first receipt": last["settles"] == first["payload_digest"],
            "graded finalized and verified": _grade(last) == SEEN and _other_process(last),
            "dispatched once": [one["kind"] for one in executions].count("effect") == 1,
            "the world holds one": self._in_world(turn) == 1,
        }

    def _f(self) -> tuple[str, dict[str, bool]]:
        turn, allowed = self._turn("f"), self._kernel.show(self._story.also["f"])
        receipt = turn["receipts"][-1]
        row = _effect_rows(turn)[0]
        grant = self._kernel.show(row["grant_id"])
        return receipt["receipt_id"], {
            "the yes was for another effect": grant["subject_digest"] != row["effect_digest"],
            "refused before dispatch": receipt["refused"] and row["dispatched_at_ms"] is None,
            "for that reason": receipt["failure_code"] == "grant_other_effect",
            "graded not attempted, with a look": _grade(receipt) == ("not_attempted", "verified"),
            "what was allowed ran": _grade(allowed["receipts"][-1]) == SEEN,
            "the world holds what was allowed": self._world.refunds("R-2") == ["40.00"],
        }

    def _g(self) -> tuple[str, dict[str, bool]]:
        turn = self._turn("g")
        process = self._kernel.line.rules.active()[0].process_for(turn["work_item"]["work_type"])
        staged = [one["action"] for decision in turn["decisions"] for one in decision["staged"]]
        says = [action.auto_confirm for action in process.actions if action.id in staged] if process else []
        waiting = [one["reason"] for one in turn["questions"] if one["open"]]
        return turn["turn_id"], {
            "the file says auto_confirm": says == [True],
            "it waits for a confirm": waiting == ["confirm"]
            and [one["state"] for one in turn["proposals"]] == ["staged"],
            "nothing may leave": _effect_rows(turn) == [] and turn["receipts"] == [],
            "nothing was written": not (self._world.desk / "news.txt").exists(),
        }

    def _h(self) -> tuple[str, dict[str, bool]]:
        turn = self._turn("h")
        row = _effect_rows(turn)[0]
        receipt = turn["receipts"][-1]
        return receipt["receipt_id"], {
            "a person had allowed it": _allowed_by(self._kernel, turn) == PERSON,
            "refused before dispatch": receipt["refused"] and row["dispatched_at_ms"] is None,
            "for that reason": receipt["failure_code"] == "resource_changed",
            "graded not attempted, with a look": _grade(receipt) == ("not_attempted", "verified"),
            "the other file is as it was": self._world.prices.read_text() == STRANGERS_PRICES,
        }

    def _i(self) -> tuple[str, dict[str, bool]]:
        told = {rung: counts["decisions"] for rung, counts in self._kernel.rungs().items()}
        recounted = count_rungs(self._turns)
        decisions = [one for turn in self._turns for one in turn["decisions"]]
        # The decision that cost most is the one to look at; without a model all cost nothing.
        dearest = max(decisions, key=lambda one: one["tokens"]["input"] + one["tokens"]["output"])
        return dearest["digest"], {
            "there are decisions": bool(decisions),
            "decisions by rung equal the recount": told == {rung: recounted.get(rung, 0) for rung in told},
            "plumbing cost no tokens": count_tokens(self._turns, kind="plumbing") == 0,
            "tokens of decisions are the tokens metered": count_tokens(self._turns)
            == count_metered(self._turns),
        }

    def _in_world(self, turn: Shown) -> int:
        """Return how often the effect of a turn is there, whichever kind of thing it is."""
        arguments = self._kernel.show(_effect_rows(turn)[0]["effect_digest"])["arguments"]
        if "message_id" in arguments:
            return self._world.copies(arguments["message_id"])
        if "entry" in arguments:
            return self._world.refunds(arguments["entry"]).count(arguments["amount"])
        return self._world.files_holding(arguments["content"])


def _effect_rows(turn: Shown) -> list[Shown]:
    return [row for row in turn["rows"] if row["kind"] == "effect"]


def _grade(receipt: Shown) -> tuple[str, str]:
    return receipt["graded"]["finality"], receipt["graded"]["confidence"]


def _other_process(receipt: Shown) -> bool:
    return bool(receipt["looks"]) and all(look["independence"]["level"] != "L0" for look in receipt["looks"])


def _allowed_by(kernel: Kernel, turn: Shown) -> str | None:
    granted = [row["grant_id"] for row in _effect_rows(turn) if row["grant_id"] is not None]
    return kernel.show(granted[0])["principal"] if granted else None


__all__ = ["PROMISES", "Expectation", "Outcome", "judge"]
