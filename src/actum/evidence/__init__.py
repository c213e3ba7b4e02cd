# SPDX-License-Identifier: Apache-2.0
"""Evidence holds statements, looks, the log and the offline verifier, small enough to be read whole."""
