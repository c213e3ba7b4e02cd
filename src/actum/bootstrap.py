# SPDX-License-Identifier: Apache-2.0
"""Bootstrap is the only place that knows which adapter fills which port."""
