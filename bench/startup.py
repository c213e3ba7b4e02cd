# SPDX-License-Identifier: Apache-2.0
"""What starting the command line costs, beside a bare interpreter in the same run.

The product is `actum --help` and `actum --version` as a person types them; the floor is the same interpreter that
runs nothing. CPU time of the whole process, user and system, taken in turns; the median of the rounds. Bytecode is
written beforehand, as an installer does it: without it every start would compile its imports.

Prints, as its last line, one JSON object.
"""

from __future__ import annotations

import argparse
import compileall
import importlib
import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "actum"
ACTUM = "import sys; from actum.cli.main import run; sys.exit(run(sys.argv[1:]))"


def cpu_ms(arguments: list[str], *, cwd: str) -> float:
    """CPU time of one process, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(arguments, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ((after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)) * 1000


def commands(store: str) -> dict[str, list[str]]:
    python = sys.executable
    return {
        "bare": [python, "-c", "pass"],
        "click": [python, "-c", "import click"],
        "argparse": [python, "-c", "import argparse"],
        "--help": [python, "-c", ACTUM, "--help"],
        "--version": [python, "-c", ACTUM, "--version"],
        "activity": [python, "-c", ACTUM, "activity", "--store", store],
    }


def write_bytecode() -> None:
    """Compile what will be imported, also where the environment says that no bytecode is written."""
    for folder in (SOURCE, Path(importlib.import_module("click").__file__ or "").parent):
        compileall.compile_dir(str(folder), quiet=1)


def disk_ms(folder: str) -> float:
    path = os.path.join(folder, "probe")
    taken: list[float] = []
    with open(path, "wb") as file:
        for _ in range(5):
            start = time.perf_counter()
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
            taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 7 if parser.parse_args().quick else 25
    write_bytecode()
    with tempfile.TemporaryDirectory() as folder:
        wanted = commands(os.path.join(folder, "store"))
        subprocess.run(
            [sys.executable, "-c", ACTUM, "init", "--store", os.path.join(folder, "store")],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        taken: dict[str, list[float]] = {name: [] for name in wanted}
        for _ in range(rounds):
            for name, arguments in wanted.items():
                taken[name].append(cpu_ms(arguments, cwd=folder))
        disk = disk_ms(folder)
    found = {name: round(statistics.median(values), 2) for name, values in taken.items()}
    floor = found["bare"]
    points = [
        {
            "params": {"command": name},
            "product": found[name],
            "floor": floor,
            "ratio": round(found[name] / floor, 2),
        }
        for name in ("--help", "--version", "activity")
    ]
    for point in points:
        print(
            f"actum {point['params']['command']}: {point['product']} ms CPU, {point['ratio']} x bare Python"
        )
    print(
        json.dumps(
            {
                "name": "startup",
                "unit": "ms CPU",
                "product": found["--help"],
                "floor": floor,
                "ratio": points[0]["ratio"],
                "peers": {"import click": found["click"], "import argparse": found["argparse"]},
                "points": points,
                "disk_ms": round(disk, 3),
                "load1": round(os.getloadavg()[0], 2),
                "versions": {
                    "python": platform.python_version(),
                    "click": importlib.metadata.version("click"),
                },
            }
        )
    )


if __name__ == "__main__":
    main()
