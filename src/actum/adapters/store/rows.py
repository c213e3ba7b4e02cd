# SPDX-License-Identifier: Apache-2.0
"""The statements run through three verbs, which each database provides; ``?`` marks a parameter.

Rules
1. A record of another tenant is never written; every query names the tenant it is bound to.
2. After a statement was refused nothing of the write can be kept: the databases differ in what would
   still be there, so the answer is the same for both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from actum.adapters.store.mapping import Mapping
from actum.model.errors import ActumError, InvariantViolation

R = TypeVar("R", bound=msgspec.Struct)


class Rows(ABC):
    """A transaction's way to its database, bound to one tenant.

    ``broken`` is the first error a statement met (rule 2); ``live`` is False outside of a transaction.
    """

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.broken: ActumError | None = None
        self.live = False

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
        found = self.rows(sql, *values)
        return found[0][0] if found else None

    def add(self, mapping: Mapping[R], record: R, *, tenant: str) -> None:
        """Insert a record whose tenant is ours."""
        self.own(tenant, table=mapping.table)
        self.run(mapping.insert, *mapping.to_row(record))

    def own(self, tenant: str, *, table: str) -> None:
        """Stop where a record of another tenant would be written."""
        # Rule 1
        if tenant != self.tenant:
            raise InvariantViolation("record_of_another_tenant", table=table, ours=self.tenant, its=tenant)

    def one(self, mapping: Mapping[R], sql: str, *values: object) -> R | None:
        """Return the record of a `Mapping.select` query, or None."""
        found = self.rows(sql, self.tenant, *values)
        return mapping.from_row(found[0]) if found else None

    def many(self, mapping: Mapping[R], sql: str, *values: object) -> list[R]:
        """Return the records of a `Mapping.select` query."""
        return mapping.from_rows(self.rows(sql, self.tenant, *values))


def marks(count: int) -> str:
    """Return as many parameter marks, for an IN list."""
    return ", ".join(["?"] * count)
