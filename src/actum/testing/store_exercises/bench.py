# SPDX-License-Identifier: Apache-2.0
"""What an exercise needs of a store under test: to open it, and to write around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from actum.model.errors import RefusedError
from actum.ports.store import Store


class Bench(Protocol):
    """One fresh, empty store. A bench belongs to one exercise.

    ``address`` opens the same store in another process, through ``opener`` ("module:function", which takes
    the address and ``tenant``). ``ways`` are the ways in which somebody might write around the store by raw
    SQL; the first is "plain".
    """

    address: str
    opener: str
    ways: tuple[str, ...]

    def store(self, tenant: str = "local") -> Store:
        """Return the bench's own store of a tenant: the same one each time."""
        ...

    def open(self, tenant: str = "local") -> Store:
        """Open the store once more; the bench closes it at the end."""
        ...

    def raw(self, sql: str, *values: object, way: str = "plain") -> list[Sequence[Any]]:
        """Run one statement (``?`` marks) around the store; a broken rule raises the store's RefusedError."""
        ...


def told_by(call: Callable[[], object]) -> str:
    """Return the name of the rule that refused a call, or "taken" where nothing did."""
    try:
        call()
    except RefusedError as error:
        return error.facts.get("rule", error.code)
    return "taken"


def refused(call: Callable[[], object]) -> str:
    """Return the name of the rule that refused a call; fail where nothing refused it."""
    told = told_by(call)
    assert told != "taken", "nothing refused this"
    return told


def raised(call: Callable[[], object]) -> BaseException:
    """Return what a call raises; fail where it raises nothing."""
    try:
        call()
    except BaseException as error:
        return error
    raise AssertionError("this raised nothing")
