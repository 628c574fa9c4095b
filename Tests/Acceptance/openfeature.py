"""Reads an environment's toggles with an unmodified OpenFeature provider, in a program without the library."""

import json

import support

# The program under test: prints each flag's value from OpenFeature's own client.
APP = """
import json, os
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext

api.set_provider(OFREPProvider(os.environ["DIORAMA_CONTROL"]))
client = api.get_client()
context = EvaluationContext(targeting_key="user-1", attributes={"plan": "gold"})
asked = [
    ("skip-onboarding", "boolean", False), ("dark", "boolean", True), ("slots", "integer", 1), ("rate", "float", 0.5),
    ("half", "float", 1.5), ("greeting", "string", "?"), ("layout", "object", {}), ("a/b c%", "boolean", False),
    ("missing", "string", "mine"), ("slots", "string", "mine"),
]
seen = []
for key, kind, default in asked:
    # A key is put into the path as it is: who has odd ones encodes them.
    sent = key.replace("%", "%25").replace(" ", "%20") if key == "a/b c%" else key
    details = getattr(client, f"get_{kind}_details")(sent, default, context)
    seen.append([key, kind, details.value, str(details.reason), details.variant, str(details.error_code or "")])
print(json.dumps(seen))
"""

TOGGLES = [
    "skip-onboarding=true", "dark=false", "slots=20", "rate=10.0", "half=0.25", "greeting=hello", "never-read=1",
    'layout={"columns": 2, "ratio": 1.0}', "a/b c%=true",
]

WANTED = [
    ["skip-onboarding", "boolean", True], ["dark", "boolean", False], ["slots", "integer", 20], ["rate", "float", 10.0],
    ["half", "float", 0.25], ["greeting", "string", "hello"], ["layout", "object", {"columns": 2, "ratio": 1.0}],
    ["a/b c%", "boolean", True], ["missing", "string", "mine"], ["slots", "string", "mine"],
]

# Requests that web pages can make, allowed and forbidden ones.
PAGE = """
import json, os, urllib.error, urllib.request
url = os.environ["DIORAMA_CONTROL"] + "/ofrep/v1/evaluate/flags"
def status(**headers):
    request = urllib.request.Request(url, b"{}", {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}})
    try:
        with urllib.request.urlopen(request) as answer:
            return [answer.status, answer.headers["ETag"]]
    except urllib.error.HTTPError as error:
        return [error.code, error.headers["ETag"]]
first = status()
print(json.dumps([first, status(If_None_Match=first[1]), status(Origin="https://evil.test"), status(Host="evil.test")]))
"""


def run(app):
    options = [word for toggle in TOGGLES for word in ("--toggle", toggle)]
    return support.Run("mock", "unused", [support.python("openfeature"), "-c", app], options=options)


def main():
    checks = support.Checks("openfeature")
    flags = run(APP)
    if checks.that(flags.status == 0, "the program runs", flags):
        seen = json.loads(flags.output)
        for got, wanted in zip(seen, WANTED, strict=True):
            name = f"{wanted[0]} as {wanted[1]}"
            checks.that(got[:3] == wanted and type(got[2]) is type(wanted[2]), f"{name} is {wanted[2]!r}", got)
            if wanted[2] == "mine":
                code = "TYPE_MISMATCH" if wanted[0] == "slots" else "FLAG_NOT_FOUND"
                checks.that(code in got[5], f"{name}: {code}", got)
            else:
                checks.that("STATIC" in got[3] and got[4], f"{name}: reason STATIC, and a variant", got)
        toggles = flags.report["toggles"]
        checks.that(toggles["unread"] == ["never-read"], "the report lists the unread toggle", toggles)
        checks.that(toggles["read"].get("rate") == 10 and len(toggles["read"]) == 8, "the report lists the read toggles", toggles)
    page = run(PAGE)
    if checks.that(page.status == 0, "the page runs", page):
        first, again, foreign, rebound = json.loads(page.output)
        checks.that(first[0] == 200 and first[1], "all flags are sent at once, with an ETag", first)
        checks.that(again == [304, first[1]], "unchanged flags are not sent again", again)
        checks.that(foreign[0] == 403, "a foreign web page is refused", foreign)
        checks.that(rebound[0] == 403, "another host name is refused", rebound)
    checks.end()


main()
