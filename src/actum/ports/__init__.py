# SPDX-License-Identifier: Apache-2.0
"""Ports are protocols only: what the service asks of the outside world, without saying who answers."""
