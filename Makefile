# Two commands to start with: `make demo` and `make test`. Each makes .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: demo test check live bench clean
.DELETE_ON_ERROR:

demo: .venv/ready-demo ## replay the recorded agent run and prove every request
	$(BIN)/copyfit demo

test: .venv/ready-dev ## the tests that need no server
	$(BIN)/python -m pytest -n auto

check: .venv/ready-dev ## format, lint, types, import contracts, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto

live: .venv/ready-dev ## the tests against llama.cpp's real server on loopback
	$(BIN)/python -m pytest -m live

bench: .venv/ready-dev ## figures, printed and not judged
	$(BIN)/python -m pytest -m benchmark -s

clean: ## remove what the other targets made
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist

# pip 25.1 is the first that installs dependency groups.
.venv/python-ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'copyfit needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...' >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade 'pip>=25.1'
	@touch $@

.venv/ready-demo: pyproject.toml constraints.txt .venv/python-ready
	$(PIP) --constraint constraints.txt --editable '.[harness]'
	@touch $@

.venv/ready-dev: pyproject.toml constraints.txt .venv/python-ready
	$(PIP) --constraint constraints.txt --editable . --group dev
	@touch $@ .venv/ready-demo
