# Two commands: `make plan` answers a real question, `make test` proves the tool. Both set up what they need.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
