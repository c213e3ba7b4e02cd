# SPDX-License-Identifier: Apache-2.0
"""Use cases run here: load, ask the kernel, store, one transaction each."""
