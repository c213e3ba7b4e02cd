# SPDX-License-Identifier: Apache-2.0
"""A store's log leaves as digests under signatures, and whoever has the trust file alone can judge it."""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actum.evidence.disclosure import matches, read_disclosure
from actum.evidence.dsse import open_envelope
from actum.evidence.published import PublishedReceipt
from actum.evidence.trust_file import read_trust
from actum.evidence.verdict import Aspect, State, Verdict
from actum.evidence.verify import verify_bundle
from actum.model import foreign
from actum.model.errors import EnvironmentFault
from actum.service import export as exporting
from actum.testing.kernels import PERSON, perform
from actum.testing.records import cloud
from tests.unit.service.desk import Desk

MARKS = (
    "MARKEDINPUT",
    "MARKEDOUTPUT",
    "MARKEDSEEN",
    "MARKEDSUBJECT",
    "MARKEDTEXT",
    "MARKEDREASON",
    "MARKEDPLACE",
)


def _marked(desk: Desk) -> Any:
    """Fill a store with every kind of content, each marked; return the turn of the marked effect."""

    @desk.kernel.action(
        "odd.act", reversibility="reversible", externality="external_mutation", claims="state",
        recipients=lambda text: ["MARKEDPLACE@example.test"], destinations=("https://MARKEDPLACE.test",),
    )  # fmt: skip
    def act(text: str) -> dict[str, str]:
        return {"answer": "MARKEDOUTPUT"}

    act.verifier(expect={"seen": "MARKEDSEEN"})(lambda text: {"seen": "MARKEDSEEN"})
    turn = act("MARKEDINPUT")
    perform(desk.kernel, turn)
    declined = desk.kernel.submit("ticket", {"kind": "order", "entry": "MARKEDSUBJECT"})
    desk.kernel.refuse(declined.question_ids(), by=PERSON, reason="MARKEDREASON")
    odd = desk.kernel.submit("ticket", {"kind": "odd", "entry": "MARKEDSUBJECT"})
    desk.kernel.judge(odd.questions()[0].question_id, "letter", by=PERSON, reason="MARKEDREASON")
    desk.kernel.say(turn.turn_id, "MARKEDTEXT", provenance=cloud(), asserts=["odd.act"])
    unknown = desk.append("MARKEDINPUT-2")
    rows = perform_lost(desk, unknown)
    desk.kernel.settle(rows[0], "happened", by=PERSON)
    desk.kernel.run()
    return turn


def perform_lost(desk: Desk, turn: Any) -> list[str]:
    """Carry an effect out in a world that nobody can see afterwards."""
    seen = desk.ledger.count
    desk.ledger.count = lambda entry: None  # type: ignore[method-assign]
    desk.kernel.line.registry.find("ledger.append").verifier._function = lambda entry: None
    rows = perform(desk.kernel, turn)
    desk.ledger.count = seen  # type: ignore[method-assign]
    return rows


def _bundle(desk: Desk) -> bytes:
    stream = io.BytesIO()
    desk.kernel.export(stream)
    return stream.getvalue()


def _judge(desk: Desk, data: bytes, *, trust: bytes | None, **more: Any) -> Verdict:
    return verify_bundle(
        io.BytesIO(data),
        trust=None if trust is None else read_trust(trust),
        now_ms=desk.clock.now_ms(),
        **more,
    )


def _trust(desk: Desk) -> bytes:
    return desk.kernel.place.trust_file.read_bytes()


def test_t37_nothing_that_is_published_holds_content_in_the_clear(desk: Desk) -> None:
    turn = _marked(desk)
    private = json.dumps(desk.kernel.show(turn.turn_id), default=str)
    assert "MARKEDOUTPUT" in private
    leaves = desk.read(lambda tx: list(tx.each_leaf()))
    assert len(leaves) >= 6
    payloads = [open_envelope(leaf.envelope).payload for leaf in leaves]
    published = [_bundle(desk), desk.kernel.place.checkpoint.read_bytes(), *payloads]
    published += [leaf.entry for leaf in leaves] + [leaf.envelope for leaf in leaves]
    for mark in MARKS:
        for form in (mark.encode(), base64.b64encode(mark.encode())[:-4], mark.lower().encode()):
            assert not any(form in data for data in published), mark


def test_t37_each_mark_is_in_the_store_that_was_scanned(desk: Desk) -> None:
    _marked(desk)
    desk.kernel.close()
    kept = b"".join(path.read_bytes() for path in desk.folder.rglob("*") if path.is_file())
    assert [mark for mark in MARKS if mark.encode() not in kept] == []


def _disclosed(desk: Desk, turn: Any) -> tuple[dict[str, Any], PublishedReceipt]:
    receipt = turn.receipts()[0]
    effect = desk.read(lambda tx: tx.effect(receipt.effect_digest))
    shown = {
        "receipt_id": receipt.receipt_id,
        "salt": effect.salt,
        "input": foreign.to_plain(foreign.decode_foreign(effect.arguments)),
        "output": receipt.native_result,
    }
    found: list[PublishedReceipt] = []
    _judge(desk, _bundle(desk), trust=_trust(desk), on_receipt=found.append)
    return shown, next(one for one in found if one.identity.receipt_id == receipt.receipt_id)


def test_t38_the_holder_of_input_and_output_shows_that_the_receipt_is_for_exactly_them(desk: Desk) -> None:
    shown, published = _disclosed(desk, _marked(desk))
    assert shown["input"] == {"text": "MARKEDINPUT"}
    assert shown["output"] == {"answer": "MARKEDOUTPUT"}
    disclosure = read_disclosure(foreign.dump_foreign(shown))
    assert matches(disclosure, published) == {"input": True, "output": True}


@pytest.mark.parametrize("changed", ["input", "output", "salt"])
def test_t38_one_changed_byte_of_input_output_or_salt_does_not_match(desk: Desk, changed: str) -> None:
    shown, published = _disclosed(desk, _marked(desk))
    text = foreign.dump_foreign(shown[changed]).decode()
    at = len(text) // 2
    other = "0" if text[at] != "0" else "1"
    shown[changed] = msgspec.json.decode(text[:at] + other + text[at + 1 :])
    found = matches(read_disclosure(foreign.dump_foreign(shown)), published)
    wrong = {"input", "output"} if changed == "salt" else {changed}
    assert {name for name, same in found.items() if not same} == wrong


def test_o97_t39_a_store_is_judged_offline_from_its_export_and_the_trust_file_alone(desk: Desk) -> None:
    _marked(desk)
    data, trust = _bundle(desk), _trust(desk)
    desk.kernel.close()
    for path in sorted(desk.folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    verdict = _judge(desk, data, trust=trust, min_size=6)
    assert (verdict.exit_code, verdict.problem_count) == (0, 0)
    for aspect in (Aspect.INTACT, Aspect.SIGNER, Aspect.COMPLETE):
        assert verdict.finding(aspect).state is State.ESTABLISHED
    assert verdict.receipts >= 4


def test_o97_without_the_trust_file_the_export_is_intact_and_its_signer_unknown(desk: Desk) -> None:
    _marked(desk)
    verdict = _judge(desk, _bundle(desk), trust=None)
    assert verdict.exit_code == 3
    assert verdict.finding(Aspect.INTACT).state is State.ESTABLISHED
    assert verdict.finding(Aspect.SIGNER).state is State.NOT_ESTABLISHED


def _changed(lines: list[bytes], at: int) -> list[bytes]:
    line = bytearray(lines[at])
    place = len(line) // 2
    line[place] = line[place] ^ 1
    return [*lines[:at], bytes(line), *lines[at + 1 :]]


TAMPERED: dict[str, Callable[[list[bytes], int], list[bytes]]] = {
    "changed": _changed,
    "removed": lambda lines, at: [*lines[:at], *lines[at + 1 :]],
    "reordered": lambda lines, at: [*lines[: at - 1], lines[at], lines[at - 1], *lines[at + 1 :]],
    "doubled": lambda lines, at: [*lines[:at], lines[at], *lines[at:]],
    "cut off": lambda lines, at: lines[:at],
}


@pytest.mark.parametrize("how", TAMPERED)
def test_o98_one_record_changed_removed_or_moved_makes_the_export_fail(desk: Desk, how: str) -> None:
    _marked(desk)
    data, trust = _bundle(desk), _trust(desk)
    lines = data.splitlines(keepends=True)
    assert _judge(desk, b"".join(lines), trust=trust, min_size=1).exit_code == 0
    for at in range(2, len(lines) - 1):
        broken = b"".join(TAMPERED[how](lines, at))
        assert broken != data
        assert _judge(desk, broken, trust=trust, min_size=1).exit_code == 4, (how, at)


def test_o98_any_flipped_bit_of_the_export_is_noticed(desk: Desk) -> None:
    perform(desk.kernel, desk.append("a"))
    data, trust = _bundle(desk), _trust(desk)
    draw = random.Random(7)
    for _ in range(150):
        at = draw.randrange(len(data))
        broken = bytearray(data)
        broken[at] ^= 1 << draw.randrange(7)
        verdict = _judge(desk, bytes(broken), trust=trust, min_size=1)
        assert verdict.exit_code == 4, at


def test_rule_1_header_records_and_checkpoint_are_of_one_log_size(desk: Desk) -> None:
    perform(desk.kernel, desk.append("a"))
    lines = _bundle(desk).splitlines()
    header = json.loads(lines[0])
    assert header["tree_size"] == len(lines) - 2 == desk.read(lambda tx: tx.log_state()[0])


def test_rule_2_the_checkpoint_grows_with_the_log_and_is_left_alone_otherwise(desk: Desk) -> None:
    path = desk.kernel.place.checkpoint
    perform(desk.kernel, desk.append("a"))
    desk.kernel.write_checkpoint()
    first = path.read_bytes()
    desk.kernel.write_checkpoint()
    assert path.read_bytes() == first
    perform(desk.kernel, desk.append("b"))
    desk.kernel.write_checkpoint()
    assert exporting.checkpoint_size(path) == desk.read(lambda tx: tx.log_state()[0])
    assert path.read_bytes() != first


def test_rule_2_a_checkpoint_that_cannot_be_written_is_told_and_loses_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    perform(desk.kernel, desk.append("a"))
    with pytest.raises(EnvironmentFault) as caught:
        exporting.write_checkpoint(desk.kernel.line, tmp_path / "no such folder" / "checkpoint")
    assert caught.value.code == "checkpoint_unwritable"
    assert desk.kernel.check_log() == []


def test_rule_3_a_log_that_lost_its_tail_or_was_rewritten_is_found(desk: Desk) -> None:
    perform(desk.kernel, desk.append("a"))
    desk.kernel.write_checkpoint()
    short = desk.kernel.place.checkpoint.read_bytes()
    perform(desk.kernel, desk.append("b"))
    desk.kernel.write_checkpoint()
    assert desk.kernel.check_log() == []
    with Desk(desk.folder / "other") as other:
        perform(other.kernel, other.append("a"))
        other.kernel.place.checkpoint.write_bytes(desk.kernel.place.checkpoint.read_bytes())
        assert any("its last checkpoint says" in problem for problem in other.kernel.check_log())
        other.kernel.place.checkpoint.write_bytes(short)
        assert any("another root" in problem for problem in other.kernel.check_log())
        other.kernel.place.checkpoint.write_bytes(b"no checkpoint")
        assert other.kernel.check_log() == [f"the checkpoint {other.kernel.place.checkpoint} cannot be read"]


def test_a_persons_word_is_never_older_than_the_grant_it_stands_on(desk: Desk) -> None:
    rows = perform_lost(desk, desk.append("a"))
    # Time passes between reading what is settled and the commit.
    desk.kernel.line.at_point = lambda point: desk.clock.step(5) if point == "before_answer" else None
    desk.kernel.settle(rows[0], "happened", by=PERSON)
    verdict = _judge(desk, _bundle(desk), trust=_trust(desk))
    assert [problem.code for problem in verdict.problems] == []
    assert verdict.finding(Aspect.ALLOWED).state is State.ESTABLISHED
