# No activation needed: every target first makes `.venv` ready, which is quick when it is.
PYTHON ?= python3
TIER ?= quick
STUDY ?= all
REVISION ?= HEAD
STAGE ?=
EXTRA ?=
KILLS ?= 20
CASES ?= 5000
ARGS ?=

# The tiers that have a config; `full` is the workflow's own.
TIERS := $(strip $(foreach tier,smoke quick laptop desktop,$(if $(wildcard config/$(tier).yaml),$(tier))) full)
# Those that can be published; `all` are those that have results.
STUDIES := all synthetic uci audio
PUBLISH := publish$(addprefix _,$(filter-out all,$(STUDY)))
# Our profiles are taken in place of profiles/default; with --profile its settings would win.
override ARGS := $(subst --profile ./,--profile ,$(subst --profile=,--profile ,$(ARGS)))
override ARGS := $(subst --profile profiles/,--workflow-profile profiles/,$(ARGS))
CLUSTER := $(if $(filter profiles/slurm% profiles/cluster-generic%,$(ARGS)),cluster)
CLOUD := $(if $(filter profiles/kubernetes% profiles/aws-batch% profiles/googlebatch%,$(ARGS)),cloud)
CONFIG := $(if $(filter full,$(TIER)),,--configfile config/$(TIER).yaml)
# A second --configfile would replace the first: one of the user's is laid over the tier's.
ifneq ($(filter --configfile,$(ARGS)),)
override ARGS := $(subst --configfile,$(or $(CONFIG),--configfile),$(ARGS))
CONFIG :=
endif

# The environment's tools first, by a path that a shell can read; see envs/bootstrap.py.
IN_VENV := PATH="$$(cd .venv/bin && pwd -P):$$PATH"
# Caches go below this folder if the user has no folder for them that can be written to.
CACHES := $(shell place="$${XDG_CACHE_HOME:-$${HOME:-/dev/null}/.cache}"; \
	mkdir -p "$$place" 2>/dev/null && test -w "$$place" && echo yes)
ifneq ($(CACHES),yes)
export XDG_CACHE_HOME := $(CURDIR)/.snakemake/cache
endif
# The user's own Python packages stay out.
unexport PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE := 1

.DEFAULT_GOAL := help
.PHONY: help reproduce plan record publish report verify adopt deposit test test-cluster test-faults
.PHONY: bench bench-peers bench-plain launches docs fuzz setup cluster cloud lock envs clean tier study

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "TIER=$(TIER)  one of: $(TIERS)"
	@echo "STUDY=$(STUDY)  what to publish, one of: $(STUDIES)"
	@echo "REVISION=$(REVISION)  with which adopt compares the code; STAGE=$(STAGE)  which scripts, all if none"
	@echo "KILLS=$(KILLS)  how often test-faults kills"
	@echo "CASES=$(CASES)  how many laws fuzz tries"
	@echo "ARGS=$(ARGS)  more arguments for snakemake (reproduce, plan, publish), pytest (test), bench or bench-peers"

reproduce: tier setup $(CLUSTER) $(CLOUD) ## run the pipeline at TIER, and say where its results are
	@$(IN_VENV) python -m vwta.workflow.configuration $(ARGS) $(CONFIG)
	@$(IN_VENV) python -m vwta.workflow.lock snakemake $(ARGS) $$(test -t 2 && echo --logger rich) $(CONFIG); status=$$?; \
	for place in figures tables verdicts.parquet report/index.html; do \
	if [ -e "results/$(TIER)/$$place" ]; then echo "results/$(TIER)/$$place"; fi; done; exit $$status

plan: tier setup $(CLUSTER) $(CLOUD) ## say how many jobs, hours, megabytes are left at TIER
	@$(IN_VENV) python -m vwta.workflow.plan $(TIER) $(ARGS) $(CONFIG)

record: tier setup ## keep what the finished jobs of TIER cost, for `make plan`
	@$(IN_VENV) python -m vwta.workflow.plan $(TIER) --record $(ARGS) $(CONFIG)

publish: tier study setup ## merge metrics of STUDY at TIER into docs/results, draw its figures anew
	@$(IN_VENV) python -m vwta.workflow.configuration $(ARGS) $(CONFIG)
	@$(IN_VENV) snakemake $(ARGS) --nolock --quiet host reason rules $(CONFIG) -- $(PUBLISH)
	@cat results/$(TIER)/logs/$(PUBLISH).log
	@$(IN_VENV) python -m vwta.workflow.crate
	@$(IN_VENV) python -m vwta.paper.uci.readme

deposit: tier study setup ## write the networks of STUDY at TIER as an archive that others can fetch
	@$(IN_VENV) python -m vwta.workflow.deposit results/$(TIER) $(filter-out all,$(STUDY))

verify: setup ## name results of other code, configuration or data than today's
	@$(IN_VENV) python -m vwta.workflow.verify $(ARGS)

adopt: setup ## show that changes since REVISION change no bits of STAGE (all), and record it
	@$(IN_VENV) python -m vwta.workflow.adopt $(REVISION) $(STAGE)

report: setup ## build the page of the published runs in docs/results; nothing is trained
	@$(IN_VENV) snakemake $(ARGS) --nolock --quiet all -- results/report/index.html && echo results/report/index.html

step = echo "== $(1)" && $(IN_VENV) $(1)
test: setup ## lint, check formats and types, run all tests
	@$(call step,ruff check)
	@$(call step,ruff format --check)
	@$(call step,snakefmt --check Snakefile workflow)
	@$(call step,snakemake --lint)
	@$(call step,mypy)
	@$(call step,OMP_NUM_THREADS=1 pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS))

test-cluster: cluster ## run the smoke tier through a Slurm on this machine (as root) and storages
	@$(call step,VWTA_CLUSTER=1 OMP_NUM_THREADS=1 pytest tests/cluster $(ARGS))

test-faults: setup ## kill runs KILLS times, fill disks, send signals: results stay the same
	@$(call step,KILLS=$(KILLS) pytest -s $(ARGS) tests/faults)

docs: setup ## build the site in docs/_build/html; warnings are errors
	@$(PYTHON) envs/bootstrap.py docs
	@$(call step,OMP_NUM_THREADS=1 sphinx-build -W --keep-going -q docs docs/_build/html) && echo docs/_build/html/index.html

fuzz: setup ## compare CASES random laws with exact references
	@$(call step,CASES=$(CASES) OMP_NUM_THREADS=1 pytest -n auto tests/fuzz $(ARGS))

bench: setup ## time the core beside other libraries, into results/bench; ARGS="--jobs line" and others
	@$(PYTHON) envs/bootstrap.py bench
	@$(IN_VENV) OMP_NUM_THREADS=1 PYTHONPATH=benchmarks:tests python benchmarks/speed/run.py $(ARGS)

bench-plain: setup ## time sampling and training beside plain PyTorch
	@$(IN_VENV) OMP_NUM_THREADS=1 python benchmarks/plain.py

launches: tier setup ## count what a training step of TIER asks of a GPU, for `make plan`
	@$(IN_VENV) OMP_NUM_THREADS=1 PYTHONPATH=benchmarks:tests python benchmarks/launches.py $(TIER)

bench-peers: setup ## compare with other methods, into results/peers; ARGS="--splits 1 --data FOLDER" and others
	@$(IN_VENV) OMP_NUM_THREADS=1 python benchmarks/peers/run.py $(ARGS)

setup: ## make .venv from requirements.lock (the other targets do this)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "set-up: PYTHON=$(PYTHON) is not Python 3.11 or newer. Remedy: install one," \
	"or name it: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	@$(PYTHON) envs/bootstrap.py

cluster: setup ## add the plugins for clusters to .venv, from requirements-cluster.lock
	@$(PYTHON) envs/bootstrap.py cluster

cloud: cluster ## add those for Kubernetes, AWS Batch, Google Batch and S3, from requirements-cloud.lock
	@$(PYTHON) envs/bootstrap.py cloud

lock: setup ## renew requirements*.lock and envs/*.yaml: newest versions; or the lock of one EXTRA alone
	@$(IN_VENV) python envs/lock.py $(if $(EXTRA),--extra $(EXTRA))

envs: setup ## make envs/*.yaml from requirements.lock
	@$(IN_VENV) python envs/lock.py --environments

clean: ## delete caches; environment, data and results stay
	@rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

tier:
	@$(if $(findstring --configfile=,$(ARGS)),echo "ARGS: write --configfile FILE in place of --configfile=FILE and after all else" >&2; exit 1,:)
	@$(if $(filter $(TIER),$(TIERS)),:,echo "TIER=$(TIER) is unknown; choose one of: $(TIERS)" >&2; exit 1)

study:
	@$(if $(filter $(STUDY),$(STUDIES)),:,echo "STUDY=$(STUDY) is unknown; choose one of: $(STUDIES)" >&2; exit 1)
