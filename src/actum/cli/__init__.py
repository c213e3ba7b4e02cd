# SPDX-License-Identifier: Apache-2.0
"""The command line presents and collects; it decides nothing."""
