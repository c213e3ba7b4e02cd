# SPDX-License-Identifier: Apache-2.0
"""The verifier process looks and never acts, says why it cannot look, and outlives nobody."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from actum.adapters.looking.frames import Setup, send
from actum.bootstrap import verifier_process
from actum.bootstrap.kernel import _Registrar
from actum.bootstrap.verifier_process import SCRIPT, Verifiers

PROCESS = [sys.executable, "-m", "actum.bootstrap.verifier_process"]
READY_MS = 30_000


def _setup(modules: dict[str, dict[str, object]] | None = None, *, main_path: str | None = None) -> Setup:
    return Setup(
        seed=b"\x07" * 32, store_url="none", tenant="local", modules=modules or {}, main_path=main_path
    )


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("odd_module")
    monkeypatch.setitem(sys.modules, "odd_module", made)
    return made


@pytest.fixture
def no_script() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path
    sys.modules.pop(SCRIPT, None)


def _script(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Verifiers:
    path = folder / "script.py"
    path.write_text(text)
    monkeypatch.setattr("actum.bootstrap.registering.ONLY", True)
    return Verifiers(_setup(main_path=str(path)))


@pytest.mark.parametrize("name", ["act", "verifiers", "actum_verifiers"])
def test_rule_4_a_plain_function_under_the_name_is_never_called(module: ModuleType, name: str) -> None:
    called: list[object] = []
    setattr(module, name, called.append)
    loaded = Verifiers(_setup())
    loaded.load({f"odd_module:{name}": {"capability": "odd.act"}})
    assert (called, loaded.by_id) == ([], {})
    assert "not an action with a verifier" in loaded.missing["odd.act"]


def test_rule_4_our_own_modules_and_actions_are_asked_for_their_verifiers(module: ModuleType) -> None:
    verifier: Any = object()
    module.act = SimpleNamespace(actum_verifiers=lambda config: {"odd.act": verifier})  # type: ignore[attr-defined]
    loaded = Verifiers(_setup())
    loaded.load({"odd_module:act": {}, "actum.capabilities.files:verifiers": {"roots": [], "keep": "keep"}})
    assert loaded.by_id["odd.act"] is verifier
    assert "files.write" in loaded.by_id
    assert loaded.faults == {}


UNGUARDED = """
from actum import Kernel

kernel = Kernel.open(".actum")


@kernel.action("bell.ring", reversibility="reversible", externality="local_only")
def ring(times: int) -> dict:
    return {"rung": times}


@ring.verifier(expect=lambda times: {"rung": times})
def look(times: int) -> dict:
    return {"rung": 1}


turn = ring(1)
kernel.confirm(turn.question_ids())
kernel.run()
print(turn.receipt().looks[0].detail["why"])
"""


def test_rule_3_a_script_that_breaks_off_is_not_used_in_part_and_says_what_to_guard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_script: None
) -> None:
    loaded = _script(tmp_path, UNGUARDED, monkeypatch)
    for _ in range(2):
        loaded.load({"__main__:ring": {"capability": "bell.ring"}})
    assert loaded.by_id == {}
    assert 'guard your script with if __name__ == "__main__":' in loaded.missing["bell.ring"]


def test_rule_3_a_script_that_raises_an_interrupt_of_its_own_leaves_the_process_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_script: None
) -> None:
    loaded = _script(tmp_path, "raise KeyboardInterrupt('mine')\n", monkeypatch)
    try:
        loaded.load({"__main__:ring": {"capability": "bell.ring"}})
    except KeyboardInterrupt:
        loaded.missing["bell.ring"] = "it was passed on"
    assert "KeyboardInterrupt: mine" in loaded.missing["bell.ring"]


def test_rule_3_a_script_that_leaves_by_sys_exit_leaves_the_process_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_script: None
) -> None:
    loaded = _script(tmp_path, "import sys\nsys.exit('no arguments given')\n", monkeypatch)
    loaded.load({"__main__:ring": {"capability": "bell.ring"}})
    assert "SystemExit: no arguments given" in loaded.missing["bell.ring"]


def test_an_unguarded_script_reads_in_the_look_why_nobody_looked(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(UNGUARDED)
    ran = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert 'guard your script with if __name__ == "__main__":' in ran.stdout


BELL = """
from pathlib import Path

from actum import Kernel

kernel = Kernel.open(".actum")
LEDGER = Path("ledger.txt")


def ring(times=1):
    with LEDGER.open("a") as ledger:
        ledger.write("rung\\n")
    return {"rung": 1}


action = kernel.action("bell.ring", reversibility="reversible", externality="local_only")(ring)


def look(times):
    return {"n": len(LEDGER.read_text().splitlines()) if LEDGER.exists() else 0}


action.verifier(expect={"n": 1})(look)

if __name__ == "__main__":
    turn = action(2)
    kernel.confirm(turn.question_ids())
    kernel.run()
    receipt = turn.receipt()
    print(turn.state, receipt.looks[0].independence.level.value, LEDGER.read_text().split())
"""


def test_rule_4_an_action_under_another_name_acts_once_and_is_looked_at_here(tmp_path: Path) -> None:
    (tmp_path / "bell.py").write_text(BELL)
    ran = subprocess.run(
        [sys.executable, "bell.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.strip() == "completed L0 ['rung']"


def test_the_registrar_names_what_was_called_and_the_guard() -> None:
    with pytest.raises(RuntimeError, match=r"kernel\.run does nothing there: guard your script"):
        _Registrar().run()


READS = """
import sys


class Reads:
    def actum_verifiers(self, config):
        sys.stderr.write(repr(sys.stdin.read()) + "\\n")
        sys.stderr.flush()
        return {}


reads = Reads()
"""


def test_rule_5_a_verifier_that_reads_standard_input_finds_it_empty(tmp_path: Path) -> None:
    (tmp_path / "reads.py").write_text(READS)
    with subprocess.Popen(
        PROCESS, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        send(process.stdin, _setup({"reads:reads": {}}))
        # The pipe is still open: standard input of the verifier is another one.
        assert select.select([process.stderr], [], [], READY_MS / 1000)[0]
        assert process.stderr.readline() == b"''\n"
        process.stdin.close()
        assert process.wait(timeout=30) == 0


HANGS = """
import signal
import sys


class Hangs:
    def actum_verifiers(self, config):
        sys.stderr.write("hanging\\n")
        sys.stderr.flush()
        signal.pause()


hangs = Hangs()
"""

PARENT = """
import subprocess, sys, threading
from actum.adapters.looking.frames import Setup, send

def start():
    child = subprocess.Popen(
        [sys.executable, "-m", "actum.bootstrap.verifier_process"], stdin=subprocess.PIPE, start_new_session=True
    )
    send(child.stdin, Setup(seed=b"7" * 32, store_url="", tenant="", modules={"hangs:hangs": {}}, main_path=None))
    children.append(child)

children = []
starter = threading.Thread(target=start)
starter.start()
starter.join()
print(children[0].pid, flush=True)
sys.stdin.read()
print(children[0].poll(), flush=True)
sys.stdin.buffer.raw.read(1) or threading.Event().wait()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a pid is watched without polling on Linux only")
def test_rule_5_a_process_that_hangs_in_a_verifier_ends_with_its_parent_and_not_with_a_thread(
    tmp_path: Path,
) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    (tmp_path / "parent.py").write_text(PARENT)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "parent.py"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path},
    ) as parent:  # fmt: skip
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stderr is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        assert parent.stderr.readline() == b"hanging\n"
        parent.stdin.close()
        assert parent.stdout.readline() == b"None\n"  # The thread that started it is gone; the child is not.
        parent.send_signal(signal.SIGKILL)
        parent.wait(timeout=30)
        assert select.select([child], [], [], READY_MS / 1000)[0]
        os.close(child)


def test_rule_5_the_end_of_the_one_who_reads_is_silent() -> None:
    broken = "import actum.bootstrap.verifier_process as p, os\n"
    broken += "def serve(source, sink):\n    sink.write(b'x'); sink.flush()\n"
    broken += "p.serve = serve\np.main()\n"
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run(
        [sys.executable, "-c", broken], stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE,
        timeout=60, check=False,
    )  # fmt: skip
    os.close(write)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_rule_5_where_a_process_cannot_be_watched_its_parent_is_polled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parents = iter([7, 7, 1])
    ended: list[int] = []
    waited: list[float] = []
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(verifier_process.time, "sleep", waited.append)
    verifier_process.end_with(7)
    assert (ended, len(waited)) == ([0], 2)
