"""Lets schemathesis and jsonschema judge what `diorama mock --openapi` answers: all answers are as the document says.

    openapi.py [--seed N] [--document FILE --header NAME:VALUE…]

--document uses another OpenAPI document, and only schemathesis.
"""

import argparse
import http.client
import json
import pathlib
import random
import subprocess

import support

# Formats, lengths, patterns, combined and circular schemas, both kinds of error answers, parameters of all places.
DOCUMENT = """
openapi: 3.1.0
info: {title: Library, version: "1"}
servers: [{url: https://library.example/v2}]
paths:
  /books:
    get:
      parameters:
        - {name: page, in: query, schema: {type: integer, minimum: 1, maximum: 99}}
        - {name: sort, in: query, schema: {enum: [title, year]}}
        - {name: X-Client, in: header, schema: {type: string, pattern: "^[a-z]{3,12}$"}}
      responses:
        "200":
          description: books
          headers: {X-Total-Count: {required: true, schema: {type: integer, minimum: 0}}}
          content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Book"}, maxItems: 20}}}
        "422": {description: invalid, content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}}
    post:
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/Book"}}}
      responses:
        "201": {description: created, content: {application/json: {schema: {$ref: "#/components/schemas/Book"}}}}
        "400": {description: invalid, content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}}
        "415": {description: other, content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}}
  /books/{isbn}:
    parameters: [{name: isbn, in: path, required: true, schema: {type: string, pattern: "^97[89][0-9]{10}$"}}]
    get:
      responses:
        "200": {description: a book, content: {application/json: {schema: {$ref: "#/components/schemas/Book"}}}}
        default: {description: an error, content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}}
    delete:
      responses:
        "204": {description: removed}
        default: {description: an error, content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}}
  /rooms/{id}:
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: integer, format: int32}}]
      responses:
        "200": {description: a room, content: {application/json: {schema: {$ref: "#/components/schemas/Room"}}}}
        4XX: {description: an error, content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}}
components:
  schemas:
    Book:
      type: object
      required: [isbn, title, authors]
      additionalProperties: false
      properties:
        isbn: {type: string, pattern: "^97[89][0-9]{10}$"}
        title: {type: string, minLength: 1, maxLength: 60}
        subtitle: {type: [string, "null"], maxLength: 10}
        authors: {type: array, minItems: 1, maxItems: 4, uniqueItems: true, items: {type: string, minLength: 3}}
        year: {type: integer, minimum: 1450, exclusiveMaximum: 2100}
        price: {type: number, multipleOf: 0.05, minimum: 1}
        added: {type: string, format: date-time}
        id: {type: string, format: uuid, readOnly: true}
        medium: {oneOf: [{$ref: "#/components/schemas/Paper"}, {$ref: "#/components/schemas/File"}]}
        similar: {type: array, items: {$ref: "#/components/schemas/Book"}}
    Paper:
      type: object
      required: [kind, pages]
      properties: {kind: {const: paper}, pages: {type: integer, minimum: 1}}
    File:
      type: object
      required: [kind, url]
      properties: {kind: {const: file}, url: {type: string, format: uri}}
    Room:
      allOf:
        - {type: object, required: [id], properties: {id: {type: integer, format: int32}}}
        - type: object
          required: [labels]
          properties:
            labels: {type: object, additionalProperties: {type: string, maxLength: 20}, minProperties: 1}
            parent: {anyOf: [{$ref: "#/components/schemas/Room"}, {type: "null"}]}
    Error:
      type: object
      required: [code]
      properties: {code: {enum: [invalid, missing]}, hint: {type: string, format: email}}
"""

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,positive_data_acceptance,missing_required_header"
)
# Validates answers on its own. The schemas are JSON Schema 2020-12, as in OpenAPI 3.1.
JUDGE = """
import json, sys
import jsonschema_rs
schemas, cases = json.load(sys.stdin)
for number, (name, value) in enumerate(cases):
    schema = {"components": {"schemas": schemas}, "$ref": "#/components/schemas/" + name}
    for error in jsonschema_rs.Draft202012Validator(schema, validate_formats=True).iter_errors(value):
        print(number, name, error.message, value)
"""


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    options.add_argument("--document")
    options.add_argument("--header", action="append", default=[])
    options = options.parse_args()
    checks = support.Checks("openapi")
    subprocess.run([support.ROOT / "Config/venv", "schemathesis"], check=True)
    with support.folder() as folder:
        document = pathlib.Path(options.document).absolute() if options.document else folder / "library.yaml"
        if not options.document:
            document.write_text(DOCUMENT)
        (folder / "empty").mkdir()
        with support.Mock(folder / "empty", "--openapi", str(document)) as mock:
            said = fuzz(document, mock.port, options, folder)
            checks.that(said.returncode == 0, f"schemathesis finds no errors, --seed {options.seed}", said.stdout[-6000:])
            if not options.document:
                first = judge(checks, mock.port)
        if not options.document:
            with support.Mock(folder / "empty", "--openapi", str(document)) as mock:
                checks.that(judge(checks, mock.port) == first, "another run gives the same answers, byte for byte")
    checks.end()


def fuzz(document, port, options, folder):
    words = [
        support.ROOT / ".build/schemathesis/bin/st", "run", document, "--url", f"http://127.0.0.1:{port}", "--checks", CHECKS,
        "--seed", options.seed, "--max-examples", 30, "--no-color",
    ]
    for header in options.header:
        words += ["--header", header]
    return subprocess.run(
        [str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, cwd=folder,
        env=dict(support.environment(), NO_COLOR="1"),
    )


def judge(checks, port):
    """Lets jsonschema validate many answers; the answers."""
    cases, answers = [], []
    for number in range(60):
        for name, target in [("Book", f"/books/978{number:010}"), ("Room", f"/rooms/{number}")]:
            for headers in [{}, {"Prefer": "dynamic=true"}]:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=support.PATIENCE)
                connection.request("GET", target, headers=headers)
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
                answers.append((answer.status, body))
                cases.append((name, json.loads(body)))
    program = subprocess.run(
        [support.python("schemathesis"), "-c",
         "import json,sys,yaml;print(json.dumps(yaml.safe_load(sys.stdin.read())['components']['schemas']))"],
        input=DOCUMENT, stdout=subprocess.PIPE, text=True, check=True,
    )
    found = subprocess.run(
        [support.python("schemathesis"), "-c", JUDGE], input=json.dumps([json.loads(program.stdout), cases]),
        stdout=subprocess.PIPE, text=True, check=True,
    )
    checks.that({status for status, _ in answers} == {200}, "every answer is a 200", answers[:2])
    checks.that(not found.stdout, f"{len(cases)} answers are valid", found.stdout[:2000])
    checks.that(cases[0][1]["isbn"] == "9780000000000", "the value of the path is in the answer", cases[0])
    return answers


main()
