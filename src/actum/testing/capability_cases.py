# SPDX-License-Identifier: Apache-2.0
"""For every file capability: a world, a wish, and what may happen to that world behind the kernel's back.

A registry-wide test is parametrised over `capability_cases()`; it drives each case with `describe_case`,
`look_request` and `forge_dispatch`. Nothing here says what the right answer of a grade is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from actum.capabilities.files import files_capabilities, verifier_config
from actum.capabilities.files.keep import TrashNote, keep_at
from actum.capabilities.files.sight import identity_of
from actum.model import canonical
from actum.model.effect import EffectDescriptor, Expected, seal_effect
from actum.model.errors import InvariantViolation, Refused
from actum.model.look import Observation, projection_digest
from actum.ports.capability import Capability, DescribeContext, Described
from actum.ports.executor import Dispatch, EffectView
from actum.ports.verifier import LookRequest, Phase

SALT = "0123456789abcdef" * 2
CONTENT = "three eggs\n"
OTHER = "something else\n"

World = dict[str, Path]
Change = Callable[[World, EffectView], None]


class CapabilityCase(msgspec.Struct, frozen=True, kw_only=True):
    """One wish in one world.

    `set_up` fills an empty folder and returns its paths: `root`, `keep` and what the case names itself.
    `satisfy` makes the world as the effect claims without executing it; call it after describing.
    `behind` are changes between describing and holding: each must be refused by `hold`.
    `alter` changes what the effect produced, between executing and looking.
    """

    name: str
    capability_id: str
    set_up: Callable[[Path], World]
    arguments: Callable[[World], dict[str, object]]
    satisfy: Change
    behind: dict[str, Change]
    alter: Change

    def capability(self, world: World) -> Capability:
        """Return the capability over the world's root and keep."""
        made = files_capabilities(roots=[world["root"]], keep=world["keep"])
        return next(capability for capability in made if capability.info.id == self.capability_id)

    def verifier_config(self, world: World) -> dict[str, object]:
        """Return the plain data from which another process makes the verifier."""
        return verifier_config(roots=[world["root"]], keep=world["keep"])


def describe_case(capability: Capability, arguments: dict[str, object]) -> tuple[Described, EffectView]:
    """Describe and seal an effect with a fixed salt. Raises InvariantViolation where it is refused."""
    context = DescribeContext(
        tenant="local", turn_id="turn", proposed_action_id="proposal", principal="tester", now_ms=0
    )
    described = capability.describe(arguments, context=context)
    if isinstance(described, Refused):
        raise InvariantViolation("the case was refused", reason=described.reason, facts=described.facts)
    expected = Expected(
        projection=described.projection,
        digest=projection_digest(described.expected_value, projection=described.projection, salt=SALT),
    )
    effect = seal_effect(_descriptor(capability, described, expected), salt=SALT)
    if isinstance(effect, Refused):
        raise InvariantViolation("the descriptor was refused", reason=effect.reason, facts=effect.facts)
    return described, EffectView(
        effect_digest=effect.effect_digest,
        salt=SALT,
        descriptor=effect.descriptor,
        arguments=described.arguments,
    )


def look_request(effect: EffectView, *, phase: Phase, before: Observation | None = None) -> LookRequest:
    """Return what a verifier is asked about the effect."""
    return LookRequest(
        capability=effect.descriptor.capability,
        effect_digest=effect.effect_digest,
        salt=effect.salt,
        descriptor=effect.descriptor,
        arguments=effect.arguments,
        phase=phase,
        before=before.detail if before is not None else None,
        before_digest=None,
        result=None,
    )


def forge_dispatch(effect: EffectView) -> Dispatch:
    """Return a Dispatch without the seal: a test of an executor stands in for the delivery service."""
    dispatch = object.__new__(Dispatch)
    dispatch.effect = effect
    dispatch.outbox_id = "outbox"
    dispatch.epoch = 1
    dispatch.execution_id = "execution"
    dispatch.deadline_ms = 0
    return dispatch


def capability_cases() -> tuple[CapabilityCase, ...]:
    """Return the cases: one for each file capability, two for a write (new place, replaced file)."""
    return (
        CapabilityCase(
            name="write_new",
            capability_id="files.write",
            set_up=_empty,
            arguments=lambda world: {"path": str(world["file"]), "content": CONTENT},
            satisfy=lambda world, effect: _put(world["file"], CONTENT),
            behind={"place_taken": _put_other, "folder_swapped": _swap_folder, "folder_linked": _link_folder},
            alter=lambda world, effect: _put(world["file"], OTHER),
        ),
        CapabilityCase(
            name="write_replace",
            capability_id="files.write",
            set_up=_with_file,
            arguments=lambda world: {"path": str(world["file"]), "content": OTHER},
            satisfy=lambda world, effect: _put(world["file"], OTHER),
            behind=_FILE_CHANGES,
            alter=lambda world, effect: _put(world["file"], "third"),
        ),
        CapabilityCase(
            name="move",
            capability_id="files.move",
            set_up=_with_file,
            arguments=lambda world: {"source": str(world["file"]), "target": str(world["target"])},
            satisfy=lambda world, effect: os.rename(world["file"], world["target"]),
            behind={**_FILE_CHANGES, "target_taken": lambda world, effect: _put(world["target"], OTHER)},
            alter=lambda world, effect: _put(world["target"], OTHER),
        ),
        CapabilityCase(
            name="trash",
            capability_id="files.trash",
            set_up=_with_file,
            arguments=lambda world: {"path": str(world["file"])},
            satisfy=_lay_in_trash,
            behind=_FILE_CHANGES,
            alter=lambda world, effect: _put(world["file"], OTHER),
        ),
        CapabilityCase(
            name="restore",
            capability_id="files.restore",
            set_up=_with_trashed,
            arguments=lambda world: {"trash_id": world["entry"].name},
            satisfy=lambda world, effect: os.rename(world["entry"] / "content", world["file"]),
            behind={
                "place_taken": _put_other,
                "trashed_changed": lambda world, effect: _put(world["entry"] / "content", OTHER),
                "folder_swapped": _swap_folder,
            },
            alter=lambda world, effect: _put(world["file"], OTHER),
        ),
        CapabilityCase(
            name="delete_permanently",
            capability_id="files.delete_permanently",
            set_up=_with_file,
            arguments=lambda world: {"path": str(world["file"])},
            satisfy=lambda world, effect: os.unlink(world["file"]),
            behind=_FILE_CHANGES,
            alter=lambda world, effect: _put(world["file"], OTHER),
        ),
    )


def _descriptor(capability: Capability, described: Described, expected: Expected) -> EffectDescriptor:
    info = capability.info
    return EffectDescriptor(
        capability=info.id,
        capability_version=info.version,
        effect_class=info.effect_class,
        reversibility=info.reversibility,
        externality=info.externality,
        privilege_level=info.privilege_level,
        canonical_resources=described.resources,
        destinations=described.destinations,
        recipients=described.recipients,
        data_classes=info.data_classes,
        object_count=described.object_count,
        blast_radius=described.blast_radius,
        executable_code=info.executable_code,
        origin_turn_id="turn",
        proposed_action_id="proposal",
        resolved_argument_digest=canonical.digest_foreign(described.arguments),
        idempotency_key="key",
        claims=info.claims,
        expected=expected,
    )


def _empty(folder: Path) -> World:
    root = folder / "allowed"
    (root / "notes").mkdir(parents=True)
    place = root / "notes" / "list.txt"
    return {"root": root, "keep": folder / "keep", "file": place, "target": root / "notes" / "moved.txt"}


def _with_file(folder: Path) -> World:
    world = _empty(folder)
    _put(world["file"], CONTENT)
    return world


def _with_trashed(folder: Path) -> World:
    world = _with_file(folder)
    trash = next(made for made in _capabilities(world) if made.info.id == "files.trash")
    _, effect = describe_case(trash, {"path": str(world["file"])})
    _lay_in_trash(world, effect)
    return {**world, "entry": world["keep"] / "trash" / str(effect.arguments["trash_id"])}


def _capabilities(world: World) -> list[Capability]:
    return files_capabilities(roots=[world["root"]], keep=world["keep"])


def _put(path: Path, content: str) -> None:
    path.write_text(content)
    path.chmod(0o644)


def _put_other(world: World, effect: EffectView) -> None:
    _put(world["file"], OTHER)


def _grow(world: World, effect: EffectView) -> None:
    with world["file"].open("a") as stream:
        stream.write("more")


def _touch(world: World, effect: EffectView) -> None:
    facts = world["file"].stat()
    os.utime(world["file"], ns=(facts.st_atime_ns, facts.st_mtime_ns + 1_000_000_000))


def _edit_in_secret(world: World, effect: EffectView) -> None:
    """Change the content and nothing else: same inode, size and time."""
    facts = world["file"].stat()
    world["file"].write_text(world["file"].read_text().swapcase())
    os.utime(world["file"], ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _swap_file(world: World, effect: EffectView) -> None:
    """Put another file with the same content and time in its place: only the inode differs."""
    facts = world["file"].stat()
    twin = world["file"].with_name("twin")
    twin.write_bytes(world["file"].read_bytes())
    os.utime(twin, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    os.replace(twin, world["file"])


def _link_file(world: World, effect: EffectView) -> None:
    aside = world["file"].with_name("aside")
    os.rename(world["file"], aside)
    world["file"].symlink_to(aside)


def _remove(world: World, effect: EffectView) -> None:
    world["file"].unlink()


def _swap_folder(world: World, effect: EffectView) -> None:
    folder = world["file"].parent
    os.rename(folder, folder.with_name("was"))
    folder.mkdir()


def _link_folder(world: World, effect: EffectView) -> None:
    folder = world["file"].parent
    os.rename(folder, folder.with_name("was"))
    folder.symlink_to(folder.with_name("was"))


_FILE_CHANGES: dict[str, Change] = {
    "grown": _grow,
    "touched": _touch,
    "edited_in_secret": _edit_in_secret,
    "swapped": _swap_file,
    "linked": _link_file,
    "removed": _remove,
    "folder_linked": _link_folder,
}


def _lay_in_trash(world: World, effect: EffectView) -> None:
    """Do by hand what a trash effect claims."""
    keep, trash_id = keep_at(world["keep"]), str(effect.arguments["trash_id"])
    facts = world["file"].stat()
    identity = identity_of(str(world["file"]), facts)
    note = TrashNote(
        version=1,
        trash_id=trash_id,
        path=str(world["file"]),
        device=identity.device,
        inode=identity.inode,
        size=identity.size,
        mtime_ns=identity.mtime_ns,
        digest=canonical.digest_bytes(world["file"].read_bytes()),
        mode="0644",
        effect_digest=effect.effect_digest,
    )
    entry = Path(keep.trash_path(trash_id))
    entry.mkdir(parents=True)
    (entry / "note.json").write_bytes(msgspec.json.encode(note))
    os.rename(world["file"], entry / "content")
