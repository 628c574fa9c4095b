"""The clinic's backend, unchanged and in a changed release: `check --live` reports exactly the changes, `diff` compares
two recordings, and `check --openapi` reports differences from a document."""

import json
import sys

import support

NOW = "2018-10-08T09:00:00Z"
# The app: sends the given requests, and prints nothing.
APP = """
import os, sys, urllib.error, urllib.request
for path in sys.argv[1:]:
    try:
        urllib.request.urlopen(os.environ["DIORAMA_ENDPOINT_CLINIC"] + path).read()
    except urllib.error.HTTPError as error:
        error.read()
"""
CLINIC = "00000000-0000-4000-8000-000000000001"
PATHS = ["/v1/clinics", "/v1/clinics?page=2", "/v1/clinics?page=9", f"/v1/slots?clinic={CLINIC}", "/v1/slots?clinic=none"]


def backend(release, port=0):
    return support.Program([support.binary("clinic-backend"), "--release", release, "--now", NOW, "--port", str(port)])


def differences(result):
    """The changes of one cassette in `--json`: (method and path, line) of each change of shape, and of each doubtful one.
    """
    shape, doubtful = [], []
    for entry in result["interactions"]:
        call = f'{entry["method"]} {entry["url"].split("/", 3)[3]}'
        shape += [(call, item["text"]) for item in entry["changes"]["shape"]]
        doubtful += [(call, item["text"]) for item in entry.get("doubtful", [])]
    return shape, doubtful


def main():
    checks = support.Checks("drift")
    with support.folder() as folder:
        cassette, booking, second = folder / "clinics", folder / "booking", folder / "second"
        app = [sys.executable, "-c", APP, *PATHS]

        def check(*words):
            ended = support.diorama("cassette", "check", *words, cwd=folder)
            return ended.returncode, ended.stdout, ended.stderr

        # A rule keeps the header, so the check sends it again.
        (folder / "diorama.json").write_text('{"redaction": {"keep": {"headers": ["Authorization", "Cookie", "Set-Cookie"]}}}')
        with backend("1") as first:
            run = support.Run("record", cassette, app, {"clinic": first.url}, ["--start", NOW], cwd=folder)
            book = support.Run("record", booking, [support.binary("clinic"), "book"], {"clinic": first.url}, ["--start", NOW], cwd=folder)
            if not checks.that(run.status == 0 and book.status == 0, "both recordings succeed", f"{run} {book}"):
                checks.end()
            files = support.snapshot(folder)

            # Unchanged backend.
            for name, count in ((cassette, 5), (booking, 5)):
                status, output, words = check("--live", name)
                checks.that(status == 0 and words == "", f"{name.name}: an unchanged backend exits with 0", f"{status} {output} {words}")
                checks.that(
                    output.splitlines()[0] == f"{name}.har: {count} requests repeated, none changed in shape",
                    f"{name.name}: no changes are reported", output,
                )
                status, output, _ = check("--live", "--json", name)
                [result] = json.loads(output)
                checks.that(
                    result["same"] and result["interactions"] == [] and result["repeated"] == count,
                    f"{name.name}: no changes are reported in JSON", output,
                )
            port = first.port
            document = folder / "openapi.yaml"
            document.write_text(DOCUMENT)
            status, output, words = check("--openapi", document, cassette)
            checks.that(status == 0, "the recording matches the document of the first release", f"{output} {words}")
            checks.that(output == f"{cassette}.har: 5 interactions, all match {document}\n", "the match is reported", output)
            status, output, words = check("--openapi", document, booking)
            checks.that(status == 0, "the app's request bodies match, too", f"{output} {words}")

        # Backend gone.
        status, output, words = check("--live", cassette)
        checks.that(status == 69, "a missing backend exits with 69", f"{status} {words}")
        checks.that(
            words.startswith("diorama: upstream clinic: ") and f":{port}" in words and words.count("\n") == 1,
            "one line names the missing backend", words,
        )

        # Changed backend.
        with backend("2", port):
            status, output, words = check("--live", cassette)
            checks.that(status == 1 and words == "", "a changed backend exits with 1", f"{status} {words}")
            url = f"http://127.0.0.1:{port}"
            expected = [
                f"{cassette}.har: 5 requests repeated, 4 changed in shape",
                f"interaction 0, GET {url}/v1/clinics",
                "  body $.clinics[].postcode: gone, was a string",
                "  1 value changed (--values shows them)",
                f"interaction 1, GET {url}/v1/clinics?page=2",
                "  body $.clinics[].postcode: gone, was a string",
                f"interaction 2, GET {url}/v1/clinics?page=9",
                "  status: was 200, is 404",
                f"interaction 3, GET {url}/v1/slots?clinic={CLINIC}",
                "  body $.slots[].startsAt: was a string, is a number",
                "  6 values changed (--values shows them)",
            ]
            checks.that(output.splitlines() == expected, "exactly the changes are reported", output)
            checks.say("a missing field and changes of a type, a status and a value are reported, and nothing else")
            status, output, _ = check("--live", "--values", cassette)
            checks.that('  value: body $.clinics[2].name: was "Hackney", is "Dalston"' in output.splitlines(), "--values lists changed values", output)

            status, output, _ = check("--live", "--json", booking)
            [result] = json.loads(output)
            shape, doubtful = differences(result)
            wanted = [
                ("GET v1/clinics", "body $.clinics[].postcode: gone, was a string"),
                ("GET v1/clinics?page=2", "body $.clinics[].postcode: gone, was a string"),
                (f"GET v1/slots?clinic={CLINIC}", "body $.slots[].startsAt: was a string, is a number"),
            ]
            checks.that(status == 1 and shape == wanted, "the app's own requests show the same changes", shape)
            checks.that(
                [text for _, text in doubtful] == ["status: was 200, is 401"] * 2,
                "responses recorded after a booking are doubtful, not changed", doubtful,
            )
            status, output, _ = check("--live", booking)
            checks.that(
                "recorded after POST /v1/appointments (interaction 5): state may differ" in output,
                "the report names the earlier request", output,
            )
            checks.that(
                "interactions 0-1, 5: POST is not repeated: it may change something" in output,
                "a POST is never repeated, which is reported", output,
            )
            run = support.Run("record", second, app, {"clinic": url}, ["--start", NOW], cwd=folder)
            checks.that(run.status == 0, "recording the second release succeeds", run)
        checks.that(
            {name: files[name] for name in files} == {name: text for name, text in support.snapshot(folder).items() if name in files},
            "no check changes a cassette",
        )

        # Another address isn't a change.
        with backend("1") as moved:
            status, output, words = check("--live", "--upstream", f"clinic={moved.url}", cassette)
            checks.that(status == 0, "the first release at another address is unchanged", f"{output} {words}")
            checks.that(
                output.splitlines()[1:] == ["6 values of 1 answer changed (--values shows them)"], "only the slots' ids have changed", output
            )

        # Two recordings.
        ended = support.diorama("cassette", "diff", cassette, second)
        lines = [line for line in ended.stdout.splitlines() if line.startswith("  ") and "value" not in line]
        checks.that(ended.returncode == 1, "two recordings that differ in shape exit with 1", ended)
        checks.that(
            lines == [
                "  body $.clinics[].postcode: gone, was a string", "  body $.clinics[].postcode: gone, was a string",
                "  status: was 200, is 404", "  body $.slots[].startsAt: was a string, is a number",
            ],
            "diff reports the same changes", ended.stdout,
        )
        same = support.diorama("cassette", "diff", cassette, cassette)
        checks.that(same.returncode == 0 and same.stdout == "", "a cassette equals itself, without output", same)

        # The document of the first release and the recording of the second.
        status, output, words = check("--openapi", document, "--json", second)
        [result] = json.loads(output)
        found = [(finding["part"], finding.get("place"), finding["rule"]) for finding in result["findings"]]
        checks.that(
            status == 1 and found == [
                ("response body", "/clinics/0/postcode", "#/components/schemas/Clinic/required/2"),
                ("response body", "/clinics/0/postcode", "#/components/schemas/Clinic/required/2"),
                ("status", None, "#/paths/~1clinics/get/responses"),
                ("response body", "/slots/0/startsAt", "#/components/schemas/Slot/properties/startsAt/type"),
            ],
            "check --openapi reports the same changes as check --live", output,
        )
    checks.end()


DOCUMENT = """\
openapi: 3.1.0
info: {title: The clinic, version: "1"}
servers: [{url: https://dev.clinic.example/v1}]
paths:
  /clinics:
    get:
      parameters:
        - {name: page, in: query, schema: {type: integer, minimum: 1}}
      responses:
        "200":
          description: a page of clinics
          content:
            application/json:
              schema:
                type: object
                required: [clinics]
                properties:
                  clinics: {type: array, items: {$ref: "#/components/schemas/Clinic"}}
                  next: {type: string, format: uri}
  /slots:
    get:
      parameters:
        - {name: clinic, in: query, required: true, schema: {type: string}}
        - {name: day, in: query, schema: {type: string, format: date}}
      responses:
        "200":
          description: the next slots
          content:
            application/json:
              schema:
                type: object
                required: [slots]
                properties:
                  slots: {type: array, items: {$ref: "#/components/schemas/Slot"}}
        "404": {$ref: "#/components/responses/Problem"}
  /users:
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [email]
              properties: {email: {type: string, format: email}, age: {type: integer, minimum: 18}}
      responses:
        "201":
          description: registered
          content:
            application/json:
              schema:
                allOf:
                  - {type: object, required: [id], properties: {id: {type: string, format: uuid}}}
                  - {type: object, required: [email, token], properties: {email: {type: string}, token: {type: string, pattern: "^[0-9a-f]{64}$"}}}
  /sessions:
    post:
      responses:
        2XX:
          description: opened
          headers: {Set-Cookie: {required: true, schema: {type: string}}}
          content: {application/json: {schema: {type: object, properties: {user: {type: string}, expiresAt: {type: string, format: date-time}}}}}
  /appointments:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [slot, symptom]
              properties:
                slot: {type: string}
                symptom: {type: string, minLength: 1}
                reference: {type: string, format: uuid}
                requestedAt: {type: string, format: date-time}
      responses:
        "303": {description: see there, headers: {Location: {required: true, schema: {type: string}}}}
        default: {$ref: "#/components/responses/Problem"}
  /appointments/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string, format: uuid}}]
    get:
      responses:
        "200":
          description: the appointment
          content:
            application/json:
              schema:
                type: object
                required: [id, clinic]
                properties: {id: {type: string}, clinic: {type: string}, symptom: {type: string}, confirmation: {type: string, format: uri}, startsAt: {type: [string, "null"]}}
  /appointments/{id}/confirmation.pdf:
    get:
      responses: {"200": {description: to print, content: {application/pdf: {}}}}
components:
  responses:
    Problem:
      description: why not
      content: {application/problem+json: {schema: {type: object, required: [status], properties: {status: {type: integer}, title: {type: string}, detail: {type: string}}}}}
  schemas:
    Clinic:
      type: object
      required: [id, name, postcode]
      properties: {id: {type: string, format: uuid}, name: {type: string}, postcode: {type: string}}
      additionalProperties: false
    Slot:
      type: object
      required: [id, startsAt]
      properties: {id: {type: string, format: uuid}, startsAt: {type: string, format: date-time}}
"""

main()
