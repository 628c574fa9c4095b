"""Checks, lists and formats feature files with the built command, in a folder with a team's mistakes."""

import json

import support

GOOD = """\
Feature: Booking

  Scenario Outline: books <n> slots
    Given a patient named "Ann"
    When she books <n> slots
    Then she travels by bike

    Examples:
      | n  |
      | 2  |
      | 30 |
"""

RUSSIAN = """\
# language: ru
Функция: Запись
 Сценарий: Пациент записывается
  Допустим a patient named "Анна"
  # the comment stays
  Когда she books 1 slot
"""

STEPS = """\
import DioramaScenarios

enum Vehicle: String, CaseIterable { case car, bike }

struct Features: StepDefinitions {
  var steps: [Step] {
    /// Creates the patient.
    Given("a patient named {string}") { (name: String) in }
    When(#/she books (?<count>\\d+) slots?/#) { match in }
    Then("she travels by {vehicle}") { (how: Vehicle) in }
  }
}
"""

MISTAKES = [
    ("an undefined step", "bad.feature", "Feature: F\n  Scenario: S\n    Given a patient calld \"Bo\"\n", 1,
     ["bad.feature:3:5: error:", "Steps.swift:8:5: note:", 'Given("a patient calld {string}") { (string: String) in']),
    ("an ambiguous step", "More.swift", 'let a = Given("a patient {}") { }\n', 1,
     ["booking.feature:4:5: error:", "Steps.swift:8:5: note:", "More.swift:1:9: note:"]),
    ("an unused definition", "More.swift", 'let a = Given("unused") { }\n', 1, ["More.swift:1:9: error:", "--allow-unused"]),
    ("an expression that is not valid", "More.swift", 'let a = Given("a {b") { }\n', 1, ["More.swift:1:9: error:"]),
    ("a step in Swift without a definition", "More.swift", 'func f() { Given("lost") }\n', 1, ["More.swift:1:12: error:"]),
    ("a syntax error", "bad.feature", "Feature: F\n  Scenario: S\n    Given a\n    Foo\n    Bar\n", 65,
     ["bad.feature:4:5: error:", "bad.feature:5:5: error:"]),
]


def main():
    checks = support.Checks("features")
    with support.folder() as folder:
        def features(*words):
            return support.diorama("features", *words, cwd=folder)

        (folder / "booking.feature").write_text(GOOD)
        (folder / "ru.feature").write_text(RUSSIAN)
        (folder / "Steps.swift").write_text(STEPS)
        (folder / ".build").mkdir()
        (folder / ".build/hidden.feature").write_text("nonsense")

        run = features("check")
        checks.that(run.returncode == 0 and not run.stdout, "features whose steps are defined have no problems", run)
        for title, name, text, status, parts in MISTAKES:
            (folder / name).write_text(text)
            run = features("check")
            checks.that(run.returncode == status, f"{title}: exit status {status}", run)
            checks.that(all(part in run.stdout for part in parts), f"{title}: its places are printed", run.stdout)
            report = json.loads(features("check", "--json").stdout)
            checks.that(report["problems"], f"{title}: JSON lists it", report)
            (folder / name).unlink()

        listed = json.loads(features("list", "--json").stdout)
        names = [scenario["filter"] for feature in listed for scenario in feature["scenarios"]]
        expected = ["booking.feature.swift:10:", "booking.feature.swift:11:", "ru.feature.swift:3:"]
        checks.that(names == expected, "list has a filter for each row", names)

        run = features("format", "--check")
        checks.that(run.returncode == 1 and run.stdout == "ru.feature\n", "format --check names the file", run)
        checks.that((folder / "ru.feature").read_text() == RUSSIAN, "format --check changes nothing")
        features("format")
        formatted = (folder / "ru.feature").read_text()
        checks.that("    # the comment stays\n    Когда" in formatted, "format indents, and keeps comments", formatted)
        run = features("format")
        checks.that(run.returncode == 0 and not run.stdout, "formatting again changes nothing", run)

        run = features("steps", "--json", "--index", "index.json")
        steps = json.loads(run.stdout)
        checks.that([step["uses"] for step in steps] == [3, 3, 2], "steps counts uses", steps)
        checks.that(steps[0]["documentation"] == "Creates the patient.", "steps has the documentation", steps[0])
        index = json.loads((folder / "index.json").read_text())
        found = [step["definitions"] for step in index["features"][1]["scenarios"][0]["steps"]]
        checks.that(found == [[0], [1]], "the index says what each step matches", found)
    checks.end()


if __name__ == "__main__":
    main()
