"""Runs the same requests twice against a mock backend with templates, random values, delays, faults by probability,
collections and answers from an OpenAPI document. What the app receives, to the byte, must be the same in both runs, and
differ with another seed; so must the journals, apart from their times.

    mock_traces.py [--requests N]
"""

import argparse
import json
import pathlib
import random
import socket
import subprocess
import sys

import support

MAPPINGS = {
    "mappings": [
        {
            "request": {"urlPathTemplate": "/tokens/{id}"},
            "response": {
                "transformers": ["response-template"],
                "jsonBody": {
                    "id": "{{request.path.id}}",
                    "token": "{{randomValue length=24 type='ALPHANUMERIC'}}",
                    "uuid": "{{randomValue type='UUID'}}",
                    "until": "{{now offset='3 hours'}}",
                    "pick": "{{pickRandom 'a' 'b' 'c' 'd'}}",
                },
                "delayDistribution": {"type": "uniform", "lower": 0, "upper": 3},
            },
        },
        {
            "request": {"url": "/slow"},
            "response": {"body": "x" * 400, "chunkedDribbleDelay": {"numberOfChunks": 4, "totalDuration": 4}},
        },
        {
            "request": {"url": "/turns"},
            "response": {"body": "first"}, "scenarioName": "turns", "requiredScenarioState": "Started",
            "newScenarioState": "later",
        },
        {
            "request": {"url": "/turns"},
            "response": {"body": "later"}, "scenarioName": "turns", "requiredScenarioState": "later",
        },
    ]
}
COLLECTIONS = {"patients": {"items": [{"id": "7", "name": "Ann"}], "id": "id", "path": "/patients/{id}"}}
CONTRACT = {
    "openapi": "3.1.0",
    "info": {"title": "t", "version": "1"},
    "paths": {
        "/pets/{id}": {
            "get": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "responses": {"200": {"description": "pet", "content": {"application/json": {"schema": {
                    "type": "object", "required": ["id", "name", "born"], "properties": {
                        "id": {"type": "integer"}, "name": {"type": "string", "minLength": 3},
                        "born": {"type": "string", "format": "date-time"}}}}}}},
            }
        }
    },
}
FAULTS = [
    "reset,probability=0.1,name=drops", "status=503,retryAfterSeconds=2,probability=0.1,name=busy",
    "cut,probability=0.2,path=/slow,name=cuts", "bytesPerSecond=100000,every=5,name=slow",
    "delayMilliseconds=1,probability=0.5,name=latency",
]

# The app: prints what it receives from each request, to the byte.
APP = """
import os, random, socket, sys
host, port = os.environ["API_URL"].removeprefix("http://").split(":")
order = random.Random(3)
for number in range(int(sys.argv[1])):
    kind = order.choice(["token", "slow", "turns", "list", "create", "patch", "pet"])
    body = ""
    method, path = {
        "token": ("GET", f"/tokens/{number % 5}"), "slow": ("GET", "/slow"), "turns": ("GET", "/turns"),
        "list": ("GET", "/patients"), "create": ("POST", "/patients"), "patch": ("PATCH", "/patients/7"),
        "pet": ("GET", f"/pets/{number % 3}"),
    }[kind]
    if method != "GET": body = '{"name": "%d"}' % number
    with socket.create_connection((host, int(port))) as app:
        app.sendall((f"{method} {path} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nContent-Type: application/json\\r\\n"
            f"Content-Length: {len(body)}\\r\\nConnection: close\\r\\n\\r\\n{body}").encode())
        received = b""
        try:
            while piece := app.recv(65536): received += piece
        except ConnectionResetError:
            received += b"<reset>"
    print(method, path, received.replace(f":{port}".encode(), b":PORT"))
"""


def run(folder, seed, count):
    """What the app received, and the journal without its times."""
    journal = folder / "journal.ndjson"
    words = [
        "run", "--mode", "mock", "--stubs", folder / "stubs", "--collections", folder / "collections.json",
        "--openapi", folder / "api.json", "--seed", seed, "--start", "2018-10-08T09:00:00Z", "--journal", journal,
        "--upstream", "api=https://api.example.com", "--env", "API_URL=api",
    ]
    for fault in FAULTS:
        words += ["--fault", fault]
    ended = support.diorama(*words, "--", sys.executable, "-c", APP, str(count), cwd=folder)
    entries = []
    for line in journal.read_text().splitlines():
        entry = json.loads(line)
        del entry["time"]
        entries.append(entry)
    journal.unlink()
    return ended, entries


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=300)
    count = parser.parse_args().requests
    checks = support.Checks("mock_traces")
    with support.folder() as path:
        folder = pathlib.Path(path)
        (folder / "stubs/mappings").mkdir(parents=True)
        (folder / "stubs/mappings/all.json").write_text(json.dumps(MAPPINGS))
        (folder / "collections.json").write_text(json.dumps(COLLECTIONS))
        (folder / "api.json").write_text(json.dumps(CONTRACT))
        first, journal = run(folder, "one", count)
        second, again = run(folder, "one", count)
        other, _ = run(folder, "two", count)
        text = first.stdout
        checks.that(first.returncode == 0, "the run succeeds", first.stderr)
        checks.that(text.count("\n") == count, "every request is printed", text[-300:])
        for part in ["<reset>", "503 Service", "Retry-After: 2", '"token"', "later", '"born"', "X-Total-Count"]:
            checks.that(part in text, f"the trace has {part}", text[:300])
        checks.that(text == second.stdout, "a second run receives the same bytes", difference(text, second.stdout))
        checks.that(journal == again, "and has the same journal", difference(*map(lines, (journal, again))))
        checks.that(text != other.stdout, "another seed gives other bytes")
    checks.end()


def lines(journal):
    return "\n".join(json.dumps(entry) for entry in journal)


def difference(one, two):
    for left, right in zip(one.splitlines(), two.splitlines()):
        if left != right:
            return f"{left[:400]}\n{right[:400]}"
    return f"{len(one)} and {len(two)} characters"


if __name__ == "__main__":
    main()
