# SPDX-License-Identifier: Apache-2.0
"""Lookers run verifiers and sign what they saw: in a process of their own (L1), or in this one (L0)."""
