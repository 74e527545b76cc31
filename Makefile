# `make demo` and `make test` set up everything they need; the other targets are for developers.
.DEFAULT_GOAL := help
.PHONY: help demo test lint types pytest notebooks spark docs pictures coverage verify bench references datasets clean

# uv from PATH, else a private one in .tools/
UV := $(or $(shell command -v uv 2>/dev/null),.tools/bin/uv)
# uv does not look into pyenv's versions by itself; with none found, uv fetches a Python
PYTHON := $(or $(UV_PYTHON),$(shell ./.ci/find-python),3.13)
RUN := $(UV) run --no-sync

help:
	@echo "make demo       evaluate and compare two real models: tables, sentences, a picture"
	@echo "make test       everything that continuous integration checks"
	@echo "make spark      all data-frame engines, Spark among them, on a million rows; needs Java"
	@echo "make docs       build the documentation, warnings are errors"
	@echo "make pictures   run the Python of the README; write its output and its picture"
	@echo "make coverage   measure how often intervals contain the truth, for the docs; some minutes"
	@echo "make verify     closed forms against PyMC, SBC, wrong samplers; for the docs; a quarter of an hour"
	@echo "make bench      speed beside other programs, as ratios within one run; for the docs; a quarter of an hour"
	@echo "make references sample the stored reference posteriors anew, with PyMC"
	@echo "make datasets   build the shipped prediction sets anew"

demo: .venv/ready
	$(RUN) bayescal demo

test: lint types pytest notebooks

lint: .venv/ready
	$(RUN) ruff check
	$(RUN) ruff format --check

types: .venv/ready
	$(RUN) mypy

pytest: .venv/ready
	$(RUN) pytest -q

notebooks: .venv/ready
	$(RUN) pytest -q --nbmake --nbmake-timeout=300 -W default notebooks

# another group of packages, so that `make test` needs neither pyspark nor Java
spark: .venv/ready
	$(UV) sync -q --python "$(PYTHON)" --group spark
	BAYESCAL_SPARK=1 $(RUN) pytest -q tests/data/test_engines.py

docs: .venv/ready
	$(UV) sync -q --python "$(PYTHON)" --group docs
	rm -rf docs/reference/generated
	$(RUN) sphinx-build -W --keep-going -q docs docs/_build/html

pictures: .venv/ready
	$(RUN) python docs/make/pictures.py

coverage: .venv/ready
	$(RUN) python docs/make/coverage.py
	$(RUN) python docs/make/differences.py

verify: .venv/ready
	$(RUN) python docs/make/verify.py

# another group of packages, since netcal and torchmetrics bring PyTorch
bench: .venv/ready
	$(UV) sync -q --python "$(PYTHON)" --group bench
	$(RUN) pytest -q tests/benchmarks --override-ini addopts= --benchmark-group-by=group --benchmark-columns=min,median,rounds
	$(RUN) python docs/make/performance.py

references: .venv/ready
	$(RUN) python tests/make_reference_posteriors.py

datasets: .venv/ready
	$(RUN) python tests/make_datasets.py

.venv/ready: pyproject.toml $(if $(filter .tools/%,$(UV)),.tools/bin/uv)
	$(UV) sync -q --python "$(PYTHON)"
	@touch $@

.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/pip install -q uv

clean:
	rm -rf .venv .tools docs/_build
