# SPDX-License-Identifier: Apache-2.0
"""Whether this process only registers verifiers: true in the verifier process, false everywhere else."""

from __future__ import annotations

ONLY = False
