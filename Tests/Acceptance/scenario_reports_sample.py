"""A run of the clinic's features as Cucumber messages: every kind of result, each with what its report must say."""

import base64
import json
import struct
import zlib


def png(width, height):
    """A picture with a gradient."""
    rows = b"".join(
        b"\0" + b"".join(bytes((40 + x * 160 // width, 90 + y * 120 // height, 180)) for x in range(width))
        for y in range(height)
    )

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Run:
    """Messages of a run, in order. Ids start with a prefix, so that runs can be merged."""

    def __init__(self, prefix="a", start=1790000000):
        self.messages, self.prefix, self.count, self.now = [], prefix, 0, start * 1000
        self.ran = self.id()
        product = {"name": "diorama", "version": "1.0"}
        self.add("meta", protocolVersion="34.2.1", implementation=product, runtime={"name": "Swift", "version": "6.3"},
                 os={"name": "linux"}, cpu={"name": "x86_64"},
                 ci={"name": "GitHub Actions", "url": "https://example.com/builds/7", "buildNumber": "7",
                     "git": {"remote": "https://example.com/clinic.git", "revision": "0123456789abcdef", "branch": "main"}})
        self.definitions = {}

    def id(self):
        self.count += 1
        return f"{self.prefix}{self.count}"

    def add(self, kind, **content):
        self.messages.append({kind: content})

    def time(self, milliseconds=1):
        self.now += milliseconds
        return {"seconds": self.now // 1000, "nanos": self.now % 1000 * 1_000_000}

    def define(self, expression, line):
        self.definitions[expression] = self.id()
        self.add("stepDefinition", id=self.definitions[expression],
                 pattern={"source": expression, "type": "CUCUMBER_EXPRESSION"},
                 sourceReference={"uri": "Tests/ClinicTests/BookingSteps.swift", "location": {"line": line, "column": 5}})

    def begin(self):
        self.add("testRunStarted", id=self.ran, timestamp=self.time())

    def finish(self, success):
        self.add("testRunFinished", testRunStartedId=self.ran, success=success, timestamp=self.time())

    def ndjson(self):
        return "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in self.messages)


def duration(milliseconds):
    return {"seconds": milliseconds // 1000, "nanos": milliseconds % 1000 * 1_000_000}


class Feature:
    """A feature file whose scenarios run one after another."""

    def __init__(self, run, uri, name, description=""):
        self.run, self.uri, self.line = run, uri, 3
        self.feature = {"tags": [], "location": {"line": 1, "column": 1}, "language": "en", "keyword": "Feature",
                        "name": name, "description": description, "children": []}
        self.children, self.waiting = self.feature["children"], []

    def rule(self, name, description=""):
        rule = {"id": self.run.id(), "tags": [], "location": self.place(), "keyword": "Rule", "name": name,
                "description": description, "children": []}
        self.feature["children"].append({"rule": rule})
        self.children = rule["children"]

    def place(self):
        self.line += 1
        return {"line": self.line, "column": 3}

    def scenario(self, name, steps, tags=(), examples=None, attempts=None, attachments=(), hook=None, finishes=True):
        """Adds a scenario. Steps are tuples: keyword, text, status, and a dictionary of more."""
        run = self.run
        node = {"id": run.id(), "tags": [], "location": self.place(), "keyword": "Scenario", "name": name,
                "description": "", "steps": [], "examples": []}
        place, ast, row = node["location"], [node["id"]], None
        for keyword, text, _, *more in steps:
            node["steps"].append({"id": run.id(), "location": self.place(), "keyword": keyword + " ",
                                  "keywordType": "Context", "text": text})
        if examples:
            def cells(values):
                return [{"location": {"line": self.line, "column": 7}, "value": value} for value in values]
            node["keyword"] = "Scenario Outline"
            header = {"id": run.id(), "location": self.place(), "cells": cells(examples)}
            row = {"id": run.id(), "location": self.place(), "cells": cells(examples.values())}
            node["examples"] = [{"id": run.id(), "tags": [], "location": header["location"], "keyword": "Examples",
                                 "name": "", "description": "", "tableHeader": header, "tableBody": [row]}]
            ast, place = ast + [row["id"]], row["location"]
        self.children.append({"scenario": node})
        pickle = {"id": run.id(), "uri": self.uri, "location": place, "name": name, "language": "en",
                  "astNodeIds": ast, "tags": [{"name": tag, "astNodeId": run.id()} for tag in tags], "steps": []}
        for step, (_, text, _, *more) in zip(node["steps"], steps):
            pickled = {"id": run.id(), "text": text, "type": "Context", "astNodeIds": [step["id"]]}
            if more and "argument" in more[0]:
                pickled["argument"] = more[0]["argument"]
            pickle["steps"].append(pickled)
        self.waiting.append((pickle, steps, attempts or [None], attachments, hook, finishes))

    def play(self):
        run = self.run
        run.add("gherkinDocument", uri=self.uri, feature=self.feature, comments=[])
        for pickle, *_ in self.waiting:
            run.add("pickle", **pickle)
        for pickle, steps, attempts, attachments, hook, finishes in self.waiting:
            self.attempt(pickle, steps, attempts, attachments, hook, finishes)

    def attempt(self, pickle, steps, attempts, attachments, hook, finishes):
        run, tests = self.run, []
        if hook:
            run.add("hook", id=run.id(), name=hook[0], type="AFTER_TEST_CASE",
                    sourceReference={"uri": "Tests/ClinicTests/Features.swift", "location": {"line": 12}})
            hook_id = f"{run.prefix}{run.count}"
        for pickled, (_, text, status, *more) in zip(pickle["steps"], steps):
            more = more[0] if more else {}
            names = more.get("definitions", [] if status == "UNDEFINED" else ["anything"])
            ids = [run.definitions[name] for name in names]
            groups = []
            for value in more.get("values", []):
                start = text.index(value)
                groups.append({"group": {"start": start, "value": value, "children": []}, "parameterTypeName": "int"})
            tests.append({"id": run.id(), "pickleStepId": pickled["id"], "stepDefinitionIds": ids,
                          "stepMatchArgumentsLists": [{"stepMatchArguments": groups} for _ in ids]})
            if status == "UNDEFINED":
                run.add("suggestion", id=run.id(), pickleStepId=pickled["id"],
                        snippets=[{"language": "swift", "code": more["snippet"]}])
        if hook:
            tests.append({"id": run.id(), "hookId": hook_id})
        case = run.id()
        run.add("testCase", id=case, pickleId=pickle["id"], testRunStartedId=run.ran, testSteps=tests)
        for number, failing in enumerate(attempts):
            started = run.id()
            run.add("testCaseStarted", id=started, testCaseId=case, attempt=number, timestamp=run.time(), workerId="1")
            for index, (test, (_, text, status, *more)) in enumerate(zip(tests, steps)):
                more = more[0] if more else {}
                if failing is not None and failing != index:
                    status, more = "PASSED" if index < failing else "SKIPPED", {}
                run.add("testStepStarted", testCaseStartedId=started, testStepId=test["id"], timestamp=run.time())
                if not finishes:
                    return
                for attachment in more.get("attachments", []):
                    run.add("attachment", testCaseStartedId=started, testStepId=test["id"], timestamp=run.time(),
                            **attachment)
                took = more.get("took", 0 if status in ("SKIPPED", "UNDEFINED", "AMBIGUOUS") else 12)
                result = {"status": status, "duration": duration(took)}
                if "message" in more:
                    result["message"] = more["message"]
                    if status == "FAILED":
                        result["exception"] = {"type": "Issue", "message": more["message"].split("\n")[0],
                                               "stackTrace": more.get("trace", more["message"])}
                run.add("testStepFinished", testCaseStartedId=started, testStepId=test["id"], testStepResult=result,
                        timestamp=run.time(took))
            if hook:
                run.add("testStepStarted", testCaseStartedId=started, testStepId=tests[-1]["id"], timestamp=run.time())
                result = {"status": hook[1], "duration": duration(3)}
                if len(hook) > 2:
                    result["message"] = hook[2]
                run.add("testStepFinished", testCaseStartedId=started, testStepId=tests[-1]["id"],
                        testStepResult=result, timestamp=run.time(3))
            for attachment in attachments:
                run.add("attachment", testCaseStartedId=started, timestamp=run.time(), **attachment)
            run.add("testCaseFinished", testCaseStartedId=started, willBeRetried=number + 1 < len(attempts),
                    timestamp=run.time())


def text(body, kind="text/plain", name=None):
    attachment = {"body": body, "contentEncoding": "IDENTITY", "mediaType": kind}
    return {**attachment, "fileName": name} if name else attachment


def binary(data, kind, name):
    return {"body": base64.b64encode(data).decode(), "contentEncoding": "BASE64", "mediaType": kind, "fileName": name}


def table(*rows):
    return {"dataTable": {"rows": [{"cells": [{"value": value} for value in row]} for row in rows]}}


def environment(misses=(), requests=()):
    """The attachments of an environment."""
    entries, at = [], 0
    for number, (kind, method, url, status, detail) in enumerate(requests, 1):
        at += 37
        entry = {"number": number, "time": f"2026-09-21T13:33:20.{at:03}Z", "kind": kind, "method": method, "url": url,
                 "status": status}
        if kind == "replayed":
            entry["interaction"] = number
        entries.append({**entry, "detail": detail} if detail else entry)
    total = sum(1 for kind, *_ in requests if kind not in ("note", "clock", "string"))
    report = {
        "environment": {"id": "e1", "name": "booking"}, "mode": "replay",
        "cassette": "Tests/ClinicTests/Cassettes/booking/two patients.har", "recordedAt": "2026-09-01T08:00:00Z",
        "clock": {"kind": "manual", "start": "2018-10-08T09:00:00Z", "now": "2018-10-08T09:10:00Z"},
        "requests": {"total": total, "replayed": total - len(misses), "recorded": 0, "forwarded": 0, "mocked": 0,
                     "unmatched": len(misses), "failed": 0},
        "unmatched": list(misses), "unused": [], "strings": {"read": 2, "recorded": 0, "missing": [], "unused": []},
        "toggles": {"read": {"currency": "GBP"}, "unread": []}, "durationSeconds": 0.3, "failures": [],
        "advice": "diorama run --mode extend --cassette Cassettes/booking -- swift test", "ok": not misses,
    }
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    return [
        text(lines, "application/vnd.diorama.journal+ndjson", "journal.ndjson"),
        text(json.dumps(report), "application/vnd.diorama.report+json", "report.json"),
    ]


MISS = {
    "method": "POST", "url": "https://gp.example/appointments",
    "nearest": [{"index": 4, "method": "POST", "url": "https://gp.example/appointments",
                 "differences": ["body: requestedAt: recorded \"2018-10-08T09:00:00Z\", got \"2026-09-21T13:33:20Z\""],
                 "rules": ["POST /appointments: body as JSON"]}],
    "fix": {"interaction": 4, "causes": [{"location": "body: requestedAt", "kind": "instant"}],
            "advice": "requestedAt is an instant that the app takes from its own clock; add this rule to diorama.json",
            "rule": {"method": "POST", "path": "/appointments", "body": {"ignore": ["requestedAt"]}},
            "isRecordable": False},
}

SNIPPET = "Given(\"{int} doctors are on holiday\") { (count: Int) in\n  throw PendingStep()\n}"


def clinic():
    """The run that the report is made of."""
    run = Run()
    for line, expression in enumerate(["anything", "the patient books {string}", "the patient books {word}"], 20):
        run.define(expression, line)
    run.begin()
    hook = ("close the clinic", "PASSED")
    booking = Feature(run, "Tests/ClinicTests/booking.feature", "Booking",
                      "  Patients book slots with their doctor.\n  Each gets one within a week.")
    requests = [("replayed", "GET", "https://gp.example/slots?day=2018-10-08", 200, None),
                ("clock", "", "", 0, "advanced by 10 min to 2018-10-08T09:10:00Z"),
                ("string", "", "", 0, "booking-reference, ordinal 0"),
                ("replayed", "POST", "https://gp.example/appointments", 201, None)]
    booking.scenario("A patient books a slot", [
        ("Given", "the clinic has 3 free slots", "PASSED", {"values": ["3"], "argument": table(
            ["doctor", "time"], ["Dr Green", "09:10"], ["Dr Ångström", "10:00"])}),
        ("When", "the patient books the slot at 09:10", "PASSED", {"took": 48, "attachments": [
            text("POST /appointments took 40 ms", "text/x.cucumber.log+plain")]}),
        ("Then", "the screen shows the confirmation", "PASSED", {"attachments": [
            binary(png(320, 140), "image/png", "confirmation.png")],
            "argument": {"docString": {"content": "Your slot:\n  Monday, 09:10\n  with Dr Green"}}}),
    ], tags=["@cassette:booking", "@frozen:2018-10-08T09:00Z"], attachments=environment(requests=requests), hook=hook)
    booking.rule("A slot is booked once", "Two patients never share a slot.")
    booking.scenario("Two patients want the same slot", [
        ("Given", "the clinic has 1 free slot", "PASSED", {"values": ["1"]}),
        ("When", "two patients book it", "FAILED", {
            "message": "Expectation failed: (answers → [201, 404]) == [201, 409]\nThe second patient got 404.",
            "trace": "Expectation failed: (answers → [201, 404]) == [201, 409]\nat BookingSteps.swift:41:5"}),
        ("Then", "one of them gets an apology", "SKIPPED"),
    ], tags=["@cassette:booking"], hook=hook, attachments=environment(misses=[MISS], requests=[
        requests[0], ("unmatched", "POST", "https://gp.example/appointments", 404, None)]))
    booking.scenario("A booked slot disappears", [
        ("Given", "the clinic has 1 free slot", "PASSED"), ("When", "the patient books “it”", "AMBIGUOUS", {
            "definitions": ["the patient books {string}", "the patient books {word}"]}),
        ("Then", "no slot is free", "SKIPPED")])
    for slots, answer in (("0", "sorry"), ("2", "welcome")):
        booking.scenario("The clinic answers", [
            ("Given", f"the clinic has {slots} free slots", "PASSED", {"values": [slots]}),
            ("Then", f"it says {answer}", "PASSED", {"values": [answer]})], examples={"slots": slots, "answer": answer})
    booking.play()
    holidays = Feature(run, "Tests/ClinicTests/holidays.feature", "Holidays")
    for count in (2, 3):
        holidays.scenario(f"{count} doctors are away", [
            ("Given", f"{count} doctors are on holiday", "UNDEFINED", {"snippet": SNIPPET}),
            ("Then", "the clinic is closed", "SKIPPED")])
    holidays.scenario("A replacement comes", [
        ("Given", "a doctor is ill", "PENDING", {"message": "the backend cannot say so yet; see #12"}),
        ("Then", "a replacement comes", "SKIPPED")])
    holidays.scenario("The clinic closes on Sundays", [
        ("Given", "it is Sunday", "PASSED"), ("Then", "the clinic is closed", "SKIPPED", {
            "message": "Only in summer"})], tags=["@summer"])
    holidays.scenario("The calendar arrives late", [
        ("When", "the calendar loads", "PASSED", {}), ("Then", "it shows 1 May", "PASSED", {"message": ""})],
        tags=["@retry:2"], attempts=[1, None])
    holidays.scenario("Hostile <b>names</b> & \"quotes\" ]]> \u0001\u001b[31m", [
        ("Given", "<script>alert('x')</script> & \u202etext", "PASSED", {"values": ["alert"]}),
        ("Then", "a <img src=x onerror=alert(1)> fails", "FAILED", {
            "message": "expected <b>1</b> & ]]> got \u0000\u001b[31mred\u001b[0m",
            "attachments": [
                text("{\"message\":\"The <b>big</b> question\",\"count\":2}", "application/json"),
                text("https://example.com/help\njavascript:alert(1)", "text/uri-list"),
                text("<script>alert(1)</script>", "text/html", "page.html"),
                binary(b"%PDF-1.4 x", "application/pdf\" onload=\"x", "\"><b>.pdf"),
                binary(b"<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'><script>alert(1)</script>"
                       b"<rect width='40' height='20' fill='teal'/></svg>", "image/svg+xml", "icon.svg")]})])
    holidays.play()
    run.finish(False)
    return run


def passed():
    """A run of one scenario, which passes."""
    run = Run("p")
    run.define("anything", 20)
    run.begin()
    feature = Feature(run, "Tests/ClinicTests/opening.feature", "Opening")
    feature.scenario("The clinic opens", [("When", "it is 9 o’clock", "PASSED"), ("Then", "the lights are on", "PASSED")])
    feature.play()
    run.finish(True)
    return run


def many(count):
    """A run with many passing scenarios."""
    run = Run("m")
    run.define("anything", 20)
    run.begin()
    for number in range(count // 20):
        feature = Feature(run, f"Tests/ClinicTests/f{number:03}.feature", f"Feature {number}")
        for index in range(20):
            status = "FAILED" if (number, index) == (3, 3) else "PASSED"
            feature.scenario(f"Scenario {index} of feature {number}", [
                ("Given", f"the clinic has {index} free slots", "PASSED", {"values": [str(index)]}),
                ("When", "the patient books the slot", status, {"message": "no slot"} if status == "FAILED" else {}),
                ("Then", "the screen shows the confirmation", "PASSED")], hook=("close the clinic", "PASSED"),
                attachments=environment(requests=[("replayed", "GET", "https://gp.example/slots", 200, None)] * 4))
        feature.play()
    run.finish(False)
    return run
