# SPDX-License-Identifier: Apache-2.0
"""Each adapter speaks to one outside thing, and knows nothing of the others."""
