"""The clinic's story as feature files, in another package: recorded with a backend, then replayed with it gone, in parallel
and again and again; and what four broken scenarios print.

    clinic_features.py [--rounds N | --soak] [--build-system native swiftbuild]

It is built below .build and kept there, so that only the first build takes minutes.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import time

import support

STORY = support.ROOT / "Tests/ClinicFeaturesTests"
PLACE = support.ROOT / ".build/outside/features"
TESTS = PLACE / "Tests/ClinicFeaturesTests"
CASSETTES = TESTS / "Features/Cassettes"
SCENARIOS = 15

MANIFEST = """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "features",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "diorama", path: "../../..")],
  targets: ["ClinicFeaturesTests", "TroubleTests"].map { name in
    .testTarget(
      name: name,
      dependencies: [
        .product(name: "DioramaScenarios", package: "diorama"), .product(name: "DioramaTesting", package: "diorama"),
      ],
      exclude: ["Features/Cassettes"], plugins: [.plugin(name: "FeatureTests", package: "diorama")])
  })
"""

TROUBLE = """\
Feature: Trouble

  @mode:mock
  Scenario: A broken step
    When the slot is taken twice

  Scenario: A missing step
    When she books 2 slots

  Scenario: An ambiguous step
    When she waits

  @mode:replay @cassette:Cassettes/trouble
  Scenario: A miss
    When the app is launched with "book"
    Then the app prints "booked"
"""

STEPS = """\
import DioramaScenarios
import Testing

struct Features: StepDefinitions {
  var steps: [Step] {
    EnvironmentSteps(app: "clinic")
    When("the slot is taken twice") { #expect([1, 1].count == 1) }
    When("she books {int} slot") { (count: Int) in }
    When("she waits") {}
    When("she wait(s)") {}
  }
}
"""


def lay_out():
    """Writes the package. Unchanged files are not written again, so they are not built again."""
    files = {pathlib.Path("Package.swift"): MANIFEST}
    for file in [STORY / "Features.swift", *STORY.glob("Features/*.feature")]:
        files[pathlib.Path("Tests/ClinicFeaturesTests") / file.relative_to(STORY)] = file.read_text()
    files[pathlib.Path("Tests/TroubleTests/Features/trouble.feature")] = TROUBLE
    files[pathlib.Path("Tests/TroubleTests/Features.swift")] = STEPS
    for name, text in files.items():
        target = PLACE / name
        if not (target.exists() and target.read_text() == text):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    for tests in PLACE.glob("Tests/*"):
        shutil.rmtree(tests / "Features/Cassettes", ignore_errors=True)
        (tests / "Features/Cassettes").mkdir()


def swift(*words, **variables):
    """Runs `swift WORDS…` in the package's folder. Returns its output, and whether it succeeded."""
    programs = pathlib.Path(support.binary("clinic")).parent
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "PWD": str(PLACE), **variables}
    ended = subprocess.run(
        ["swift", *words], cwd=PLACE, env={**support.environment(), **variables}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=3600,
    )
    return ended.returncode == 0, ended.stdout


def check_story(checks, test, rounds):
    """Records the story, and replays it."""
    backend = support.Program([support.binary("clinic-backend"), "--now", "2018-10-08T09:20:00Z"])
    try:
        passed, words = swift(*test, "--filter", "ClinicFeaturesTests", DIORAMA_MODE="record", CLINIC_BACKEND=backend.url)
    finally:
        backend.stop()
    checks.that(passed, "the story is recorded", words[-3000:])
    found = sorted(str(path.relative_to(CASSETTES)) for path in CASSETTES.rglob("*.har"))
    checks.that(len(found) == SCENARIOS, "each scenario and each row has its cassette beside the feature file", found)

    before = support.snapshot(CASSETTES)
    failed = []
    begun = time.monotonic()
    with support.Watch(backend.port) as watch:
        for number in range(rounds):
            passed, words = swift(
                *test, "--filter", "ClinicFeaturesTests", CI="true", SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="16")
            if not passed or f"{SCENARIOS} tests" not in words:
                failed.append(words[-3000:])
    checks.that(not failed, f"with the backend gone, no scenario fails in {rounds} rounds", failed[:1])
    checks.that(watch.count == 0, "no connection is made to the backend", watch.count)
    checks.that(support.snapshot(CASSETTES) == before, "a replay changes no file")
    checks.say(f"{rounds} rounds of {SCENARIOS} scenarios, 16 in parallel: {time.monotonic() - begun:.0f} s")


def check_trouble(checks, test):
    """Looks at what broken scenarios print."""
    # A cassette without what the app asks for first.
    for file in (CASSETTES / "Rezepte").glob("Eine-neue-Patientin-hat-keine-Rezepte.*"):
        name = "trouble." + file.name.split(".", 1)[1]
        shutil.copy(file, PLACE / "Tests/TroubleTests/Features/Cassettes" / name)
    passed, words = swift(*test, "--filter", "TroubleTests", CI="true")
    checks.that(not passed, "the broken scenarios fail", words)
    line = 1 + next(n for n, text in enumerate(STEPS.splitlines()) if "#expect" in text)
    checks.that(f"Features.swift:{line}:" in words and "in trouble.feature:5: When the slot is taken twice" in words,
                "a broken step is shown with its Swift line and the feature's line", words)
    checks.that("trouble.feature:8:5: Issue recorded\n↳ undefined step: When she books 2 slots\n" in words
                and "similar: 'she books {int} slot' (Features.swift:" in words
                and 'When("she books {int} slots") { (int: Int) in' in words,
                "a missing step is shown with the nearest definition and a snippet to paste", words)
    checks.that("add to your step definitions" in words, "all undefined steps are listed at the end", words)
    checks.that(re.search(r"trouble\.feature:11:5: Issue recorded\n↳ ambiguous step: When she waits\n.*\n"
                          r".*'she waits' \(Features\.swift:\d+\)\n.*'she wait\(s\)' \(Features\.swift:\d+\)", words),
                "an ambiguous step is shown with both definitions", words)
    checks.that(re.search(r"trouble\.feature:14:\d+: Issue recorded\n↳ replay failed: .*unmatched", words)
                and re.search(r"not recorded: POST http://127\.0\.0\.1:\d+/v1/sessions", words),
                "a miss is shown at its scenario, with the request", words)
    checks.that("swift test --filter 'trouble.feature.swift:14:'" in words, "with the command that records it", words)


def check(checks, system, rounds):
    lay_out()
    begun = time.monotonic()
    # Debug information takes a tenth of the time, and is not needed.
    options = ["--build-system", system, "-Xswiftc", "-gnone"]
    built, words = swift("build", "--build-tests", *options)
    if not checks.that(built, f"{system}: a package with feature files builds", words[-3000:]):
        return
    checks.say(f"{system}: built in {time.monotonic() - begun:.0f} s")
    test = ["test", "--skip-build", *options]
    check_story(checks, test, rounds)
    check_trouble(checks, test)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build-system", nargs="+", default=["native"], choices=["native", "swiftbuild"])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--soak", action="store_true", help="100 rounds")
    chosen = options.parse_args()
    checks = support.Checks("the clinic's features")
    for system in chosen.build_system:
        check(checks, system, 100 if chosen.soak else chosen.rounds)
    checks.end()


main()
