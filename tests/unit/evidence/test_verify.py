# SPDX-License-Identifier: Apache-2.0
"""Each of the six answers is given on its own evidence, and each check is what keeps one of them honest."""

import base64
import hashlib
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.evidence import bundle, dsse, log, notes
from actum.evidence.published import RECEIPT
from actum.evidence.statements import statement
from actum.evidence.verdict import Aspect, State
from actum.evidence.verify import verify_bundle
from actum.model import canonical
from actum.model.errors import UsageError
from actum.model.grading import LookOutcome
from actum.model.trust import KeyRole
from tests.unit.evidence import samples
from tests.unit.evidence.samples import ADA, KERNEL, LOG, LOOKER, NOW_MS, START_MS, Ledger, codes, judge

ESTABLISHED, NOT_ESTABLISHED, CONTRADICTED = State


def states(data: bytes, **options: Any) -> dict[str, str]:
    verdict = judge(data, **options)
    return {finding.aspect.value: finding.state.value for finding in verdict.findings}


def state(data: bytes, aspect: Aspect, **options: Any) -> State:
    return judge(data, **options).finding(aspect).state


# What a good bundle establishes


def test_o97_the_record_is_exported_signed_and_holds_for_who_trusts_its_keys() -> None:
    ledger = samples.small_ledger()
    verdict = judge(ledger.bundle(), checkpoint=ledger.checkpoint())
    assert {finding.state for finding in verdict.findings} == {ESTABLISHED}
    assert verdict.exit_code == 0
    assert verdict.statuses == {"success": 2}
    assert (verdict.tree_size, verdict.receipts, verdict.problem_count) == (4, 2, 0)
    assert verdict.finding(Aspect.ALLOWED).by == (f"ada ({ADA.keyid})",)
    assert verdict.finding(Aspect.OBSERVED).by == (f"files.digest@1 ({LOOKER.keyid})",)


def test_without_a_trust_file_a_bundle_is_intact_and_its_signer_unknown() -> None:
    ledger = samples.small_ledger()
    verdict = judge(ledger.bundle(), trust=None, checkpoint=ledger.checkpoint())
    found = {finding.aspect.value: finding.state for finding in verdict.findings}
    assert found["intact"] is ESTABLISHED
    assert [found[name] for name in ("signer", "allowed", "observed")] == [NOT_ESTABLISHED] * 3
    assert verdict.exit_code == 3


def test_keys_in_a_bundle_prove_nothing_about_who_signed() -> None:
    """A stranger's bundle agrees with itself in every byte, under keys it brings along."""
    mallory = samples.signer_named("mallory")
    ledger = Ledger(signers=[mallory])
    ledger.receipt(1, signer=mallory)
    data = ledger.bundle(checkpoint=ledger.checkpoint(signer=mallory))
    assert state(data, Aspect.INTACT) is ESTABLISHED
    assert state(data, Aspect.SIGNER) is NOT_ESTABLISHED
    assert judge(data).finding(Aspect.SIGNER).by == (mallory.keyid,)
    assert judge(data, require=frozenset({Aspect.INTACT, Aspect.SIGNER})).exit_code == 3


def test_a_bundle_alone_is_complete_only_as_its_signer_asserts() -> None:
    verdict = judge(
        samples.small_ledger().bundle(), require=frozenset({Aspect.INTACT, Aspect.SIGNER, Aspect.COMPLETE})
    )
    assert verdict.finding(Aspect.COMPLETE).state is NOT_ESTABLISHED
    assert "asserted by the signer" in verdict.finding(Aspect.COMPLETE).sentence
    assert "rollback" in verdict.could_hide
    assert verdict.exit_code == 3


def test_require_chooses_what_must_be_established() -> None:
    data = samples.small_ledger().bundle()
    assert judge(data, require=frozenset({Aspect.INTACT, Aspect.SIGNER, Aspect.OBSERVED})).exit_code == 0
    assert judge(data, require=frozenset({Aspect.ANCHORED})).exit_code == 3


# Changing, removing, reordering


def one_receipt() -> Ledger:
    ledger = Ledger()
    ledger.receipt(1)
    return ledger


@pytest.mark.slow
def test_o98_no_flipped_bit_of_any_byte_verifies() -> None:
    data = one_receipt().bundle()
    for place in range(len(data) * 8):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        assert judge(bytes(changed), require=frozenset()).exit_code == 4, (
            place,
            bytes(changed[place // 8 - 9 :][:20]),
        )


@pytest.mark.slow
def test_o98_no_flipped_bit_verifies_for_a_reader_without_keys_either() -> None:
    data = samples.small_ledger().bundle(witnessed_at_s=START_MS // 1000)
    for index in range(len(data)):
        changed = bytearray(data)
        changed[index] ^= 1 << index % 8
        assert judge(bytes(changed), trust=None, require=frozenset()).exit_code == 4, index


@given(st.data())
def test_o98_no_changed_removed_or_reordered_record_verifies(data: st.DataObject) -> None:
    lines = samples.small_ledger().bundle().splitlines(keepends=True)
    one = data.draw(st.integers(0, len(lines) - 1))
    other = data.draw(st.integers(0, len(lines) - 1).filter(lambda index: index != one))
    removed = lines[:one] + lines[one + 1 :]
    swapped = list(lines)
    swapped[one], swapped[other] = lines[other], lines[one]
    repeated = lines[: one + 1] + lines[one:]
    cut = b"".join(lines)[: data.draw(st.integers(0, len(b"".join(lines)) - 1))]
    for changed in (b"".join(removed), b"".join(swapped), b"".join(repeated), cut):
        assert judge(changed, require=frozenset()).exit_code == 4


def test_o98_a_removed_record_under_a_new_tree_needs_the_logs_key() -> None:
    """Whoever cuts the middle out and makes tree and header fit again lacks a signature over that tree."""
    whole, fewer = samples.small_ledger(), Ledger()
    fewer.lines, fewer.signers, fewer.chains = whole.lines[:-1], whole.signers, whole.chains
    for _, entry in fewer.lines:
        fewer.frontier.append(log.leaf_hash(entry))
    assert codes(judge(fewer.bundle(checkpoint=whole.checkpoint()))) == ["checkpoint"]
    forged = fewer.checkpoint(signer=samples.signer_named("mallory"))
    assert codes(judge(fewer.bundle(checkpoint=forged))) == ["checkpoint_signature"]


def test_a_leaf_that_was_signed_but_is_another_breaks_the_tree() -> None:
    """Two records of one signer exchanged with their chains: every signature holds, the tree does not."""
    ledger = Ledger()
    ledger.other("one", chain="a")
    ledger.other("two", chain="b")
    lines = ledger.bundle().splitlines(keepends=True)
    lines[1], lines[2] = lines[2], lines[1]
    assert codes(judge(b"".join(lines))) == ["root"]


def rewritten(data: bytes, number: int, **members: Any) -> bytes:
    lines = data.splitlines()
    lines[number] = canonical.encode({**json.loads(lines[number]), **members})
    return b"\n".join(lines) + b"\n"


def test_another_place_in_the_chain_breaks_the_tree() -> None:
    verdict = judge(rewritten(one_receipt().bundle(), 1, seq=1))
    assert codes(verdict) == ["chain_gap", "root"]
    assert verdict.finding(Aspect.INTACT).state is CONTRADICTED


def test_another_tree_in_the_header_is_noticed() -> None:
    data = one_receipt().bundle()
    for member in ({"tree_size": 2}, {"root": samples.digest_of("other")}):
        assert codes(judge(rewritten(data, 0, **member))) == ["root"]
    assert codes(judge(rewritten(data, 0, origin="other.example"))) == ["checkpoint"]


def test_a_header_key_is_the_one_its_id_says() -> None:
    data = one_receipt().bundle()
    keys = json.loads(data.splitlines()[0])["keys"]
    keys[0]["public"] = base64.b64encode(ADA.public).decode()
    assert codes(judge(rewritten(data, 0, keys=keys))) == ["header_key"]


def test_a_key_under_which_anybody_can_sign_is_no_header_key() -> None:
    weak = bytes(32)
    data = one_receipt().bundle()
    keys = json.loads(data.splitlines()[0])["keys"]
    keys.append({"keyid": hashlib.sha256(weak).hexdigest()[:16], "public": base64.b64encode(weak).decode()})
    keys.sort(key=lambda key: key["keyid"])
    assert codes(judge(rewritten(data, 0, keys=keys))) == ["header_key"]


# Forms


def sealed_bundle(payload: bytes, *, payload_type: str = dsse.STATEMENT_TYPE, chain: str = "turn-1") -> bytes:
    """A bundle that signs any payload at all, as a faulty or hostile kernel could."""
    ledger = Ledger(signers=[LOG, KERNEL])
    entry = log.log_entry(
        predicate_type=RECEIPT if RECEIPT.encode() in payload else "tag:x:y",
        payload_digest=canonical.digest_bytes(payload),
        keyid=KERNEL.keyid,
        chain=chain,
        seq=0,
    )
    ledger.frontier.append(log.leaf_hash(entry))
    ledger.lines.append((dsse.seal(payload, payload_type=payload_type, signer=KERNEL), entry))
    return ledger.bundle()


def receipt_payload(**changes: Any) -> bytes:
    whole = samples.receipt(1)
    return statement(
        RECEIPT, subjects=[("effect:rcp-1", whole["effect_digest"])], predicate={**whole, **changes}
    )


def test_a_payload_whose_bytes_are_not_its_canonical_ones_is_refused() -> None:
    good = receipt_payload()
    assert judge(sealed_bundle(good)).finding(Aspect.INTACT).state is ESTABLISHED
    loose = good.replace(b'"predicateType":', b'"predicateType": ')
    twice = good.replace(b'"epoch":1', b'"epoch":1,"epoch":1')
    escaped = good.replace(b"files.write", b"files\\u002ewrite")
    for payload in (loose, twice, escaped):
        assert payload != good
        assert codes(judge(sealed_bundle(payload))) == ["statement"], payload


@pytest.mark.parametrize(
    "changes",
    [
        {"note": "a member nobody knows"},
        {"epoch": 1},
        {"objects": None},
        {"effect_digest": "sha256:" + "A" * 64},
        {"started_at_ms": "1"},
        {"started_at_ms": -1},
        {"claim": {"finality": "certain", "confidence": None, "executor_said": None}},
    ],
)
def test_a_receipt_of_another_shape_is_refused_by_name(changes: dict[str, Any]) -> None:
    assert codes(judge(sealed_bundle(receipt_payload(**changes)))) == ["statement"]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"null",
        b"\xff",
        b"[" * 60_000,
        b'{"predicateType":"tag:x:y","a":' + b"[" * 60_000 + b"]" * 60_000 + b"}",
        b'{"_type":"https://in-toto.io/Statement/v1","predicateType":1}',
        b'{"_type":"other","predicate":{},"predicateType":"tag:x:y","subject":[]}',
        b'{"_type":"https://in-toto.io/Statement/v1","predicate":{},"predicateType":"tag:x:y","subject":{}}',
        b'{"_type":"https://in-toto.io/Statement/v1","predicate":1.5,"predicateType":"tag:x:y","subject":[]}',
        b'{"_type":"https://in-toto.io/Statement/v1","predicate":9007199254740993,"predicateType":"tag:x:y","subject":[]}',
    ],
)
def test_a_payload_that_is_no_statement_is_refused_by_name(payload: bytes) -> None:
    assert codes(judge(sealed_bundle(payload))) == ["statement"]


def test_a_payload_of_another_type_is_refused_by_name() -> None:
    assert codes(judge(sealed_bundle(receipt_payload(), payload_type="application/json"))) == ["payload_type"]


def test_a_subject_that_is_not_the_receipts_effect_is_refused() -> None:
    other = statement(
        RECEIPT,
        subjects=[("effect:rcp-1", samples.digest_of("another effect"))],
        predicate=samples.receipt(1),
    )
    assert codes(judge(sealed_bundle(other))) == ["subject"]


def test_a_receipt_stands_in_the_chain_of_its_turn() -> None:
    assert codes(judge(sealed_bundle(receipt_payload(), chain="turn-2"))) == ["chain"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "truncated"),
        (b"\n", "line_form"),
        (b"{}\n", "line_form"),
        (b"\xff\xfe\n", "line_form"),
        (b"[" * 200_000 + b"\n", "line_form"),
        (b"x" * (bundle.MAX_LINE_BYTES + 1) + b"\n", "line_too_long"),
        (b"no newline", "truncated"),
    ],
)
def test_what_is_no_bundle_gets_a_named_reason(data: bytes, code: str) -> None:
    verdict = judge(data)
    assert codes(verdict) == [code]
    assert verdict.exit_code == 4
    assert verdict.finding(Aspect.SIGNER).state is NOT_ESTABLISHED


def test_a_huge_line_is_never_read_whole() -> None:
    class Endless(io.RawIOBase):
        read_so_far = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.read_so_far += len(buffer)
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    endless = Endless()
    verdict = verify_bundle(io.BufferedReader(endless), trust=None, now_ms=NOW_MS)
    assert codes(verdict) == ["line_too_long"]
    assert endless.read_so_far <= 2 * bundle.MAX_LINE_BYTES


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda line: line.replace(b'{"chain"', b'{ "chain"'), "line_kind"),
        (lambda line: line.replace(b'"seq":0', b'"seq":0.0'), "line_form"),
        (lambda line: line.replace(b'"seq":0', b'"seq":-1'), "line_form"),
        (lambda line: line.replace(b'"seq":0', b'"seq":0,"seq":0'), "not_canonical"),
        (lambda line: line.replace(b'"seq":0', b'"extra":1,"seq":0'), "line_form"),
        (lambda line: line.replace(b'"payload":"e', b'"payload":"\\u0065'), "not_canonical"),
        (lambda line: line.replace(b'"signatures":[{', b'"signatures":[{},{'), "line_form"),
        (lambda line: b"", "line_kind"),
    ],
)
def test_a_record_line_of_another_form_gets_a_named_reason(change: Any, code: str) -> None:
    lines = one_receipt().bundle().splitlines()
    lines[1] = change(lines[1])
    assert codes(judge(b"\n".join(lines) + b"\n")) == [code]


def test_base64_that_is_not_the_canonical_form_is_refused() -> None:
    lines = one_receipt().bundle().splitlines()
    sig = json.loads(lines[1])["signatures"][0]["sig"]
    assert sig.endswith("==")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    loose = sig[:-3] + alphabet[alphabet.index(sig[-3]) + 1] + "=="
    assert base64.b64decode(loose) == base64.b64decode(sig)
    lines[1] = lines[1].replace(sig.encode(), loose.encode())
    assert codes(judge(b"\n".join(lines) + b"\n")) == ["not_canonical"]


def test_something_behind_the_checkpoint_is_noticed() -> None:
    data = one_receipt().bundle()
    assert codes(judge(data + b"{}\n")) == ["trailing"]
    assert codes(judge(data + data.splitlines(keepends=True)[-1])) == ["trailing"]


def test_a_version_this_reader_does_not_know_is_refused() -> None:
    assert codes(judge(rewritten(one_receipt().bundle(), 0, version=2))) == ["version"]
    assert codes(judge(rewritten(one_receipt().bundle(), 0, format="other"))) == ["version"]


# Signer


def test_the_keyid_of_a_record_is_a_hint_and_its_leaf_holds_it() -> None:
    """An envelope that names another key still verifies under the right one, if that is what was logged."""
    payload = receipt_payload()
    entry = log.log_entry(
        predicate_type=RECEIPT,
        payload_digest=canonical.digest_bytes(payload),
        keyid=ADA.keyid,
        chain="turn-1",
        seq=0,
    )
    sig = KERNEL.sign(dsse.pae(dsse.STATEMENT_TYPE, payload))
    ledger = Ledger(signers=[LOG, KERNEL, ADA])
    ledger.frontier.append(log.leaf_hash(entry))
    ledger.lines.append(
        (dsse.envelope_bytes(payload, payload_type=dsse.STATEMENT_TYPE, keyid=ADA.keyid, sig=sig), entry)
    )
    verdict = judge(ledger.bundle())
    assert verdict.finding(Aspect.SIGNER).state is ESTABLISHED
    assert verdict.finding(Aspect.SIGNER).by == (f"kernel ({KERNEL.keyid})", f"log ({LOG.keyid})")


@pytest.mark.parametrize("role", [role for role in KeyRole if role is not KeyRole.KERNEL])
def test_only_a_kernel_key_signs_receipts(role: KeyRole) -> None:
    trust = samples.trust(kernel=samples.trusted("kernel", roles=(role,)))
    assert codes(judge(one_receipt().bundle(), trust=trust)) == ["signer_role"]


@pytest.mark.parametrize(
    ("bounds", "code"),
    [
        ({"not_after": "2027-01-15T08:00:00Z"}, "signer_key_expired"),
        ({"not_before": "2030-01-01T00:00:00Z"}, "signer_key_expired"),
        ({"revoked_at": "2027-01-15T08:00:00Z"}, "signer_key_revoked"),
    ],
)
def test_a_kernel_key_signs_only_in_its_time(bounds: dict[str, str], code: str) -> None:
    trust = samples.trust(kernel=samples.trusted("kernel", **bounds))
    assert codes(judge(one_receipt().bundle(), trust=trust)) == [code]


@pytest.mark.parametrize("role", [role for role in KeyRole if role not in (KeyRole.LOG, KeyRole.KERNEL)])
def test_only_a_log_or_kernel_key_signs_checkpoints(role: KeyRole) -> None:
    trust = samples.trust(log=samples.trusted("log", roles=(role,)))
    assert codes(judge(one_receipt().bundle(), trust=trust)) == ["signer_role"]


def test_an_actors_key_signs_no_statement_at_all() -> None:
    ledger = Ledger()
    ledger.other("note")
    assert judge(ledger.bundle()).finding(Aspect.SIGNER).state is ESTABLISHED
    trust = samples.trust(kernel=samples.trusted("kernel", roles=(KeyRole.ACTOR,)))
    assert codes(judge(ledger.bundle(), trust=trust)) == ["signer_role"]


# Allowed


def granted(signer: Any = ADA, use: dict[str, Any] | None = None, **changes: Any) -> Ledger:
    ledger = Ledger()
    given = ledger.grant(1, signer=signer, **changes)
    ledger.receipt(1, grant_digest=given, **(use or {}))
    return ledger


def test_n23_a_grant_for_one_effect_does_not_allow_another() -> None:
    ledger = granted(subject_digest=samples.digest_of("effect 2"))
    assert codes(judge(ledger.bundle())) == ["grant_subject"]


@pytest.mark.parametrize("who", ["looker", "kernel", "witness", "log"])
def test_n24_only_a_person_can_mint_a_grant(who: str) -> None:
    assert codes(judge(granted(samples.signer_named(who), principal=who).bundle())) == ["grant_role"]


def test_a_sessions_grant_is_the_kernels_word_and_says_so() -> None:
    verdict = judge(granted(KERNEL, authn="session").bundle())
    assert verdict.finding(Aspect.ALLOWED).state is ESTABLISHED
    assert verdict.finding(Aspect.ALLOWED).by == (f"ada (session, by word of {KERNEL.keyid})",)


def test_a_grant_in_somebody_elses_name_is_noticed() -> None:
    assert codes(judge(granted(principal="bob").bundle())) == ["grant_principal"]


def test_a_grant_by_an_unknown_key_allows_nothing_and_contradicts_nothing() -> None:
    verdict = judge(granted(samples.signer_named("stranger")).bundle())
    assert verdict.problem_count == 0
    assert verdict.finding(Aspect.ALLOWED).state is NOT_ESTABLISHED
    assert verdict.finding(Aspect.SIGNER).state is NOT_ESTABLISHED


def test_a_grants_key_pinned_to_nobody_names_nobody() -> None:
    trust = samples.trust(ada=samples.trusted("ada", principal=None))
    assert judge(granted().bundle(), trust=trust).finding(Aspect.ALLOWED).state is NOT_ESTABLISHED


@pytest.mark.parametrize(
    ("issued", "expires"),
    [(START_MS + 1001, START_MS + 5000), (START_MS, START_MS + 1000)],
)
def test_an_execution_starts_within_the_time_of_its_grant(issued: int, expires: int) -> None:
    assert codes(judge(granted(issued_at_ms=issued, expires_at_ms=expires).bundle())) == ["grant_time"]


def test_an_execution_may_start_at_the_first_and_before_the_last_instant() -> None:
    ledger = granted(issued_at_ms=START_MS + 1000, expires_at_ms=START_MS + 1001)
    assert judge(ledger.bundle()).finding(Aspect.ALLOWED).state is ESTABLISHED


def test_a_grant_serves_one_outbox_row_however_often_it_was_attempted() -> None:
    ledger = Ledger()
    given = ledger.grant(1)
    ledger.receipt(1, grant_digest=given)
    again = samples.identity(1, receipt_id="rcp-1b", execution_id="exe-1b", epoch=2)
    ledger.receipt(1, grant_digest=given, identity=again)
    assert judge(ledger.bundle()).finding(Aspect.ALLOWED).state is ESTABLISHED
    ledger.receipt(1, grant_digest=given, identity={**again, "execution_id": "exe-1c", "outbox_id": "out-9"})
    assert codes(judge(ledger.bundle())) == ["grant_reused"]


@pytest.mark.parametrize("purpose", ["promotion", "pattern_activation", "settlement", "policy"])
def test_a_grant_for_another_purpose_allows_no_effect(purpose: str) -> None:
    assert codes(judge(granted(purpose=purpose).bundle())) == ["grant_purpose"]


def test_a_grant_stands_before_its_effect_in_the_log() -> None:
    ledger = Ledger()
    later = Ledger()
    given = later.grant(1)
    ledger.receipt(1, grant_digest=given)
    ledger.grant(1)
    assert codes(judge(ledger.bundle())) == ["grant_missing"]


def test_a_revoked_approver_allows_nothing_afterwards() -> None:
    trust = samples.trust(ada=samples.trusted("ada", revoked_at="2027-01-15T08:00:00Z"))
    assert codes(judge(granted().bundle(), trust=trust)) == ["grant_key_revoked"]


def test_an_effect_without_a_grant_is_not_said_to_be_allowed() -> None:
    finding = judge(one_receipt().bundle()).finding(Aspect.ALLOWED)
    assert finding.state is NOT_ESTABLISHED
    assert "without a grant" in finding.sentence


def test_a_settlement_may_stand_on_its_own_grant_or_on_the_confirm_of_its_effect() -> None:
    ledger = Ledger()
    given = ledger.grant(1, expires_at_ms=START_MS + 2000)
    first = ledger.receipt(1, grant_digest=given, **UNKNOWN)
    own = ledger.grant(1, grant_id="grant-s", purpose="settlement", subject_digest=first)
    settling = samples.identity(1, receipt_id="rcp-s", execution_id="exe-s", kind="settlement")
    late = {"started_at_ms": START_MS + 9000, "finished_at_ms": START_MS + 9001}
    second = ledger.receipt(1, grant_digest=own, identity=settling, settles=first, **late)
    third = {**settling, "receipt_id": "rcp-t", "execution_id": "exe-t"}
    ledger.receipt(1, grant_digest=given, identity=third, settles=second, **late)
    verdict = judge(ledger.bundle())
    assert verdict.finding(Aspect.ALLOWED).state is ESTABLISHED
    assert verdict.statuses == {"success": 1}


# Observed

UNKNOWN: dict[str, Any] = {
    "claim": {"finality": "indeterminate", "confidence": "unknown", "executor_said": "no_answer"},
    "graded": {
        "finality": "indeterminate",
        "confidence": "unknown",
        "status": "unknown_outcome",
        "reasons": [],
    },
    "looks": [],
}


def only(**changes: Any) -> bytes:
    ledger = Ledger()
    ledger.receipt(1, **changes)
    return ledger.bundle()


def test_a_stored_grade_is_never_believed() -> None:
    """The kernel signed finalized + verified over nothing at all."""
    verdict = judge(only(looks=[]))
    assert codes(verdict) == ["grade_differs"]
    assert verdict.statuses == {"unknown_outcome": 1}
    assert verdict.exit_code == 4


def test_the_executors_word_earns_no_grade() -> None:
    honest = {
        "finality": "indeterminate",
        "confidence": "not_verified",
        "status": "unknown_outcome",
        "reasons": ["capped_no_look"],
    }
    verdict = judge(only(looks=[], graded=honest))
    assert verdict.problem_count == 0
    assert verdict.statuses == {"unknown_outcome": 1}
    assert verdict.finding(Aspect.OBSERVED).state is NOT_ESTABLISHED


@pytest.mark.parametrize(
    "looks",
    [
        [samples.look(1, observed=samples.digest_of("something else"))],
        [samples.look(1, observed=samples.digest_of("before 1"))],
        [samples.look(1, outcome=LookOutcome.UNCLEAR)],
        [samples.look(1, effect=samples.digest_of("effect 2"))],
        [{**samples.look(1), "sig": samples.look(2)["sig"]}],
        [{**samples.look(1), "before": samples.digest_of("nothing")}],
        [samples.look(1, signer=KERNEL)],
    ],
    ids=[
        "third state",
        "unchanged",
        "unclear",
        "other effect",
        "other signature",
        "altered",
        "the actor's own",
    ],
)
def test_a_look_that_does_not_bear_the_grade_contradicts_it(looks: list[Any]) -> None:
    trust = samples.trust(kernel=samples.trusted("kernel", roles=(KeyRole.KERNEL, KeyRole.VERIFIER)))
    assert codes(judge(only(looks=looks), trust=trust)) == ["grade_differs"]


@pytest.mark.parametrize(
    "trust",
    [
        samples.trust(without="looker"),
        samples.trust(looker=samples.trusted("looker", roles=(KeyRole.OPERATOR,))),
        samples.trust(looker=samples.trusted("looker", revoked_at="2020-01-01T00:00:00Z")),
        samples.trust(looker=samples.trusted("looker", not_before="2030-01-01T00:00:00Z")),
    ],
    ids=["unknown", "role", "revoked", "expired"],
)
def test_a_verifier_this_reader_does_not_trust_leaves_the_grade_not_established(trust: Any) -> None:
    verdict = judge(only(), trust=trust)
    assert verdict.problem_count == 0
    assert verdict.finding(Aspect.OBSERVED).state is NOT_ESTABLISHED
    assert verdict.statuses == {"unknown_outcome": 1}


def test_a_kernel_that_names_somebody_else_as_the_actor_cannot_look_for_itself() -> None:
    both = (KeyRole.KERNEL, KeyRole.VERIFIER)
    trust = samples.trust(kernel=samples.trusted("kernel", roles=both))
    other = {"actor": {"id": "somebody", "keyid": samples.signer_named("somebody").keyid}}
    assert codes(judge(only(**other), trust=trust)) == []
    own = judge(only(looks=[samples.look(1, signer=KERNEL)], **other), trust=trust)
    assert codes(own) == ["grade_differs"]
    assert own.statuses == {"unknown_outcome": 1}


def test_only_the_newest_receipt_of_a_chain_counts() -> None:
    ledger = Ledger()
    first = ledger.receipt(1, **UNKNOWN)
    assert judge(ledger.bundle()).statuses == {"unknown_outcome": 1}
    settling = samples.identity(1, receipt_id="rcp-s", execution_id="exe-s", kind="settlement")
    ledger.receipt(1, identity=settling, settles=first)
    assert judge(ledger.bundle()).statuses == {"success": 1}
    assert judge(ledger.bundle()).finding(Aspect.OBSERVED).state is ESTABLISHED


def test_rule_3_another_attempt_of_a_row_is_no_second_effect() -> None:
    ledger = Ledger()
    ledger.receipt(1, **UNKNOWN)
    ledger.receipt(1, identity=samples.identity(1, receipt_id="rcp-2", execution_id="exe-2", epoch=2))
    verdict = judge(ledger.bundle())
    assert (verdict.statuses, verdict.receipts) == ({"success": 1}, 2)
    assert "1 of 1 effect graded verified" in verdict.finding(Aspect.OBSERVED).sentence


def test_a_settlement_settles_something_that_stands_before_it() -> None:
    settling = samples.identity(1, kind="settlement")
    assert codes(judge(only(identity=settling, settles=samples.digest_of("nothing")))) == ["settles_nothing"]


def test_an_execution_has_one_receipt() -> None:
    ledger = one_receipt()
    ledger.receipt(1, identity=samples.identity(1, receipt_id="rcp-other"))
    assert codes(judge(ledger.bundle())) == ["receipt_twice"]


def test_a_receipt_does_not_finish_before_it_started() -> None:
    assert codes(judge(only(finished_at_ms=START_MS))) == ["receipt_times"]


def batch(*seen: bool) -> dict[str, Any]:
    objects: list[dict[str, Any]] = []
    for index, held in enumerate(seen):
        objects.append(
            {
                "object_digest": samples.digest_of(f"object {index}"),
                "claim": samples.receipt(1)["claim"],
                "graded": samples.FINAL
                if held
                else {
                    "finality": "indeterminate",
                    "confidence": "not_verified",
                    "status": "unknown_outcome",
                    "reasons": ["capped_no_look"],
                },
                "expected": samples.digest_of("after 1"),
                "output_hash": None,
                "looks": [samples.look(1)] if held else [],
            }
        )
    return {"objects": objects, "looks": []}


def test_a_batch_is_graded_object_by_object() -> None:
    partly = {"finality": "indeterminate", "confidence": "not_verified", "status": "partial", "reasons": []}
    assert judge(only(**batch(True, True))).statuses == {"success": 1}
    verdict = judge(only(**batch(True, False), graded=partly))
    assert (verdict.problem_count, verdict.statuses) == (0, {"partial": 1})


def test_a_batch_that_claims_more_than_its_objects_contradicts_them() -> None:
    assert codes(judge(only(**batch(True, False)))) == ["grade_differs"]


# Complete, anchored


def test_a_log_cut_off_behind_a_known_checkpoint_is_noticed() -> None:
    whole = samples.small_ledger()
    short = Ledger()
    given = short.grant(1)
    short.receipt(1, grant_digest=given)
    assert judge(short.bundle(), checkpoint=short.checkpoint()).exit_code == 0
    assert codes(judge(short.bundle(), checkpoint=whole.checkpoint())) == ["cut_off"]
    assert codes(judge(short.bundle(), min_size=4)) == ["too_small"]
    assert judge(short.bundle(), min_size=2, require=frozenset({Aspect.COMPLETE})).exit_code == 0


def test_a_log_rewritten_behind_a_known_checkpoint_is_noticed() -> None:
    old, new = one_receipt(), Ledger()
    new.receipt(2)
    new.receipt(3)
    assert codes(judge(new.bundle(), checkpoint=old.checkpoint())) == ["checkpoint_differs"]


def test_a_log_that_grew_since_a_known_checkpoint_is_complete_up_to_it() -> None:
    ledger = one_receipt()
    known = ledger.checkpoint()
    ledger.receipt(2)
    verdict = judge(ledger.bundle(), checkpoint=known)
    assert verdict.finding(Aspect.COMPLETE).state is ESTABLISHED
    assert "up to leaf 1 of 2" in verdict.finding(Aspect.COMPLETE).sentence
    assert "after leaf 1" in verdict.could_hide


def test_a_checkpoint_the_log_did_not_sign_can_be_held_against_nobody() -> None:
    ledger = one_receipt()
    forged = ledger.checkpoint(signer=samples.signer_named("mallory"))
    verdict = judge(ledger.bundle(), checkpoint=forged)
    assert verdict.problem_count == 0
    assert verdict.finding(Aspect.COMPLETE).state is NOT_ESTABLISHED
    assert verdict.finding(Aspect.ANCHORED).state is NOT_ESTABLISHED


@pytest.mark.parametrize("case", ["junk", "another log", "empty"])
def test_a_checkpoint_of_something_else_is_the_callers_mistake(case: str) -> None:
    ledger = one_receipt()
    given = {
        "junk": b"junk",
        "another log": log.sign_checkpoint(ledger.frontier, origin="other.example", signer=LOG),
        "empty": Ledger().checkpoint(),
    }[case]
    with pytest.raises(UsageError) as caught:
        judge(ledger.bundle(), checkpoint=given)
    assert caught.value.code == "checkpoint_unusable"


@pytest.mark.parametrize(
    ("now_ms", "expected"),
    [
        (START_MS + 1600 + 60_000, ESTABLISHED),
        (START_MS + 1600 + 60_001, NOT_ESTABLISHED),
        (START_MS - 300_000, NOT_ESTABLISHED),
    ],
)
def test_a_log_is_fresh_by_its_newest_record(now_ms: int, expected: State) -> None:
    verdict = judge(one_receipt().bundle(), max_age_ms=60_000, now_ms=now_ms)
    assert verdict.finding(Aspect.COMPLETE).state is expected
    assert verdict.problem_count == 0


def test_every_outside_view_that_is_given_must_hold() -> None:
    ledger = one_receipt()
    late = START_MS + 10_000_000
    verdict = judge(ledger.bundle(), checkpoint=ledger.checkpoint(), max_age_ms=1000, now_ms=late)
    assert verdict.finding(Aspect.COMPLETE).state is NOT_ESTABLISHED


def test_a_chain_that_skips_a_place_is_noticed() -> None:
    ledger = Ledger()
    ledger.other("one")
    ledger.other("three", seq=2)
    assert codes(judge(ledger.bundle())) == ["chain_gap"]


def test_a_trusted_witness_anchors_the_log_and_tells_its_age() -> None:
    data = one_receipt().bundle(witnessed_at_s=NOW_MS // 1000 - 10)
    verdict = judge(data, max_age_ms=60_000)
    assert verdict.finding(Aspect.ANCHORED).state is ESTABLISHED
    assert verdict.finding(Aspect.ANCHORED).by == (f"witness ({samples.WITNESS.keyid})",)
    assert verdict.finding(Aspect.COMPLETE).state is ESTABLISHED


@pytest.mark.parametrize(
    "trust",
    [
        samples.trust(without="witness"),
        samples.trust(witness=samples.trusted("witness", roles=(KeyRole.VERIFIER,))),
    ],
)
def test_a_witness_that_is_not_pinned_as_one_anchors_nothing(trust: Any) -> None:
    data = one_receipt().bundle(witnessed_at_s=NOW_MS // 1000)
    assert judge(data, trust=trust).finding(Aspect.ANCHORED).state is NOT_ESTABLISHED


def test_a_cosignature_alone_is_no_signature_of_the_log() -> None:
    ledger = one_receipt()
    note = notes.open_note(ledger.checkpoint())
    unsigned = f"{note.text}\n".encode()
    only_witness = notes.cosign(
        unsigned + "— x AAAAAAA=\n".encode(), name="w", signer=samples.WITNESS, at_s=1
    )
    stripped = only_witness.replace("— x AAAAAAA=\n".encode(), b"")
    assert codes(judge(ledger.bundle(checkpoint=stripped))) == ["checkpoint_signature"]


# Withheld records


def test_t39_records_can_be_withheld_and_the_rest_still_verifies() -> None:
    ledger = samples.small_ledger()
    verdict = judge(ledger.bundle(withheld=frozenset({2, 3})), checkpoint=ledger.checkpoint())
    assert verdict.finding(Aspect.INTACT).state is ESTABLISHED
    assert verdict.finding(Aspect.SIGNER).state is ESTABLISHED
    assert verdict.finding(Aspect.ALLOWED).state is ESTABLISHED
    assert (verdict.receipts, verdict.withheld) == (1, 2)
    assert verdict.statuses == {"success": 1}


def test_what_is_withheld_is_neither_complete_nor_observed() -> None:
    ledger = samples.small_ledger()
    verdict = judge(ledger.bundle(withheld=frozenset({1})), checkpoint=ledger.checkpoint())
    assert verdict.finding(Aspect.COMPLETE).state is NOT_ESTABLISHED
    assert verdict.finding(Aspect.OBSERVED).state is NOT_ESTABLISHED
    assert verdict.exit_code == 3


def test_a_withheld_grant_leaves_its_effect_not_said_to_be_allowed() -> None:
    finding = judge(granted().bundle(withheld=frozenset({0}))).finding(Aspect.ALLOWED)
    assert finding.state is NOT_ESTABLISHED
    assert "withheld" in finding.sentence


def test_a_verdict_has_every_answer_once_and_in_order() -> None:
    for data in (b"", one_receipt().bundle()):
        assert [finding.aspect for finding in judge(data).findings] == list(Aspect)


# Leaning on the checkpoint


def kernel_signed() -> bytes:
    """A log whose receipts and checkpoint are signed by the same kernel key."""
    ledger = samples.small_ledger()
    return ledger.bundle(checkpoint=ledger.checkpoint(signer=KERNEL))


def test_one_checkpoint_signature_speaks_for_the_records_of_its_key_and_says_so() -> None:
    verdict = judge(kernel_signed(), by_checkpoint=True)
    assert verdict.problem_count == 0
    assert "instead of their own" in verdict.finding(Aspect.INTACT).sentence
    assert verdict.finding(Aspect.OBSERVED).state is ESTABLISHED


def test_records_of_another_key_than_the_checkpoints_do_not_lean_on_it() -> None:
    assert codes(judge(samples.small_ledger().bundle(), by_checkpoint=True)) == ["checkpoint_mode"]


def test_a_persons_grant_never_leans_on_the_kernels_checkpoint() -> None:
    line = kernel_signed().splitlines(keepends=True)[1]
    sig = json.loads(line)["signatures"][0]["sig"].encode()
    forged = kernel_signed().replace(sig, base64.b64encode(bytes(64)))
    assert codes(judge(forged, by_checkpoint=True)) == ["signature"]


def test_a_changed_record_that_leans_on_the_checkpoint_breaks_the_tree() -> None:
    data = kernel_signed()
    receipts = [
        line
        for line in data.splitlines(keepends=True)
        if b"eyJfdHlwZSI" in line and KERNEL.keyid.encode() in line
    ]
    payload = base64.b64decode(json.loads(receipts[0])["payload"])
    other = payload.replace(b'"epoch":1', b'"epoch":2')
    changed = data.replace(base64.b64encode(payload), base64.b64encode(other))
    assert changed != data
    assert codes(judge(changed, by_checkpoint=True)) == ["root"]


def test_without_a_trust_file_nothing_leans_on_the_checkpoint() -> None:
    data = kernel_signed()
    line = data.splitlines(keepends=True)[2]
    sig = json.loads(line)["signatures"][0]["sig"].encode()
    forged = data.replace(sig, base64.b64encode(bytes(64)))
    assert codes(judge(forged, by_checkpoint=True, trust=None)) == ["signature"]
