# SPDX-License-Identifier: Apache-2.0
"""The store adapter writes its statements once; SQLite and PostgreSQL provide transactions and dialect."""
