# SPDX-License-Identifier: Apache-2.0
"""Model adapters turn a packet into an answer and its token count, and decide nothing."""
