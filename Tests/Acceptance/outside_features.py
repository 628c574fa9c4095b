"""The feature files of another package; outside_package.py builds it and calls this.

The clinic's story is recorded with a backend, then replayed with it gone, in parallel and again and again. Broken scenarios
print what a tester needs. Each scenario and each row is a test that can be listed, run and reported alone, and mistakes in a
feature file are errors of the compiler.
"""

import json
import re
import shutil
import time
import xml.etree.ElementTree

import support

# Targets with cassettes beside their feature files.
CASSETTES = ["ClinicFeaturesTests", "TroubleTests"]
SCENARIOS = 15


def check_story(checks, swift, tests, test, rounds):
    """Records the story, and replays it."""
    cassettes = tests / "ClinicFeaturesTests/Features/Cassettes"
    backend = support.Program([support.binary("clinic-backend"), "--now", "2018-10-08T09:20:00Z"])
    try:
        passed, words = swift(*test, "--filter", "ClinicFeaturesTests", DIORAMA_MODE="record", CLINIC_BACKEND=backend.url)
    finally:
        backend.stop()
    checks.that(passed, "the story is recorded", words[-3000:])
    found = sorted(str(path.relative_to(cassettes)) for path in cassettes.rglob("*.har"))
    checks.that(len(found) == SCENARIOS, "each scenario and each row has its cassette beside the feature file", found)

    before = support.snapshot(cassettes)
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
    checks.that(support.snapshot(cassettes) == before, "a replay changes no file")
    checks.say(f"{rounds} rounds of {SCENARIOS} scenarios, 16 in parallel: {time.monotonic() - begun:.0f} s")


def check_trouble(checks, swift, tests, test):
    """Looks at what broken scenarios print."""
    trouble = tests / "TroubleTests"
    # A cassette without what the app asks for first.
    for file in (tests / "ClinicFeaturesTests/Features/Cassettes/Rezepte").glob("Eine-neue-Patientin-hat-keine-Rezepte.*"):
        name = "trouble." + file.name.split(".", 1)[1]
        shutil.copy(file, trouble / "Features/Cassettes" / name)
    passed, words = swift(*test, "--filter", "TroubleTests", CI="true")
    checks.that(not passed, "the broken scenarios fail", words)
    line = 1 + next(n for n, text in enumerate((trouble / "Features.swift").read_text().splitlines()) if "#expect" in text)
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


def check_plugin(checks, swift, tests, options, folder):
    """Lists, runs and changes the tests that the plugin generates."""
    test = ["test", "--skip-build", *options]
    booking = tests / "PluginTests/Features/booking.feature"
    feature = booking.read_text()

    def listed():
        done, words = swift("test", "list", "--skip-build", *options)
        return {line for line in words.splitlines() if line.startswith("Plugin")} if done else words

    found = listed()
    checks.that(len(found) == 8, "each scenario and each row is a test, in Swift Testing and in XCTest", found)
    events, report = folder / "events.ndjson", folder / "xunit.xml"
    passed, words = swift(
        *test, "--filter", "PluginTests", "--xunit-output", str(report), "--event-stream-output-path", str(events))
    checks.that(passed and "5 tests" in words, "they pass, with all code on the main actor by default", words[-3000:])
    if "swiftbuild" in options:
        checks.say("not checked: the XML report and the stream of events, which swiftbuild overwrites for each target")
    else:
        cases = [case.get("name") for case in xml.etree.ElementTree.parse(
            folder / "xunit-swift-testing.xml").iter("testcase")]
        checks.that({"`Zoë books 2 slots`()", "`A note`()"} <= set(cases) and len(cases) == 5, "each is in the XML report", cases)
        ended = [json.loads(line)["payload"] for line in events.read_text().splitlines()]
        ended = [event["testID"] for event in ended if event.get("kind") == "testEnded" and "feature" in event["testID"]]
        checks.that(sum("booking.feature.swift:" in name for name in ended) >= 4, "and in the stream of events", ended)
    row = 1 + next(n for n, text in enumerate(feature.splitlines()) if "Zoë" in text)
    passed, words = swift(*test, "--filter", f"booking.feature.swift:{row}:")
    checks.that(passed and "1 test " in words and "Zoë books 2 slots" in words,
                "a row runs alone, by its line in the feature file", words[-2000:])

    passed, words = swift(*test, "--filter", "PluginXCTests")
    line = 1 + next(n for n, text in enumerate((tests / "PluginXCTests/Features.swift").read_text().splitlines())
                    if "XCTAssertEqual" in text)
    checks.that(not passed and re.search(rf"PluginXCTests/Features\.swift:{line}: error: .*", words)
                and "in booking.feature:13: Then she has 1 slot" in words,
                "in XCTest a failure has its Swift line and the feature's", words[-2000:])
    checks.that("Executed 3 tests, with 1 failure" in words, "the others pass", words[-2000:])

    build = ["build", "--build-tests", *options]
    try:
        booking.write_text(feature.replace("Rule: Slots", "@mode:replya\n  Rule: Slots"))
        passed, words = swift(*build)
        checks.that(not passed and re.search(r"PluginTests/Features/booking\.feature:3:3: error: .*replya", words),
                    "a mistake in a tag is a compiler error at its line", words[-2000:])
        booking.write_text(feature.replace("  Scenario: Nothing", "  Scenari: Nothing"))
        passed, words = swift(*build)
        checks.that(not passed and re.search(r"PluginTests/Features/booking\.feature:14:\d+: error: .*did you mean 'Scenario:'", words),
                    "so is one in the syntax, with what was probably meant", words[-2000:])
        # Other names, one scenario less, and one feature file less.
        booking.write_text(feature.replace("Zoë", "Eve").split("  Scenario: Nothing")[0])
        shutil.rmtree(tests / "PluginTests/Features/evening")
        begun = time.monotonic()
        passed, words = swift(*build)
        checks.that(passed, "after the mistakes are corrected, it builds", words[-2000:])
        checks.say(f"built after changes in {time.monotonic() - begun:.0f} s")
        found = listed()
        checks.that(len(found) == 6 and any("Eve books" in name for name in found) and "Zoë" not in str(found),
                    "changed and removed scenarios and files change the tests", found)
    finally:
        booking.write_text(feature)


def check(checks, swift, tests, options, rounds):
    """Checks the features of a package that has been built with the options; `swift` runs swift's commands in it."""
    test = ["test", "--skip-build", *options]
    check_story(checks, swift, tests, test, rounds)
    check_trouble(checks, swift, tests, test)
    with support.folder() as folder:
        check_plugin(checks, swift, tests, options, folder)
