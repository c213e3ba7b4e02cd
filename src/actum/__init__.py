# SPDX-License-Identifier: Apache-2.0
"""Actum is an action kernel: it describes, confirms, delivers, observes and grades effects."""
