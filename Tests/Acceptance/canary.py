"""Puts a canary into every part of requests and responses that could carry a secret, records them, and searches all files
for the canary: while recording, after a kill -9, and at the end. App and upstream get the real values. Afterwards the
recording replays, also with another secret."""

import base64
import gzip
import hashlib
import json
import secrets
import signal
import subprocess
import sys
import threading
import urllib.parse

import brotlicffi as brotli

import support

# The app: makes the calls in a file, and prints the status and the digest of each body, then the peak memory of its
# diorama. Calls marked "live" are made only while recording.
APP = """
import base64, hashlib, http.client, json, os, sys
host = os.environ["DIORAMA_ENDPOINT_API"].split("//")[1]
for call in json.load(open(sys.argv[1])):
    connection = http.client.HTTPConnection(host, timeout=120)
    connection.putrequest(call["method"], call["target"], skip_accept_encoding=True)
    body = base64.b64decode(call["body"]) * call.get("times", 1)
    for name, value in call["headers"]: connection.putheader(name, base64.b64decode(value))
    if call["body"]: connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    for start in range(0, len(body), 70001): connection.send(body[start:start + 70001])
    response = connection.getresponse()
    digest = hashlib.sha256()
    while piece := response.read(65536): digest.update(piece)
    headers = json.dumps(response.getheaders())
    print(json.dumps([response.status, digest.hexdigest(), headers]), flush=True)
status = open(f"/proc/{os.getppid()}/status").read()
print(json.dumps([line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]), flush=True)
"""

DEFAULT_HEADERS = [
    ("Authorization", "Bearer {}"), ("Authorization", "{}"), ("Proxy-Authorization", "Basic {}"), ("X-Api-Key", "{}"),
    ("Api-Key", "{}"), ("X-Auth-Token", "{}"), ("X-Amz-Security-Token", "{}"), ("X-Csrf-Token", "{}"),
    ("X-Goog-Api-Key", "{}"), ("Ocp-Apim-Subscription-Key", "{}"), ("Private-Token", "{}"), ("Cookie", "sid={}; b={}"),
]
LARGE = 300 << 10
HUGE = 65 << 20


def alignments(secret, url_safe=False):
    """A secret in base64 at each of the three alignments."""
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    return [encode(b"#" * before + secret + b"##").decode() for before in range(3)]


def cores(secret):
    """The parts of a secret's base64 that don't depend on the bytes around it, for each alignment and alphabet."""
    found = set()
    for before in range(3):
        text = base64.b64encode(b"\0" * before + secret).decode()
        core = text[: (before + len(secret)) * 8 // 6][before + 1 if before else 0 :]
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return found


def escaped(secret, letters="{:04x}"):
    return "".join("\\u" + letters.format(ord(character)) for character in secret)


def traces(secret):
    """All forms in which a secret could appear in a file."""
    text, every = secret.encode(), "".join(f"%{byte:02X}" for byte in secret.encode())
    forms = {secret, urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret), every, every.lower()}
    forms |= {json.dumps(secret)[1:-1], escaped(secret), escaped(secret, "{:04X}"), secret.replace("/", "\\/")}
    forms |= cores(text)
    forms |= {form.replace("+", "%2B").replace("/", "%2F") for form in cores(text)}
    return {form.encode() for form in forms if len(form) > 5}


def values(node):
    """All strings of a JSON document, and their base64-decoded values."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield name.encode()
            yield from values(value)
    elif isinstance(node, list):
        for value in node:
            yield from values(value)
    elif isinstance(node, str):
        yield node.encode("utf-8", "surrogatepass")
        try:
            yield base64.b64decode(node, validate=True)
        except ValueError:
            pass


def found(folder, forms):
    """The files that contain a canary, with its form."""
    seen = []
    for path in sorted(folder.rglob("*")):
        try:
            data = path.read_bytes() if path.is_file() else b""
        except OSError:
            continue  # renamed in the meantime
        pieces = [data, path.name.encode()]
        if path.suffix in (".har", ".json", ".partial", ".ndjson"):
            for line in [data] if path.suffix in (".har", ".json") else data.splitlines():
                try:
                    pieces += values(json.loads(line))
                except ValueError:
                    pass  # an incomplete line
        seen += [(path.name, form) for form in forms if any(form in piece for piece in pieces)]
    return seen


def message(method, target, headers=(), body=b"", answer=None, times=1, live=False):
    """A call: the app's request, and the upstream's response (headers, content)."""
    return {
        "method": method, "target": target, "body": base64.b64encode(body).decode(), "times": times, "live": live,
        "headers": [[name, base64.b64encode(value.encode()).decode()] for name, value in headers],
        "answer": answer or ([("Content-Type", "text/plain")], b"ok"),
    }


def multipart(fields):
    body = "".join(f'--BOUND\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields)
    return [("Content-Type", "multipart/form-data; boundary=BOUND")], (body + "--BOUND--\r\n").encode()


def spread(secret, size, step=5000):
    """Bytes of the given size with the secret across each chunk boundary, split at a different place each time."""
    body, number = bytearray(b"-" * size), 0
    for border in range(step, size - 2 * len(secret), step):
        cut = number % len(secret)
        body[border - cut : border - cut + len(secret)] = secret
        number += 1
    return bytes(body)


def everywhere(plain, fancy):
    """Calls that carry a known secret in every place. `fancy` contains characters that need escaping."""
    quoted, data, text = urllib.parse.quote(fancy, safe=""), fancy.encode(), ("Content-Type", "text/plain; charset=utf-8")
    calls = [message("GET", f"/headers/{n}", [(name, form.format(plain, plain))]) for n, (name, form) in enumerate(DEFAULT_HEADERS)]
    calls += [
        message("GET", "/header", [("X-Other", f"a {plain} b"), ("Referer", f"http://x.test/?t={quoted}"), ("X-Basic", alignments(data)[1])]),
        message("GET", f"/path/{plain}/{quoted}?t={quoted}&u={urllib.parse.quote_plus(fancy)}&{quoted}=1&b={urllib.parse.quote(alignments(data)[2])}"),
        message("GET", "/twice?u=" + urllib.parse.quote(f"https://x.test/?t={quoted}", safe="")),
        message("POST", "/form", [("Content-Type", "application/x-www-form-urlencoded")], f"a={quoted}&{quoted}=b&c={plain}".encode()),
        message("POST", "/json", [("Content-Type", "application/json")], json.dumps({"a": fancy, fancy: [plain], "u": plain}).encode()),
        message("POST", "/escaped", [("Content-Type", "application/json")], f'{{"a": "{escaped(fancy)}", "b": "{escaped(plain, "{:04X}")}"}}'.encode()),
        message("POST", "/nested", [("Content-Type", "application/json")], json.dumps({"a": json.dumps({"b": plain})}).encode()),
        message("POST", "/multipart", *multipart([("a", plain), ("b", fancy), ("c", alignments(data)[0])])),
        message("POST", "/xml", [("Content-Type", "application/xml")], f"<a b='{plain}'>{plain}</a>".encode()),
        message("POST", "/binary", [("Content-Type", "application/octet-stream")], b"\0\xff" + data + b"\xff\0"),
        message("POST", "/gzip", [("Content-Type", "application/json"), ("Content-Encoding", "gzip")], gzip.compress(json.dumps({"a": plain}).encode())),
        message("POST", "/br", [("Content-Type", "text/plain"), ("Content-Encoding", "br")], brotli.compress(data)),
        message("POST", "/large", [("Content-Type", "application/octet-stream")], spread(plain.encode(), LARGE)),
        message("POST", "/huge", [("Content-Type", "application/octet-stream")], spread(plain.encode(), 1 << 20), times=65, live=True),
    ]
    for number, form in enumerate(alignments(data) + alignments(data, True)):
        calls.append(message("POST", f"/base64/{number}", [("Content-Type", "application/json")], json.dumps({"a": form}).encode(), ([text], form.encode())))
    answers = [
        ([("Set-Cookie", f"sid={plain}; Path=/; HttpOnly"), ("Set-Cookie", f"other={plain}"), text], b"cookies"),
        ([("Location", f"/next?t={quoted}"), ("X-Api-Key", plain), ("X-Other", f"x{plain}"), text], b"headers"),
        ([("Content-Type", "application/json")], json.dumps({"t": fancy, "u": [plain], "n": {fancy: 1}}).encode()),
        ([("Content-Type", "application/json")], f'{{"t": "{escaped(fancy)}"}}'.encode()),
        ([("Content-Type", "application/x-www-form-urlencoded")], f"access_token={quoted}".encode()),
        ([("Content-Type", "text/html")], f"<p title='{plain}'>{plain}</p>".encode()),
        ([("Content-Type", "application/json"), ("Content-Encoding", "gzip")], gzip.compress(json.dumps({"t": plain}).encode())),
        ([("Content-Type", "text/plain"), ("Content-Encoding", "br")], brotli.compress(data)),
        ([("Content-Type", "application/json"), ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")], gzip.compress(json.dumps([plain] * 20000).encode())),
        ([text, ("Transfer-Encoding", "chunked")], spread(plain.encode(), 100_000)),
        ([text, ("Transfer-Encoding", "chunked")], spread(plain.encode(), LARGE)),
        ([("Content-Type", "application/octet-stream")], spread(data, LARGE)),
        ([("Content-Type", "application/octet-stream"), ("Transfer-Encoding", "chunked")], spread(data, HUGE)),
    ]
    return calls + [message("GET", f"/answers/{n}", [("Accept-Encoding", "gzip, br")], b"", answer) for n, answer in enumerate(answers)]


def own_rules(secret):
    """One rule of each kind, with calls that carry the secret where the rule applies."""
    form, js, text = [("Content-Type", "application/x-www-form-urlencoded")], [("Content-Type", "application/json")], [("Content-Type", "text/plain")]
    return {
        "headers": ({"headers": ["X-Session"]}, [message("GET", "/h", [("X-Session", secret)], b"", ([("x-session", secret), *text], b"ok"))]),
        "query": ({"query": ["token"]}, [
            message("GET", f"/q?a=1&Token={secret}", [("Referer", f"http://x.test/?token={secret}&b=1")], b"",
                    ([("Location", f"/n?token={secret}"), ("Content-Type", "text/html")], f"<a href='/n?a=1&amp;token={secret}'>".encode()))]),
        "json": ({"json": ["$.user.password", "$..ssn", "$.list[*][0]"]}, [
            message("POST", "/j", js, json.dumps({"user": {"password": secret}, "x": {"ssn": escaped(secret)}, "list": [[secret, 1]]}).encode().replace(b"\\\\u", b"\\u"),
                    ([*js, ("Transfer-Encoding", "chunked")], json.dumps([{"ssn": secret, "n": n} for n in range(3000)]).encode())),
            message("POST", "/j2", [("Content-Type", "application/json"), ("Content-Encoding", "gzip")], gzip.compress(json.dumps({"ssn": {"a": [secret]}}).encode()),
                    answer=([*js, ("Content-Encoding", "br")], brotli.compress(json.dumps({"ssn": secret}).encode())))]),
        "form": ({"form": ["pin"]}, [
            message("POST", "/f", form, f"a=1&pin={secret}".encode(), (form, f"PIN={secret}&b=2".encode())),
            message("POST", "/m", *multipart([("a", "1"), ("pin", secret)]))]),
        "patterns": ({"patterns": ["sk_live_[A-Za-z0-9]+"]}, [
            message("POST", f"/p/{secret}?a={secret}", [("X-Any", f"b {secret}"), *text], spread(secret.encode(), 20000), (text, spread(secret.encode(), LARGE))),
            message("POST", "/p2", js, json.dumps({"a": secret, "b": secret.replace("_", "\\u005f")}).encode().replace(b"\\\\u", b"\\u")),
            message("POST", "/p3", form, f"a=1&pin={secret.replace('_', '%5F')}".encode())]),
    }


class Backend:
    """Gives each call's response, and stores the requests."""

    def __init__(self, calls):
        self.calls = {call["target"]: call for call in calls}
        self.got = {}

    def answer(self, handler, body):
        self.got[handler.path] = (hashlib.sha256(body).hexdigest(), [value for _, value in handler.headers.items()])
        headers, content = self.calls[handler.path]["answer"]
        return 200, headers, content


def write(calls, path, live):
    kept = [{name: value for name, value in call.items() if name != "answer"} for call in calls if live or not call["live"]]
    path.write_text(json.dumps(kept))


def record(checks, title, folder, calls, forms, options):
    """Records the calls while watching every file. Returns the output."""
    backend, stop, caught = Backend(calls), threading.Event(), []
    kept = folder / "kept"
    kept.mkdir()
    write(calls, folder / "calls", True)

    def watch():
        while not stop.wait(0.2):
            caught.extend(found(kept, forms))

    watcher = threading.Thread(target=watch)
    with support.Upstream(backend.answer) as upstream:
        watcher.start()
        run = support.Run("record", kept / "c", [sys.executable, "-c", APP, folder / "calls"], {"api": upstream.url},
                          [*options, "--journal", kept / "journal.ndjson"])
        stop.set()
        watcher.join()
    if not checks.that(run.status == 0 and run.report and run.report["ok"], f"{title}: the recording succeeds", run):
        return run
    lines = [json.loads(line) for line in run.output.splitlines()]
    for call, (status, digest, headers) in zip(calls, lines):
        sent = base64.b64decode(call["body"]) * call["times"]
        expected = hashlib.sha256(call["answer"][1]).hexdigest()
        # Encoded streams are re-encoded, since URLs in them may be rewritten.
        is_anew = {"Content-Encoding", "Transfer-Encoding"} <= {name for name, _ in call["answer"][0]}
        checks.that(status == 200 and (is_anew or digest == expected), f"{title}: the app gets the real value at {call['target'][:40]}", (status, headers))
        checks.that(backend.got[call["target"]][0] == hashlib.sha256(sent).hexdigest(), f"{title}: the upstream gets the real value")
    (kept / "report.json").write_text(json.dumps(run.report))
    (kept / "words.ndjson").write_text(run.words)
    checks.that(not caught, f"{title}: no file contains the canary while recording", sorted(set(caught))[:10])
    seen = found(kept, forms)
    checks.that(not seen, f"{title}: no file contains the canary afterwards", seen[:10])
    for entry in support.har(kept / "c"):
        if "json" in entry["response"]["content"]["mimeType"]:
            body = support.content(kept / "c", entry)
            try:
                json.loads(body)
            except ValueError:
                checks.that(False, f"{title}: a redacted JSON body is JSON", body[:300])
    return run


def replay(checks, title, folder, calls, forms, options):
    write(calls, folder / "calls", False)
    run = support.Run("replay", folder / "kept" / "c", [sys.executable, "-c", APP, folder / "calls"], {}, options)
    count = sum(not call["live"] for call in calls)
    checks.that(run.status == 0 and run.report and run.report["requests"]["replayed"] == count, f"{title}: the recording replays", run)
    told = (run.words + json.dumps(run.report)).encode()
    checks.that(not any(form in told for form in forms), f"{title}: the report of the replay doesn't contain the canary", run.words)


def killed(checks, folder, plain, forms, options):
    """Kills a recording in the middle of a large body."""
    (folder / "kept").mkdir()
    calls = [message("GET", "/a", [("Authorization", f"Bearer {plain}")]), message("GET", "/endless", [("X-Any", plain)])]
    write(calls, folder / "calls", True)
    flowing = threading.Event()

    def answer(handler, body):
        if handler.path == "/a":
            return 200, [("Content-Type", "text/plain")], plain.encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "application/octet-stream")
        handler.end_headers()
        try:
            for number in range(10_000):
                handler.wfile.write(spread(plain.encode(), 50_000))
                # More than socket buffers hold.
                if number == 600:
                    flowing.set()
        except OSError:
            pass
        return 200, [], b""

    with support.Upstream(answer) as upstream:
        words = support.arguments("record", folder / "kept" / "c", [sys.executable, "-c", APP, folder / "calls"], {"api": upstream.url}, options)
        process = subprocess.Popen(words, env=support.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        flows = flowing.wait(support.PATIENCE)
        process.send_signal(signal.SIGKILL)
        process.wait()
    names = [path.name for path in (folder / "kept").rglob("*") if path.is_file()]
    checks.that(flows and any(name.startswith(".incoming") for name in names), "killed: a large body is in transit", names)
    seen = found(folder / "kept", forms)
    checks.that(not seen, "killed: no file contains the canary", seen[:10])
    recovered = support.diorama("cassette", "check", "--recover", folder / "kept" / "c")
    checks.that(recovered.returncode == 0, "killed: the recording is recovered", recovered.stderr)
    checks.that(not found(folder / "kept", forms), "killed: the recovered recording doesn't contain the canary")


def main():
    checks = support.Checks("canary")
    token = secrets.token_hex(6)
    plain, fancy = f"canary-{token}-0", f'Kanarie/+"ü {token}&%<x>'
    forms = traces(plain) | traces(fancy) | {token.encode()}
    # Has the canary's length, so that it occurs at the same places.
    another = f"sesame-{secrets.token_hex(6)}-0"
    with support.folder() as folder:
        (folder / "plain").write_text(plain)
        (folder / "fancy").write_text(fancy)
        (folder / "another").write_text(another)
        options = ["--credential", f"bank/plain=file:{folder}/plain", "--credential", f"bank/fancy=file:{folder}/fancy"]

        (folder / "known").mkdir()
        run = record(checks, "a known secret", folder / "known", everywhere(plain, fancy), forms, options)
        memory = json.loads(run.output.splitlines()[-1]) if run.output else []
        checks.say(f"65 MiB up, 65 MiB down: {int(memory[0]) >> 10 if memory else '?'} MiB peak memory")
        checks.that(memory and int(memory[0]) < 200 << 10, "memory stays flat", memory)
        replay(checks, "a known secret", folder / "known", everywhere(plain, fancy), forms, options)
        other = ["--credential", f"bank/plain=file:{folder}/another", "--credential", f"bank/fancy=file:{folder}/fancy"]
        replay(checks, "another secret", folder / "known", everywhere(another, fancy), forms, other)

        secret, second = f"sk_live_{token}", "sk_live_0"
        for name, (rules, calls) in own_rules(secret).items():
            place = folder / name
            place.mkdir()
            (place / "diorama.json").write_text(json.dumps({"redaction": rules}))
            option = ["--config", place / "diorama.json"]
            record(checks, f"own {name}", place, calls, traces(secret), option)
            replay(checks, f"own {name}", place, own_rules(secret)[name][1], traces(secret), option)
            replay(checks, f"own {name}, another secret", place, own_rules(second)[name][1] if name != "patterns" else calls, traces(secret), option)

        (folder / "killed").mkdir()
        killed(checks, folder / "killed", plain, forms, options)

        wrong = folder / "wrong.json"
        wrong.write_text('{"redaction": {"header": ["X-Session"]}}')
        refused = support.diorama("run", "--config", wrong, "--mode", "mock", "--", "true")
        checks.that(refused.returncode == 65 and "redaction.header: unknown member" in refused.stderr and len(refused.stderr.splitlines()) == 1, "an invalid rule is refused in one line", refused)
    checks.end()


if __name__ == "__main__":
    main()
