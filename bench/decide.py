# SPDX-License-Identifier: Apache-2.0
"""One deterministic decision against a dict by hand, and against rule engines over the same rules.

Unit of the product: `kernel.ladder.decide` with its defaults, from a subject to a decision record that names
winner, other rungs and the subject's digest. Floor: one look-up in a hand-written dict, the digest of the
subject's sorted JSON, and a dict of the result. Peers (at 1 000 rules): zen-engine, cedarpy and regopy, in
`.venv-bench`, which this file makes; a peer that does not install is left out and named on stderr.

    .venv/bin/python bench/decide.py [--quick]

Each rule is an equality on kind, tier and country; patterns come as compiled records, so no YAML is timed. The
last line is one JSON object. Rates are per second of processor time, so that a busy machine does not favour the
side that ran in a quiet moment; absolute numbers are of this machine at this moment; only ratios count.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PEER_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PEERS = {"zen-engine": "zen-engine", "cedarpy": "cedarpy", "regopy": "regopy"}
PEER_RULES = 1000
QUICK_SIZES = (10, 1_000, 100_000)
FULL_SIZES = (10, 1_000, 100_000, 1_000_000)


def subjects(rules: int, count: int) -> list[dict[str, str]]:
    """Return subjects that each hit one rule, spread over all of them."""
    return [
        {"kind": f"k{(i * 7919) % rules}", "tier": "gold", "country": "NL", "channel": "email"}
        for i in range(count)
    ]


def per_second(call: Callable[[Any], object], values: list[Any], *, seconds: float) -> float:
    """Return the best rate of three rounds, per second of processor time of this process."""
    gc.collect()
    best = 0.0
    for _ in range(3):
        done, begun = 0, time.process_time()
        while True:
            for value in values:
                call(value)
            done += len(values)
            spent = time.process_time() - begun
            if spent > seconds:
                break
        best = max(best, done / spent)
    return best


def product_rate(rules: int, *, seconds: float) -> tuple[float, float]:
    """Return decisions per second of the product, and the seconds its index took to build."""
    from actum.kernel.ladder import decide
    from actum.model.decision import Rung
    from actum.model.plan import Call, FieldType, Lit, Op, Ref
    from actum.model.process import (
        AuthoredPattern,
        Constant,
        FieldDeclaration,
        Member,
        Process,
        Rulebook,
        Step,
        StepKind,
        Then,
    )
    from actum.model.walk import Decided, LadderContext
    from actum.process.activate import index_of

    def equal(field: str, text: str) -> Call:
        return Call(op=Op.EQ, args=(Ref(field=field), Lit(type=FieldType.STRING, text=text)))

    then = Then(writes=(Member(name="route", value=Constant(json='"desk"')),))
    patterns = tuple(
        AuthoredPattern(
            id=f"p{i}",
            steps=("route",),
            when=Call(
                op=Op.AND, args=(equal("kind", f"k{i}"), equal("tier", "gold"), equal("country", "NL"))
            ),
            then=then,
        )
        for i in range(rules)
    )
    fields = tuple(
        FieldDeclaration(name=name, type=FieldType.STRING, pointer=f"/{name}")
        for name in ("channel", "country", "kind", "route", "tier")
    )
    step = Step(process="bench", id="route", kind=StepKind.PLUMBING, fields=("route",))
    process = Process(
        name="bench",
        work_types=("w",),
        fields=fields,
        skills=(),
        actions=(),
        patterns=patterns,
        steps=(step,),
    )
    begun = time.perf_counter()
    index = index_of(Rulebook(processes=(process,)))
    built = time.perf_counter() - begun
    context = LadderContext(turn_id="01BENCH", now_ms=1, work_type="w")
    values = subjects(rules, 1000)
    for value in values[:10]:
        found = decide(step, subject=value, context=context, index=index)
        assert isinstance(found, Decided)
        assert found.decision.rung is Rung.PATTERN
        assert found.decision.condition.id == "p" + value["kind"][1:]
    rate = per_second(
        lambda value: decide(step, subject=value, context=context, index=index), values, seconds=seconds
    )
    return rate, built


def floor_rate(rules: int, *, seconds: float) -> float:
    """Return decisions per second of a hand-written dict."""
    table = {(f"k{i}", "gold", "NL"): f"p{i}" for i in range(rules)}

    def decide(value: dict[str, str]) -> dict[str, str]:
        rule = table[value["kind"], value["tier"], value["country"]]
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
        return {"rule": rule, "route": "desk", "subject": hashlib.sha256(text.encode()).hexdigest()}

    return per_second(decide, subjects(rules, 1000), seconds=seconds)


def zen_call(rules: int) -> Callable[[Any], object]:
    """Return one decision by a zen decision table."""
    import zen

    inputs = [{"id": name, "name": name, "field": name} for name in ("kind", "tier", "country")]
    rows = [
        {"_id": str(i), "kind": f'"k{i}"', "tier": '"gold"', "country": '"NL"', "rule": f'"p{i}"'}
        for i in range(rules)
    ]
    table = {
        "hitPolicy": "first",
        "inputs": inputs,
        "outputs": [{"id": "rule", "name": "rule", "field": "rule"}],
        "rules": rows,
    }
    at = {"x": 0, "y": 0}
    graph = {
        "contentType": "application/vnd.gorules.decision",
        "nodes": [
            {"id": "in", "type": "inputNode", "name": "in", "position": at},
            {"id": "table", "type": "decisionTableNode", "name": "table", "position": at, "content": table},
            {"id": "out", "type": "outputNode", "name": "out", "position": at},
        ],
        "edges": [
            {"id": "e1", "sourceId": "in", "targetId": "table", "type": "edge"},
            {"id": "e2", "sourceId": "table", "targetId": "out", "type": "edge"},
        ],
    }
    decision = zen.ZenEngine().create_decision(json.dumps(graph))
    return lambda value: decision.evaluate(value)["result"]["rule"]


def cedar_call(rules: int) -> Callable[[Any], object]:
    """Return one decision by a parsed Cedar policy set."""
    import cedarpy

    text = "\n".join(
        f'permit(principal, action == Action::"decide", resource) when '
        f'{{ context.kind == "k{i}" && context.tier == "gold" && context.country == "NL" }};'
        for i in range(rules)
    )
    policies = cedarpy.PolicySet.from_str(text) if hasattr(cedarpy, "PolicySet") else text
    who = {"principal": 'User::"a"', "action": 'Action::"decide"', "resource": 'Doc::"d"'}

    def call(value: dict[str, str]) -> object:
        answer = cedarpy.is_authorized({**who, "context": value}, policies, [])
        assert answer.allowed
        return "p" + answer.diagnostics.reasons[0].removeprefix("policy")

    return call


def rego_call(rules: int) -> Callable[[Any], object]:
    """Return one decision by a built Rego bundle."""
    from regopy import Interpreter

    module = "package p\n" + "\n".join(
        f'hit contains "p{i}" if {{ input.kind == "k{i}"; input.tier == "gold"; input.country == "NL" }}'
        for i in range(rules)
    )
    engine = Interpreter()
    engine.add_module("p", module)
    bundle = engine.build("data.p.hit")

    def call(value: dict[str, str]) -> object:
        engine.set_input(value)
        return "p" + str(engine.query_bundle(bundle)).split('"p')[1].split('"')[0]

    return call


CALLS = {"zen-engine": zen_call, "cedarpy": cedar_call, "regopy": rego_call}


def peer_main(name: str, seconds: float) -> None:
    """Run one peer in this process and print its rate; every first answer is checked."""
    call = CALLS[name](PEER_RULES)
    values = subjects(PEER_RULES, 20)
    for value in values:
        assert call(value) == "p" + value["kind"][1:], (name, value, call(value))
    print(
        json.dumps(
            {"rate": per_second(call, values, seconds=seconds), "version": metadata.version(PEERS[name])}
        )
    )


def make_peers() -> None:
    """Make `.venv-bench` with the peers, unless it has them."""
    uv = ROOT / ".venv" / "bin" / "uv"
    if not PEER_PYTHON.exists():
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, ROOT / ".venv-bench"], check=False)
    for name in PEERS.values():
        shown = subprocess.run([uv, "pip", "show", "-q", "--python", PEER_PYTHON, name], check=False)
        if shown.returncode != 0:
            subprocess.run([uv, "pip", "install", "-q", "--python", PEER_PYTHON, name], check=False)


def peer_rates(seconds: float) -> dict[str, dict[str, Any]]:
    """Return rate and version of each peer that installs and answers right."""
    make_peers()
    found: dict[str, dict[str, Any]] = {}
    for name in PEERS:
        command = [str(PEER_PYTHON), __file__, "--peer", name, "--seconds", str(seconds)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode == 0:
            found[name] = json.loads(ran.stdout.splitlines()[-1])
        else:
            print(f"{name} is left out: {ran.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return found


def disk_ms() -> float:
    """Return the milliseconds of one small write with fsync; no decision here touches the disk."""
    with tempfile.NamedTemporaryFile(dir=ROOT / "bench", prefix=".disk-") as file:
        times: list[float] = []
        for _ in range(5):
            begun = time.perf_counter()
            file.write(b"x" * 512)
            file.flush()
            os.fsync(file.fileno())
            times.append((time.perf_counter() - begun) * 1000)
    return round(sorted(times)[2], 3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="end within a minute: up to 100 000 patterns")
    parser.add_argument("--peer", choices=sorted(PEERS), help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=None, help="length of each of three rounds")
    options = parser.parse_args()
    seconds = options.seconds or (0.4 if options.quick else 2.0)
    if options.peer:
        peer_main(options.peer, seconds)
        return 0
    load = round(os.getloadavg()[0], 2)
    points: list[dict[str, Any]] = []
    for size in QUICK_SIZES if options.quick else FULL_SIZES:
        product, built = product_rate(size, seconds=seconds)
        floor = floor_rate(size, seconds=seconds)
        point = {
            "params": {"patterns": size, "build_s": round(built, 2)},
            "product": round(product),
            "floor": round(floor),
            "ratio": round(product / floor, 3),
        }
        print(point, flush=True)
        points.append(point)
    peers = peer_rates(seconds)
    at_peers = next(point for point in points if point["params"]["patterns"] == PEER_RULES)
    rates = [point["product"] for point in points]
    result = {
        "name": "decide",
        "unit": "decisions per second and core",
        "product": at_peers["product"],
        "floor": at_peers["floor"],
        "ratio": at_peers["ratio"],
        "peers": {name: round(peer["rate"]) for name, peer in peers.items()},
        "points": points,
        "flat": round(max(rates) / min(rates), 3),
        "times_peers": {name: round(at_peers["product"] / peer["rate"], 1) for name, peer in peers.items()},
        "disk_ms": disk_ms(),
        "load1": load,
        "versions": {
            "python": sys.version.split()[0],
            "actum": metadata.version("actum"),
            **{name: peer["version"] for name, peer in peers.items()},
        },
    }
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
