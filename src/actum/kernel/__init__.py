# SPDX-License-Identifier: Apache-2.0
"""The kernel holds the rules as pure functions over records."""
