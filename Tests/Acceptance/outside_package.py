"""Another package tests its app with DioramaTesting, in Swift Testing and in XCTest: it records with one variable, replays
with its backend gone, and fails at the line of the test when the app sends another request. It has feature files, too:
outside_features.py checks them.

    outside_package.py [--build-system native swiftbuild] [--configuration debug release] [--rounds N | --soak]

It is built below .build and kept there, so that only the first build takes minutes.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import time

import outside_features
import support

PLACE = support.ROOT / ".build/outside/package"
CASSETTES = PLACE / "Tests/ShopTests/Cassettes"
EXPECTED = {"BuyingTests/politely.har", "BuyingTests/each/salt.har", "BuyingTests/each/oil.har", "BuyingTestCase/testBuys.har"}


def lay_out():
    """Writes the package. Unchanged files are not written again, so they are not built again."""
    source = support.HERE / "OutsidePackage"
    files = {PLACE / file.relative_to(source): file for file in source.rglob("*") if file.is_file()}
    story = support.ROOT / "Tests/ClinicFeaturesTests"
    for file in [story / "Features.swift", *story.glob("Features/*.feature")]:
        files[PLACE / "Tests" / file.relative_to(story.parent)] = file
    for target, file in files.items():
        if not (target.exists() and target.read_bytes() == file.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    for cassettes in [CASSETTES, *(PLACE / "Tests" / name / "Features/Cassettes" for name in outside_features.CASSETTES)]:
        shutil.rmtree(cassettes, ignore_errors=True)
        cassettes.mkdir()


def swift(*words, **variables):
    """Runs `swift WORDS…` in the package's folder. Returns its output, and whether it succeeded."""
    programs = pathlib.Path(support.binary("clinic")).parent
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "PWD": str(PLACE), **variables}
    ended = subprocess.run(
        ["swift", *words], cwd=PLACE, env={**support.environment(), **variables},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=3600,
    )
    return ended.returncode == 0, ended.stdout


def line(file, text):
    """The number of the line of a test file that contains a text."""
    lines = (PLACE / "Tests/ShopTests" / file).read_text().splitlines()
    return 1 + next(number for number, content in enumerate(lines) if text in content)


def answer(handler, body):
    return 200, [("Content-Type", "text/plain")], f"sold {handler.path.split('/')[1]}".encode()


def check(checks, system, configuration, rounds):
    """Builds and tests the package with a build system."""
    lay_out()
    begun = time.monotonic()
    # Debug information takes a tenth of the time, and is not needed.
    options = ["--build-system", system, "--configuration", configuration, "-Xswiftc", "-gnone"]
    built, words = swift("build", "--build-tests", *options)
    if not checks.that(built, f"{system}: a package that depends on DioramaTesting builds", words[-3000:]):
        return
    checks.say(f"{system}, {configuration}: built in {time.monotonic() - begun:.0f} s")
    # A release build of the app follows its environment only with a trait, which this package does not set.
    if configuration == "debug":
        check_shop(checks, system, ["test", "--skip-build", *options, "--filter", "ShopTests"])
    outside_features.check(checks, swift, PLACE / "Tests", options, rounds)


def check_shop(checks, system, test):
    """Records, replays, and replays with a failure."""
    passed, words = swift(*test)
    checks.that(not passed, "without cassettes the tests fail", words)
    checks.that("DIORAMA_MODE=record swift test --filter 'ShopTests.BuyingTests/politely'" in words,
                "the message says how to record", words)

    with support.Upstream(answer) as shop:
        passed, words = swift(*test, DIORAMA_MODE="record", SHOP=shop.url)
    checks.that(passed, "DIORAMA_MODE=record records whatever the code says", words)
    found = {str(path.relative_to(CASSETTES)) for path in CASSETTES.rglob("*.har")}
    checks.that(found == EXPECTED, "each test and each case has its cassette beside the test's file", found)

    before = support.snapshot(CASSETTES)
    with support.Watch(shop.port) as watch:
        for _ in range(3):
            begun = time.monotonic()
            passed, words = swift(*test, CI="true")
            checks.that(passed, "with the backend gone they replay", words)
            seconds = time.monotonic() - begun
    checks.that(watch.count == 0, "no connection is made to the backend", watch.count)
    checks.that(support.snapshot(CASSETTES) == before, "a replay changes no file")
    checks.say(f"{system}: a replay of all tests took {seconds:.1f} s, most of it swift's")

    passed, words = swift(*test, ITEM="coffee")
    checks.that(not passed, "an app that sends another request fails its tests", words)
    trait = line("BuyingTests.swift", '@Test("buys politely"')
    call = line("BuyingTestCase.swift", "provision(for: self")
    checks.that(re.search(rf"BuyingTests\.swift:{trait}:\d+.*\n.*replay failed: 1 request \(1 unmatched\)", words),
                "in Swift Testing at the test's line, with the reason", words)
    checks.that(re.search(rf"BuyingTestCase\.swift:{call}: error: .*replay failed: 1 request \(1 unmatched\)", words),
                "in XCTest at the line that provisioned, with the reason", words)
    checks.that("tea" in words and "coffee" in words, "the reason shows what differs", words)

    passed, words = swift(*test, DIORAMA_MODE="recrod")
    checks.that(not passed and "did you mean 'record'?" in words, "an invalid mode is a clear error", words)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build-system", nargs="+", default=["native"], choices=["native", "swiftbuild"])
    options.add_argument("--configuration", nargs="+", default=["debug"], choices=["debug", "release"])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--soak", action="store_true", help="100 rounds, both build systems and configurations")
    chosen = options.parse_args()
    systems, configurations, rounds = chosen.build_system, chosen.configuration, chosen.rounds
    if chosen.soak:
        systems, configurations, rounds = ["native", "swiftbuild"], ["debug", "release"], 100
    checks = support.Checks("outside package")
    for system in systems:
        for configuration in configurations:
            check(checks, system, configuration, rounds)
    checks.end()


main()
