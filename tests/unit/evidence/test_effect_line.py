# SPDX-License-Identifier: Apache-2.0
"""Each line gets the answer the wire reference settles, case by case."""

import json
from typing import Any

import msgspec
import pytest

from actum.evidence.effect_line import LineAnswer, LineError, encode_answer, read_line, verify_lines
from actum.evidence.wire_schema import Fault
from actum.model.action_v2 import Actor, Effect, RecordVersion, Verifier, WireLook, WireResolution
from actum.model.grading import DeadlinePolicy, EffectConfidence, EffectFinality, LookOutcome, ReasonCode
from actum.model.rfc3339 import parse_instant
from actum.testing.effect_lines import BEFORE, EFFECT, OTHER, WITNESS, effect, line, look, trusting

NOW = "2026-05-05T00:00:00Z"
MINIMAL = {"id": "e", "version": "action/v2", "effect_digest": EFFECT, "finality": "initiated"}


def answers(*lines: bytes, at: str | None = None) -> list[dict[str, Any]]:
    now = None if at is None else parse_instant(at)
    return [json.loads(encode_answer(each)) for each in verify_lines(lines, trust=trusting(), at=now)]


def answer(record: Effect | dict[str, Any] | bytes, *, at: str | None = None) -> dict[str, Any]:
    if isinstance(record, dict):
        record = json.dumps(record).encode()
    given = record if isinstance(record, bytes) else line(record)
    (only,) = answers(given, at=at)
    return only


def error(record: dict[str, Any] | bytes) -> tuple[str, str]:
    found = answer(record)
    assert set(found) == {"line", "error"}
    assert set(found["error"]) == {"code", "path", "message"}
    return found["error"]["code"], found["error"]["path"]


def test_a_line_is_answered_with_the_documented_members_in_order() -> None:
    (only,) = verify_lines([line(effect(readback=look()))], trust=trusting())
    assert encode_answer(only) == (
        b'{"id":"effect-1","claimed":{"finality":"finalized","confidence":"verified"},'
        b'"graded":{"finality":"finalized","confidence":"verified"},"status":"success",'
        b'"resolution":null,"reasons":[]}'
    )


def test_t1_t2_no_record_of_one_effect_has_a_boolean_for_its_outcome() -> None:
    for record in (Effect, WireLook, LineAnswer):
        for field in msgspec.inspect.type_info(record).fields:  # type: ignore[union-attr]
            assert "BoolType" not in repr(field.type)
            assert field.encode_name not in ("success", "ok", "done", "verified")
    assert set(answer(effect())["graded"]) == {"finality", "confidence"}


def test_t3_the_version_is_action_v2_and_both_axes_stand_in_the_record() -> None:
    assert json.loads(line(effect()))["version"] == "action/v2"
    assert {"finality", "confidence"} <= set(Effect.__struct_fields__)
    assert [version.value for version in RecordVersion] == ["action/v2"]
    assert error(MINIMAL | {"version": "action/v1"}) == ("enum", "/version")


@pytest.mark.parametrize("finality", list(EffectFinality))
@pytest.mark.parametrize("confidence", list(EffectConfidence))
def test_t4_t30_t32_every_pair_is_written_read_back_and_echoed_unchanged(finality, confidence) -> None:
    record = effect(finality=finality, confidence=confidence)
    assert read_line(line(record)) == record
    assert answer(record)["claimed"] == {"finality": finality.value, "confidence": confidence.value}


def test_t10_t18_the_closed_sets_refuse_other_words() -> None:
    assert {f.value for f in EffectFinality} == {
        "not_attempted", "initiated", "finalized", "failed", "indeterminate",
    }  # fmt: skip
    assert {c.value for c in EffectConfidence} == {
        "verified", "partial", "ambiguous", "unknown", "not_verified",
    }  # fmt: skip
    for word in ("Finalized", "done", "", "FINALIZED"):
        assert error(MINIMAL | {"finality": word}) == ("enum", "/finality")
    for word in ("certain", "Verified", ""):
        assert error(MINIMAL | {"confidence": word}) == ("enum", "/confidence")


def test_t46_a_fifth_policy_is_refused() -> None:
    for word in ("retry", "Timeout", ""):
        assert error(MINIMAL | {"resolution": {"on_deadline": word}}) == ("enum", "/resolution/on_deadline")


@pytest.mark.parametrize("member", ["input_hash", "output_hash", "context_snapshot", "expected"])
def test_t33_t34_t36_the_digests_of_the_evidence_are_members_and_nothing_but_digests(member) -> None:
    record = read_line(json.dumps(MINIMAL | {member: OTHER}).encode())
    assert isinstance(record, Effect)
    assert getattr(record, member) == OTHER
    for content in ("the body of a letter", OTHER.upper(), OTHER + "0", OTHER + "\n", "sha256:"):
        assert error(MINIMAL | {member: content}) == ("format", f"/{member}")


@pytest.mark.parametrize("member", ["before", "observed"])
def test_t35_t37_a_read_back_holds_digests_and_no_content(member) -> None:
    assert error(MINIMAL | {"readback": {member: "balance 12"}}) == ("format", f"/readback/{member}")
    assert error(MINIMAL | {"readback": {"value": "12"}}) == ("unknown_field", "/readback/value")


def test_t37_content_cannot_be_added_to_an_effect() -> None:
    assert error(MINIMAL | {"input": "marked content"}) == ("unknown_field", "/input")
    assert error(MINIMAL | {"actor": {"note": "x"}}) == ("unknown_field", "/actor/note")


def test_t38_a_holder_of_the_input_can_check_it_to_the_byte() -> None:
    from actum.model.canonical import digest_bytes

    record = effect(input_hash=digest_bytes(b"pay 12"))
    read = read_line(line(record))
    assert isinstance(read, Effect)
    assert read.input_hash == digest_bytes(b"pay 12")
    assert read.input_hash != digest_bytes(b"pay 13")


def test_t39_a_line_is_graded_from_digests_alone() -> None:
    text = line(effect(readback=look()))
    assert answer(text)["status"] == "success"
    assert b"pay 12" not in text


def test_t20_a_not_verified_effect_is_answered_like_any_other() -> None:
    record = effect(finality=EffectFinality.INITIATED, confidence=EffectConfidence.NOT_VERIFIED)
    found = answer(record)
    assert (found["graded"]["confidence"], found["reasons"]) == ("not_verified", [])
    assert "error" not in found


def test_t40_t41_a_resolution_is_read_with_an_initiated_effect() -> None:
    wire = WireResolution(deadline=NOW, on_deadline=DeadlinePolicy.TIMEOUT)
    record = effect(finality=EffectFinality.INITIATED, resolution=wire)
    assert read_line(line(record)) == record
    assert answer(record, at="2026-05-06T00:00:00Z")["resolution"] == {
        "outcome": "breached",
        "seconds": 86400,
        "on_deadline": "timeout",
    }


# 1 of the wire reference: null and absent mean the same.


def test_null_and_absent_mean_the_same_at_every_depth() -> None:
    nulls: dict[str, Any] = dict.fromkeys(Effect.__struct_fields__) | MINIMAL
    assert read_line(json.dumps(nulls).encode()) == read_line(json.dumps(MINIMAL).encode())
    look_nulls = dict.fromkeys(WireLook.__struct_fields__)
    record = read_line(
        json.dumps(
            MINIMAL
            | {
                "readback": look_nulls,
                "witnesses": [look_nulls | {"verifier": {"id": None, "version": None}}],
                "actor": {"id": None, "keyid": None},
                "resolution": {"deadline": None, "on_deadline": None},
            }
        ).encode()
    )
    assert isinstance(record, Effect)
    assert record.readback == WireLook()
    assert record.witnesses == (WireLook(verifier=Verifier()),)
    assert (record.actor, record.resolution) == (Actor(), WireResolution())


def test_a_null_confidence_is_echoed_as_null_and_graded_not_verified() -> None:
    found = answer(MINIMAL)
    assert found["claimed"] == {"finality": "initiated", "confidence": None}
    assert found["graded"] == {"finality": "initiated", "confidence": "not_verified"}
    assert found["status"] is None


def test_a_signature_over_a_look_with_null_members_holds() -> None:
    seen = json.loads(msgspec.json.encode(look())) | {"before": None}
    del seen["before"]
    bare = look(before=None)
    record = json.loads(line(effect())) | {
        "readback": json.loads(msgspec.json.encode(bare)) | {"before": None}
    }
    assert answer(record)["status"] == "success"
    record["readback"] = seen
    assert answer(record)["reasons"] == ["capped_no_look", "look_signature"]


# 2 and 3: what is malformed and what only is not accepted.


@pytest.mark.parametrize("word", [7, True, [], {}])
def test_a_deadline_that_is_no_text_is_malformed(word) -> None:
    assert error(MINIMAL | {"resolution": {"deadline": word}}) == ("type", "/resolution/deadline")


@pytest.mark.parametrize("text", ["", "soon", "2026-05-04T00:00:00", "2026-04-31T00:00:00Z"])
def test_a_deadline_that_is_no_time_is_answered_as_bad_deadline(text) -> None:
    found = answer(MINIMAL | {"resolution": {"deadline": text}}, at=NOW)
    assert found["resolution"] == {"outcome": "bad_deadline", "seconds": None, "on_deadline": None}


@pytest.mark.parametrize("keyid", ["", "ABCDEF0123456789", "0" * 15, "0" * 17, "0" * 16 + "\n"])
def test_a_keyid_of_another_form_makes_the_line_malformed(keyid) -> None:
    assert error(MINIMAL | {"readback": {"keyid": keyid}}) == ("format", "/readback/keyid")
    assert error(MINIMAL | {"actor": {"keyid": keyid}}) == ("format", "/actor/keyid")


@pytest.mark.parametrize("at", ["", "2026-05-04", "2026-02-29T00:00:00Z"])
def test_a_look_whose_time_is_no_time_makes_the_line_malformed(at) -> None:
    assert error(MINIMAL | {"readback": {"at": at}}) == ("format", "/readback/at")
    assert error(MINIMAL | {"witnesses": [{}, {"at": at}]}) == ("format", "/witnesses/1/at")


def test_a_look_without_signature_time_or_key_is_answered_with_its_refusal() -> None:
    seen = look()
    for members, reason in (
        ({"keyid": None}, "look_untrusted"),
        ({"sig": None}, "look_signature"),
        ({"sig": "not base64!"}, "look_signature"),
    ):
        record = effect(readback=msgspec.structs.replace(seen, **members))
        assert answer(record)["reasons"] == ["capped_no_look", reason]
    assert answer(effect(readback=look(at=None)))["reasons"] == ["capped_no_look", "look_key_expired"]


def test_a_look_without_an_outcome_is_accepted_and_unclear() -> None:
    found = answer(effect(readback=look(outcome=None)))
    assert (found["graded"]["confidence"], found["reasons"]) == ("ambiguous", ["capped_unclear"])


# 7 to 10: how looks combine on the wire.


def test_looks_of_two_places_are_weighed_together() -> None:
    clash = effect(readback=look(), witnesses=(look(key=WITNESS, observed=BEFORE),))
    found = answer(clash)
    assert found["graded"] == {"finality": "indeterminate", "confidence": "ambiguous"}
    assert found["reasons"] == ["clashing_looks"]


def test_an_unclear_witness_does_not_undo_a_read_back() -> None:
    record = effect(readback=look(), witnesses=(look(key=WITNESS, outcome=LookOutcome.UNCLEAR),))
    assert answer(record)["status"] == "success"


def test_a_refused_look_is_named_beside_an_accepted_one() -> None:
    forged = msgspec.structs.replace(look(key=WITNESS), observed=OTHER)
    found = answer(effect(readback=look(), witnesses=(forged,)))
    assert (found["status"], found["reasons"]) == ("success", ["look_signature"])


def test_without_an_expected_value_no_look_matches() -> None:
    record = effect(expected=None, readback=look(expected=None, observed=BEFORE))
    found = answer(record)
    assert found["graded"] == {"finality": "indeterminate", "confidence": "ambiguous"}
    assert found["reasons"] == ["capped_unclear", "expected_missing"]


# 11 and 12: deadlines.


def child(id: str, parent: str | None, policy: str | None = None) -> bytes:
    wire = {"deadline": "2026-05-04T00:00:00Z", "on_deadline": policy}
    return json.dumps(MINIMAL | {"id": id, "parent": parent, "resolution": wire}).encode()


def policies(*lines: bytes) -> list[str | None]:
    return [each["resolution"]["on_deadline"] for each in answers(*lines, at=NOW)]


def test_t45_inherit_follows_the_first_line_of_the_parents_id_over_several_levels() -> None:
    assert policies(
        child("a", "b"),
        child("b", "c", "inherit"),
        child("c", None, "tombstone"),
        child("c", None, "timeout"),
    ) == ["tombstone", "tombstone", "tombstone", "timeout"]


def test_an_absent_or_cyclic_parent_gives_escalate() -> None:
    assert (
        policies(child("a", "nobody"), child("b", "c"), child("c", "b"), child("d", "d"), child("e", None))
        == ["escalate"] * 5
    )


def test_a_malformed_parent_gives_escalate_even_if_a_later_line_repairs_it() -> None:
    broken = json.dumps({"id": "p", "version": "action/v2"}).encode()
    found = answers(child("a", "p"), broken, child("p", None, "timeout"), at=NOW)
    assert found[0]["resolution"]["on_deadline"] == "escalate"


def test_only_the_policy_is_inherited() -> None:
    orphan = json.dumps(MINIMAL | {"parent": "p"}).encode()
    found = answers(orphan, child("p", None, "timeout"), at=NOW)
    assert found[0]["resolution"] == {"outcome": "indefinite", "seconds": None, "on_deadline": None}


def test_an_unbacked_negative_claim_stays_open_for_its_deadline() -> None:
    record = MINIMAL | {"finality": "failed", "resolution": {"deadline": "2026-05-04T23:59:59.5Z"}}
    found = answer(record, at=NOW)
    assert found["resolution"] == {"outcome": "breached", "seconds": 0, "on_deadline": "escalate"}
    assert found["reasons"] == ["unbacked"]


def test_t47_without_a_time_no_resolution_is_given() -> None:
    assert answer(MINIMAL | {"resolution": {"deadline": NOW}})["resolution"] is None


def test_lines_are_read_again_only_for_an_inherited_policy_and_only_once() -> None:
    lines = [child("a", None, "timeout"), child("b", "a"), child("c", "a")]
    reads = []

    def again():
        reads.append(1)
        return iter(lines)

    list(verify_lines(lines[:1], at=parse_instant(NOW), again=again))
    assert reads == []
    list(verify_lines(iter(lines), at=parse_instant(NOW), again=again))
    assert reads == [1]


# 13: answers and errors.


def test_answers_come_in_line_order_and_blank_lines_are_counted_but_skipped() -> None:
    good = json.dumps(MINIMAL).encode()
    found = answers(b"\n", good + b"\r\n", b" \t\r\n", b"{\n", good, b"\x0c\n")
    assert [each.get("line") or each["id"] for each in found] == ["e", 4, "e", 6]


def test_an_answer_is_given_before_the_next_line_is_read() -> None:
    def endless():
        while True:
            yield json.dumps(MINIMAL).encode()

    stream = verify_lines(endless())
    assert all(isinstance(next(stream), LineAnswer) for _ in range(3))


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        (b'{"id":"\xff"}', "not_utf8", ""),
        (b"{", "not_json", ""),
        (b"\xef\xbb\xbf{}", "not_json", ""),
        (b'{"id":"a","id":"a"}', "duplicate_key", "/id"),
        (b'{"readback":{"at":"x","at":"y"}}', "duplicate_key", "/readback/at"),
        (b'{"id":NaN}', "bad_number", "/id"),
        (b'{"witnesses":[{"at":-Infinity}]}', "bad_number", "/witnesses/0/at"),
        (b'{"id":"\\ud800"}', "lone_surrogate", "/id"),
        (b'{"actor":' + b"[" * 70 + b"]" * 70 + b"}", "too_deep", ""),
        (b"[]", "type", ""),
        (b"7", "type", ""),
        (b"null", "type", ""),
    ],
)
def test_a_line_that_is_no_object_of_json_gets_its_code(text, code, path) -> None:
    assert error(text) == (code, path)


@pytest.mark.parametrize(
    ("members", "code", "path"),
    [
        ({"id": None}, "missing", "/id"),
        ({"id": ""}, "format", "/id"),
        ({"id": 7}, "type", "/id"),
        ({"version": None}, "missing", "/version"),
        ({"effect_digest": None}, "missing", "/effect_digest"),
        ({"effect_digest": "sha256:12"}, "format", "/effect_digest"),
        ({"finality": None}, "missing", "/finality"),
        ({"finality": True}, "type", "/finality"),
        ({"actor": "ada"}, "type", "/actor"),
        ({"actor": {"id": 1}}, "type", "/actor/id"),
        ({"readback": []}, "type", "/readback"),
        ({"readback": {"outcome": "sure"}}, "enum", "/readback/outcome"),
        ({"readback": {"verifier": "v"}}, "type", "/readback/verifier"),
        ({"readback": {"verifier": {"name": "v"}}}, "unknown_field", "/readback/verifier/name"),
        ({"readback": {"sig": 1}}, "type", "/readback/sig"),
        ({"witnesses": {}}, "type", "/witnesses"),
        ({"witnesses": [None]}, "type", "/witnesses/0"),
        ({"witnesses": [{}, {"observed": 1.5}]}, "type", "/witnesses/1/observed"),
        ({"parent": 1}, "type", "/parent"),
        ({"a/b~c": 1}, "unknown_field", "/a~1b~0c"),
        ({"resolution": {"on_deadline": 1}}, "type", "/resolution/on_deadline"),
    ],
)
def test_a_malformed_member_gets_its_code_and_its_pointer(members, code, path) -> None:
    assert error(MINIMAL | members) == (code, path)


def test_a_malformed_line_does_not_keep_the_others_from_being_answered() -> None:
    good = json.dumps(MINIMAL).encode()
    found = list(verify_lines([good, b"x", good]))
    assert [type(each) for each in found] == [LineAnswer, LineError, LineAnswer]


def test_every_reason_in_an_answer_is_a_code_of_the_list() -> None:
    codes = {reason.value for reason in ReasonCode}
    assert len(codes) == 14
    assert set(answer(effect(readback=look(observed=OTHER)))["reasons"]) == {
        "capped_unclear",
        "observed_other",
    }


def test_a_fault_is_a_value() -> None:
    assert isinstance(read_line(b"x"), Fault)
