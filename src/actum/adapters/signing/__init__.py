# SPDX-License-Identifier: Apache-2.0
"""Ed25519 keys are kept as files that only their owner can read."""

from actum.adapters.signing.ed25519 import Ed25519Signer
from actum.adapters.signing.key_store import FileKeyStore

__all__ = ["Ed25519Signer", "FileKeyStore"]
