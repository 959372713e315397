# SPDX-License-Identifier: Apache-2.0
# A thin front to CMake: each target sets up what it needs (Debian packages, a virtual environment under build/), builds, and runs.
BUILD ?= build
PYTHON ?= python3
CC ?= cc
VENV := $(CURDIR)/$(BUILD)/venv
PY := $(VENV)/bin/python
RELEASE := $(BUILD)/release
CONFIGURE = cmake -G Ninja -S . -DCMAKE_C_COMPILER=$(CC) -DHEADRACE_PYTHON=$(PY) --log-level=WARNING
SANITIZED = cmake -G Ninja -S . --log-level=WARNING -DHEADRACE_DNN=OFF -DHEADRACE_WERROR=OFF
FUZZ_SECONDS ?= 30
FUZZ_RUNS ?= 0
FUZZ_SEED ?= 0
MUTANTS ?= 200
SEED ?= 1
TF_VENV ?= $(HOME)/.cache/headrace/tensorflow
TF_PYTHON ?= $(TF_VENV)/bin/python
OPS ?=

.DEFAULT_GOAL := build
.PHONY: help setup setup-test setup-demo build install-python demo demo-c demo-cluster test check bench asan tsan conformance conformance-ops coverage mutants fuzz golden clean

help: ## lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile
	@echo "  PYTHON=, CC=, BUILD= choose the interpreter, the compiler and the folder"

setup: ## installs missing Debian packages and makes the virtual environment
	@tools/setup.sh packages build
	@tools/setup.sh venv $(VENV) $(PYTHON)

setup-test: setup
	@tools/setup.sh packages test

setup-demo: setup
	@tools/setup.sh packages demo

build: setup ## builds the libraries and the Python extension in build/release
	@$(CONFIGURE) -B $(RELEASE)
	@cmake --build $(RELEASE)

install-python: build ## installs the Python package into the virtual environment
	@HEADRACE_BUILD_DIR=$(CURDIR)/$(RELEASE) tools/install_package.sh $(PY)

demo: setup-demo install-python ## trains a convolutional network on Fashion-MNIST through the Python client
	$(PY) examples/fashion_mnist.py $(ARGS)

demo-c: setup-demo build ## the same in C alone
	@mkdir -p $(RELEASE)/examples
	$(CC) -std=c11 -O2 -Iinclude examples/fashion_mnist.c -o $(RELEASE)/examples/fashion_mnist -L$(RELEASE)/lib -lheadrace -lm -lz \
	  -Wl,-rpath,$(CURDIR)/$(RELEASE)/lib
	$(RELEASE)/examples/fashion_mnist $(ARGS)

demo-cluster: setup-demo install-python ## two parameter servers and two workers on this machine: make demo-cluster ARGS=--kill-one
	$(PY) examples/cluster/run.py $(ARGS)

test: setup-test ## builds and runs all tests; ends with "N passed, N failed"
	@$(CONFIGURE) -B $(RELEASE)
	@$(PY) tests/run_tests.py --build $(RELEASE)

golden: setup-test build ## runs the golden cases alone: make golden OPS="MatMul Conv2D"
	@cmake --build $(RELEASE) --target golden_test
	@$(PY) tests/run_tests.py --build $(RELEASE) --only golden --ops "$(OPS)"

check: setup ## runs the style scripts
	@$(PY) tools/check/run.py

bench: install-python ## measures against TensorFlow: make bench TF_PYTHON=/path/to/python; writes bench/results.md
	@$(PY) bench/run.py --build $(RELEASE) --python $(PY) --tf-python "$(wildcard $(TF_PYTHON))"

conformance: setup-test build ## compares with TensorFlow (TF_PYTHON, else installed into TF_VENV): the demo, recorded values, clusters of mixed make
	@if [ "$(TF_PYTHON)" = "$(TF_VENV)/bin/python" ]; then tools/setup.sh tensorflow "$(TF_VENV)" $(PYTHON); fi
	@$(PY) tests/conformance.py --build $(RELEASE) --python $(PY) --tf-python "$(TF_PYTHON)"
	@$(PY) tests/conformance_cluster.py --build $(RELEASE) --python $(PY) --tf-python "$(TF_PYTHON)"

conformance-ops: setup-test build ## golden cases changed at random, on TensorFlow (TF_PYTHON) and here; SEED= chooses others
	@$(PY) tests/conformance_ops.py --build $(RELEASE) --python $(PY) --tf-python "$(TF_PYTHON)" --seed $(SEED)

asan: setup-test ## all C tests under ASan and UBSan, built by Clang
	@tools/setup.sh packages tools
	@$(SANITIZED) -B $(BUILD)/asan -DCMAKE_C_COMPILER=clang -DHEADRACE_WERROR=ON -DHEADRACE_SANITIZE=address,undefined
	@$(PY) tests/run_tests.py --build $(BUILD)/asan --only programs,fuzz_seeds,golden --slow

tsan: setup-test ## the threaded C tests under TSan
	@$(SANITIZED) -B $(BUILD)/tsan -DHEADRACE_SANITIZE=thread
	@$(PY) tests/run_tests.py --build $(BUILD)/tsan --only programs --folders unit/base,unit/rt,unit/exec,unit/session,dist,capi,bugs,ops,stress --slow

coverage: setup-test ## line coverage per folder (gcov, lcov)
	@tools/setup.sh packages tools
	@$(SANITIZED) -B $(BUILD)/coverage -DHEADRACE_COVERAGE=ON
	@$(PY) tests/run_tests.py --build $(BUILD)/coverage --only programs,golden --slow || true
	@$(PY) tools/coverage.py $(BUILD)/coverage

mutants: setup-test ## changes MUTANTS random operators or constants in src/; fails if less than 85 % make a test fail (SEED= chooses others)
	@$(PY) tools/mutants.py --count $(MUTANTS) --seed $(SEED) --at-least 85 --build $(BUILD)/mutants

fuzz: setup-test ## runs every fuzz program for FUZZ_SECONDS, or FUZZ_RUNS times, on its seed corpus
	@tools/setup.sh packages tools
	@$(SANITIZED) -B $(BUILD)/fuzz -DCMAKE_C_COMPILER=clang -DHEADRACE_SANITIZE=address,undefined -DHEADRACE_FUZZ=ON
	@cmake --build $(BUILD)/fuzz --target fuzzers
	@$(PY) tools/fuzz.py --build $(BUILD)/fuzz --seconds $(FUZZ_SECONDS) --runs $(FUZZ_RUNS) --seed $(FUZZ_SEED)

clean: ## removes the build folders, not the virtual environment
	rm -rf $(BUILD)/release $(BUILD)/asan $(BUILD)/tsan $(BUILD)/coverage $(BUILD)/mutants $(BUILD)/fuzz
