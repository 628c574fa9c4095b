"""Replays a recording of 2018 for an app with the current date: sessions have not expired, tokens verify, dates are in the
future."""

import base64
import email.utils
import gzip
import hashlib
import hmac
import json
import shutil
import subprocess
import sys
import time

import support

KEY = "a signing secret of thirty-two letters"
RECORDED = 1538989200  # 2018-10-08T09:00:00Z

# The app: keeps cookies, verifies its tokens, books the first slot in the future, and prints the results.
APP = """
import gzip, http.cookiejar, json, os, sys, time, urllib.request
base = os.environ["DIORAMA_ENDPOINT_CLINIC"]
jar = http.cookiejar.CookieJar()
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
seen = {"status": []}

def ask(path, body=None, **headers):
    data = json.dumps(body).encode() if body is not None else None
    if data: headers["Content-Type"] = "application/json"
    try:
        with opener.open(urllib.request.Request(base + path, data, headers), timeout=30) as answer:
            seen["status"].append(answer.status)
            return answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        seen["status"].append(error.code)
        return error.headers, error.read()

headers, body = ask("/login", {"user": "ann"})
login = json.loads(body)
seen["login"], seen["headers"] = login, dict(headers.items())
seen["session"] = [cookie.name for cookie in jar]
headers, body = ask("/slots", **{"Accept-Encoding": "gzip"})
seen["length"] = int(headers["Content-Length"]) == len(body)
seen["slots"] = json.loads(gzip.decompress(body))
ask("/changes?since=" + urllib.parse.quote(seen["slots"]["seen"]) + "&t=" + str(seen["slots"]["stamp"]))
ask("/book", {"slot": seen["slots"]["free"][0], "token": login["tokens"][0]})
seen["events"] = ask("/events")[1].decode()
print(json.dumps(seen))
"""


def encode(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def iso(seconds, suffix="Z"):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + suffix


def token(algorithm, sign):
    message = encode(json.dumps({"alg": algorithm}).encode()) + "." + encode(
        json.dumps({"sub": "ann", "iat": RECORDED, "exp": RECORDED + 3600}).encode())
    return message + "." + encode(sign(message.encode()))


def secret(message):
    return hmac.new(KEY.encode(), message, hashlib.sha256).digest()


class Pair:
    """A private key in a file, created by openssl."""

    def __init__(self, folder, name, *options):
        self.private, self.public = folder / f"{name}.pem", folder / f"{name}.pub"
        self.work = folder / "work"
        self.run("genpkey", "-out", self.private, *options)
        self.run("pkey", "-in", self.private, "-pubout", "-out", self.public)

    def run(self, *words, **more):
        return subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=support.PATIENCE, **more)

    def sign(self, message):
        return self.run("dgst", "-sha256", "-sign", self.private, input=message).stdout

    def verifies(self, message, signature):
        self.work.write_bytes(signature)
        words = ["openssl", "dgst", "-sha256", "-verify", self.public, "-signature", self.work]
        return subprocess.run(words, input=message, capture_output=True).returncode == 0


def der(raw):
    """Converts a signature from two concatenated numbers to ASN.1."""
    def number(part):
        part = part.lstrip(b"\0")
        part = b"\0" + part if part[:1] >= b"\x80" else part
        return b"\x02" + bytes([len(part)]) + part
    half = len(raw) // 2
    content = number(raw[:half]) + number(raw[half:])
    return b"\x30" + bytes([len(content)]) + content


def raw(signature):
    """Converts a signature from ASN.1 to two concatenated numbers."""
    first = signature[4 : 4 + signature[3]]
    second = signature[6 + signature[3] :]
    return b"".join(number.lstrip(b"\0").rjust(32, b"\0") for number in (first, second))


def backend(tokens):
    """A clinic in October 2018."""

    def answer(handler, body):
        kind = [("Content-Type", "application/json")]
        path = handler.path.split("?")[0]
        if path == "/login":
            moment = time.strftime("%a, %d-%b-%Y %H:%M:%S GMT", time.gmtime(RECORDED + 3600))
            return 200, [
                *kind, ("Set-Cookie", f"session=1; Path=/; Expires={moment}"),
                ("Last-Modified", email.utils.formatdate(RECORDED, usegmt=True)), ("X-Expires", str(RECORDED + 3600)),
            ], json.dumps({"tokens": tokens, "expires_at": RECORDED + 3600, "at_ms": RECORDED * 1000 + 250,
                           "born": "1980-05-04T00:00:00Z"}).encode()
        if path == "/slots":
            free = [iso(RECORDED + 86400 * n, ".500+00:00") for n in range(1, 400)]
            content = json.dumps({"seen": iso(RECORDED), "stamp": RECORDED, "day": iso(RECORDED)[:10], "free": free})
            return 200, [*kind, ("Content-Encoding", "gzip")], gzip.compress(content.encode())
        if path == "/events":
            content = "".join(f'data: {{"at": "{iso(RECORDED + n)}", "exp": {RECORDED + n}}}\n\n' for n in range(1000))
            return 200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")], content.encode()
        return 200, kind, b'{"ok": true}'

    return answer


def main():
    checks = support.Checks("shifting")
    with support.folder() as folder:
        pairs = {}
        tokens = [token("HS256", secret)]
        if shutil.which("openssl"):
            pairs["RS256"] = Pair(folder, "rsa", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
            pairs["ES256"] = Pair(folder, "ec", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
            tokens.append(token("RS256", pairs["RS256"].sign))
            tokens.append(token("ES256", lambda message: raw(pairs["ES256"].sign(message))))
        else:
            checks.say("no openssl: only HS256 is tested")
        cassette = folder / "clinic"
        app = [sys.executable, "-c", APP]
        with support.Upstream(backend(tokens)) as upstream:
            recording = support.Run("record", cassette, app, {"clinic": upstream.url}, ["--start", iso(RECORDED)])
            checks.that(recording.status == 0, "the app runs while it is recorded", recording)
            port = upstream.port
        before = support.snapshot(folder)

        plain = support.Run("replay", cassette, app)
        if not checks.that(plain.status == 0, "it replays without moving dates", plain):
            checks.end()
        seen = json.loads(plain.output)
        checks.that(seen["session"] == [], "without moving dates, the session has expired", seen["session"])

        (folder / "diorama.json").write_text(json.dumps({"dates": {
            "epochSeconds": ["$.expires_at", "$.stamp", "$.exp", "header:X-Expires", "query:t"],
            "epochMilliseconds": ["$.at_ms"], "dates": ["$.day"], "keep": ["$.born"],
            "jwt": [{"text": KEY}] + [{"key": f"file:{pair.private.name}"} for pair in pairs.values()]}}))
        started = time.time()
        with support.Watch(port) as watch:
            run = support.Run("replay", cassette, app, options=["--shift-dates", "--unused", "fail"], cwd=folder)
        checks.that(run.status == 0, "with moved dates, all requests match", run)
        checks.that(watch.count == 0, "no connection to the upstream is attempted")
        seen = json.loads(run.output)
        moved = round((seen["login"]["at_ms"] - 250) / 1000) - RECORDED
        now = RECORDED + moved
        checks.that(started - 2 <= now <= time.time() + 1, "the recorded present becomes the current time", now)
        checks.that(seen["status"] == [200] * 5, "each request gets a response", seen["status"])
        checks.that(seen["session"] == ["session"], "the cookie has not expired", seen["session"])
        checks.that(seen["login"]["expires_at"] == now + 3600, "declared epoch seconds are moved", seen["login"])
        checks.that(seen["login"]["born"] == "1980-05-04T00:00:00Z", "excluded dates are unchanged")
        checks.that(seen["headers"]["Last-Modified"] == email.utils.formatdate(now, usegmt=True), "HTTP dates", seen["headers"])
        checks.that(seen["headers"]["X-Expires"] == str(now + 3600), "declared headers", seen["headers"])
        slots = seen["slots"]
        checks.that(seen["length"], "the length of a compressed body is correct")
        checks.that(slots["free"][0] == iso(now + 86400, ".500+00:00"), "ISO dates in a compressed body are moved", slots["free"][0])
        checks.that(len(slots["free"]) == 399 and slots["free"][398] == iso(now + 86400 * 399, ".500+00:00"), "the last ISO date of a long body is moved")
        checks.that(slots["day"] in (iso(now)[:10], time.strftime("%Y-%m-%d", time.localtime(now))), "days", slots["day"])
        events = [json.loads(line[6:]) for line in seen["events"].split("\n") if line]
        checks.that(
            events == [{"at": iso(now + n), "exp": now + n} for n in range(1000)], "dates in each event of a stream are moved", events[:2])

        for text, algorithm in zip(seen["login"]["tokens"], ["HS256", "RS256", "ES256"]):
            head, claims, signature = text.split(".")
            message = f"{head}.{claims}".encode()
            checks.that(json.loads(decode(claims)) == {"sub": "ann", "iat": now, "exp": now + 3600}, f"{algorithm}: claims", text)
            if algorithm == "HS256":
                holds = hmac.compare_digest(secret(message), decode(signature))
            else:
                signature = decode(signature)
                holds = pairs[algorithm].verifies(message, der(signature) if algorithm == "ES256" else signature)
            checks.that(holds, f"{algorithm}: the signature is valid", text)

        after = support.snapshot(folder)
        changed = [name for name in before if name != "work" and before[name] != after.get(name)]
        checks.that(not changed, "the recording is unchanged", changed)
    checks.end()


if __name__ == "__main__":
    main()
