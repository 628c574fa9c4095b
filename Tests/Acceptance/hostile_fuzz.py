"""Mutates cassettes and the project file beside them as an attacker would: bytes, JSON values, settings, names of side
files, URLs, headers, sizes; links, FIFOs, folders and permissions in the folder. Then replays, checks, shows, compares,
exports, imports and extends each cassette under strace.

No command opens or changes a file outside, connects to anything but loopback, or prints the content of a canary. Every
command ends by itself within its time and memory limits.

    hostile_fuzz.py [--seconds N] [--seed N] [--trial N]

--trial repeats one trial of a seed.
"""

import argparse
import base64
import gzip
import hashlib
import http.client
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import threading
import time
import urllib.parse

import support

SECRET = "canary-6b1f9f60-of-nobody"
TIMEOUT = 90  # seconds for one command of a debug build under strace
MEMORY = 700 << 10  # KiB of one process
# Folders of libraries, and files that every process reads. Devices are only opened to be refused, since reading
# /dev/zero would exceed the limits.
SYSTEM = ("/dev/zero", "/usr/", "/lib", "/proc/", "/sys/", "/dev/null", "/dev/tty", "/dev/urandom", "/dev/random", "pipe:", "socket:", "anon_inode:")
LARGE = b"0123456789abcdef" * 25_000


def answer(handler, body):
    path = urllib.parse.urlsplit(handler.path).path
    if path == "/large":
        return 200, [("Content-Type", "application/octet-stream")], LARGE
    if path == "/gzip":
        return 200, [("Content-Type", "application/json"), ("Content-Encoding", "gzip")], gzip.compress(b'{"a": [1, 2, 3]}' * 100)
    if path == "/chunked":
        return 200, [("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")], b"in pieces " * 2000
    if path == "/moved":
        return 302, [("Location", "/json"), ("Set-Cookie", "sid=1; Path=/")], b""
    return 200, [("Content-Type", "application/json")], json.dumps({"path": handler.path, "sent": len(body)}).encode()


REQUESTS = [("GET", "/json?x=1", b""), ("GET", "/large", b""), ("GET", "/gzip", b""), ("GET", "/chunked", b""), ("GET", "/moved", b""),
            ("POST", "/json", b'{"name": "x"}'), ("PUT", "/upload", LARGE)]
PROJECT = {"cassettes": ".", "matching": {"rules": [{"path": "/json", "ignore": {"query": ["y"], "json": ["$.at"]}}]},
           "redaction": {"json": ["$..token"], "patterns": ["sk_[a-z]+"]}, "dates": {"epochSeconds": ["$.expires_at"], "keep": ["$.born"]},
           "overrides": [{"cassettes": "thei*", "matching": {"order": "free"}, "toggles": {"some": True}}]}
ASK = """
import http.client, json, os, sys
host = os.environ["DIORAMA_ENDPOINT_API"].split("//")[1]
for method, target in json.loads(sys.argv[1]):
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request(method, target, open(sys.argv[2], "rb").read() if method == "PUT" else b'{"name": "x"}' if method == "POST" else None)
    connection.getresponse().read()
"""


def build(place, upstream):
    """A folder with a cassette of Diorama and one of Playwright, with side files."""
    good = place / "good"
    good.mkdir()
    (place / "large").write_bytes(LARGE)
    calls = json.dumps([[method, target] for method, target, _ in REQUESTS])
    run = support.Run("record", good / "ours", [support.sys.executable, "-c", ASK, calls, place / "large"], {"api": upstream.url})
    if run.status:
        support.sys.exit(f"the recording failed: {run}")
    entries = []
    for number, body in enumerate([b"first body", b'{"second": 2}', b"third " * 60_000]):
        kind = ["text/plain", "application/json", "image/png"][number]
        name = hashlib.sha1(body).hexdigest() + [".txt", ".json", ".png"][number]
        (good / name).write_bytes(body)
        entries.append({
            "startedDateTime": f"2018-10-08T09:00:0{number}.000Z", "time": 1.5, "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0},
            "request": {"method": "GET", "url": f"{upstream.url}/side/{number}", "httpVersion": "HTTP/2.0", "cookies": [], "headers": [],
                        "queryString": [], "headersSize": -1, "bodySize": 0},
            "response": {"status": 200, "statusText": "", "httpVersion": "HTTP/2.0", "cookies": [], "headersSize": -1, "bodySize": -1,
                         "headers": [{"name": "content-type", "value": kind}], "redirectURL": "",
                         "content": {"size": len(body), "mimeType": kind, "_file": name}}})
    har = {"log": {"version": "1.2", "creator": {"name": "Playwright", "version": "1.40.0"}, "pages": [], "entries": entries}}
    (good / "theirs.har").write_text(json.dumps(har, indent=1))
    (good / "diorama.json").write_text(json.dumps(PROJECT))
    bomb = base64.b64encode(gzip.compress(b"\0" * (80 << 20))).decode()
    (good / "recording.yml").write_text(
        f"http_interactions:\n- request: {{method: get, uri: {upstream.url}/bomb, headers: {{}}}}\n"
        f"  response: {{status: {{code: 200, message: OK}}, headers: {{Content-Encoding: gzip}}, body: {{base64_string: {bomb}}}}}\n")
    return good


def load(path):
    """The JSON of a file, unless the file has become a FIFO, a device or huge."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > 64 << 20:
        raise ValueError(path)
    return json.loads(path.read_text())


def limit():
    """Limits file sizes, so that an unlimited bomb fails before the disk is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (400 << 20, 400 << 20))


class Trial:
    """A set of edits in a copy of the folder, and their effects."""

    def __init__(self, checks, place, good, upstream, name, chance, allowed):
        self.checks, self.place, self.upstream, self.name, self.chance = checks, place, upstream, name, chance
        self.allowed = allowed
        self.edits = []
        self.answers = 0
        self.root = place / "work"
        self.unlock()
        shutil.rmtree(self.root, ignore_errors=True)
        self.folder = self.root / "tests" / "cassettes"
        shutil.copytree(good, self.folder)
        self.tmp = self.root / "tmp"
        self.tmp.mkdir()
        self.out = self.root / "out"
        self.out.mkdir()
        # Above the cassette, beside it, and in a folder that resembles one with bodies.
        bodies = "outside/" + "0" * 64 + ".bin"
        self.canaries = [self.root / "secret", self.root / "tests/.env", self.folder / "secret.txt", self.folder / ".env",
                         self.root / "outside/canary", self.root / bodies]
        (self.root / "outside").mkdir()
        for number, path in enumerate(self.canaries):
            path.write_text(f"{SECRET} {number}\n")

    def unlock(self):
        """Makes folders readable again."""
        for parent, names, _ in os.walk(self.root):
            for name in names:
                path = os.path.join(parent, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)

    # Edits

    def targets(self):
        return [*map(str, self.canaries), "../../secret", "../../../secret", "/etc/passwd", "../.env", ".env", str(self.root / "outside"), "/etc",
                "/proc/self/environ", "/dev/zero", "..", "."]

    def har(self):
        return self.folder / self.chance.choice(["ours.har", "theirs.har"])

    def note(self, what):
        self.edits.append(what)

    def edit_bytes(self):
        files = [f for f in self.folder.rglob("*") if f.is_file() and not f.is_symlink() and f not in self.canaries and 0 < f.stat().st_size < 64 << 20]
        if not files:
            return
        file = self.chance.choice(files)
        data = bytearray(file.read_bytes())
        for _ in range(self.chance.choice([1, 3, 30])):
            at = self.chance.randrange(len(data) or 1)
            kind = self.chance.randrange(3)
            if kind == 0:
                data[at:at + 1] = bytes([self.chance.randrange(256)])
            elif kind == 1:
                del data[at:at + self.chance.choice([1, 10, 1000])]
            else:
                data[at:at] = self.chance.choice([b"\0", b"\x1b[2J", b"\r\n", b'"', b"{}", b"[" * 2000, b"\xff\xfe"])
            if not data:
                break
        file.write_bytes(data)
        self.note(f"bytes of {file.name}")

    def edit_json(self):
        file = self.har()
        try:
            document = load(file)
        except (OSError, ValueError):
            return
        for _ in range(self.chance.choice([1, 2, 5])):
            places = []

            def walk(value, path):
                for key in (value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
                    places.append((value, key, path + [str(key)]))
                    walk(value[key], path + [str(key)])

            walk(document, [])
            if not places:
                break
            wanted = self.chance.choice(["_file", "url", "value", "name", "size", "encoding", "text", "bodySize", None, None, None])
            holder, key, path = self.chance.choice([p for p in places if p[1] == wanted] or places)
            holder[key] = self.value(key)
            self.note(f"{file.name}: {'.'.join(path)} = {str(holder[key])[:80]!r}")
        file.write_text(json.dumps(document))

    def value(self, key):
        chance = self.chance
        if key == "_file":
            name = chance.choice(["ours.bodies", "theirs.bodies", "..", ".", "ours.bodies/..", "secret.txt", "other.bodies"])
            return chance.choice([*self.targets(), f"{name}/canary", f"{name}/{'0' * 64}.bin", "ours.bodies/../secret.txt", "%2e%2e/secret",
                                  "ours.bodies//x", "a" * 5000, "0" * 40 + ".txt", "ours.bodies/\0", "ours.bodies", "", 7, "/proc/self/environ"])
        if key == "url":
            return chance.choice(["http://192.0.2.1/x", "http://canary.invalid/", "http://[2001:db8::1]:81/", "file:///etc/passwd", "http://127.0.0.1:1/",
                                  self.upstream.url + "/../" * 50, "https://user:pass@192.0.2.1/", "http://", "a" * 70_000, f"{self.upstream.url}/\x1b]0;x\x07"])
        if key in ("value", "name"):
            return chance.choice(["gzip", "br, gzip", "chunked", "a\r\nX: y", "\0", "x" * 100_000, "-1", "99999999999999999999", "http://192.0.2.1/"])
        if key in ("size", "bodySize"):
            return chance.choice([0, -1, 1, 25, 1 << 40, 1 << 63, -(1 << 63), 1e308, "7", None])
        if key == "encoding":
            return chance.choice(["base64", "gzip", "", "x" * 1000, None])
        return chance.choice([None, True, -1, 0, 1 << 62, 1e300, "", "x" * 1000, [], {}, [[[]]], {"_file": "/etc/passwd"}, "192.0.2.1",
                              "http://192.0.2.1", "\u0000", "\ufffd"])

    def edit_text(self):
        """A body whose text decodes to far more than its size."""
        file = self.har()
        try:
            document = load(file)
            entry = self.chance.choice(document["log"]["entries"])
            coding = gzip.compress(b" " * (90 << 20))
            side = self.chance.choice(["request", "response"])
            body = {"mimeType": "text/plain", "text": base64.b64encode(coding).decode(), "encoding": "base64", "size": len(coding)}
            entry[side]["content" if side == "response" else "postData"] = body
            entry[side]["headers"] = [{"name": "Content-Encoding", "value": "gzip"}]
            if side == "request":
                entry["request"]["method"] = "POST"
        except (OSError, ValueError, LookupError, TypeError):
            return
        file.write_text(json.dumps(document))
        self.note(f"{file.name}: a bomb in a {side}")

    def edit_place(self):
        """Replaces a file by something else, or adds one."""
        chance = self.chance
        bodies = self.folder / "ours.bodies"
        inside = sorted(bodies.iterdir()) if bodies.is_dir() and not bodies.is_symlink() else []
        sides = [p for p in self.folder.iterdir() if re.fullmatch(r"[0-9a-f]{40}\.\w+", p.name)]
        strict = [*inside, *inside, *sides, bodies, bodies, self.folder / "ours.har.partial", self.folder / "ours.strings.json",
                  self.folder / "ours.har.new", self.folder / "ours.strings.json.new", self.folder / "ours.strings.json.before"]
        # Links in place of cassettes and the project file are the user's choice, so they must not lead to canaries here.
        lax = [self.folder / name for name in ("ours.har", "theirs.har", "diorama.json", "diorama.json", "ours.rules.json")]
        path = chance.choice(strict * 3 + lax)
        kind = chance.choice(["link", "link", "link", "fifo", "folder", "hard", "mode", "gone", "socket", "holes"])
        if kind == "mode":
            if path.exists() and not path.is_symlink():
                path.chmod(chance.choice([0, 0o200, 0o4777, 0o111]))
                self.note(f"mode of {path.name}")
            return
        try:
            if path.is_dir() and not path.is_symlink():
                path.rename(self.folder / f"moved-{chance.randrange(1000)}")
            else:
                path.unlink(missing_ok=True)
            if kind == "link":
                target = chance.choice(self.targets()) if path in strict else chance.choice(
                    ["theirs.har", "ours.har", "ours.har", path.name, "/dev/zero", "/dev/null", "nowhere", "."])
                os.symlink(target, path)
                self.note(f"{path.name} -> {target}")
                return
            if kind == "fifo":
                os.mkfifo(path)
            elif kind == "folder":
                path.mkdir()
            elif kind == "hard":
                os.link(self.folder / "theirs.har", path)
            elif kind == "socket":
                os.mknod(path, stat.S_IFSOCK | 0o600)
            elif kind == "holes":
                path.write_bytes(b"")
                # A side file is read to its end, however long that takes.
                os.truncate(path, 1 << (20 if path in inside or path in sides else self.chance.choice([20, 30, 35, 42])))
            self.note(f"{path.name}: {kind}")
        except OSError:
            pass

    def edit_project(self):
        """Replaces settings by others, by values of another kind, and by what is too long or too deep. None names a canary or
        another host, since a project file may.
        """
        chance = self.chance
        some = [{"rules": [{"ignore": {"query": ["x"], "pattern": ["(a+)+$"]}}]}, {"rules": [{}] * 1001}, {"json": ["$..a"]}, {"patterns": ["(a+)+$", "["]},
                {"dates": ["$.day"]}, {"jwt": [{"key": "file:/dev/zero"}]}, {"jwt": [{"key": "env:\x1b[2J"}]}, [{"cassettes": "**", "matching": {"order": "strict"}}],
                [{"cassettes": "[" * 4000}] * 5, [{"cassettes": "*" * 4000, "redaction": {"json": ["$" + "..a" * 1000]}}],
                [{"service": "s", "account": "a", "from": "file:nowhere"}], {"api": self.upstream.url}, {"api": {"variable": "PATH"}}, {"api": {"ca": "theirs.har"}},
                {"kind": "manual"}, {"kind": "scaled", "rate": 1e308}, {"expiresAfterDays": 1}, {f"k{number}": number for number in range(20_000)},
                None, True, 0, -1, 1 << 63, "", ".", "..", "x" * 5000, "\x1b]0;x\x07", [], {}, [[[]]], ["a"] * 100, ["*"]]
        names = ["matching", "redaction", "dates", "overrides", "overrides", "cassettes", "upstreams", "credentials", "clock", "seed", "toggles", "policies",
                 "allowedHosts", "decodedLimit", "streams", "mode", "cassette", "name", "$schema", "rules", "\x1b[2J"]
        settings = dict(PROJECT)
        for _ in range(chance.choice([1, 2, 5])):
            settings[chance.choice(names)] = chance.choice(some)
        deep = chance.choice(['{"toggles":', '{"overrides":[', "["]) * 100_000
        text = chance.choice([json.dumps(settings)] * 8 + ["", "[", "null", deep, '{"matching": {}, "matching": {}}', json.dumps(settings)[:-1], " " * (17 << 20) + "{}"])
        name = chance.choice(["diorama.json"] * 9 + ["ours.rules.json", "redact.json", "shift.json"])
        (self.folder / name).unlink(missing_ok=True)
        (self.folder / name).write_text(text)
        self.note(f"{name} = {text[:300]}")

    def mutate(self):
        kinds = [self.edit_bytes, self.edit_json, self.edit_json, self.edit_json, self.edit_place, self.edit_place, self.edit_place, self.edit_text,
                 self.edit_project]
        for _ in range(self.chance.choice([1, 1, 2, 3, 4])):
            self.edit(self.chance.choice(kinds))
        # An unreferenced link isn't an attack.
        if self.chance.random() < 0.4:
            self.edit(self.edit_link)

    def edit(self, kind):
        try:
            kind()
        except OSError:
            pass  # an earlier edit created a folder or a device

    def edit_link(self):
        """A side file with a valid name that is a link."""
        file = self.har()
        bodies = self.folder / f"{file.stem}.bodies"
        target = self.chance.choice(self.targets())
        try:
            document = load(file)
            content = self.chance.choice(document["log"]["entries"])["response"]["content"]
            # A link in place of the folder leads to a file there; a link in the folder leads to a file.
            isFolder = self.chance.random() < 0.3
            if isFolder:
                if bodies.is_dir() and not bodies.is_symlink():
                    shutil.rmtree(bodies)
                bodies.unlink(missing_ok=True)
                os.symlink(self.chance.choice(["../../outside", "/etc", str(self.root / "outside")]), bodies)
                name = self.chance.choice(["canary", "passwd", "0" * 64 + ".bin"])
            elif self.chance.random() < 0.3:
                # A folder among the bodies that is a link. Swift doesn't see a slash before these combining marks, but
                # the kernel does.
                folder = self.chance.choice(["deep", "deep\u0600", "deep\u0d4e"])
                (bodies / folder).parent.mkdir(exist_ok=True)
                os.symlink(self.chance.choice(["../../outside", "/etc", str(self.root / "outside")]), bodies / folder)
                name = f"{folder}/{self.chance.choice(['canary', 'passwd', chr(0x301) + 'canary'])}"
            else:
                bodies.mkdir(exist_ok=True)
                name = self.chance.choice(["canary", "0" * 64 + ".bin"])
                os.symlink(target, bodies / name)
            content.pop("text", None)
            content.pop("encoding", None)
            content["_file"] = f"{bodies.name}/{name}"
            content["size"] = self.chance.choice([0, len(SECRET) + 3, 10])
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return
        file.write_text(json.dumps(document))
        self.note(f"{file.name}: {content['_file']} is {'in a folder that is ' if isFolder else ''}a link")

    # Commands

    def commands(self):
        diorama, chance = support.binary("diorama"), self.chance
        which = chance.choice(["ours", "theirs"])
        cassette, other = self.folder / which, self.folder / ("theirs" if which == "ours" else "ours")
        run = [diorama, "run", "--cassette", str(cassette), "--timeout", "40", "--mode"]
        wait = ["--", "/bin/sh", "-c", 'env >"$0/env"; cat "$0/go"', str(self.out)]
        source = chance.choice([pathlib.Path(f"{cassette}.har"), self.folder / "recording.yml"])
        if source.is_fifo():  # an import waits for a writer until a signal ends it
            source = self.folder / "recording.yml"
        some = [
            [diorama, "cassette", "check", str(cassette)],
            [diorama, "cassette", "check", str(cassette), "--recover"],
            [diorama, "cassette", "show", "--json", str(cassette)],
            [diorama, "cassette", "diff", str(cassette), str(other)],
            [diorama, "cassette", "export", str(cassette), "--as", chance.choice(["har", "wiremock"]), "--to", str(self.out / "export")],
            [diorama, "cassette", "import", str(source), "--to", str(self.out / "imported")],
        ]
        extend = run + ["extend", "--upstream", f"{'api' if which == 'ours' else '127.0.0.1'}={self.upstream.url}", *wait]
        return [(run + ["replay", *wait], True), *((words, False) for words in chance.sample(some, 3)), (extend, True)]

    def targets_of(self, har):
        """Methods and targets that a cassette may answer."""
        asked = [(method, target, body) for method, target, body in REQUESTS] + [("GET", f"/side/{number}", b"") for number in range(3)]
        try:
            for entry in load(har)["log"]["entries"][:30]:
                url = urllib.parse.urlsplit(entry["request"]["url"])
                asked.append((str(entry["request"]["method"]), (url.path or "/") + (f"?{url.query}" if url.query else ""), b""))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            pass
        return asked

    def ask(self, har, go):
        """Requests everything recorded, and searches the responses for canaries."""
        try:
            environment = (self.out / "env").read_text(errors="replace")
            for port in sorted(set(re.findall(r"DIORAMA_ENDPOINT_\w+=http://127\.0\.0\.1:(\d+)", environment))):
                for method, target, body in self.targets_of(har):
                    if re.search(r"[^!-~]", target) or not re.fullmatch(r"[A-Z]{1,10}", method) or len(target) > 5000:
                        continue
                    try:
                        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
                        connection.request(method, target, body or None, {"Accept-Encoding": "gzip"})
                        answer = connection.getresponse()
                        data, answered = b"", str(answer.getheaders())
                        while piece := answer.read(1 << 16):
                            data += piece
                            if len(data) > 8 << 20:
                                break
                        self.answers += answer.status == 200
                        self.clean(data, f"the response to {method} {target[:80]}")
                        self.clean(answered.encode(), f"the headers of {method} {target[:80]}")
                    except (OSError, http.client.HTTPException, ValueError):
                        pass  # refused or truncated; both are allowed
                    finally:
                        connection.close()
        finally:
            os.close(go)

    def clean(self, data, what):
        found = SECRET.encode() in data or b"root:x:0:0" in data
        return self.checks.that(not found, f"{self.name}: no canary in {what}", f"{self.edits}; {data[:200]}")

    def run(self, words, isServed):
        trace = self.root / "trace"
        trace.unlink(missing_ok=True)
        go = self.out / "go"
        for path in (go, self.out / "env"):
            path.unlink(missing_ok=True)
        os.mkfifo(go)
        strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "300", "-e", "trace=%file,%network", "-o", str(trace), *words]
        variables = dict(support.environment(), TMPDIR=str(self.tmp), HOME=str(self.root / "home"))
        with open(self.root / "stdout", "w+b") as output, open(self.root / "stderr", "w+b") as errors:
            child = subprocess.Popen(
                strace, cwd=self.folder, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True,
                preexec_fn=limit)
            late = threading.Timer(TIMEOUT, lambda: os.killpg(child.pid, signal.SIGKILL))
            late.start()
            if isServed:
                self.serve(child, go, pathlib.Path(words[words.index("--cassette") + 1] + ".har"))
            _, status, usage = os.wait4(child.pid, 0)
            isLate = not late.is_alive()
            late.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            errors.seek(0)
            said = output.read() + errors.read()
        what = f"{self.name}: {' '.join(words[1:4])}"
        seen = f"{self.edits}; {said[-600:].decode(errors='replace')}"
        self.checks.that(not isLate, f"{what} ends", seen)
        self.checks.that(child.returncode >= 0 and child.returncode not in range(129, 160), f"{what} is not killed by a signal: {child.returncode}", seen)
        if words[1:3] == ["cassette", "check"] and "--recover" not in words:
            self.checks.that(child.returncode in (0, 64, 65, 66, 74), f"{what} ends with a documented status: {child.returncode}", seen)
        self.checks.that(usage.ru_maxrss < MEMORY, f"{what} uses {usage.ru_maxrss >> 10} MiB of memory", seen)
        self.clean(said, f"what {' '.join(words[1:3])} says")
        self.look(trace, what)
        if self.name == "untouched":
            self.checks.that(child.returncode in (0, 1, 3), f"{what} works: {child.returncode}", seen)

    def serve(self, child, go, har):
        """Waits until the command inside is running, sends requests, and lets it end."""
        while True:
            ended = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            try:
                # Fails until the reader has opened the FIFO.
                writer = os.open(go, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                if ended:
                    return
                time.sleep(0.01)
                continue
            self.ask(har, writer)
            return

    def look(self, trace, what):
        """Checks which files were opened, and which addresses were connected to."""
        opened, dialled, killed = set(), set(), set()
        for line in trace.read_text(errors="replace").splitlines():
            if match := re.search(r"\b(?:open|openat|openat2|creat)\(.* = \d+<([^>]*)>", line):
                opened.add(match[1])
            if re.search(r"\b(?:connect|sendto|sendmsg|sendmmsg)\(", line):
                dialled.update(re.findall(r'inet_addr\("([^"]+)"\)', line) + re.findall(r'inet_pton\(AF_INET6, "([^"]+)"', line))
            if match := re.search(r"\+\+\+ killed by (SIG(?!KILL|TERM|PIPE)\w+)", line):
                killed.add(match[1])
        canaries = {str(path.resolve()) for path in self.canaries}
        inside = [str(self.folder.resolve()), str(self.tmp.resolve()), str(self.out.resolve())]
        strange = []
        for path in opened:
            plain = path.removesuffix(" (deleted)")
            isInside = any(plain == folder or plain.startswith(folder + "/") for folder in inside)
            if plain in canaries or not (isInside or plain.startswith(SYSTEM) or plain in self.allowed):
                strange.append(plain)
        if self.allowed is not None and self.name != "untouched":
            self.checks.that(not strange, f"{what} opens nothing outside", f"{self.edits}; {strange}")
        else:
            self.strange = getattr(self, "strange", set()) | set(strange)
        outside = [address for address in dialled if not address.startswith("127.") and address not in ("::1",)]
        self.checks.that(not outside, f"{what} connects to loopback only", f"{self.edits}; {outside}")
        self.checks.that(not killed, f"{what} does not crash: {killed}", self.edits)

    def run_all(self):
        for words, isServed in self.commands():
            self.run(words, isServed)
        self.unlock()
        for number, path in enumerate(self.canaries):
            isWhole = path.is_file() and not path.is_symlink() and path.read_text() == f"{SECRET} {number}\n"
            self.checks.that(isWhole, f"{self.name}: {path.relative_to(self.root)} is unchanged", self.edits)
        listed = sorted(os.listdir(self.root / "outside"))
        self.checks.that(listed == ["0" * 64 + ".bin", "canary"], f"{self.name}: nothing is created or removed outside", f"{self.edits}; {listed}")
        for path in [*self.out.rglob("*"), *self.folder.rglob("*")]:
            if path.is_file() and not path.is_symlink() and path not in self.canaries and path.stat().st_size < 64 << 20:
                path.chmod(0o600)
                self.clean(path.read_bytes(), f"{path.relative_to(self.root)} afterwards")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--trial", type=int)
    options = parser.parse_args()
    checks = support.Checks("hostile_fuzz")
    checks.say(f"seed {options.seed}")
    commands = 0
    with support.folder() as place, support.Upstream(answer) as upstream:
        good = build(place, upstream)
        # Files that a process opens in addition to libraries are learned from unedited cassettes.
        allowed = set()
        for number in range(3):
            plain = Trial(checks, place, good, upstream, "untouched", random.Random(number), allowed)
            plain.run_all()
            checks.that(plain.answers > 5, f"the client gets responses: {plain.answers}")
            allowed |= {path for path in plain.strange if SECRET not in path and not path.startswith(str(place))}
        allowed.add(support.binary("diorama"))
        checks.say(f"opened without edits, in addition to libraries: {sorted(allowed)}")
        started, number = time.monotonic(), options.trial or 0
        while options.trial == number or options.trial is None and time.monotonic() - started < options.seconds:
            chance = random.Random(f"{options.seed}/{number}")
            trial = Trial(checks, place, good, upstream, f"trial {number} of seed {options.seed}", chance, allowed)
            trial.mutate()
            before = checks.broken
            trial.run_all()
            commands += 5
            if checks.broken > before:
                checks.say(f"trial {number}: {trial.edits}")
            number += 1
        checks.say(f"{number - (options.trial or 0)} edited cassettes, {commands} commands under strace")
    checks.end()


main()
