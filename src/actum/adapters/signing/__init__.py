# SPDX-License-Identifier: Apache-2.0
"""Signing adapters hold keys and produce signatures; no other adapter touches a private key."""
