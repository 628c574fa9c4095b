"""Replays an app whose requests differ in every run: each miss says what differs, and the rule that it prints makes the
replay pass, once `diorama rules suggest --write` has added it. Requests for something else get no rule.
"""

import json

import support

# The app: makes the calls of a file with `requests`. What a call sends is a Python expression, so that it can differ in
# every run; `n` is the number of the run.
APP = """
import base64, datetime, email.utils, hashlib, hmac, json, os, pathlib, random, secrets, sys, time, uuid, requests
count = pathlib.Path("count")
n = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(n))
utc = datetime.timezone.utc
now = lambda: datetime.datetime.now(utc).isoformat()
def jwt(claims):
    part = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    text = part(b'{"alg":"HS256","typ":"JWT"}') + "." + part(json.dumps(claims).encode())
    return text + "." + part(hmac.digest(b"key", text.encode(), "sha256"))
session = requests.Session()
session.trust_env = False
seen = []
for method, target, more in eval(sys.argv[1]):
    answer = session.request(method, os.environ["DIORAMA_ENDPOINT_SHOP"] + target, timeout=60, **more)
    seen.append([answer.status_code, answer.text])
print(json.dumps(seen))
"""

XML = {"headers": {"Content-Type": "text/xml"}}

# The case, the calls, the kinds of what differs, and what the rule ignores.
CASES = [
    ("an RFC 3339 instant", '[("POST", "/orders", {"json": {"tea": 2, "sentAt": now()}})]',
     ["instant"], {"ignore": {"json": ["$.sentAt"]}}),
    ("an HTTP date", '[("POST", "/dates", {"data": {"at": email.utils.formatdate(usegmt=True), "x": time.sleep(1.1)}})]',
     ["instant"], {"ignore": {"form": ["at"]}}),
    *[(f"an epoch in units of {unit} s", f'[("GET", f"/events?since={{int(time.time() / {unit})}}", {{"json": time.sleep(1.1)}})]',
       ["instant"], {"ignore": {"query": ["since"]}}) for unit in ("1", "1e-3", "1e-6", "1e-9")],
    ("a UUID in the path", '[("PUT", f"/orders/{uuid.uuid4()}/items", {"json": {"tea": 2}})]',
     ["uuid"], {"ignore": {"pattern": ["(?<=/orders/)[^/]+"]}, "path": "/orders/*/items"}),
    ("nonces in an array", '[("POST", "/batch", {"json": [{"id": secrets.token_hex(16)} for _ in range(3)]})]',
     ["nonce"] * 3, {"ignore": {"json": ["$[*].id"]}}),
    ("a Base64 nonce in a query", '[("GET", f"/login?state={secrets.token_urlsafe(32)}&user=ann", {})]',
     ["nonce"], {"ignore": {"query": ["state"]}}),
    ("a counter", '[("POST", "/log", {"json": {"seq": n, "text": "hello"}})]', ["counter"], {"ignore": {"json": ["$.seq"]}}),
    ("a JSON-RPC id", '[("POST", "/rpc", {"json": {"jsonrpc": "2.0", "method": "get", "id": n}})]',
     ["counter"], {"ignore": {"json": ["$.id"]}}),
    ("a signature", '[("POST", "/pay", {"json": {"sum": 5, "signature": hmac.digest(b"k", now().encode(), "sha256").hex()}})]',
     ["signature"], {"ignore": {"json": ["$.signature"]}}),
    ("a presigned URL",
     '[("GET", "/o?X-Amz-Date=" + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + "&X-Amz-Signature=" '
     '+ hmac.digest(b"k", now().encode(), "sha256").hex(), {"json": time.sleep(1.1)})]',
     ["instant"], {"ignore": {"query": ["X-Amz-Date"]}}),
    ("a JSON Web Token", '[("POST", "/session", {"json": {"ticket": jwt({"sub": "ann", "iat": time.time()})}})]',
     ["signature"], {"ignore": {"json": ["$.ticket"]}}),
    ("a part of a multipart form", '[("POST", "/up", {"files": {"f": ("a.txt", b"x")}, "data": {"nonce": secrets.token_hex(8)}})]',
     ["nonce"], {"ignore": {"form": ["nonce"]}}),
    ("parts in another order",
     '[("POST", "/up", {"files": [("a", (None, "1")), ("b", (None, "2"))][::1 if n % 2 else -1]})]',
     ["partOrder"], {"compare": {"partOrder": False}}),
    ("a time in XML", f'[("POST", "/soap", {{"data": f"<e><b><at>{{now()}}</at><n>1</n></b></e>", **{XML}}})]', ["instant"], None),
    ("a UUID in text", '[("POST", "/text", {"data": f"id={uuid.uuid4()}\\nn=1\\n", "headers": {"Content-Type": "text/plain"}})]',
     ["uuid"], None),
    ("attributes in another order",
     f'[("POST", "/xml", {{"data": "<a " + " ".join(["x=\'1\'", "y=\'2\'"][::1 if n % 2 else -1]) + "/>", **{XML}}})]',
     ["notation"], {"compare": {"body": "xml"}}),
]

# What the app asks for, not how: no rule.
OTHERS = [
    ("another page", '[("GET", f"/items?page={n}", {})]', ["other"], True),
    ("another amount", '[("POST", "/pay", {"json": {"amount": 100 * n}})]', ["other"], True),
    ("another amount and a nonce", '[("POST", "/pay", {"json": {"amount": 100 * n, "nonce": secrets.token_hex(8)}})]',
     ["other", "nonce"], False),
    ("another day", '[("GET", f"/slots?day=2031-05-{10 + n}", {})]', ["other"], True),
]

# A project file as people write them.
PROJECT = '{"cassettes":"Cassettes",\n  "matching": {"order":  "request",\n    "rules": [\n      {"path": "/never", "ignore": {"query": ["_"]}}\n    ]},\n  "toggles": {"a":1.50}}\n'


def main():
    checks = support.Checks("miss_advice")
    python = support.python("openfeature")

    def answer(handler, body):
        return 200, [("Content-Type", "text/plain")], b"ok"

    with support.folder() as folder, support.Upstream(answer) as upstream:
        project = folder / "diorama.json"

        def run(mode, name, calls, *options):
            upstreams = {} if mode == "replay" else {"shop": upstream.url}
            return support.Run(mode, folder / name, [python, "-c", APP, calls], upstreams, options, cwd=folder)

        def suggest(name, report, *options):
            file = folder / "report.json"
            file.write_text(json.dumps(report))
            return support.diorama("rules", "suggest", folder / name, "--from", file, *options, cwd=folder)

        def record(title, calls):
            (folder / "count").unlink(missing_ok=True)
            name = "".join(letter if letter.isalnum() else "-" for letter in title)
            made = run("record", name, calls)
            checks.that(made.status == 0, f"{title}: the recording succeeds", made)
            return name

        for title, calls, kinds, does in CASES:
            project.write_text(PROJECT)
            name = record(title, calls)
            missed = run("replay", name, calls)
            checks.that(missed.status == 3, f"{title}: the replay misses", missed)
            fix = (missed.report["unmatched"] or [{}])[0].get("fix", {})
            checks.that([cause["kind"] for cause in fix.get("causes", [])] == kinds, f"{title}: it is {kinds}", missed.report["unmatched"])
            rule = fix.get("rule", {})
            checks.that(does is None or rule.items() >= does.items(), f"{title}: the rule is {does}", fix)
            line = next((line.strip() for line in missed.words.splitlines() if line.strip().startswith('{"matching"')), "{}")
            checks.that(json.loads(line) == {"matching": {"rules": [rule]}}, f"{title}: the rule is printed", missed.words)
            command = f"diorama rules suggest {folder / name} --from FILE --write"
            checks.that(command in missed.words, f"{title}: the command that adds it is printed", missed.words)
            checks.that(not fix.get("isRecordable") and "--mode extend" not in missed.words, f"{title}: extend is not advised", missed.words)
            preview = suggest(name, missed.report)
            checks.that(json.loads(preview.stdout)["matching"]["rules"] == [rule], f"{title}: suggest prints the rule", preview)
            checks.that(project.read_text() == PROJECT, f"{title}: suggest writes nothing by itself")
            written = suggest(name, missed.report, "--write")
            checks.that(written.returncode == 0 and f"to {project}" in written.stderr, f"{title}: suggest says what it writes", written)
            text = project.read_text()
            start, end = PROJECT.split("\n    ]}")
            checks.that(text.startswith(start + ",\n      {") and text.endswith("\n    ]}" + end), f"{title}: all else is kept", text)
            passed = run("replay", name, calls)
            checks.that(passed.status == 0 and passed.report["ok"], f"{title}: the replay passes with the rule", passed)
            again = suggest(name, missed.report, "--write")
            checks.that(project.read_text() == text and "covers 1 request already" in again.stderr, f"{title}: no rule is added twice", again)

        project.unlink()
        for title, calls, kinds, is_recordable in OTHERS:
            name = record(title, calls)
            missed = run("replay", name, calls)
            fix = missed.report["unmatched"][0]["fix"]
            checks.that(sorted(cause["kind"] for cause in fix["causes"]) == sorted(kinds), f"{title}: it is {kinds}", fix)
            checks.that("rule" not in fix and fix["isRecordable"] == is_recordable, f"{title}: no rule", fix)
            checks.that(("--mode extend" in missed.words) == is_recordable, f"{title}: extend is advised only where it helps", missed.words)
            none = suggest(name, missed.report, "--write")
            checks.that(none.returncode == 0 and none.stdout == "" and not project.exists(), f"{title}: nothing is suggested", none)
            checks.that("no rule makes" in none.stderr and "/" in none.stderr, f"{title}: suggest says why", none.stderr)
            if is_recordable:
                (folder / "count").write_text("1")
                run("extend", name, calls)
                (folder / "count").write_text("1")
                passed = run("replay", name, calls)
                checks.that(passed.status == 0, f"{title}: extend records it", passed)

        # A secret that was redacted in the recording only.
        pin = '[("POST", "/login", {"json": {"user": "ann", "pin": "4711"}})]'
        project.write_text('{"redaction": {"json": ["$.pin"]}}')
        record("pin", pin)
        project.write_text("{}")
        missed = run("replay", "pin", pin)
        fix = missed.report["unmatched"][0]["fix"]
        checks.that([cause["kind"] for cause in fix["causes"]] == ["redacted"], "redacted: it is named", fix)
        checks.that(fix.get("redaction") == {"json": ["$.pin"]}, "redacted: a redaction is suggested", fix)
        checks.that('{"redaction": {"json": ["$.pin"]}}' in missed.words, "redacted: it is printed", missed.words)
        written = suggest("pin", missed.report, "--write")
        checks.that(json.loads(project.read_text()) == {"redaction": {"json": ["$.pin"]}}, "redacted: it is written", written)
        checks.that(run("replay", "pin", pin).status == 0, "redacted: the replay passes with it")
        project.unlink()

        # Several misses of one shape.
        orders = '[("POST", f"/orders/{i}/ack", {"json": {"at": now()}}) for i in (11, 12, 13)]'
        record("orders", orders)
        missed = run("replay", "orders", orders)
        made = suggest("orders", missed.report, "--write", "--json")
        shape = [{"method": "POST", "path": "/orders/*/ack", "ignore": {"json": ["$.at"]}}]
        checks.that(json.loads(made.stdout)["rules"] == shape and json.loads(made.stdout)["misses"] == 3, "one rule for one shape", made)
        checks.that(json.loads(project.read_text())["matching"]["rules"] == shape, "a project file is created", project.read_text())
        checks.that(run("replay", "orders", orders).status == 0, "the one rule makes all three match")
        project.unlink()

        # A project file that only its owner may read stays one. Rules for one cassette come after those for all.
        project.write_text('{"overrides": [{"cassettes": "nonce*", "matching": {"rules": [{"compare": {"headers": ["X-Nonce"]}}]}}]}')
        project.chmod(0o600)
        nonces = '[("GET", "/n", {"headers": {"X-Nonce": secrets.token_hex(8)}})]'
        record("nonces", nonces)
        left = suggest("nonces", run("replay", "nonces", nonces).report, "--write")
        checks.that(left.stdout == "" and '"headers": ["x-nonce"]' in left.stderr and "overrides" in left.stderr, "overrides: suggest says where", left)
        same = '[("GET", "/n?nonce=" + secrets.token_hex(8), {})]'
        record("nonces", same)
        suggest("nonces", run("replay", "nonces", same).report, "--write")
        checks.that(project.stat().st_mode & 0o777 == 0o600, "the file's permissions are kept")
        checks.that(run("replay", "nonces", same).status == 0, "general rules and overrides add up", project.read_text())
        project.unlink()

        # Order: no rule, and no recording.
        two = '[("GET", "/a", {}), ("GET", "/b", {})]'
        record("two", two)
        missed = run("replay", "two", '[("GET", "/b", {})]', "--order", "strict")
        fix = missed.report["unmatched"][0]["fix"]
        checks.that([cause["kind"] for cause in fix["causes"]] == ["order"] and not fix["isRecordable"], "strict order: it is named", fix)
        checks.that("--mode extend" not in missed.words, "strict order: extend is not advised", missed.words)

        # Wrong input: one line that says what to do.
        report = folder / "report.json"
        other = folder / "other.json"
        other.write_text("[1]")
        for words, status, says in [
            ([folder / "two"], 64, "--from is missing"), ([], 64, "no cassette"),
            ([folder / "two", folder / "pin", "--from", report], 64, "one cassette"),
            ([folder / "two", "--from", folder / "none.json"], 66, "there is no file"),
            ([folder / "two", "--from", other], 65, "is not a report"),
            ([folder / "pin", "--from", report], 65, "is a report of"),
            ([folder / "none" / "nonces", "--from", report], 66, "no cassette"),
            ([folder / "two", "--from", report, "--wirte"], 64, "did you mean '--write'?"),
        ]:
            ended = support.diorama("rules", "suggest", *words, cwd=folder)
            checks.that(
                ended.returncode == status and says in ended.stderr and len(ended.stderr.splitlines()) == 1 and not ended.stdout,
                f"rules suggest {' '.join(map(str, words))}: {status}, {says}", ended)
        checks.that(support.diorama("rules", "suggest", "--help").stdout.startswith("usage: diorama rules suggest"), "help")
        checks.say(f"{len(CASES)} kinds of values get a rule that makes the replay pass; {len(OTHERS)} requests for something else get none")
    checks.end()


main()
