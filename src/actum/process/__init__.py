# SPDX-License-Identifier: Apache-2.0
"""Process files become a checked, compiled plan here, and every problem of a file is told at once."""
