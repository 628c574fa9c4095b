# Every target first installs missing system packages (Config/bootstrap). Only Swift, make, git and python3 must already
# be installed.

PREFIX ?= /usr/local
SWIFT ?= swift
# Package.swift turns warnings into errors only in this folder, which it recognizes by PWD.
export PWD := $(CURDIR)
# The acceptance scripts run in httpbin's virtual environment: it has brotli.
PYTHON = .build/httpbin/bin/python
# make bench: rounds at 32 connections (the median is reported), seconds a round, interactions in the cassettes.
export BENCH_ROUNDS ?= 7
export BENCH_SECONDS ?= 3
export BENCH_SIZES ?= 10,1000,100000
# make fuzz: seconds for each parser.
FUZZ_SECONDS ?= 60
# With all tests running at once, some time out on two cores, especially under a sanitizer. Eight at a time are also
# faster.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8
# The leak check reports leaks even in `swift test` of an empty package.
export ASAN_OPTIONS ?= detect_leaks=0
# The virtual environments of the acceptance scripts.
VENVS = httpbin http2 openfeature portpicker importers websockets echo issuers schemathesis pytest reports

.DEFAULT_GOAL := help
.PHONY: help build demo test acceptance test-plain test-thread test-address fuzz soak bench bench-check bench-peers bench-build docs lint install clean ready

help: ## Lists the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | awk -F'|' '{ printf "make %-13s %s\n", $$1, $$2 }'

ready:
	@Config/bootstrap

build: ready ## Builds everything (debug)
	@echo "make: building"
	@$(SWIFT) build

demo: ready ## Records an app, stops its backend, replays it eight times in parallel
	@echo "make: building diorama and the clinic (the first time takes some minutes)"
	@$(SWIFT) build
	@echo "make: running the demo"
	@python3 Sources/Examples/Clinic/Demo/demo.py

test: ready ## Runs the unit tests, then the acceptance scripts with few rounds
	@Config/bootstrap test
	@echo "make: building diorama and its tests (the first time takes some minutes)"
	@Config/venv $(VENVS) & venvs=$$!; $(SWIFT) build --build-tests && wait $$venvs
	@echo "make: running the tests"
	@Config/unit-tests $(SWIFT) test --skip-build
	@$(MAKE) --no-print-directory acceptance

acceptance: ready ## Runs the acceptance scripts with few rounds
	@Config/bootstrap test
	@echo "make: building diorama"
	@Config/venv $(VENVS) & venvs=$$!; $(SWIFT) build && wait $$venvs
	@echo "make: running the acceptance scripts with few rounds (make soak runs them in full)"
	@$(PYTHON) Tests/Acceptance/all.py

# Each unit test runs once or twice: under the address sanitizer, the thread sanitizer, both, or neither, whatever can find
# something. A target that is left out is not built.
#
# Neither: single-threaded code with next to no unsafe pointers, and tests that start programs, whose code has other tests.
PLAIN_TESTS = CassetteChecksTests,ClinicFeaturesTests,ClinicTests,CucumberExpressionsTests,DioramaCommandTests
PLAIN_TESTS := $(PLAIN_TESTS),DioramaScenariosTests,DioramaScreensTests,DioramaTestingTests,DioramaURLSessionTests
PLAIN_TESTS := $(PLAIN_TESTS),FeatureTestGeneratorTests,GherkinTests,RunComparisonTests,ScenarioReportsTests,StubsTests
APPS = Benchmarks,CVTerm,Clinic,ClinicBackend,DioramaCommand,DioramaScenarios,DioramaScreens,DioramaURLSession
APPS := $(APPS),FeatureTestGenerator,FeatureTests,Fuzzing
# Not the thread sanitizer: pure functions of their input, and suites without threads (only large cassettes are read on several).
ONE_THREAD = BasicsTests,FuzzedParsers,FuzzedParsersTests,GRPCSchemasTests,LaunchContractTests,TransformsTests
ONE_THREAD_SUITES = CassettesTests\.(?!LargeHARTests)|DioramaTests\.PythonComparisonTests
# Not the address sanitizer: next to no unsafe pointers.
NO_POINTERS = Daemon,DaemonTests,EnvironmentServiceTests
# All others.
SANITIZED = $(ONE_THREAD),DaemonTests,EnvironmentServiceTests,CassettesTests,DioramaSecretServiceTests,DioramaTests
SANITIZED := $(SANITIZED),EventLoopsTests,FleetTests,HTTP2ServerTests,HTTPClientTests,HTTPMessagesTests,HTTPServerTests
SANITIZED := $(SANITIZED),InterceptionTests,IsolationTests,PortLeasesTests,Fuzzing

test-plain: ready ## Runs the unit tests in which a sanitizer would find nothing, without one
	@Config/bootstrap test
	@echo "make: running without a sanitizer: $(PLAIN_TESTS)"
	@DIORAMA_WITHOUT_TARGETS=$(SANITIZED) Config/unit-tests $(SWIFT) test

test-thread: ready ## Runs the unit tests under the thread sanitizer, without those of single-threaded code
	@Config/bootstrap test
	@echo "make: running the tests under the thread sanitizer, without those of single-threaded code: $(ONE_THREAD)"
	@DIORAMA_WITHOUT_TARGETS=$(ONE_THREAD),$(PLAIN_TESTS),$(APPS) \
		TSAN_OPTIONS="suppressions=$(CURDIR)/Config/tsan-suppressions" \
		Config/unit-tests $(SWIFT) test --sanitize=thread --scratch-path .build/thread --skip '$(ONE_THREAD_SUITES)'

test-address: ready ## Runs the unit tests under the address sanitizer, without those of code that has no unsafe pointers
	@Config/bootstrap test
	@echo "make: running the tests under the address sanitizer, without those of code with no unsafe pointers: $(NO_POINTERS)"
	@DIORAMA_WITHOUT_TARGETS=$(NO_POINTERS),$(PLAIN_TESTS),$(APPS) \
		Config/unit-tests $(SWIFT) test --sanitize=address --scratch-path .build/address

fuzz: ready ## Fuzzes each parser with libFuzzer; FUZZ_SECONDS=60
	@python3 Tests/Fuzzing/fuzz.py $(FUZZ_SECONDS)

soak: ready bench-build ## Runs the tests of guarantees 10,000 times, all scripts in full, benchmarks with limits
	@Config/venv $(VENVS)
	@echo "make: building diorama and its tests"
	@$(SWIFT) build --build-tests
	@echo "make: testing the clock's guarantees, 10,000 times each"
	@DIORAMA_ROUNDS=10000 $(SWIFT) test --skip-build --filter 'DioramaTests\.(PromiseTests|ReadingTests)'
	@echo "make: drawing random values for a hundred keys on sixteen threads, 1,000 times"
	@DIORAMA_ROUNDS=1000 $(SWIFT) test --skip-build --filter 'DioramaTests\.InterleavingTests'
	@echo "make: moving the clinic's clock past the end of a session, 1,000 times"
	@DIORAMA_ROUNDS=1000 $(SWIFT) test --skip-build --filter 'ClinicTests\.VisitTests'
	@echo "make: storing credentials on sixteen threads, a million calls"
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
	@.build/release/Benchmarks isolation --check
	@.build/release/Benchmarks fleet --check

bench: bench-build ## Counts lines; measures replay, large texts, app, daemon and ports beside their peers
	@Config/venv portpicker
	@Config/lines
	@.build/release/Benchmarks replay
	@.build/release/Benchmarks large
	@.build/release/Benchmarks app
	@.build/release/Benchmarks daemon
	@.build/release/Benchmarks ports

bench-check: build ## Runs the benchmarks once, briefly, with the debug build, to see that they work
	@Config/bootstrap bench
	@Config/venv portpicker
	@Config/lines
	@for part in replay large app daemon ports; do BENCH_ROUNDS=1 BENCH_SECONDS=1 BENCH_SIZES=10,1000 \
		.build/debug/Benchmarks $$part || exit 1; done

bench-peers: bench-build ## Measures large cassettes, isolation, traffic and stubs beside nginx, WireMock and mitmproxy
	@Config/venv importers
	@.build/release/Benchmarks isolation
	@.build/release/Benchmarks opening
	@.build/release/Benchmarks traffic
	@.build/release/Benchmarks mock
	@.build/release/Benchmarks fleet

bench-build:
	@Config/bootstrap bench
	@echo "make: building for release (the first time takes some minutes)"
	@$(SWIFT) build -c release --traits Controlled --product diorama
	@$(SWIFT) build -c release --traits Controlled --product Benchmarks
	@case $$(uname) in Linux) Config/isolation-helper .build/release/diorama-isolate && \
		Config/clock-library .build/release/libdiorama-clock.so ;; esac
	@# Release builds of these libraries have crashed the compiler.
	@$(SWIFT) build -c release --traits Controlled --target DioramaScreens
	@$(SWIFT) build -c release --traits Controlled --target DioramaURLSession

docs: ready ## Builds the documentation of the libraries; a warning is an error
	@Config/docs

lint: ready ## Checks formatting, wording, what tests link, and that a warning is an error
	@$(SWIFT) format lint --strict -r Sources Tests Package.swift
	@Config/lint-words
	@$(SWIFT) package --ignore-lock dump-package | grep -q treatAllWarnings || \
		{ echo "lint: Package.swift does not treat warnings as errors; is $(CURDIR) a link?" >&2; exit 1; }
	@$(SWIFT) package --ignore-lock dump-package | Config/lint-dependencies
	@DIORAMA_WITHOUT_EMBEDDED_HOSTING=1 $(SWIFT) build -q --target DioramaURLSession --scratch-path .build/core
	@DIORAMA_WITHOUT_EMBEDDED_HOSTING=1 $(SWIFT) build -q --target DioramaScenarios --scratch-path .build/core

# The commit that `diorama version` prints: of the sources, or given where they are no git repository.
COMMIT = $(or $(DIORAMA_COMMIT),$(shell git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null),unknown)
SHARE = $(DESTDIR)$(PREFIX)/share

install: ready ## Installs the command diorama, its helper, manual page and completions; PREFIX=/usr/local
	@echo "make: building diorama for release"
	@DIORAMA_COMMIT=$(COMMIT) $(SWIFT) build -c release --traits Controlled --product diorama --static-swift-stdlib -Xlinker -s
	@install -d "$(DESTDIR)$(PREFIX)/bin"
	@install -m 755 .build/release/diorama "$(DESTDIR)$(PREFIX)/bin/diorama"
	@case $$(uname) in Linux) install -d "$(DESTDIR)$(PREFIX)/libexec" && \
		Config/isolation-helper "$(DESTDIR)$(PREFIX)/libexec/diorama-isolate" && \
		Config/clock-library "$(DESTDIR)$(PREFIX)/libexec/libdiorama-clock.so" ;; esac
	@install -d $(addprefix "$(SHARE)"/,man/man1 bash-completion/completions zsh/site-functions fish/vendor_completions.d)
	@.build/release/diorama help --man >"$(SHARE)/man/man1/diorama.1"
	@.build/release/diorama completion bash >"$(SHARE)/bash-completion/completions/diorama"
	@.build/release/diorama completion zsh >"$(SHARE)/zsh/site-functions/_diorama"
	@.build/release/diorama completion fish >"$(SHARE)/fish/vendor_completions.d/diorama.fish"
	@echo "make: installed $(DESTDIR)$(PREFIX)/bin/diorama"

clean: ## Removes everything that was built, and the virtual environments
	@rm -rf .build
