"""Replays apps that never send the same bytes twice: rules decide what is compared, and in which order recordings play.
"""

import json

import support

# The app: makes the given JSON calls with `requests`, whose multipart boundaries are random, and prints the responses.
APP = """
import json, os, sys, requests
session = requests.Session()
session.trust_env = False
seen = []
for method, target, more in json.loads(sys.argv[1]):
    if "files" in more:
        more["files"] = {name: tuple(file) for name, file in more["files"].items()}
    answer = session.request(method, os.environ["DIORAMA_ENDPOINT_SHOP"] + target, timeout=60, **more)
    seen.append([answer.status_code, answer.text])
print(json.dumps(seen))
"""

UPLOAD = ["POST", "/photos", {"files": {"photo": ["cat.png", "\x89PNG", "image/png"]}, "data": {"title": "cat"}}]
CART = [["GET", "/cart", {}], ["POST", "/cart", {"json": {"item": "tea", "sentAt": 1}}], ["GET", "/cart", {}]]


def changed(call, **more):
    return [call[0], call[1], {**call[2], **more}]


class Shop:
    """A stateful upstream with numbered responses."""

    def __init__(self):
        self.count = 0

    def __call__(self, handler, body):
        self.count += 1
        return 200, [("Content-Type", "text/plain")], f"{self.count}".encode()


def main():
    checks = support.Checks("matching")
    python = support.python("openfeature")

    def app(calls):
        return [python, "-c", APP, json.dumps(calls)]

    with support.folder() as folder:
        def record(name, calls):
            cassette = folder / name
            with support.Upstream(Shop()) as upstream:
                run = support.Run("record", cassette, app(calls), {"shop": upstream.url})
            checks.that(run.status == 0, f"{name}: the recording succeeds", run)
            return cassette

        def replay(cassette, calls, *options):
            run = support.Run("replay", cassette, app(calls), options=options, cwd=folder)
            return run, [text if status == 200 else status for status, text in json.loads(run.output or "[]")]

        # Multipart: needs no rule.
        photos = record("photos", [UPLOAD])
        boundary = next(h["value"] for h in support.har(photos)[0]["request"]["headers"] if h["name"].lower() == "content-type")
        run, seen = replay(photos, [UPLOAD])
        checks.that(run.status == 0 and seen == ["1"], "multipart: a request with another boundary matches", run)
        checks.that("boundary=" in boundary, "multipart: the recording contains its boundary", boundary)
        other = {"photo": ["dog.png", "\x89PNG", "image/png"]}
        run, _ = replay(photos, [changed(UPLOAD, files=other)])
        checks.that(
            run.status == 3 and "part 2 `photo` file name: recorded cat.png, got dog.png" in run.words,
            "multipart: the miss names another file name", run,
        )

        # A time in the JSON: a miss, until a rule in the project file ignores it.
        cart = record("cart", CART)
        before = support.snapshot(folder)["cart.har"]
        later = [CART[0], changed(CART[1], json={"item": "tea", "sentAt": 2}), CART[2]]
        run, seen = replay(cart, later)
        checks.that(run.status == 3 and seen == ["1", 501, "3"], "time in JSON: a miss without a rule", run)
        project = folder / "diorama.json"
        matching = {"rules": [{"path": "/cart", "ignore": {"json": ["$.sentAt"]}}]}
        project.write_text(json.dumps({"overrides": [{"cassettes": "cart", "matching": matching}]}))
        run, seen = replay(cart, later)
        checks.that(run.status == 0 and seen == ["1", "2", "3"], "time in JSON: a match with a rule for this cassette", run)
        checks.that(support.snapshot(folder)["cart.har"] == before, "a rule doesn't change the recording")
        run, _ = replay(cart, [changed(CART[1], json={"item": "milk", "sentAt": 3})])
        checks.that(
            run.status == 3 and "body $.item: recorded \"tea\", got \"milk\"" in run.words and "sentAt:" not in run.words
            and "compared by rule 1 of diorama.json, for cart (/cart): ignores JSON $.sentAt" in run.words,
            "a miss names the difference and the rule", run.words,
        )
        project.write_text(json.dumps({"matching": matching}))
        run, _ = replay(cart, later)
        checks.that(run.status == 0, "general rules apply to all cassettes", run)
        run, _ = replay(cart, later, "--no-config")
        checks.that(run.status == 3, "--no-config reads no rules", run)
        project.rename(folder / "mine.json")
        run, _ = replay(cart, later, "--config", folder / "mine.json")
        checks.that(run.status == 0, "--config accepts a file anywhere", run)
        leftover = folder / "cart.rules.json"
        leftover.write_text("{}")
        run = support.diorama("run", "--cassette", cart, "--", "true")
        checks.that(
            run.returncode == 65 and len(run.stderr.splitlines()) == 1
            and f'{leftover} is no longer read; move its content to diorama.json, as {{"overrides": [{{"cassettes": "cart", "matching": …}}]}}' in run.stderr,
            "a rules file beside the cassette is an error that says where its content belongs", run.stderr,
        )
        leftover.unlink()

        # Order.
        twice = [CART[0], CART[0], CART[0]]
        _, seen = replay(cart, twice)
        checks.that(seen == ["1", "3", "3"], "by default, repeats play in recorded order, then the last one repeats", seen)
        run, seen = replay(cart, [CART[0], CART[0], CART[1], CART[2], CART[2]], "--order", "state")
        checks.that(run.status == 0 and seen == ["1", "1", "2", "3", "3"], "state: the GET gets another response after the POST", run)
        run, seen = replay(cart, CART, "--order", "strict")
        checks.that(run.status == 0 and seen == ["1", "2", "3"], "strict: the recorded order matches", run)
        run, seen = replay(cart, [CART[1], *CART], "--order", "strict")
        checks.that(run.status == 3 and seen == [501, "1", "2", "3"], "strict: a request out of order is a miss", run)
        checks.that(
            "nearest: interaction 0, GET" in run.words and "expected next, in strict order" in run.words,
            "strict: the miss names the expected interaction", run.words,
        )

        # XML and headers.
        soap = record("soap", [["POST", "/soap", {"data": "<s:e xmlns:s='urn:s'><b a='1' c='2'/></s:e>", "headers": {"Accept-Language": "en"}}]])
        same = {"data": "<e xmlns='urn:s'>\n  <b xmlns='' c=\"2\" a=\"1\"></b>\n</e>", "headers": {"Accept-Language": "en"}}
        project.write_text('{"overrides": [{"cassettes": "so*", "matching": {"rules": [{"compare": {"body": "xml", "headers": ["accept-language"]}}]}}]}')
        run, seen = replay(soap, [["POST", "/soap", same]])
        checks.that(run.status == 0 and seen == ["1"], "XML: an equivalent document matches", run)
        run, _ = replay(soap, [["POST", "/soap", {**same, "headers": {"Accept-Language": "de"}}]])
        checks.that(
            run.status == 3 and "header `accept-language`: recorded `en`, got `de`" in run.words,
            "a compared header that differs is named", run.words,
        )

        # A typo in the project file.
        project.write_text('{"matching": {"rules": [{"ignore": {"jsn": ["$.a"]}}]}}')
        run = support.diorama("run", "--cassette", soap, "--", "true", cwd=folder)
        checks.that(
            run.returncode == 65 and len(run.stderr.splitlines()) == 1 and f"{project}: matching.rules[0].ignore.jsn: unknown member; did you mean 'json'?" in run.stderr,
            "a typo in the project file gets one line with its location", run.stderr,
        )
    checks.end()


main()
