# SPDX-License-Identifier: Apache-2.0
"""Testing ships to users: a simulated clock, faulty parts, store exercises and record builders."""
