# SPDX-License-Identifier: Apache-2.0
"""Intake reads what comes in from outside; every message or line becomes an item or a failure one can see."""
