# SPDX-License-Identifier: Apache-2.0
"""The machine itself: its clock, its chance, its name, and the files beside the store."""
