# SPDX-License-Identifier: Apache-2.0
"""Each guard is removed in a copy of the tree, and the one test named for it must then fail.

Reads tests/mutants/*.toml: `[[mutant]]` entries with `id` or `ids`, `file`, `find`, `replace`, `test`.
The working tree is never touched. Each mutant runs in a fork of a process that has pytest and the
libraries imported, but nothing of the product. A killed mutant is one whose test ran and failed (pytest's
exit code 1); a test that cannot be collected, is skipped or hangs proves nothing and counts as a problem.

Prints the survivors and problems, then one JSON line. Exit code 0 where every mutant was killed, else 1.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
# Imported once, before the forks. Nothing that starts a thread may stand here.
# fmt: off
WARM = (
    "pytest", "hypothesis", "hypothesis.stateful", "apsw", "click", "msgspec", "msgspec.json", "re2",
    "rfc8785", "rich.console", "rich.table", "yaml", "asyncio", "email.message",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
)
# fmt: on
# As in actum.testing.require, which must not be imported here.
MAY_BE_ABSENT = ("shared vectors absent", "interpreter lacks")
COPIED = ("src", "tests", "tools", "docs", "examples", "bench", "changelog.d", "requirements", ".ci")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One weakened guard: `find` occurs once in `file` and becomes `replace`; `test` must then fail."""

    source: str
    ids: tuple[str, ...]
    file: str
    find: str
    replace: str
    test: str

    @property
    def label(self) -> str:
        return f"{self.source}:{'+'.join(self.ids)} {self.file} -> {self.test.rpartition('::')[2]}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one run of a test ended in: passed, failed, skipped, unusable (usage or collection) or hung."""

    word: str
    seconds: float
    log: str


def load(root: Path, *, only: str | None) -> list[Mutant]:
    """All entries, in file order; `only` is a file's stem or an id."""
    mutants: list[Mutant] = []
    for path in sorted((root / "tests" / "mutants").glob("*.toml")):
        for entry in tomllib.loads(path.read_text()).get("mutant", []):
            ids = tuple(entry["ids"]) if "ids" in entry else (entry["id"],)
            mutant = Mutant(
                source=path.stem,
                ids=ids,
                file=entry["file"],
                find=entry["find"],
                replace=entry["replace"],
                test=entry["test"],
            )
            if only is None or only == path.stem or only.upper() in ids:
                mutants.append(mutant)
    return mutants


def unusable(root: Path, mutant: Mutant) -> str | None:
    """The reason why the mutant cannot be applied, or None."""
    path = root / mutant.file
    if not path.is_file():
        return f"{mutant.file} does not exist"
    count = path.read_text().count(mutant.find)
    if count != 1:
        return f"`find` occurs {count} times in {mutant.file}, not once"
    if mutant.find == mutant.replace:
        return "`replace` equals `find`"
    return None


def copy_tree(root: Path, target: Path) -> None:
    """A copy that a test takes for the repository; the environment is shared by a link."""
    ignore = shutil.ignore_patterns("*.log", ".hypothesis", ".pytest_cache")
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, target / name, symlinks=True, ignore=ignore)
    for path in root.iterdir():
        if path.is_file():
            shutil.copy2(path, target / path.name)
    if (root / ".venv").exists():
        (target / ".venv").symlink_to((root / ".venv").resolve())
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "src"], cwd=target, check=False, stdout=subprocess.DEVNULL
    )


class _Seen:
    """Counts what pytest reports, because a skipped test ends with the same exit code as a passed one."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def pytest_runtest_logreport(self, report: object) -> None:
        if getattr(report, "skipped", False):
            self.reasons.append(str(getattr(report, "longrepr", "")))

    def code(self) -> int:
        """72 where something was skipped, 73 where only parts were missing that no set-up step can bring."""
        if not self.reasons:
            return 0
        return 73 if all(any(part in reason for part in MAY_BE_ABSENT) for reason in self.reasons) else 72


def _point_at(tree: Path, *, pristine: bool) -> None:
    """Make the copy the only place where the product can be imported from, here and in subprocesses."""
    os.chdir(tree)
    sys.path[:] = [str(tree / "src"), *(p for p in sys.path if p and not (Path(p) / "actum").is_dir())]
    os.environ["PYTHONPATH"] = str(tree / "src")
    # Folders of tests that have ended are swept away while others run: each tree has a place of its own for them.
    place = tree.with_name(f"{tree.name}t")
    place.mkdir(exist_ok=True)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(place)
    # The unmutated run may leave bytecode for the later ones; a mutated run may not.
    sys.dont_write_bytecode = not pristine
    if not pristine:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _in_child(tree: Path, test: str, log: Path, *, pristine: bool) -> None:
    """Run one test in this process, which is a fork, and end it with a code of our own. Never returns."""
    code = 70
    try:
        os.setsid()
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        _point_at(tree, pristine=pristine)
        import pytest

        seen = _Seen()
        arguments = [test, "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short"]
        # The warm imports are what this warning is about; a warning is an error here.
        arguments += ["-W", "ignore:Module already imported so cannot be rewritten", f"--rootdir={tree}"]
        code = int(pytest.main([*arguments, "-c", str(tree / "pyproject.toml")], plugins=[seen]))
        loaded = getattr(sys.modules.get("actum"), "__file__", None)
        if loaded is not None and not str(loaded).startswith(str(tree)):
            print(f"the test ran against {loaded}, not against the copy")
            code = 71
        elif code == 0:
            code = seen.code()
    except BaseException as error:
        print(f"the run itself broke: {error!r}")
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(code)


def _wait(pid: int, timeout_s: float) -> int | None:
    """The exit code of the child, or None where it had to be killed with everything it started."""
    code: int | None = None
    descriptor = os.pidfd_open(pid)
    try:
        if select.select([descriptor], [], [], timeout_s)[0]:
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        os.close(descriptor)
    # Whatever the test left behind belongs to its own session; a finished one has an empty group.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if code is None:
        os.waitpid(pid, 0)
    return code


def run_test(tree: Path, test: str, *, timeout_s: float, pristine: bool) -> Outcome:
    """Run one test of the tree in a fork and say how it ended."""
    start = time.monotonic()
    log = tree / "run.log"
    pid = os.fork()
    if pid == 0:
        _in_child(tree, test, log, pristine=pristine)
    code = _wait(pid, timeout_s)
    words = {0: "passed", 1: "failed", 72: "skipped", 73: "absent", None: "hung"}
    return Outcome(
        word=words.get(code, f"unusable (exit {code})"),
        seconds=time.monotonic() - start,
        log=log.read_text(errors="replace")[-4000:],
    )


@contextlib.contextmanager
def mutated(tree: Path, mutant: Mutant) -> Iterator[None]:
    """The file holds the weakened text inside the block and its own text, with its own bytecode, after it."""
    path = tree / mutant.file
    original, stat = path.read_bytes(), path.stat()
    cached = Path(importlib.util.cache_from_source(str(path)))
    kept = cached.read_bytes() if cached.exists() else None
    # Bytecode is matched by time and size only, so a change of equal length could be overlooked.
    cached.unlink(missing_ok=True)
    path.write_text(original.decode().replace(mutant.find, mutant.replace))
    try:
        yield
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        cached.unlink(missing_ok=True)
        if kept is not None:
            cached.write_bytes(kept)


def syntax_problem(tree: Path, mutant: Mutant) -> str | None:
    """A mutant that does not compile would fail every test and prove nothing."""
    if not mutant.file.endswith(".py"):
        return None
    try:
        compile((tree / mutant.file).read_bytes(), mutant.file, "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"the mutated file does not compile: {error}"
    return None


def judge(tree: Path, *, mutant: Mutant, timeout_s: float) -> dict[str, object]:
    """Apply one mutant, run its test, and say what became of it: killed, survived or a problem."""
    with mutated(tree, mutant):
        problem = syntax_problem(tree, mutant)
        if problem is not None:
            return {"label": mutant.label, "word": "problem", "why": problem, "seconds": 0.0}
        outcome = run_test(tree, mutant.test, timeout_s=timeout_s, pristine=False)
    word = {"failed": "killed", "passed": "survived", "absent": "absent"}.get(outcome.word, "problem")
    answer: dict[str, object] = {"label": mutant.label, "word": word, "seconds": round(outcome.seconds, 2)}
    if word in ("survived", "problem"):
        answer |= {"why": f"the test {outcome.word}", "log": outcome.log}
    return answer


def check_unmutated(tree: Path, *, test: str, timeout_s: float) -> dict[str, object]:
    """A test that does not pass on the unmutated tree cannot show anything about a mutant."""
    outcome = run_test(tree, test, timeout_s=timeout_s, pristine=True)
    word = {"passed": "passes", "absent": "absent"}.get(outcome.word, "problem")
    answer: dict[str, object] = {"label": test, "word": word, "seconds": round(outcome.seconds, 2)}
    if word == "problem":
        answer |= {"why": f"unmutated, the test {outcome.word}", "log": outcome.log}
    return answer


def _work(tasks: list[Callable[[Path], dict[str, object]]], *, tree: Path, writer: int) -> NoReturn:
    """Answer each task as one JSON line. A worker never returns into the code it was forked from."""
    try:
        with os.fdopen(writer, "w") as stream:
            for task in tasks:
                stream.write(json.dumps(task(tree)) + "\n")
                stream.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def spread(tasks: list[Callable[[Path], dict[str, object]]], *, trees: list[Path]) -> list[dict[str, object]]:
    """Run the tasks in one forked worker a tree; task i goes to worker i modulo their number."""
    jobs = len(trees)
    pipes: list[tuple[int, int]] = []
    for worker in range(jobs):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _work(tasks[worker::jobs], tree=trees[worker], writer=writer)
        os.close(writer)
        pipes.append((pid, reader))
    answers: list[dict[str, object]] = []
    buffers = {reader: b"" for _, reader in pipes}
    while buffers:
        for reader in select.select(list(buffers), [], [])[0]:
            chunk = os.read(reader, 65536)
            if chunk:
                buffers[reader] += chunk
            else:
                answers += [json.loads(line) for line in buffers.pop(reader).splitlines()]
                os.close(reader)
    for pid, _ in pipes:
        os.waitpid(pid, 0)
    if len(answers) != len(tasks):
        raise SystemExit(
            f"{len(tasks) - len(answers)} runs gave no answer; nothing can be said about the mutants"
        )
    return answers


def warm_up() -> None:
    """Import what every run needs; nothing of the product, whose modules are what is mutated."""
    for name in WARM:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    import pytest

    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
        pytest.main(["--version", "-p", "no:xdist", "-p", "no:cacheprovider", "-c", os.devnull])
    if "actum" in sys.modules:
        raise SystemExit("the warm process imported the product; its modules could not be mutated")


def report(answers: list[dict[str, object]], *, total: int, seconds: float) -> int:
    """Print what was not killed and the summary line; return the exit code."""
    bad = [a for a in answers if a["word"] in ("survived", "problem")]
    for answer in bad:
        print(f"{str(answer['word']).upper()} {answer['label']}: {answer['why']}")
        if answer.get("log"):
            print("    " + "\n    ".join(str(answer["log"]).splitlines()[-12:]))
    slow = sorted(answers, key=lambda a: -float(str(a["seconds"])))[:3]
    words = [a["word"] for a in answers]
    summary = {
        "mutants": total,
        "killed": words.count("killed"),
        "survived": words.count("survived"),
        "absent": words.count("absent"),
        "problems": words.count("problem"),
        "tests": words.count("passes"),
        "seconds": round(seconds, 1),
        "slowest": [f"{a['label']} {a['seconds']} s" for a in slow],
    }
    print(json.dumps(summary))
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="AREA|ID", help="one file of tests/mutants, or one requirement id")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to copy (default: this one)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS")
    options = parser.parse_args()
    start = time.monotonic()
    root: Path = options.root.resolve()
    mutants = load(root, only=options.only)
    if not mutants:
        print(
            f"no entry under tests/mutants matches {options.only or 'anything'}; nothing was shown",
            file=sys.stderr,
        )
        return 2
    answers: list[dict[str, object]] = []
    usable: list[Mutant] = []
    for mutant in mutants:
        why = unusable(root, mutant)
        if why is None:
            usable.append(mutant)
        else:
            answers.append({"label": mutant.label, "word": "problem", "why": why, "seconds": 0.0})
    shared = Path(os.environ.get("ACTUM_SHARED") or root.parent / "shared")
    os.environ |= {"ACTUM_SHARED": str(shared), "ACTUM_MUTANT": "1"}
    warm_up()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees = [Path(folder) / f"tree-{n}" for n in range(options.jobs)]
        for tree in trees:
            tree.mkdir()
            copy_tree(root, tree)
        tests = list(dict.fromkeys(m.test for m in usable))
        timeout_s = options.timeout
        answers += spread(
            [functools.partial(check_unmutated, test=test, timeout_s=timeout_s) for test in tests]
            + [functools.partial(judge, mutant=mutant, timeout_s=timeout_s) for mutant in usable],
            trees=trees,
        )
    return report(answers, total=len(mutants), seconds=time.monotonic() - start)


if __name__ == "__main__":
    sys.exit(main())
