# SPDX-License-Identifier: Apache-2.0
"""The store keeps every record and enforces the rules again in the database itself."""
