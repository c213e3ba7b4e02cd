# SPDX-License-Identifier: Apache-2.0
"""Kills a process at every crash point, lets others go on, and prints what was lost, repeated or wrongly believed.

Each day of `tests/crash/workload.py` is begun by one process, which is killed with SIGKILL when it reaches its point,
and ended by another. Prints what is wrong, then as its last line one JSON object. Exit code 0 where nothing is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.crash.harness import KILLED, Result, run_all  # noqa: E402
from tests.crash.points import all_points  # noqa: E402

COUNTED = ("lost", "repeated", "wrongly_called_verified", "disagreements")


def share(days: list[tuple[str, int]]) -> int:
    """Run days in a process of its own, so that this one never opens a store; return where its results come out."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        code = 1
        try:
            body = msgspec.json.encode(run_all(days))
            with open(writer, "wb") as pipe:
                pipe.write(body)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    return reader


def run(days: list[tuple[str, int]], *, jobs: int) -> list[Result]:
    """Run days in some processes side by side."""
    readers = [share(days[number::jobs]) for number in range(min(jobs, len(days)))]
    results: list[Result] = []
    for reader in readers:
        with open(reader, "rb") as pipe:
            body = pipe.read()
        results += msgspec.json.decode(body, type=list[Result]) if body else []
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return results


def main() -> int:
    """Run the points with the seeds asked for and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="days for each point")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--points", default="", help="a comma list; all of them where it is empty")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", action="store_true", help="print each day's result as a line of JSON")
    asked = parser.parse_args()
    points = asked.points.split(",") if asked.points else all_points()
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    days = [(point, seed) for point in points for seed in seeds]
    started = time.monotonic()
    results = run(days, jobs=asked.jobs)
    for result in results:
        if asked.results:
            print(msgspec.json.encode(result).decode())
        elif not result.clean():
            found = {name: getattr(result, name) for name in COUNTED if getattr(result, name)}
            print(f"{result.point} seed {result.seed}: {found or 'the point was not reached'}")
    counts: dict[str, Any] = {name: sum(len(getattr(one, name)) for one in results) for name in COUNTED}
    counts = {
        "points": len(points),
        "seeds": asked.seeds,
        "days": len(results),
        "kills": sum(one.ends.count(KILLED) for one in results),
        **counts,
        "not_reached": sum(not one.reached for one in results) + len(days) - len(results),
        "seconds": round(time.monotonic() - started),
    }
    print(json.dumps(counts))
    return 0 if all(one.clean() for one in results) and len(results) == len(days) else 1


if __name__ == "__main__":
    sys.exit(main())
