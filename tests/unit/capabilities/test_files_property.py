# SPDX-License-Identifier: Apache-2.0
"""Over random worlds and wishes, with and without meddling: what a look says is what is there."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from actum.model.errors import InvariantViolation, Refused
from actum.model.grading import ExecutorSaid
from actum.ports.executor import EffectView
from actum.ports.verifier import Phase
from actum.testing.capability_cases import forge_dispatch

from .drive import Files, look, matches

NAMES = ("a", "d/é", "x y")
CONTENTS = ("", "one", "two\n", "\u202ethree")

name = st.sampled_from(NAMES)
world = st.dictionaries(name, st.sampled_from(CONTENTS), min_size=1)
wish = st.one_of(
    st.tuples(st.just("write"), st.fixed_dictionaries({"path": name, "content": st.sampled_from(CONTENTS)})),
    st.tuples(st.just("move"), st.fixed_dictionaries({"source": name, "target": name})),
    st.tuples(st.just("trash"), st.fixed_dictionaries({"path": name})),
    st.tuples(st.just("delete_permanently"), st.fixed_dictionaries({"path": name})),
)
meddling = st.one_of(st.none(), st.tuples(name, st.one_of(st.none(), st.sampled_from(CONTENTS))))


def contents(files: Files) -> dict[str, bytes]:
    """Every file below the allowed folder, the aside names of effects included."""
    return {
        str(path.relative_to(files.root)): path.read_bytes()
        for path in files.root.rglob("*")
        if path.is_file()
    }


def claimed(kind: str, arguments: dict[str, str], before: dict[str, bytes]) -> dict[str, bytes]:
    """The world as the wish would have it, by a model that knows nothing of the product."""
    after = dict(before)
    if kind == "write":
        after[arguments["path"]] = arguments["content"].encode()
    elif kind == "move":
        after[arguments["target"]] = after.pop(arguments["source"])
    else:
        del after[arguments["path"]]
    return after


def holds(kind: str, arguments: dict[str, str], now: dict[str, bytes], start: dict[str, str]) -> bool:
    """Whether the world happens to be as the wish would have it, though the executor did nothing."""
    if kind == "write":
        return now.get(arguments["path"]) == arguments["content"].encode()
    if kind == "move":
        moved = start[arguments["source"]].encode()
        return arguments["source"] not in now and now.get(arguments["target"]) == moved
    # Nobody but the executor lays anything in the trash.
    return kind == "delete_permanently" and arguments["path"] not in now


def meddle(files: Files, change: tuple[str, str | None] | None) -> None:
    """Another program writes or removes a file."""
    if change is None:
        return
    path = files.root / change[0]
    if change[1] is None:
        path.unlink(missing_ok=True)
    else:
        path.write_text(change[1])


def wished(files: Files, kind: str, arguments: dict[str, str]) -> EffectView | None:
    """The effect, or None where describing refuses it."""
    try:
        return files.effect(kind, **arguments)
    except InvariantViolation:
        return None


@given(start=world, asked=wish, early=meddling, late=meddling)
@settings(max_examples=250)
def test_an_effect_does_all_that_was_asked_or_nothing_and_its_look_tells_which(
    start: dict[str, str],
    asked: tuple[str, dict[str, str]],
    early: tuple[str, str | None] | None,
    late: tuple[str, str | None] | None,
) -> None:
    kind, arguments = asked
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))
        (files.root / "d").mkdir()
        for path, text in start.items():
            (files.root / path).write_text(text)
        effect = wished(files, kind, arguments)
        if effect is None:
            assert contents(files) == {path: text.encode() for path, text in start.items()}
            return
        seen = look(files[kind], effect, phase=Phase.BEFORE)
        meddle(files, early)
        held = files[kind].executor.hold(effect)
        if isinstance(held, Refused):
            # Only what another program did can make a described effect be refused.
            assert early is not None
            return
        meddle(files, late)
        before = contents(files)
        report = files[kind].executor.execute(forge_dispatch(effect), held)
        held.close()
        after = contents(files)
        observed = look(files[kind], effect, phase=Phase.AFTER, before=seen)
        if report.said is ExecutorSaid.OK:
            assert after == claimed(kind, arguments, before)
            assert matches(effect, observed)
        else:
            assert report.said is ExecutorSaid.REJECTED
            assert late is not None
            assert after == before
            assert matches(effect, observed) == holds(kind, arguments, after, start)


@given(content=st.binary(max_size=200_000))
@settings(max_examples=30)
def test_whatever_bytes_go_to_the_trash_come_back(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))
        (files.root / "a").write_bytes(content)
        report = files.run("trash", path="a")
        assert files.entries() == []
        assert files.run("restore", trash_id=report.result["trash_id"]).said is ExecutorSaid.OK
        assert (files.root / "a").read_bytes() == content
