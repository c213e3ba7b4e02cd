# SPDX-License-Identifier: Apache-2.0
"""The model holds frozen records, closed enums, canonical bytes and errors, and nothing that acts."""
