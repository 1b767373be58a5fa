# Two commands: `make plan` answers a real question, `make test` proves the tool. Both set up what they need.
# Only Python 3.11 or newer and make have to be there; PYTHON=... names a Python.

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$python" && break; done)
WORKLOAD ?= examples/quickstart.yaml
BIN := .venv/bin
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

.DEFAULT_GOAL := help
.PHONY: help plan test check lint unit bench lock clean core-environment test-environment

help:
	@echo "make plan    set up and plan $(WORKLOAD) (another: make plan WORKLOAD=my.yaml)"
	@echo "make test    set up and run linters, types, import rules and tests: what CI runs"
	@echo "make lint    only the linters, types and import rules; make unit: only the tests"
	@echo "make bench   start-up times, as ratios"
	@echo "make lock    resolve the locked requirements anew"
	@echo "make clean   remove what the above made"

plan: core-environment
	@$(BIN)/gpu-opt plan $(WORKLOAD)

test check: lint unit

lint: test-environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: test-environment
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report term:skip-covered

bench: core-environment
	$(BIN)/python benchmarks/startup.py

# No index address and no path of this machine may stand in the lock files.
PIP_COMPILE = CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options --all-build-deps
lock: test-environment
	$(BIN)/python -m pip install --quiet pip-tools==7.6.2
	$(PIP_COMPILE) --upgrade --extra test -o requirements/test.txt pyproject.toml
	$(PIP_COMPILE) --upgrade --constraint requirements/test.txt -o requirements/core.txt pyproject.toml

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage

core-environment test-environment: %-environment: | python-found
	@$(PYTHON) .ci/environment.py $*

.PHONY: python-found
python-found:
	@test -n "$(PYTHON)" || { echo "gpu-opt needs Python 3.11 or newer, and none was found. Install one, or name it: make PYTHON=/path/to/python3.11"; exit 1; }
