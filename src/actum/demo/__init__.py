# SPDX-License-Identifier: Apache-2.0
"""The demo plays one story on the real line: an assistant's inbox, an agent that makes claims, and mishaps."""
