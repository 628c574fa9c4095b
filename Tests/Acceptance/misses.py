"""Replays an app whose requests have changed: every miss names the exact difference, and fails the environment."""

import json
import sys

import support

# The app: makes the given JSON calls, and prints the responses.
APP = """
import http.client, json, os, sys
host = os.environ["DIORAMA_ENDPOINT_SHOP"].split("//")[1]
seen = []
for method, target, body in json.loads(sys.argv[1]):
    connection = http.client.HTTPConnection(host, timeout=30)
    headers = {"Content-Type": "application/json"} if body and body[0] in "{[" else {}
    connection.request(method, target, body, headers)
    response = connection.getresponse()
    seen.append([response.status, dict(response.getheaders()), response.read().decode()])
print(json.dumps(seen))
"""

RECORDED = [
    ["GET", "/items?page=1&sort=name&tag=a&tag=b", None],
    ["POST", "/orders", '{"item": {"id": 7, "name": "tea"}, "amount": 2}'],
    ["POST", "/notes", "plain words, byte for byte"],
    ["GET", "/items/7", None],
]


def changed(index, call):
    return [call if number == index else old for number, old in enumerate(RECORDED)]


# The change, the call that misses, and what the response must name.
CASES = [
    ("one byte of a JSON body", changed(1, ["POST", "/orders", '{"item": {"id": 8, "name": "tea"}, "amount": 2}']),
     1, ["/orders", "item", "id", "7", "8"]),
    ("one byte of another body", changed(2, ["POST", "/notes", "plain words, byte for bite"]), 2, ["/notes", "body"]),
    ("one query item", changed(0, ["GET", "/items?page=2&sort=name&tag=a&tag=b", None]), 0, ["page", "1", "2"]),
    ("a query item more", changed(3, ["GET", "/items/7?debug=1", None]), 3, ["debug"]),
    ("the order of equal names", changed(0, ["GET", "/items?page=1&sort=name&tag=b&tag=a", None]), 0, ["tag"]),
    ("a call that is not in the cassette", [*RECORDED, ["GET", "/items/70", None]], 4, ["/items/70", "/items/7", "path"]),
    ("another method", changed(3, ["DELETE", "/items/7", None]), 3, ["DELETE", "GET", "method"]),
]

# Different bytes, but the same request.
SAME = [
    ("members in another order, other blanks, 7.0 for 7",
     changed(1, ["POST", "/orders", '{ "amount":2,"item":{"name":"tea","id":7.0} }'])),
    ("query items of other names in another order", changed(0, ["GET", "/items?tag=a&sort=name&tag=b&page=1", None])),
]


def answer(handler, body):
    return 200, [("Content-Type", "application/json")], json.dumps({"path": handler.path, "length": len(body)}).encode()


def main():
    checks = support.Checks("misses")
    with support.folder() as folder:
        cassette = folder / "shop"

        def app(calls):
            return [sys.executable, "-c", APP, json.dumps(calls)]

        with support.Upstream(answer) as upstream:
            recording = support.Run("record", cassette, app(RECORDED), {"shop": upstream.url})
            if not checks.that(recording.status == 0, "the app runs while it is recorded", recording):
                checks.end()
        port = upstream.port

        for title, calls, index, names in CASES:
            with support.Watch(port) as watch:
                run = support.Run("replay", cassette, app(calls))
            checks.that(watch.count == 0, f"{title}: no connection to the upstream is attempted")
            checks.that(run.status == 3, f"{title}: exit status 3", run)
            seen = json.loads(run.output)
            status, headers, body = seen[index]
            checks.that(status == 501 and headers.get("Diorama-Miss") == "1", f"{title}: 501 with Diorama-Miss: 1", seen[index])
            checks.that(
                headers.get("Content-Type", "").startswith("application/problem+json"), f"{title}: a problem document", headers
            )
            for name in names:
                checks.that(name in body, f"{title}: the response names {name}", body)
            for name in ("sort", "notes" if index != 2 else "orders"):
                checks.that(name not in nearest_differences(body), f"{title}: it doesn't name {name}, which is equal", body)
            checks.that("--mode" in body, f"{title}: the response contains the command to record it", body)
            others = [one[0] for number, one in enumerate(seen) if number != index]
            checks.that(set(others) == {200}, f"{title}: the other calls are replayed", others)
            unmatched = run.report["unmatched"]
            checks.that(
                len(unmatched) == 1 and unmatched[0]["method"] == calls[index][0] and unmatched[0]["url"].endswith(calls[index][1]),
                f"{title}: the report lists the miss", unmatched,
            )
            checks.that(run.report["ok"] is False and run.report["requests"]["unmatched"] == 1, f"{title}: not ok", run.report)

        for title, calls in SAME:
            run = support.Run("replay", cassette, app(calls))
            checks.that(run.status == 0 and run.report["unmatched"] == [], f"{title}: matches", run)

        run = support.Run("replay", cassette, app([RECORDED[0], *RECORDED[2:]]))
        unused = run.report["unused"]
        checks.that(run.status == 0, "a missing call isn't a failure", run)
        checks.that(
            len(unused) == 1 and unused[0]["method"] == "POST" and unused[0]["url"].endswith("/orders"),
            "a missing call is reported as unused", unused,
        )
        failing = support.Run("replay", cassette, [sys.executable, "-c", "import sys; sys.exit(7)"])
        checks.that(failing.status == 7, "a command's own failure keeps its status", failing)
        checks.say(f"{len(CASES)} changes are named; {len(SAME)} equivalent requests match")
    checks.end()


def nearest_differences(body):
    """The part of the response about the nearest interaction."""
    nearest = json.loads(body).get("nearest") or [{}]
    return json.dumps(nearest[0].get("differences", nearest[0].get("difference", "")))


main()
