# SPDX-License-Identifier: Apache-2.0
"""Every row of the travel_approvals history becomes one work item line, without the verdict it ended in.

The verdict is what a person is to decide, so it never enters the subject. Numbers of the history keep their
text; ``amount_eur`` is money and is declared money_legal in process.yaml.

    python examples/travel_approvals/rows.py --limit 5
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

NAME = Path("datasets/travel_approvals/judgments.csv.gz")
WHOLE_NUMBERS = ("submission", "prior_rejections")


def find_data(given: str | None) -> Path:
    """Return the history's path: the one given, or below $ACTUM_SHARED, or below ../shared."""
    if given is not None:
        return Path(given)
    shared = os.environ.get("ACTUM_SHARED") or Path(__file__).resolve().parents[3] / "shared"
    return Path(shared) / NAME


def work_items(path: Path) -> Iterator[dict[str, object]]:
    """Yield one work item for each row, in the order of the history."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            subject: dict[str, object] = {
                name: int(text) if name in WHOLE_NUMBERS else text
                for name, text in row.items()
                if name != "verdict"
            }
            key = f"{row['case']}/{row['step']}/{row['submission']}"
            yield {"work_type": "travel_approval", "subject": subject, "key": key}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=None, help="stop after this many rows")
    parser.add_argument("--data", default=None, help="path of judgments.csv.gz")
    options = parser.parse_args()
    path = find_data(options.data)
    if not path.is_file():
        print(f"There is no history at {path}. Nothing was printed.", file=sys.stderr)
        print("Give --data or set ACTUM_SHARED.", file=sys.stderr)
        return 5
    for count, item in enumerate(work_items(path)):
        if options.limit is not None and count >= options.limit:
            break
        print(json.dumps(item, ensure_ascii=False, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # The reader has seen enough, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
