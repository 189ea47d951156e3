# `make render` and `make test` prepare what they need in .venv; nothing else on the machine changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEVELOP := $(VENV)/.develop

QUICK := $(BIN)/python -m pytest -q -n auto \
	-m 'not real and not twin and not soak and not frameworks and not autoscaler and not gateway and not argoserver'

# Their servers share the machine, as those of twins do.
REAL := $(BIN)/python -m pytest -q -m real
FAILED := --last-failed --last-failed-no-failures=none

# Two files of tests at a time: they wait for servers more than they compute. Who shares a server shares a file.
SIDE_BY_SIDE := -n 2 --dist loadfile --durations=40 --durations-min=5

.PHONY: help render test coverage test-real test-twin test-frameworks test-gateways test-argo-server test-autoscaler soak real-tools lint bench budgets clean
help:
	@echo 'make render     render the reference clusters in this repository'
	@echo 'make test       the tests that need nothing but Kustomize (built once if it is not there)'
	@echo 'make coverage   the same tests, and which lines none of them ran; twice as long'
	@echo 'make test-real  the tests against real programs, such as a kube-apiserver with the real CRDs (built once); minutes'
	@echo 'make test-twin  queues, rights and syncs on running Kueue, Volcano and Argo CD; as root, some forty minutes'
	@echo 'make test-frameworks  programs of jobs on JAX and TensorFlow (installed once, 2 GB); on others make test-real runs them'
	@echo 'make test-argo-server  the server of Argo Workflows, asked by gen workflow (built once, some ten minutes)'
	@echo 'make test-gateways  the controllers of Gateways on what is rendered (built once, some ten minutes)'
	@echo 'make test-autoscaler  the Cluster Autoscaler on what is rendered, with the program that GEN_CLUSTER_AUTOSCALER names'
	@echo 'make soak       10 000 wrong cluster files, 300 odd ones built by Kustomize, 1 000 clusters in parts; some twenty minutes'
	@echo 'make real-tools the API server and etcd that `gen check --server` starts (built once, some five minutes)'
	@echo 'make lint       style, types and import directions'
	@echo 'make bench      the speed budgets, measured'
	@echo 'make budgets    those of them that people wait for most, as CI holds them; half a minute'

# What checking and rendering need, and no more.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'gen needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)'; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || \
		{ echo 'Python has no venv module: on Debian, apt install python3-venv'; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/python -m compileall -q generator
	@touch $@

# The tools of those who work on gen, over that.
$(DEVELOP): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

render: $(READY)
	$(BIN)/gen render

quick-programs: $(DEVELOP)
	$(BIN)/python tools/kustomize.py >/dev/null
	$(BIN)/python tools/sources.py envoy-gateway gateway-api >/dev/null

test: quick-programs
	$(QUICK)

# Not among what CI runs: it doubles the time, and tells most to those who have just written something.
coverage: quick-programs
	$(QUICK) --cov --cov-report=term:skip-covered --cov-fail-under=93

# Programs and sources, built or fetched once: what the tests against real programs need, then also what twins do.
real-programs: $(DEVELOP)
	$(BIN)/python tools/real.py helm registry mc etcd etcdctl etcdutl age minio kube-apiserver kubeadm external-secrets restic volsync >/dev/null
	$(BIN)/python tools/containerd_loader.py >/dev/null
	$(BIN)/python tools/frameworks.py ray loadgen >/dev/null
	$(BIN)/python tools/sources.py mpi-operator gateway-api envoy-gateway >/dev/null

twin-programs: real-programs
	$(BIN)/python tools/real.py >/dev/null
	$(BIN)/python tools/job_operators.py >/dev/null
	$(BIN)/python tools/csi.py >/dev/null
	$(BIN)/python tools/sources.py >/dev/null

test-real: real-programs
	@$(REAL) $(SIDE_BY_SIDE); code=$$?; \
	[ $$code != 1 ] || { echo 'What failed is tried once more, alone: a fault fails twice.'; $(REAL) $(FAILED); code=$$?; }; \
	exit $$code

test-twin: twin-programs
	$(BIN)/python tools/twins.py

# Not among what CI runs: these frameworks are many times as large as all else.
test-frameworks: $(DEVELOP)
	$(BIN)/python tools/frameworks.py jax tensorflow >/dev/null
	$(BIN)/python -m pytest -q -m frameworks

# Not among what CI runs: the two controllers are long to build.
test-gateways: real-programs
	$(BIN)/python tools/real.py cilium-operator envoy-gateway >/dev/null
	$(BIN)/python tools/sources.py cilium >/dev/null
	$(BIN)/python -m pytest -q -m gateway

# Not among what CI runs: the server is long to build.
test-argo-server: real-programs
	$(BIN)/python tools/real.py argo >/dev/null
	$(BIN)/python -m pytest -q -m argoserver

# Not among what CI runs: nothing here can build the autoscaler.
test-autoscaler:
	@test -x "$(GEN_CLUSTER_AUTOSCALER)" || \
		{ echo 'GEN_CLUSTER_AUTOSCALER names no Cluster Autoscaler: CONTRIBUTING.md says why none is built'; exit 1; }
	$(MAKE) twin-programs
	$(BIN)/python -m pytest -q -m autoscaler

# Not among what CI runs: it proves little more each time, until what is read, checked or divided changes.
soak: $(DEVELOP)
	$(BIN)/python tools/kustomize.py >/dev/null
	$(BIN)/python -m pytest -q -m soak -n auto

# No virtual environment: Go, or pip to fetch Go, is all it takes.
real-tools:
	$(PYTHON) tools/real.py etcd kube-apiserver

lint: $(DEVELOP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEVELOP)
	$(BIN)/python tools/bench.py

budgets: $(DEVELOP)
	$(BIN)/python tools/bench.py single reviews --busy

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
