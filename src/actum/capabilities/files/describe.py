# SPDX-License-Identifier: Apache-2.0
"""A describer turns arguments into resolved ones with the identity of real files, and changes nothing.

Rules
1. Unknown or missing arguments are refused; nothing is guessed.
2. A caller who read other content than what is there now is refused (lost update).
3. What is already so is refused: there would be no change to claim.
4. An executable file, or the wish to make one, is refused: executable content is not declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from actum.capabilities.files import lines, project
from actum.capabilities.files.hold import TRASHED, refuse_other_names
from actum.capabilities.files.paths import refuse_error, split
from actum.capabilities.files.resolve import Found, Scene, find, find_file, find_free, folder_of, look
from actum.model import canonical
from actum.model.effect import Resource
from actum.model.errors import Refused
from actum.model.visible import visible
from actum.ports.capability import Described

NEW_FILE_MODE = "0644"
_ARGUMENTS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    project.WRITE: (frozenset({"path"}), frozenset({"content", "content_base64", "mode", "expect_digest"})),
    project.MOVE: (frozenset({"source", "target"}), frozenset()),
    project.TRASH: (frozenset({"path"}), frozenset()),
    project.RESTORE: (frozenset({"trash_id"}), frozenset()),
    project.DELETE: (frozenset({"path"}), frozenset()),
}


def describe(capability: str, arguments: Mapping[str, object], *, scene: Scene) -> Described | Refused:
    """Resolve the arguments of a file effect."""
    # Rule 1
    required, optional = _ARGUMENTS[capability]
    unknown = sorted(set(arguments) - required - optional)
    missing = sorted(required - set(arguments))
    if unknown or missing:
        facts = {"unknown": visible(", ".join(unknown)), "missing": ", ".join(missing)}
        return Refused(reason="arguments_malformed", facts=facts)
    try:
        return _DESCRIBERS[capability](arguments, scene)
    except OSError as error:
        return refuse_error(error, str(error.filename or ""))


def _write(arguments: Mapping[str, object], scene: Scene) -> Described | Refused:
    data = project.content_of(arguments)
    if isinstance(data, Refused):
        return data
    found = find(arguments["path"], scene, want_content=True)
    if isinstance(found, Refused):
        return found
    refused = _refuse_write(arguments, found)
    if refused is not None:
        return refused
    old = found if isinstance(found, Found) else None
    path = found.identity.path if isinstance(found, Found) else found.id
    mode = str(arguments.get("mode") or (old.mode if old is not None else NEW_FILE_MODE))
    digest = canonical.digest_bytes(data)
    if old is not None and (old.digest, old.mode) == (digest, mode):
        # Rule 3
        return Refused(reason="already_so", facts={"path": visible(path), "digest": digest})
    members = ("content", "content_base64")
    content = {name: arguments[name] for name in members if arguments.get(name) is not None}
    shown = [f"Write {visible(path)}", *lines.name_lines(path), *lines.content_lines(data, digest=digest)]
    if old is not None:
        shown += lines.replaced_lines(old.identity, digest=old.digest, old=old.content, new=data)
        if mode != old.mode:
            shown.append(f"Permissions change from {old.mode} to {mode}")
        if arguments.get("expect_digest") is None:
            shown.append("The caller did not say which content it had read before.")
    return _described(
        project.WRITE,
        resolved={"path": path, **content, "mode": mode},
        resources=(found.resource() if isinstance(found, Found) else found,),
        destinations=(split(path).parent,),
        shown=shown,
        folders=(folder_of(found),),
    )


def _move(arguments: Mapping[str, object], scene: Scene) -> Described | Refused:
    source = find_file(arguments["source"], scene)
    if isinstance(source, Refused):
        return source
    target = find_free(arguments["target"], scene)
    if isinstance(target, Refused):
        return target
    if target.absence is None or target.absence.parent_device != source.identity.device:
        return Refused(reason="other_device", facts={"target": visible(target.id)})
    path = source.identity.path
    return _described(
        project.MOVE,
        resolved={"source": path, "target": target.id, "mode": source.mode},
        resources=(source.resource(), target),
        destinations=(split(target.id).parent,),
        shown=[
            f"Move {visible(path)}",
            f"  to {visible(target.id)}",
            *lines.name_lines(path, target.id),
            *lines.file_lines(source.identity, digest=source.digest, names=source.names),
        ],
        folders=(folder_of(source), folder_of(target)),
    )


def _trash(arguments: Mapping[str, object], scene: Scene) -> Described | Refused:
    found = find_file(arguments["path"], scene)
    if isinstance(found, Refused):
        return found
    trash_id = project.trash_id_of(found.identity, digest=found.digest)
    path = found.identity.path
    return _described(
        project.TRASH,
        resolved={"path": path, "trash_id": trash_id, "mode": found.mode},
        resources=(found.resource(),),
        destinations=(),
        shown=[
            f"Move to the trash: {visible(path)}",
            *lines.name_lines(path),
            *lines.file_lines(found.identity, digest=found.digest, names=found.names),
            f"It can be put back with files.restore, trash id {trash_id}",
        ],
        folders=(folder_of(found),),
    )


def _restore(arguments: Mapping[str, object], scene: Scene) -> Described | Refused:
    trash_id = arguments["trash_id"]
    if not project.is_trash_id(trash_id):
        return Refused(reason="trash_id_unknown", facts={"trash_id": visible(str(trash_id))[:80]})
    note = scene.keep.read_note(str(trash_id))
    if isinstance(note, Refused):
        return note
    found = look(split(scene.keep.content_path(str(trash_id))), roots=None, want_content=False)
    if not isinstance(found, Found):
        return Refused(reason="trash_id_unknown", facts={"trash_id": str(trash_id)})
    if found.digest != note.digest:
        facts = {"trash_id": note.trash_id, "trashed": note.digest, "now": found.digest}
        return Refused(reason="trash_content_changed", facts=facts)
    free = find_free(note.path, scene)
    if isinstance(free, Refused):
        return free
    return _described(
        project.RESTORE,
        resolved={"trash_id": note.trash_id, "path": free.id, "mode": found.mode},
        resources=(found.resource(TRASHED), free),
        destinations=(split(free.id).parent,),
        shown=[
            f"Put back from the trash: {visible(free.id)}",
            *lines.name_lines(free.id),
            *lines.file_lines(found.identity, digest=found.digest, names=found.names),
        ],
        folders=(folder_of(found), folder_of(free)),
    )


def _delete(arguments: Mapping[str, object], scene: Scene) -> Described | Refused:
    found = find_file(arguments["path"], scene)
    if isinstance(found, Refused):
        return found
    path = found.identity.path
    refused = refuse_other_names(path, found.names)
    if refused is not None:
        return refused
    return _described(
        project.DELETE,
        resolved={"path": path},
        resources=(found.resource(),),
        destinations=(),
        shown=[
            f"Delete for good: {visible(path)}",
            *lines.name_lines(path),
            *lines.file_lines(found.identity, digest=found.digest, names=found.names),
            "This cannot be taken back. files.trash can.",
        ],
        folders=(folder_of(found),),
    )


_DESCRIBERS: dict[str, Callable[[Mapping[str, object], Scene], Described | Refused]] = {
    project.WRITE: _write,
    project.MOVE: _move,
    project.TRASH: _trash,
    project.RESTORE: _restore,
    project.DELETE: _delete,
}


def _described(
    capability: str,
    *,
    resolved: dict[str, object],
    resources: tuple[Resource, ...],
    destinations: tuple[str, ...],
    shown: list[str],
    folders: Sequence[tuple[str, str]],
) -> Described:
    expected = project.claimed_value(capability, arguments=resolved, resources=resources)
    return Described(
        arguments=resolved,
        resources=resources,
        destinations=destinations,
        recipients=(),
        object_count=1,
        blast_radius=1,
        projection=project.projection_of(capability),
        expected_value=expected,
        lines=tuple(shown),
        context={"folders": dict(folders)},
    )


def _refuse_write(arguments: Mapping[str, object], found: Found | Resource) -> Refused | None:
    now = found.digest if isinstance(found, Found) else "absent"
    path = found.identity.path if isinstance(found, Found) else found.id
    expected, mode = arguments.get("expect_digest"), arguments.get("mode")
    # Rule 2
    if expected is not None and expected != now:
        facts = {"path": visible(path), "expected": visible(str(expected)), "now": str(now)}
        return Refused(reason="content_changed_since_read", facts=facts)
    # Rule 4
    if mode is not None and (not isinstance(mode, str) or mode not in _MODES):
        return Refused(
            reason="mode_not_allowed", facts={"mode": visible(str(mode)), "want": "0644 or like it"}
        )
    if isinstance(found, Found) and int(found.mode, 8) & _EXECUTABLE:
        return Refused(reason="file_is_executable", facts={"path": visible(path), "mode": found.mode})
    return refuse_other_names(path, found.names) if isinstance(found, Found) else None


_EXECUTABLE = 0o7111
_MODES = frozenset(f"0{u}{g}{o}" for u in "46" for g in "0246" for o in "0246")
