# SPDX-License-Identifier: Apache-2.0
"""The statements run through three verbs, which each database provides; ``?`` marks a parameter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any


class Rows(ABC):
    """A transaction's way to its database, bound to one tenant."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant

    @abstractmethod
    def rows(self, sql: str, *values: object) -> list[Sequence[Any]]:
        """Return all rows of a statement."""

    @abstractmethod
    def each(self, sql: str, *values: object) -> Iterator[Sequence[Any]]:
        """Yield the rows of a statement without holding them all."""

    @abstractmethod
    def run(self, sql: str, *values: object) -> int:
        """Run a statement and return how many rows it changed."""

    def row(self, sql: str, *values: object) -> Sequence[Any] | None:
        """Return the first row of a statement, or None."""
        found = self.rows(sql, *values)
        return found[0] if found else None

    def value(self, sql: str, *values: object) -> Any:
        """Return the first column of the first row, or None."""
        found = self.row(sql, *values)
        return None if found is None else found[0]
