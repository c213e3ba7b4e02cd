# SPDX-License-Identifier: Apache-2.0
"""A capability describes, executes, verifies and rehearses one kind of action."""
