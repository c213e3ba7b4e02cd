# SPDX-License-Identifier: Apache-2.0
"""A descriptor says in full what is about to happen, and gets a digest only once it is valid."""

from __future__ import annotations

import enum

import msgspec
import pytest

from actum.model import canonical, foreign
from actum.model.effect import (
    Effect,
    EffectDescriptor,
    Expected,
    Externality,
    PrivilegeLevel,
    Resource,
    Reversibility,
    effect_digest,
    intent_digest,
    needs_qualification,
    seal_effect,
    validate,
)
from actum.model.errors import Refused
from actum.testing.records import SALT, descriptor, digest

WRONG_DIGESTS = {
    "too short": "sha256:" + "a" * 63,
    "too long": "sha256:" + "a" * 65,
    "no hex": "sha256:" + "g" * 64,
    "upper case": "sha256:" + "A" * 64,
    "no prefix": "a" * 64,
    "other prefix": "sha512:" + "a" * 64,
    "white space": "sha256:" + "a" * 64 + "\n",
    "empty": "",
}
DIGEST_FIELDS = {
    "/resolved_argument_digest": lambda bad: descriptor(resolved_argument_digest=bad),
    "/canonical_resources/1/digest": lambda bad: descriptor(
        object_count=2,
        blast_radius=2,
        canonical_resources=(Resource(kind="file", id="/a"), Resource(kind="file", id="/b", digest=bad)),
    ),
    "/expected/digest": lambda bad: descriptor(expected=Expected(projection="p@1", digest=bad)),
}


def _check_closed(kind: type[enum.Enum], field: str, values: list[str]) -> None:
    assert [member.value for member in kind] == values
    as_json = msgspec.to_builtins(descriptor())
    for value in values:
        read = msgspec.convert({**as_json, field: value}, EffectDescriptor)
        assert getattr(read, field).value == value
    for other in ["", "none", values[0].upper(), values[0] + " ", None]:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({**as_json, field: other}, EffectDescriptor)


def test_o30_reversibility_is_one_of_three() -> None:
    _check_closed(Reversibility, "reversibility", ["no_mutation", "reversible", "irreversible"])


def test_o31_externality_is_one_of_four() -> None:
    values = ["local_only", "public_read", "private_egress", "external_mutation"]
    _check_closed(Externality, "externality", values)


def test_o32_privilege_is_one_of_three() -> None:
    _check_closed(PrivilegeLevel, "privilege_level", ["standard", "elevated", "system_critical"])


def test_o33_each_resource_is_listed_resolved_with_its_content_digest() -> None:
    resources = (
        Resource(kind="file", id="/a/b", digest=digest("one")),
        Resource(kind="file", id="/a/c", digest=digest("two")),
    )
    sealed = seal_effect(descriptor(canonical_resources=resources, object_count=2, blast_radius=2), salt=SALT)
    assert isinstance(sealed, Effect)
    assert sealed.descriptor.canonical_resources == resources
    other = msgspec.structs.replace(resources[1], digest=digest("three"))
    changed = descriptor(canonical_resources=(resources[0], other), object_count=2, blast_radius=2)
    assert effect_digest(changed, salt=SALT) != sealed.effect_digest


@pytest.mark.parametrize("field", ["destinations", "recipients", "data_classes"])
def test_o34_o35_o36_where_to_whom_and_what_kind_are_listed_and_digested(field: str) -> None:
    one, two = descriptor(**{field: ("x",)}), descriptor(**{field: ("x", "y")})
    assert msgspec.to_builtins(two)[field] == ("x", "y")
    assert effect_digest(one, salt=SALT) != effect_digest(two, salt=SALT)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**msgspec.to_builtins(one), field: "x"}, EffectDescriptor)


def test_o37_o38_o39_counts_code_and_origin_are_part_of_what_is_digested() -> None:
    digests = {
        effect_digest(made, salt=SALT)
        for made in (
            descriptor(),
            descriptor(blast_radius=2),
            descriptor(object_count=2, blast_radius=2),
            descriptor(executable_code=True),
            descriptor(origin_turn_id="T2"),
            descriptor(proposed_action_id="P2"),
        )
    }
    assert len(digests) == 6
    as_json = msgspec.to_builtins(descriptor())
    for field in ("object_count", "blast_radius", "executable_code", "origin_turn_id", "proposed_action_id"):
        missing = {name: value for name, value in as_json.items() if name != field}
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(missing, EffectDescriptor)


@pytest.mark.parametrize(
    "one, other",
    [
        ({"a": 1, "b": "x"}, {"a": 1, "b": "y"}),
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": 1, "b": None}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": "é"}, {"a": "e\u0301"}),
    ],
)
def test_o40_one_changed_argument_is_another_digest(one: dict, other: dict) -> None:
    same = foreign.digest_foreign(foreign.from_plain(dict(reversed(one.items()))))
    assert foreign.digest_foreign(foreign.from_plain(one)) == same
    assert foreign.digest_foreign(foreign.from_plain(other)) != same


@pytest.mark.parametrize("count, radius", [(1, 0), (2, 1), (10, 9)])
def test_rule_1_o42_more_objects_than_the_blast_radius_is_refused(count: int, radius: int) -> None:
    refused = validate(descriptor(object_count=count, blast_radius=radius))
    assert refused is not None
    assert refused.reason == "object_count_exceeds_blast_radius"
    assert refused.facts == {"object_count": str(count), "blast_radius": str(radius)}


def test_rule_1_o42_exactly_as_many_as_the_blast_radius_is_accepted() -> None:
    assert validate(descriptor(object_count=1, blast_radius=1)) is None
    assert validate(descriptor(object_count=10, blast_radius=10)) is None
    assert validate(descriptor(object_count=1, blast_radius=10)) is None


def test_rule_1_a_change_touches_at_least_one_object_and_a_reading_none() -> None:
    refused = validate(descriptor(object_count=0, blast_radius=1))
    assert refused is not None
    assert refused.reason == "object_count_too_small"
    reading = {"reversibility": Reversibility.NO_MUTATION}
    assert validate(descriptor(object_count=0, blast_radius=0, **reading)) is None
    refused = validate(descriptor(object_count=-1, blast_radius=0, **reading))
    assert refused is not None
    assert refused.reason == "object_count_too_small"


@pytest.mark.parametrize("path", DIGEST_FIELDS)
@pytest.mark.parametrize("bad", WRONG_DIGESTS.values(), ids=WRONG_DIGESTS)
def test_rule_2_o43_a_malformed_digest_is_refused_in_every_digest_field(path: str, bad: str) -> None:
    refused = validate(DIGEST_FIELDS[path](bad))
    assert refused is not None
    assert (refused.reason, refused.facts["path"]) == ("malformed_digest", path)


def test_rule_2_every_digest_field_of_the_record_is_among_those_tried() -> None:
    fields = {
        f"{kind.__name__}.{name}"
        for kind in (EffectDescriptor, Resource, Expected)
        for name in kind.__struct_fields__
        if "digest" in name
    }
    assert fields == {"EffectDescriptor.resolved_argument_digest", "Resource.digest", "Expected.digest"}
    assert len(DIGEST_FIELDS) == len(fields)


@pytest.mark.parametrize(
    "wrong", [{"object_count": 2}, {"resolved_argument_digest": WRONG_DIGESTS["upper case"]}]
)
def test_rule_3_o44_an_invalid_descriptor_never_gets_a_digest(wrong: dict) -> None:
    found = seal_effect(descriptor(**wrong), salt=SALT)
    assert isinstance(found, Refused)
    assert not hasattr(found, "effect_digest")


def test_rule_3_a_valid_descriptor_is_digested_with_its_salt() -> None:
    sealed = seal_effect(descriptor(), salt=SALT)
    assert isinstance(sealed, Effect)
    assert sealed.effect_digest == canonical.digest({"salt": SALT, "value": descriptor()})
    assert seal_effect(descriptor(), salt="1" * 32) != sealed


def test_rule_4_o46_an_irreversible_effect_is_flagged() -> None:
    assert needs_qualification(descriptor(reversibility=Reversibility.IRREVERSIBLE))
    assert not needs_qualification(descriptor(reversibility=Reversibility.REVERSIBLE))
    assert not needs_qualification(descriptor(reversibility=Reversibility.NO_MUTATION))


@pytest.mark.parametrize("level", [PrivilegeLevel.ELEVATED, PrivilegeLevel.SYSTEM_CRITICAL])
def test_rule_4_o47_an_effect_above_standard_privilege_is_flagged(level: PrivilegeLevel) -> None:
    assert needs_qualification(descriptor(privilege_level=level))
    assert not needs_qualification(descriptor(privilege_level=PrivilegeLevel.STANDARD))


def test_rule_4_o48_executable_content_is_flagged() -> None:
    assert needs_qualification(descriptor(executable_code=True))
    assert not needs_qualification(descriptor(executable_code=False))


def test_the_same_wish_is_the_same_intent_whatever_turn_and_salt() -> None:
    wish = intent_digest(descriptor(), principal="ann")
    assert intent_digest(descriptor(origin_turn_id="T2", proposed_action_id="P2"), principal="ann") == wish
    others = {
        intent_digest(descriptor(capability="files.append"), principal="ann"),
        intent_digest(descriptor(resolved_argument_digest=digest("other")), principal="ann"),
        intent_digest(descriptor(destinations=("/b",)), principal="ann"),
        intent_digest(descriptor(recipients=("x",)), principal="ann"),
        intent_digest(descriptor(), principal="bob"),
    }
    assert len(others | {wish}) == 6
