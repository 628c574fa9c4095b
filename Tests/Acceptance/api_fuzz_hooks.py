"""Hooks for api_fuzz.py: existing environments, short waits, and cassettes in its folder."""

import json
import os
import random
import urllib.request

import schemathesis

URL, TOKEN = os.environ["FUZZ_URL"], os.environ["FUZZ_TOKEN"]
CASSETTES = os.environ["FUZZ_CASSETTES"]
chance = random.Random(os.environ["FUZZ_SEED"])


def provision():
    request = urllib.request.Request(
        f"{URL}/v1/environments", json.dumps({"mode": "mock", "name": "fuzzed", "ttlSeconds": 60}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)["id"]


environments = []


def existing():
    """An environment that recently existed."""
    if len(environments) < 3:
        environments.append(provision())
    return chance.choice(environments)


@schemathesis.hook
def before_call(ctx, case, kwargs):
    mode = case.meta.generation.mode if case.meta else None
    is_valid = mode is not None and mode.is_positive
    path = case.operation.path
    body = case.body if isinstance(case.body, dict) else None
    # Replaces valid generated values only; invalid ones must stay invalid.
    if is_valid and "{id}" in path and chance.random() < 0.8:
        case.path_parameters["id"] = existing()
        if case.operation.method.upper() == "DELETE":
            environments.remove(case.path_parameters["id"])
    if body is not None and path.endswith(("/clock", "/{id}")):
        # No app follows these environments, so a wait always lasts until its timeout.
        seconds = body.get("timeoutSeconds", 30)
        if is_valid or (type(seconds) in (int, float) and 0.2 < seconds <= 86400):
            body["timeoutSeconds"] = 0.2
    if is_valid and body is not None and "ttlSeconds" in body:
        # The environment must not end before the fuzzer uses it.
        body["ttlSeconds"] = max(60, body["ttlSeconds"])
    if is_valid and body is not None:
        of_this_machine(body)


def of_this_machine(body):
    """Makes some valid bodies meaningful on this machine, so that not all are refused."""
    if isinstance(body.get("cassette"), str) and chance.random() < 0.7:
        body["cassette"] = f"{CASSETTES}/{chance.randrange(20)}"
    if isinstance(body.get("owner"), dict) and chance.random() < 0.7:
        body["owner"] = {"pid": os.getpid()}
    if isinstance(body.get("clock"), dict) and "timeZone" in body["clock"] and chance.random() < 0.7:
        body["clock"]["timeZone"] = "Europe/London"
    if "mode" in body and chance.random() < 0.3:
        body["mode"] = "mock"
