# SPDX-License-Identifier: Apache-2.0
"""The two files `actum init` writes: a configuration in which everything is a comment, and an example process."""

from __future__ import annotations

CONFIG = """\
# actum.toml: everything here is optional, and what is commented out shows the form.
# A section or member that Actum does not know is refused when the store is opened.

# [store]
# url = "postgresql://localhost/actum"   # instead of store.db beside this file

# [files]
# roots = ["/srv/documents"]             # folders the file actions may touch; else the folder of the store

# [mail]
# from = "Alice <alice@example.test>"
# domain = "example.test"                # Message-IDs are made under it
# drafts = "/srv/mail/alice/Drafts"      # gives mail.draft

# [models.fast]                          # without a model, reasoning steps go to a person
# adapter = "openai_compatible"
# base_url = "http://127.0.0.1:8080/v1"
# model = "small-2026-11-02"
# data_classes = ["mail_text"]           # which data it may be shown
"""

EXAMPLE_NAME = "inbox_triage.yaml"
EXAMPLE = """\
# A process decides work of its types, step by step. Each step is decided by the cheapest rung that can:
# structured fields, patterns, learned rules, then a model under a token contract, then a person.
process: inbox_triage
work_types: [ea_inbox, ea_brief]
steps:
  - id: capture
    kind: plumbing
    skill: intake.capture
  - id: triage
    kind: plumbing
    skill: qualify.deterministic
    fields: [owner]          # present and typed: decided without a model; else a person is asked
  - id: enrich
    kind: reasoning          # model allowed, under a token contract
    skill: capture.structure
  - id: decide
    kind: judgment           # a person, always
  - id: resurface
    kind: plumbing
    skill: opportunity.resurface
"""
