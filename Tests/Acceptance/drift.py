"""The clinic's backend, unchanged and changed for real: `check --live` says exactly what changed, `diff` what became of a
recording, and `check --openapi` what a document has otherwise."""

import json
import sys

import support

NOW = "2018-10-08T09:00:00Z"
# The app: asks for what it is given, and prints nothing.
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


def check(*words):
    ended = support.diorama("cassette", "check", *words)
    return ended.returncode, ended.stdout, ended.stderr


def differences(result):
    """What `--json` tells of one cassette: (method and path, line) of each change of shape, and of each doubtful one."""
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
        # What it was asked with is asked with again: kept by a rule of one's own.
        (folder / "redact.json").write_text('{"keep": {"headers": ["Authorization", "Cookie", "Set-Cookie"]}}')
        with backend("1") as first:
            run = support.Run("record", cassette, app, {"clinic": first.url}, ["--start", NOW])
            book = support.Run("record", booking, [support.binary("clinic"), "book"], {"clinic": first.url}, ["--start", NOW])
            if not checks.that(run.status == 0 and book.status == 0, "both are recorded", f"{run} {book}"):
                checks.end()
            files = support.snapshot(folder)

            # Unchanged.
            for name, count in ((cassette, 5), (booking, 5)):
                status, output, words = check("--live", name)
                checks.that(status == 0 and words == "", f"{name.name}: an unchanged backend is status 0", f"{status} {output} {words}")
                checks.that(
                    output.splitlines()[0] == f"{name}.har: {count} requests repeated, none changed in shape",
                    f"{name.name}: and nothing is told", output,
                )
                status, output, _ = check("--live", "--json", name)
                [result] = json.loads(output)
                checks.that(
                    result["same"] and result["interactions"] == [] and result["repeated"] == count,
                    f"{name.name}: nor in JSON", output,
                )
            port = first.port
            document = folder / "openapi.yaml"
            document.write_text(DOCUMENT)
            status, output, words = check("--openapi", document, cassette)
            checks.that(status == 0, "the document of the first release fits what was recorded", f"{output} {words}")
            checks.that(output == f"{cassette}.har: 5 interactions, all match {document}\n", "and that is said", output)
            status, output, words = check("--openapi", document, booking)
            checks.that(status == 0, "also the app's bodies fit it", f"{output} {words}")

        # Nobody there.
        status, output, words = check("--live", cassette)
        checks.that(status == 69, "a backend that is gone is status 69", f"{status} {words}")
        checks.that(
            words.startswith("diorama: upstream clinic: ") and f":{port}" in words and words.count("\n") == 1,
            "and one line names it", words,
        )

        # Changed.
        with backend("2", port):
            status, output, words = check("--live", cassette)
            checks.that(status == 1 and words == "", "a changed backend is status 1", f"{status} {words}")
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
            checks.that(output.splitlines() == expected, "it says exactly what changed", output)
            checks.say("a field gone, a type, a status and a value changed: each told, and nothing else")
            status, output, _ = check("--live", "--values", cassette)
            checks.that('  value: body $.clinics[2].name: was "Hackney", is "Dalston"' in output.splitlines(), "--values shows them", output)

            status, output, _ = check("--live", "--json", booking)
            [result] = json.loads(output)
            shape, doubtful = differences(result)
            wanted = [
                ("GET v1/clinics", "body $.clinics[].postcode: gone, was a string"),
                ("GET v1/clinics?page=2", "body $.clinics[].postcode: gone, was a string"),
                (f"GET v1/slots?clinic={CLINIC}", "body $.slots[].startsAt: was a string, is a number"),
            ]
            checks.that(status == 1 and shape == wanted, "of what the app has asked likewise", shape)
            checks.that(
                [text for _, text in doubtful] == ["status: was 200, is 401"] * 2,
                "what was recorded after a booking is no drift without it", doubtful,
            )
            status, output, _ = check("--live", booking)
            checks.that(
                "recorded after POST /v1/appointments (interaction 5): state may differ" in output,
                "and it says after what", output,
            )
            checks.that(
                "interactions 0-1, 5: POST is not repeated: it may change something" in output,
                "a POST is never repeated, and that is said", output,
            )
            run = support.Run("record", second, app, {"clinic": url}, ["--start", NOW])
            checks.that(run.status == 0, "the second release is recorded", run)
        checks.that(
            {name: files[name] for name in files} == {name: text for name, text in support.snapshot(folder).items() if name in files},
            "no check has written a byte into a cassette",
        )

        # Elsewhere: the address of a backend is no change.
        with backend("1") as moved:
            status, output, words = check("--live", "--upstream", f"clinic={moved.url}", cassette)
            checks.that(status == 0, "the first release elsewhere is as it was", f"{output} {words}")
            checks.that(
                output.splitlines()[1:] == ["6 values of 1 answer changed (--values shows them)"], "but for the slots' ids", output
            )

        # Two recordings.
        ended = support.diorama("cassette", "diff", cassette, second)
        lines = [line for line in ended.stdout.splitlines() if line.startswith("  ") and "value" not in line]
        checks.that(ended.returncode == 1, "two recordings that differ in shape are status 1", ended)
        checks.that(
            lines == [
                "  body $.clinics[].postcode: gone, was a string", "  body $.clinics[].postcode: gone, was a string",
                "  status: was 200, is 404", "  body $.slots[].startsAt: was a string, is a number",
            ],
            "diff tells the same of them", ended.stdout,
        )
        same = support.diorama("cassette", "diff", cassette, cassette)
        checks.that(same.returncode == 0 and same.stdout == "", "a cassette and itself are the same, without a word", same)

        # The first release's document and the second release's recording.
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
            "the document says of it what check --live has said", output,
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
