# SPDX-License-Identifier: Apache-2.0
"""CEL checks what an author wrote, against declared fields, and says where a mistake stands.

Each declared field is one dotted variable, so a misspelt field or a text compared with a number is refused at
its column. CEL is used when a file is loaded and in the tests that compare it with the plan; no decision
ever evaluates CEL. The library is imported at the first expression, so a file without one never loads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from actum.model.plan import FieldType, Node
from actum.model.process import FieldDeclaration
from actum.process.checked_ast import read_checked
from actum.process.plan import Lowering
from actum.process.problems import suggest

TEXT_MAX = 10_000
CONTEXT_TYPES = {
    "ctx.now_ms": FieldType.INT,
    "ctx.work_type": FieldType.STRING,
    "ctx.status": FieldType.STRING,
}

_error = re.compile(r"ERROR: <input>:(\d+):(\d+): ([^\n]*)")
_undeclared = re.compile(r"undeclared reference to '([^']*)'")
_status = re.compile(r" ?\[[A-Z_]+\]$")


class TextFlaw(NamedTuple):
    """A flaw at a line and column (from 1) of the expression's own text."""

    line: int
    column: int
    code: str
    message: str


class Compiled(NamedTuple):
    """A plan, or the flaws that refuse it."""

    plan: Node | None
    flaws: tuple[TextFlaw, ...]


class Expressions:
    """Compiles the expressions of one process over its declared fields."""

    __slots__ = ("_env", "_fields", "_names")

    def __init__(self, fields: Mapping[str, FieldDeclaration]) -> None:
        self._fields = fields
        self._names = (*fields, *CONTEXT_TYPES)
        self._env: Any = None

    def compile(self, text: str, *, wanted: str = "BOOL") -> Compiled:
        """Return the plan of an expression of type ``wanted`` (CEL's name: BOOL or STRING)."""
        if len(text) > TEXT_MAX:
            return _flawed(
                TextFlaw(1, 1, "when_too_large", f"an expression has at most {TEXT_MAX} characters")
            )
        if self._env is None:
            self._env = environment(self._fields)
        try:
            expression = self._env.compile(text)
        except (RuntimeError, ValueError, UnicodeError) as error:
            return Compiled(None, self._checker_flaws(str(error)))
        got = expression.return_type().name()
        if got != wanted:
            return _flawed(
                TextFlaw(1, 1, "expression_type", f"the expression gives {got.lower()}, not {wanted.lower()}")
            )
        lowering = Lowering(read_checked(expression.serialize()), self._fields)
        plan = lowering.lower()
        flaws = tuple(
            TextFlaw(*_line_and_column(text, flaw.offset), flaw.code, flaw.message) for flaw in lowering.flaws
        )
        return Compiled(plan, flaws)

    def _checker_flaws(self, said: str) -> tuple[TextFlaw, ...]:
        found: list[TextFlaw] = []
        for line, column, message in _error.findall(said):
            clean = _status.sub("", message)
            missing = _undeclared.search(clean)
            if missing is None:
                found.append(TextFlaw(int(line), int(column), "cel_refused", clean))
                continue
            hint = suggest(missing[1], self._names)
            found.append(
                TextFlaw(
                    int(line),
                    int(column),
                    "field_undeclared",
                    f"{missing[1][:60]!r} is neither a declared field nor a function of the profile{hint}",
                )
            )
        return tuple(found) or (TextFlaw(1, 1, "cel_refused", _status.sub("", said.splitlines()[0])[:300]),)


def environment(fields: Mapping[str, FieldDeclaration]) -> Any:
    """Return the CEL environment of a process: one typed dotted variable for each field, and `present`."""
    from cel_expr_python import cel

    engine: Any = cel
    kind = engine.Type
    types: dict[FieldType, Any] = {
        FieldType.STRING: kind.STRING,
        FieldType.EMAIL: kind.STRING,
        FieldType.URL: kind.STRING,
        FieldType.JSON_POINTER: kind.STRING,
        FieldType.INT: kind.INT,
        FieldType.TIME: kind.INT,
        FieldType.BOOL: kind.BOOL,
        FieldType.STRINGS: kind.List(kind.STRING),
        # These two have no operations in CEL; only present() takes them.
        FieldType.DECIMAL: kind.AbstractType("actum.decimal"),
        FieldType.ANY: kind.AbstractType("actum.any"),
    }
    variables = {name: types[field.type] for name, field in fields.items()}
    variables.update({name: types[typed] for name, typed in CONTEXT_TYPES.items()})
    present = engine.FunctionDecl("present", [engine.Overload("present_any", kind.BOOL, [kind.DYN])])
    return engine.NewEnv(variables=variables, functions=[present])


def _flawed(flaw: TextFlaw) -> Compiled:
    return Compiled(None, (flaw,))


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
