# SPDX-License-Identifier: Apache-2.0
"""A test that needs an absent part is skipped with its reason, or fails where everything is required."""

import os

import pytest

REQUIRE_ALL = "ACTUM_REQUIRE_ALL"

# These parts lie outside the repository or the interpreter, so no set-up step can bring them.
MAY_BE_ABSENT = ("shared vectors absent", "interpreter lacks")


def everything_is_required() -> bool:
    """The environment says ACTUM_REQUIRE_ALL=1, as the CI run does."""
    return os.environ.get(REQUIRE_ALL) == "1"


def may_be_absent(reason: str) -> bool:
    """The reason names a part that no set-up step can bring."""
    return reason.removeprefix("Skipped: ").startswith(MAY_BE_ABSENT)


def require_part(present: bool, reason: str) -> None:
    """Skip the calling test with `reason` where the part is not `present`; under ACTUM_REQUIRE_ALL=1 fail it.

    It proves nothing about the part itself, only that somebody looked for it.
    """
    if present:
        return
    if everything_is_required() and not may_be_absent(reason):
        pytest.fail(f"a part that must be here is absent: {reason}", pytrace=False)
    pytest.skip(reason)
