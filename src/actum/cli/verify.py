# SPDX-License-Identifier: Apache-2.0
"""`actum verify BUNDLE` judges an exported record offline; it needs no store and no network."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, cast

import click
import msgspec

from actum.evidence.disclosure import Disclosure, matches, read_disclosure
from actum.evidence.explain import explain
from actum.evidence.published import PublishedReceipt
from actum.evidence.trust_file import read_trust
from actum.evidence.verdict import DEFAULT_REQUIRE, Aspect, Verdict
from actum.evidence.verify import verify_bundle
from actum.model import canonical
from actum.model.errors import EnvironmentFault, UsageError

_duration_form = re.compile(r"([1-9][0-9]{0,8})([smhd])", re.ASCII)
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class _Duration(click.ParamType[int]):
    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = _duration_form.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is no duration such as 90s, 15m, 24h or 7d", param, ctx)
        return int(match[1]) * _UNIT_MS[match[2]]


class _Require(click.ParamType[frozenset[Aspect]]):
    name = "aspects"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> frozenset[Aspect]:
        if isinstance(value, frozenset):
            return cast("frozenset[Aspect]", value)
        try:
            return frozenset(Aspect(part.strip()) for part in str(value).split(","))
        except ValueError:
            known = ", ".join(aspect.value for aspect in Aspect)
            self.fail(f"{value!r} is no comma list of {known}", param, ctx)


@click.command("verify")
@click.argument("bundle")
@click.option("--trust", "trust_path", metavar="FILE", help="Pinned keys; without it no signer is known.")
@click.option(
    "--checkpoint", "checkpoint_path", metavar="FILE", help="A checkpoint of this log, kept elsewhere."
)
@click.option(
    "--min-size", type=click.IntRange(min=1), metavar="N", help="The log is known to have N records."
)
@click.option("--max-age", type=_Duration(), help="The newest record is at most this old: 90s, 15m, 24h, 7d.")
@click.option(
    "--require",
    type=_Require(),
    default=",".join(aspect.value for aspect in Aspect if aspect in DEFAULT_REQUIRE),
    show_default=True,
    help="What must be established for exit 0.",
)
@click.option(
    "--disclosed", "disclosed_path", metavar="FILE", help="Content and salt of one receipt, to compare."
)
@click.option("--by-checkpoint", is_flag=True, help="Quicker: the checkpoint's signature speaks for its key.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def verify(
    ctx: click.Context,
    bundle: str,
    *,
    trust_path: str | None,
    checkpoint_path: str | None,
    min_size: int | None,
    max_age: int | None,
    require: frozenset[Aspect],
    disclosed_path: str | None,
    by_checkpoint: bool,
    as_json: bool,
) -> None:
    """Judge an exported BUNDLE (- is standard input) offline, without a store.

    Exit 0: intact, and all that --require names is established. 3: intact, and something required is not
    established. 4: the bundle does not hold. 2: usage, or no such file. 5: a file that is there cannot be read.
    """
    disclosed = None if disclosed_path is None else read_disclosure(_read(disclosed_path, what="disclosure"))
    found: list[PublishedReceipt] = []

    def keep(receipt: PublishedReceipt) -> None:
        if disclosed is not None and receipt.identity.receipt_id == disclosed.receipt_id:
            found.append(receipt)

    trust = None if trust_path is None else read_trust(_read(trust_path, what="trust file"))
    checkpoint = None if checkpoint_path is None else _read(checkpoint_path, what="checkpoint")
    with _input(bundle) as stream:
        verdict = verify_bundle(
            stream,
            trust=trust,
            now_ms=time.time_ns() // 1_000_000,
            checkpoint=checkpoint,
            min_size=min_size,
            max_age_ms=max_age,
            require=require,
            by_checkpoint=by_checkpoint,
            on_receipt=keep,
        )
    content = None if disclosed is None else _compare(disclosed, found)
    code = verdict.exit_code if content is None or all(content.values()) else 4
    click.echo(_json(verdict, content, code) if as_json else _text(verdict, content), nl=False)
    ctx.exit(code)


def _compare(disclosed: Disclosure, found: list[PublishedReceipt]) -> dict[str, bool]:
    if not found:
        raise UsageError(
            "receipt_not_here",
            failed=f"The bundle shows no receipt {disclosed.receipt_id!r}",
            state="Nothing was compared",
            next_step="Give the receipt_id of a receipt that the bundle shows",
        )
    return matches(disclosed, found[0])


def _json(verdict: Verdict, content: dict[str, bool] | None, code: int) -> str:
    whole = {**msgspec.to_builtins(verdict), "content": content, "exit_code": code}
    return canonical.encode(whole).decode() + "\n"


def _text(verdict: Verdict, content: dict[str, bool] | None) -> str:
    # A name in a bundle is somebody else's text: it must not steer the terminal it is shown on.
    told = "".join(c if c.isprintable() or c == "\n" else f"\\u{ord(c):04x}" for c in explain(verdict))
    for name, same in (content or {}).items():
        told += f"{name}: {'exactly' if same else 'not'} what the receipt is for\n"
    return told


@contextmanager
def _input(path: str) -> Generator[BinaryIO]:
    with ExitStack() as stack:
        source = sys.stdin.buffer if path == "-" else stack.enter_context(_open(path, what="bundle"))
        try:
            yield source
        except OSError as error:
            raise _unreadable(path, what="bundle", why=error.strerror) from error


def _read(path: str, *, what: str) -> bytes:
    with _open(path, what=what) as opened:
        return opened.read()


def _open(path: str, *, what: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise UsageError(
            "no_such_file",
            failed=f"The {what} {path!r} is not a file that exists",
            state="Nothing was judged",
            next_step="Give the path of an existing file",
        ) from error
    except OSError as error:
        raise _unreadable(path, what=what, why=error.strerror) from error


def _unreadable(path: str, *, what: str, why: str | None) -> EnvironmentFault:
    return EnvironmentFault(
        "unreadable_file",
        failed=f"The {what} {path} cannot be read: {why}",
        state="Nothing was judged",
        next_step="Make the file readable for this user and try again",
    )
