# Every target makes the machine ready first (Config/bootstrap): on a fresh one with Swift, make, git and
# python3 nothing has to be installed by hand.

PREFIX ?= /usr/local
SWIFT ?= swift
# The acceptance scripts run in httpbin's environment: it has brotli.
PYTHON = .build/httpbin/bin/python
# make bench: rounds at 32 connections (their median counts), seconds a round, sizes of the cassettes.
export BENCH_ROUNDS ?= 7
export BENCH_SECONDS ?= 3
export BENCH_SIZES ?= 10,1000,100000
# make fuzz: seconds for each parser.
FUZZ_SECONDS ?= 60
# All tests at once starve one another on two cores, above all under a sanitizer; eight at a time are faster, too.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8
# It reports leaks in a bare `swift test` of an empty package.
export ASAN_OPTIONS ?= detect_leaks=0

.DEFAULT_GOAL := help
.PHONY: help build demo test test-thread test-address fuzz soak bench bench-peers bench-build docs lint install clean ready

help: ## Lists what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | awk -F'|' '{ printf "make %-13s %s\n", $$1, $$2 }'

ready:
	@Config/bootstrap

build: ready ## Builds everything (debug)
	@echo "make: building"
	@$(SWIFT) build

demo: ready ## Records an app's world, stops its backend, replays it eight times in parallel
	@echo "make: building diorama and the clinic (the first time takes some minutes)"
	@$(SWIFT) build
	@echo "make: running the demo"
	@python3 Sources/Examples/Clinic/Demo/demo.py

test: ready ## Runs the unit tests, then the acceptance scripts with few rounds
	@Config/bootstrap test
	@Config/httpbin
	@Config/venv openfeature portpicker importers websockets
	@echo "make: building diorama and its tests (the first time takes some minutes)"
	@$(SWIFT) build --build-tests
	@echo "make: running the tests"
	@Config/unit-tests $(SWIFT) test --skip-build
	@echo "make: running the acceptance scripts, each with few rounds (make soak runs them in full)"
	@$(PYTHON) Tests/Acceptance/all.py

# Suites without a second thread: the thread sanitizer has nothing to find there, and takes minutes for it.
PURE = CassettesTests|LaunchContractTests|EnvironmentServiceTests\.(RequestTests|ResponseBodyTests|ResponseHeadersTests|RoundTripTests)

test-thread: ready ## Runs the unit tests under the thread sanitizer, but for those without a second thread
	@Config/bootstrap test
	@TSAN_OPTIONS="suppressions=$(CURDIR)/Config/tsan-suppressions" Config/unit-tests $(SWIFT) test --sanitize=thread --scratch-path .build/thread --skip '$(PURE)'

test-address: ready ## Runs the unit tests under the address sanitizer
	@Config/bootstrap test
	@Config/unit-tests $(SWIFT) test --sanitize=address --scratch-path .build/address

fuzz: ready ## Throws mutated bytes at each parser with libFuzzer; FUZZ_SECONDS=60
	@python3 Tests/Fuzzing/fuzz.py $(FUZZ_SECONDS)

soak: ready bench-build ## Puts promises to the test 10,000 times, runs the acceptance scripts in full, holds the benchmarks to their limits
	@Config/httpbin
	@Config/venv openfeature portpicker importers websockets
	@echo "make: building diorama and its tests"
	@$(SWIFT) build --build-tests
	@echo "make: putting the clock's promises to the test, 10,000 times each"
	@DIORAMA_ROUNDS=10000 $(SWIFT) test --skip-build --filter 'DioramaTests\.(PromiseTests|ReadingTests)'
	@echo "make: drawing random values by sixteen threads from a hundred keys, 1,000 times"
	@DIORAMA_ROUNDS=1000 $(SWIFT) test --skip-build --filter 'DioramaTests\.InterleavingTests'
	@echo "make: moving the clinic's clock past its session, 1,000 times"
	@DIORAMA_ROUNDS=1000 $(SWIFT) test --skip-build --filter 'ClinicTests\.VisitTests'
	@echo "make: keeping credentials by sixteen threads, a million calls"
	@DIORAMA_ROUNDS=1000 $(SWIFT) test --skip-build --filter 'DioramaTests\.ConcurrentCredentialTests'
	@echo "make: running the acceptance scripts in full"
	@$(PYTHON) Tests/Acceptance/all.py --soak
	@echo "make: fuzzing, ten minutes each parser"
	@python3 Tests/Fuzzing/fuzz.py 600
	@echo "make: measuring, with limits"
	@.build/release/Benchmarks replay --check
	@.build/release/Benchmarks app --check
	@.build/release/Benchmarks daemon --check
	@.build/release/Benchmarks ports --check
	@.build/release/Benchmarks opening --check
	@.build/release/Benchmarks traffic --check
	@.build/release/Benchmarks large --check

bench: bench-build ## Measures replay and large texts beside nginx, an app's controls beside plain Foundation, the daemon beside portserver.py
	@Config/venv portpicker
	@.build/release/Benchmarks replay
	@.build/release/Benchmarks large
	@.build/release/Benchmarks app
	@.build/release/Benchmarks daemon
	@.build/release/Benchmarks ports

bench-peers: bench-build ## Measures opening a large cassette, and traffic beside nginx, WireMock and mitmproxy
	@Config/venv importers
	@.build/release/Benchmarks opening
	@.build/release/Benchmarks traffic

bench-build:
	@Config/bootstrap bench
	@echo "make: building for release (the first time takes some minutes)"
	@$(SWIFT) build -c release --traits Controlled --product diorama
	@$(SWIFT) build -c release --traits Controlled --product Benchmarks

docs: ready ## Builds the documentation of the libraries; a warning is an error
	@Config/docs

lint: ready ## Checks the format of the sources
	@$(SWIFT) format lint --strict -r Sources Tests Package.swift

install: ready ## Installs the command diorama; PREFIX=/usr/local
	@echo "make: building diorama for release"
	@$(SWIFT) build -c release --traits Controlled --product diorama --static-swift-stdlib -Xlinker -s
	@install -d "$(DESTDIR)$(PREFIX)/bin"
	@install -m 755 .build/release/diorama "$(DESTDIR)$(PREFIX)/bin/diorama"
	@echo "make: installed $(DESTDIR)$(PREFIX)/bin/diorama"

clean: ## Removes everything that was built
	@rm -rf .build
