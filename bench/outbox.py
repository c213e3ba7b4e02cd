# SPDX-License-Identifier: Apache-2.0
"""The line's own unit against a hand-written outbox and huey, on SQLite with FULL durability.

Unit of the product: submit, decide, confirm in process, dispatch, append one line to a file, look, receipt.
Unit of the floor and of huey: enqueue, claim, append one line, mark finished; no descriptor, grant, look or receipt.

    .venv/bin/python bench/outbox.py [--quick] [--n N]

The last line is one JSON object. Absolute numbers are of this machine at this moment; only ratios count.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = (
    Path(tempfile.gettempdir())
    if "ACTUM_BENCH_DIR" not in os.environ
    else Path(os.environ["ACTUM_BENCH_DIR"])
)
LINES = Path(os.environ.get("ACTUM_BENCH_LINES", ROOT / "actum-bench-lines.txt"))
TAIL = 16_384
SEEN = ("finalized", "verified")


def append_line(key: str) -> None:
    """The effect: one write(2) with O_APPEND, no fsync."""
    fd = os.open(LINES, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(fd, f"{key}\n".encode())
    finally:
        os.close(fd)


def tail_has(key: str) -> bool:
    """Tell whether the newest lines hold a key."""
    try:
        fd = os.open(LINES, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        size = os.fstat(fd).st_size
        text = os.pread(fd, TAIL, max(0, size - TAIL))
    finally:
        os.close(fd)
    return f"{key}\n".encode() in text


from actum import Kernel  # noqa: E402 (the verifier process imports this file for the functions above)

PLACE = os.environ.get("ACTUM_BENCH_STORE", "")
kernel = Kernel.open(PLACE or Path(tempfile.mkdtemp(prefix="actum-bench-", dir=ROOT)) / ".actum")


@kernel.action(
    "bench.append",
    reversibility="reversible",
    externality="local_only",
    absence_is_proof=True,
    disjoint=lambda key: [f"line {key}"],
)
def append(key: str) -> dict:
    append_line(key)
    return {"key": key}


@append.verifier(expect={"present": True})
def look(key: str) -> dict:
    return {"present": tail_has(key)}


def product_single(n: int, tag: str) -> list[float]:
    """Take n effects one at a time through the whole line; return seconds for each."""
    times: list[float] = []
    turns: list[str] = []
    for index in range(n):
        begun = time.perf_counter()
        turn = append(f"{tag}-{index}")
        kernel.confirm(turn.question_ids())
        kernel.run(look=False)
        times.append(time.perf_counter() - begun)
        turns.append(turn.turn_id)
    require_verified(turns)
    return times


def product_grouped(n: int, tag: str, batch: int) -> list[float]:
    """Take n effects in groups: one submit, one confirm and one run for each group."""
    from actum.model.work import Submission

    times: list[float] = []
    turns: list[str] = []
    for start in range(0, n, batch):
        begun = time.perf_counter()
        keys = [f"{tag}-{index}" for index in range(start, min(start + batch, n))]
        subjects = [{"capability": "bench.append", "arguments": {"key": key}} for key in keys]
        accepted = kernel.submit_many(
            [Submission(work_type="agent.action", subject=subject) for subject in subjects]
        )
        ids = [question for one in accepted for question in kernel.turn(one.turn_id).question_ids()]
        kernel.confirm(ids)
        kernel.run(look=False)
        times.append((time.perf_counter() - begun) / len(keys))
        turns += [one.turn_id for one in accepted]
    require_verified(turns)
    return times


def require_verified(turn_ids: list[str]) -> None:
    """Stop where an effect did not end as seen: one that ends earlier is not the unit that is measured."""
    for turn_id in turn_ids:
        receipt = kernel.turn(turn_id).receipt()
        if receipt is None or (receipt.graded.finality.value, receipt.graded.confidence.value) != SEEN:
            raise SystemExit(f"bench/outbox.py: turn {turn_id} did not end finalized and verified: {receipt}")


def floor(n: int, tag: str, batch: int, folder: Path) -> list[float]:
    """A hand-written outbox: lease, epoch fence, unique key; three commits for each group."""
    base = sqlite3.connect(folder / f"floor-{tag}.db", isolation_level=None)
    base.execute("pragma journal_mode=wal")
    base.execute("pragma synchronous=full")
    base.executescript(
        "create table outbox(id integer primary key, k text not null unique, state int not null default 0,"
        " epoch int not null default 0, lease int, done int);"
        "create index ready on outbox(id) where state = 0;"
    )
    times: list[float] = []
    for start in range(0, n, batch):
        begun = time.perf_counter()
        keys = [f"{tag}-{index}" for index in range(start, min(start + batch, n))]
        base.execute("begin immediate")
        base.executemany("insert into outbox(k) values(?)", [(key,) for key in keys])
        base.execute("commit")
        base.execute("begin immediate")
        rows = base.execute(
            "update outbox set state = 1, epoch = epoch + 1, lease = ? where id in"
            " (select id from outbox where state = 0 order by id limit ?) returning id, k, epoch",
            (int(time.time()) + 30, batch),
        ).fetchall()
        base.execute("commit")
        for _, key, _ in rows:
            append_line(key)
        base.execute("begin immediate")
        for row, _, epoch in rows:
            base.execute("update outbox set state = 2, done = ? where id = ? and epoch = ?", (1, row, epoch))
        base.execute("commit")
        times.append((time.perf_counter() - begun) / len(keys))
    base.close()
    return times


def huey(n: int, tag: str, folder: Path) -> list[float] | None:
    """huey on SQLite with fsync: enqueue one, run one; None where it is not installed."""
    try:
        from huey import SqliteHuey
    except ImportError:
        return None
    app = SqliteHuey("bench", filename=str(folder / f"huey-{tag}.db"), fsync=True, results=True)

    @app.task()
    def job(key: str) -> str:
        append_line(key)
        return key

    times: list[float] = []
    for index in range(n):
        begun = time.perf_counter()
        job(f"{tag}-{index}")
        task = app.dequeue()
        app.execute(task)
        times.append(time.perf_counter() - begun)
    return times


def disk_ms(folder: Path) -> float:
    """Return the median cost right now of a 4 KiB append with fdatasync."""
    path = folder / "probe"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    costs: list[float] = []
    for _ in range(25):
        begun = time.perf_counter()
        os.write(fd, b"x" * 4096)
        os.fdatasync(fd)
        costs.append(time.perf_counter() - begun)
    os.close(fd)
    path.unlink()
    return round(statistics.median(costs) * 1000, 3)


def spent(n: int) -> dict[str, float]:
    """Return the share of a single effect's time that each stage takes, measured around the stages."""
    shares = {"submit_decide_stage": 0.0, "confirm": 0.0, "claim_dispatch_act_look_seal": 0.0}
    for index in range(n):
        begun = time.perf_counter()
        turn = append(f"spent-{os.getpid()}-{index}")
        ids = turn.question_ids()
        submitted = time.perf_counter()
        kernel.confirm(ids)
        confirmed = time.perf_counter()
        kernel.run(look=False)
        shares["submit_decide_stage"] += submitted - begun
        shares["confirm"] += confirmed - submitted
        shares["claim_dispatch_act_look_seal"] += time.perf_counter() - confirmed
    total = sum(shares.values())
    return {name: round(value / total, 3) for name, value in shares.items()}


def rate(times: list[float]) -> float:
    """Return units a second from the median of one unit."""
    return round(1 / statistics.median(times), 1)


def rounds(measure: dict[str, Callable[[int], list[float]]], *, count: int) -> dict[str, list[float]]:
    """Run the measures in turn, so that a machine that drifts drifts for all of them."""
    found: dict[str, list[float]] = {name: [] for name in measure}
    for turn in range(count):
        for name, run in measure.items():
            found[name] += run(turn)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="end within a minute")
    parser.add_argument("--n", type=int, default=0, help="effects in a round")
    options = parser.parse_args()
    n = options.n or (60 if options.quick else 400)
    count = 4 if options.quick else 6
    batch = 50
    LINES.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="actum-bench-", dir=ROOT) as scratch:
        folder = Path(scratch)
        product_single(20, "warm")
        before = kernel.line.store.commits()
        product_single(10, "count")
        commits = (kernel.line.store.commits() - before) / 10
        measures: dict[str, Callable[[int], list[float]]] = {
            "floor": lambda turn: floor(n, f"f{turn}", 1, folder),
            "product": lambda turn: product_single(n, f"p{turn}"),
            "floor_grouped": lambda turn: floor(n * 10, f"fg{turn}", batch, folder),
            "product_grouped": lambda turn: product_grouped(n, f"pg{turn}", batch),
        }
        if huey(1, "probe", folder) is not None:
            measures["huey"] = lambda turn: huey(n, f"h{turn}", folder) or []
        found = rounds(measures, count=count)
        single = {"product": rate(found["product"]), "floor": rate(found["floor"])}
        grouped = {"product": rate(found["product_grouped"]), "floor": rate(found["floor_grouped"])}
        peers = {"huey_fsync": rate(found["huey"])} if "huey" in found else {}
        p99 = (
            statistics.quantiles(found["product"], n=100)[98]
            / statistics.quantiles(found["floor"], n=100)[98]
        )
        result = {
            "name": "outbox",
            "unit": "effects per second",
            **single,
            "ratio": round(single["product"] / single["floor"], 3),
            "peers": peers,
            "points": [
                {"params": {"batch": 1}, **single, "ratio": round(single["product"] / single["floor"], 3)},
                {
                    "params": {"batch": batch},
                    **grouped,
                    "ratio": round(grouped["product"] / grouped["floor"], 3),
                },
            ],
            "p99_ratio": round(p99, 2),
            "commits_per_effect": commits,
            "spent": spent(20 if options.quick else 100),
            "guards_off": [],
            "disk_ms": disk_ms(folder),
            "load1": round(os.getloadavg()[0], 2),
            "versions": {"python": sys.version.split()[0], "sqlite_floor": sqlite3.sqlite_version},
        }
    kernel.close()
    LINES.unlink(missing_ok=True)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
