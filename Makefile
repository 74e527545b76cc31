# `make demo` and `make test` set up everything they need; the other targets are for developers.
# QUICK=1 runs a short form of the targets that measure: at most two minutes each, and no file is written.
.DEFAULT_GOAL := help
.PHONY: help demo test check check-tests slow lint types loops pytest notebooks lessons spark docs pictures explore coverage verify related conformance bench mutation references datasets
.PHONY: packages lean hosts lock latest lowest clean

REQUIREMENTS := .ci/requirements
QUICK ?=
SHORT := $(if $(QUICK),--quick)

# uv from PATH, else a private one in .tools/
UV := $(or $(shell command -v uv 2>/dev/null),.tools/bin/uv)
# uv does not look into pyenv's versions by itself; with none found, uv fetches a Python
PYTHON := $(or $(UV_PYTHON),$(shell ./.ci/find-python),3.13)
LOWEST_PYTHON := $(or $(shell ./.ci/find-python 3.12),3.12)
export UV_PROJECT_ENVIRONMENT := .venv
# with this variable, each of the many processes that tests start would compile all modules that it imports
unexport PYTHONDONTWRITEBYTECODE
RUN := $(UV) run --no-sync
# exactly the versions in the requirement files; nothing is resolved, so new releases of other projects have no effect
# one process per core; files are not split, so that their tests share what is slow to set up; they run in the order of
# their names, docstrings last: by default files with few tests are last, and a slow one of these leaves cores without work
PARALLEL := -n auto --maxprocesses=4 --dist loadfile --no-loadscope-reorder
PINNED := $(UV) pip install -q --python .venv --no-deps

help:
	@echo "make demo       evaluate and compare two classifiers on real data: tables, sentences, a picture"
	@echo "make test       lint, types and tests; ten minutes"
	@echo "make check      lint, types, tests of the core and of the topic WING, such as WING=survival; three minutes"
	@echo "make slow       the tests that take longest; twenty minutes"
	@echo "make notebooks  run the lessons, compare their outputs with the stored ones, check their statements; two minutes"
	@echo "make spark      Spark, and the rule of comparison of all engines on a million rows; needs Java"
	@echo "make docs       build the documentation, warnings are errors"
	@echo "make pictures   run the Python of the README and the docs; write its output, its pictures and the index of quantities"
	@echo "make lessons    run the notebooks, check their statements, write their outputs; a minute or two"
	@echo "make explore    simulate the test sets of the page docs/explore; a quarter of an hour"
	@echo "make coverage   measure how often intervals contain the truth, and list it, for the docs; several hours"
	@echo "make verify     closed forms against PyMC, SBC, wrong samplers; for the docs; a quarter of an hour"
	@echo "make related    coverage of the intervals that other packages print; for the docs; ten minutes"
	@echo "make conformance  which program follows which convention of the plug-in ECE; for the docs; a minute"
	@echo "make bench      speed beside other programs, as ratios within one run; the adapter for torchmetrics; for the docs; a quarter of an hour"
	@echo "make mutation   change the core in one place at a time and check that a test fails; for the docs; half an hour"
	@echo "make references sample the stored reference posteriors anew, with PyMC"
	@echo "make datasets   build the shipped prediction sets anew"
	@echo "make packages   install what the targets above need beside make test, so that several can run at once"
	@echo "make lean       results and messages in an environment with ten packages"
	@echo "make hosts      adapters in the programs that they are for, in an environment with these programs; two minutes"
	@echo "make lock       update the exact versions in $(REQUIREMENTS), which all targets above use"
	@echo "make latest     tests with the newest versions of all packages"
	@echo "make lowest     tests with the oldest versions that pyproject.toml allows, on Python 3.12"
	@echo "With QUICK=1, slow, spark, pictures, lessons, explore, coverage, verify, related, conformance, bench, mutation, references and datasets run in part and write nothing."

demo: .venv/ready
	$(RUN) bayescal demo
	$(RUN) bayescal report tests/read/logs/lm_eval/small --format lm-eval

# types on one core while loops are compiled on the other; SLOW=1 adds the tests of `make slow`
test: .venv/ready
	$(MAKE) --jobs=2 lint types loops
	$(MAKE) pytest

# the tests of the core, and those of one topic: WING=survival
CORE := tests/test_layers.py tests/test_public_api.py tests/test_contract.py tests/test_evaluate.py tests/stats tests/posterior \
    tests/estimands tests/results tests/analyses/test_classwise.py tests/analyses/test_one.py tests/test_lazy.py \
    tests/test_version.py tests/test_compiled.py tests/test_loops.py tests/test_jit.py
OF_WING = $(if $(WING),$(or $(wildcard tests/$(WING)),$(error tests has no folder '$(WING)')))
check: .venv/ready
	$(MAKE) --jobs=2 lint types check-tests

check-tests: .venv/ready
	$(RUN) pytest -q $(PARALLEL) $(CORE) $(OF_WING)

lint: .venv/ready
	$(RUN) ruff check
	$(RUN) ruff format --check

types: .venv/ready
	$(RUN) mypy

pytest: .venv/ready
	$(RUN) pytest -q $(PARALLEL) $(if $(SLOW),-m 'not measuring')

# once, since each process of tests would compile them; from the cache this takes two seconds
loops: .venv/ready
	$(RUN) python tests/compile_loops.py

# the short form: slow tests of what readers see, which changes of other files break
OF_READERS := tests/test_docs.py tests/test_golden.py tests/test_metrics.py tests/test_names.py tests/test_reading_remarks.py
slow: .venv/ready
	$(RUN) pytest -q $(PARALLEL) -m slow $(if $(QUICK),$(OF_READERS),$$(grep -rl 'pytest.mark.slow' tests))

notebooks: .venv/ready
	$(RUN) python docs/make/lessons.py --check

lessons: .venv/ready
	$(RUN) python docs/make/lessons.py $(SHORT)

# another group of packages, so that `make test` needs neither pyspark nor Java; the short form runs a sixth of
# the tests on Spark, and no other engine
OF_SPARK := $(if $(QUICK),pyspark and (rule and float64 or test_weights or test_groups or labels0 or by_group or models0-False or w-None),pyspark or comparison_rule)
spark: .venv/ready
	$(PINNED) -r $(REQUIREMENTS)/spark.txt
	BAYESCAL_SPARK=1 $(if $(QUICK),BAYESCAL_QUICK=1 )$(RUN) pytest -q tests/data/test_engines.py -m '' -k '$(OF_SPARK)'

docs: .venv/ready
	$(PINNED) -r $(REQUIREMENTS)/docs.txt
	rm -rf docs/reference/generated
	$(RUN) sphinx-build -W --keep-going -q docs docs/_build/html

pictures: .venv/ready
	$(RUN) python docs/make/outputs.py $(SHORT)
	$(RUN) python docs/make/forty_test_sets.py $(SHORT)
	$(RUN) python docs/make/quantities.py $(SHORT)
	$(RUN) python docs/make/model_pictures.py $(SHORT)
	$(RUN) python docs/make/figures_of_the_paper.py $(SHORT)

explore: .venv/ready
	$(RUN) python docs/make/explore.py $(SHORT)

# studies of coverage; their short forms run two at a time
STUDIES := intervals errors differences hostile populations saturated scores auc cumulative_coverage \
    subpopulation_coverage subpopulation_posterior recalibration imputed net_benefit net_benefit_clusters loss_ratio \
    selective truthful survival survival_comparison survival_weak survival_clusters survival_measures label_shift \
    several_data_sets pooling subgroups new_centre clusters clinical_clusters classwise classwise_means classwise_pooled \
    bin_sensitivity planning validation_plans monitoring decompositions \
    cumulative cumulative_weak cumulative_screens calibration_curve covariate_shift partly_observed judged

coverage: .venv/ready
	printf '%s\n' $(STUDIES) | xargs -P $(if $(QUICK),2,1) -I{} $(RUN) python docs/make/{}.py $(SHORT)
	$(RUN) python docs/make/what_was_measured.py $(SHORT)

verify: .venv/ready
	$(if $(QUICK),,$(RUN) pytest -q $(PARALLEL) -m measuring $$(grep -rl 'pytest.mark.measuring' tests))
	$(RUN) python docs/make/verify.py $(SHORT)
	$(RUN) python docs/make/label_shift_chains.py $(SHORT)
	$(RUN) python docs/make/label_shift_whole.py $(SHORT)

# another group of packages; the test then also checks the bins of the other programs
related: .venv/ready
	$(PINNED) -r $(REQUIREMENTS)/related.txt
	$(RUN) pytest -q tests/test_related.py
	$(RUN) python docs/make/related.py $(SHORT)

# another group of packages, since netcal and torchmetrics bring PyTorch
conformance: .venv/ready
	$(PINNED) -r $(REQUIREMENTS)/conformance.txt
	$(RUN) python -W ignore docs/make/conformance.py $(SHORT)
	$(RUN) pytest -q tests/targets/test_conformance_page.py --override-ini addopts=

# and so does this group, in which the adapter for torchmetrics is tested
bench: .venv/ready
	$(PINNED) -r $(REQUIREMENTS)/bench.txt
	$(RUN) pytest -q tests/targets/test_torchmetrics.py bayescal/plugins/torchmetrics.py --doctest-modules --override-ini addopts=
	$(if $(QUICK),BAYESCAL_QUICK=1 )$(RUN) pytest -q tests/benchmarks --override-ini addopts= $(if $(QUICK),--benchmark-disable,--benchmark-group-by=group --benchmark-columns=min$(comma)median$(comma)rounds)
	$(RUN) python docs/make/performance.py $(SHORT)
	$(RUN) python docs/make/speed.py $(SHORT)

mutation: .venv/ready
	$(PINNED) -r $(REQUIREMENTS)/mutation.txt
	$(RUN) pytest -q tests/targets/test_equivalent_mutants.py --override-ini addopts=
	$(RUN) python docs/make/mutation.py $(SHORT)

references: .venv/ready
	$(RUN) python tests/make_reference_posteriors.py $(SHORT)

datasets: .venv/ready
	$(RUN) python tests/make_datasets.py $(SHORT)

packages: .venv/ready .venv-hosts/ready
	$(PINNED) $(foreach group,spark docs related mutation bench conformance,-r $(REQUIREMENTS)/$(group).txt)

# uv.lock contains addresses and is not committed; the requirement files contain only package names and versions
lock: $(UV)
	rm -f uv.lock
	$(UV) lock -q --python "$(PYTHON)"
	./.ci/export-requirements $(UV) $(REQUIREMENTS)
	@echo "Now run make test, and commit $(REQUIREMENTS) if it passes."

# the smallest environment in which the package is useful, beside .venv, which runs the tests
lean: .venv/ready
	$(UV) venv -q --clear --python "$(PYTHON)" .venv-lean
	$(UV) pip install -q --python .venv-lean --no-deps -r $(REQUIREMENTS)/lean.txt
	$(UV) pip install -q --python .venv-lean --no-deps --build-constraints $(REQUIREMENTS)/build.txt -e .
	BAYESCAL_LEAN=.venv-lean/bin/python $(RUN) pytest -q tests/test_lean.py

# the programs with adapters need older versions of some packages, so they are installed beside .venv; their warnings
# are not errors
hosts: .venv-hosts/ready
	.venv-hosts/bin/python -m pytest -q -W default tests/hosts $(PARALLEL) --override-ini addopts=--import-mode=importlib

latest: $(UV)
	./.ci/test-versions latest $(UV) "$(PYTHON)"

lowest: $(UV)
	./.ci/test-versions lowest $(UV) "$(LOWEST_PYTHON)"

.venv/ready: pyproject.toml $(wildcard $(REQUIREMENTS)/*.txt) | $(filter .tools/%,$(UV))
	$(UV) venv -q --clear --python "$(PYTHON)" .venv
	$(PINNED) -r $(REQUIREMENTS)/dev.txt
	$(PINNED) --build-constraints $(REQUIREMENTS)/build.txt -e .
	@touch $@

.venv-hosts/ready: pyproject.toml $(REQUIREMENTS)/hosts.txt $(REQUIREMENTS)/build.txt | $(filter .tools/%,$(UV))
	$(UV) venv -q --clear --python "$(PYTHON)" .venv-hosts
	$(UV) pip install -q --python .venv-hosts --no-deps -r $(REQUIREMENTS)/hosts.txt
	$(UV) pip install -q --python .venv-hosts --no-deps --build-constraints $(REQUIREMENTS)/build.txt -e .
	@touch $@

.tools/bin/uv:
	python3 -m venv .tools
	.tools/bin/pip install -q uv -c $(REQUIREMENTS)/build.txt

comma := ,

clean:
	rm -rf .venv .venv-lean .venv-hosts .venv-latest .venv-lowest .tools docs/_build
