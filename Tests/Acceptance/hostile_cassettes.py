"""Attacks by hostile cassettes, such as a pull request that CI replays: reading and overwriting files, stealing secrets,
filling memory and disk, controlling the terminal. Each function is a part of hostile.py."""

import base64
import contextlib
import ctypes
import ctypes.util
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import tempfile
import threading
import time
import zlib

import daemon
import support
import victim

CORPUS = support.HERE / "Hostile" / "cassettes"
MARK = "CONTENT-OF-ANOTHER-FILE"
SIZE = 54_321  # the size of the protected file, which no output may reveal
FETCH = 'for url in $(env | grep ^DIORAMA_ENDPOINT | cut -d= -f2); do curl -s -m 20 "$url/x"; curl -s -m 20 -d "" "$url/x"; done'


class Bounded:
    """A command that may hang: its complete output, its status (None if it had to be killed), and its peak memory."""

    def __init__(self, words, seconds=12, memory=3 << 30, variables=None, folder=None):
        with tempfile.TemporaryFile() as output:
            prefix = ["prlimit", f"--as={memory}", "--"] if memory else []
            self.process = subprocess.Popen(
                [*prefix, *map(str, words)], env=dict(support.environment(), **(variables or {})), stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True, cwd=folder,
            )
            self.peak, self.heeds, until = 0, True, time.monotonic() + seconds
            pid, self.status = 0, None
            while not pid and time.monotonic() < until:
                pid, ended, usage = os.wait4(self.process.pid, os.WNOHANG)
                time.sleep(0 if pid else 0.01)
            if not pid:  # it hangs; check SIGTERM
                os.kill(self.process.pid, signal.SIGTERM)
                until = time.monotonic() + 3
                while not pid and time.monotonic() < until:
                    pid, ended, usage = os.wait4(self.process.pid, os.WNOHANG)
                    time.sleep(0 if pid else 0.01)
                self.heeds, self.hung = bool(pid), True
                with contextlib.suppress(OSError):
                    os.killpg(self.process.pid, signal.SIGKILL)
                if not pid:
                    pid, ended, usage = os.wait4(self.process.pid, 0)
            else:
                self.hung, self.status = False, os.waitstatus_to_exitcode(ended)
            self.process.returncode = 0  # already waited for
            self.peak = usage.ru_maxrss * 1024
            output.seek(0)
            self.output = output.read(8 << 20)

    def __str__(self):
        end = "hung" + ("" if self.heeds else ", and ignored SIGTERM") if self.hung else f"status {self.status}"
        return f"{end}, {self.peak >> 20} MB, it said: {self.output[:300].decode(errors='backslashreplace')}"


def run(*words, **more):
    return Bounded([support.binary("diorama"), *words], **more)


def replay(cassette, *options, mode="replay", quiet=False, **more):
    """A run whose command requests each endpoint, and prints or discards the responses."""
    return run("run", "--mode", mode, "--cassette", cassette, *options, "--", "sh", "-c", FETCH + (" > /dev/null" if quiet else ""), **more)


def place_secrets(folder):
    """Creates the protected files beside the cassette, above it and elsewhere."""
    secret = (MARK + "\n").encode() * 10
    secret += b"." * (SIZE - len(secret))
    (folder / "outside").mkdir()
    (folder / "cassettes" / ".git").mkdir(parents=True)
    (folder / "cassettes" / "other.bodies").mkdir()
    (folder / "cassettes" / "NAME.bodies" / "sub").mkdir(parents=True)
    places = [folder / "secret.txt", folder / "outside" / "secret.txt"]
    places += [folder / "cassettes" / name for name in ("secret.txt", ".env", ".git/config", "other.bodies/secret.txt", "NAME.bodies/sub/secret.txt")]
    for place in places:
        place.write_bytes(secret)
    return secret


def tells(output, sizes=True):
    """Returns what an output reveals of the protected files: their bytes in some form, or their size."""
    forms = {
        "the content": MARK.encode(), "the content in base64": base64.b64encode(MARK.encode())[:-4],
        "a line of /etc/passwd": b"root:x:0:0", "the environment": b"DIORAMA_BIN=",
    }
    if sizes:  # unless the cassette itself contains it
        forms.update({"its size": b"%d" % SIZE, "its size, grouped": b"54,321"})
    return [form for form, text in forms.items() if text in output]


COMMANDS = {
    "run --mode replay": lambda path, out: replay(path),
    "cassette check": lambda path, out: run("cassette", "check", path),
    "cassette show": lambda path, out: run("cassette", "show", path),
    "cassette diff": lambda path, out: run("cassette", "diff", "--values", path, out / "honest"),
    "cassette diff, the other way": lambda path, out: run("cassette", "diff", "--values", out / "honest", path),
    "cassette export --as har": lambda path, out: run("cassette", "export", path, "--to", out / "exported.har", "--as", "har"),
    "cassette export --as wiremock": lambda path, out: run("cassette", "export", path, "--to", out / "mock", "--as", "wiremock"),
    "cassette import": lambda path, out: run("cassette", "import", f"{path}.har", "--to", out / "imported"),
}
MORE = dict(COMMANDS, **{
    "cassette show --json": lambda path, out: run("cassette", "show", "--json", path),
    "run --mode extend": lambda path, out: replay(path, "--upstream", "api=http://127.0.0.1:1", mode="extend"),
    "cassette prune": lambda path, out: run("cassette", "prune", path, "--report", prepared_report(path, out)),
    "cassette check --recover": lambda path, out: run("cassette", "check", "--recover", path),
    "cassette check --live": lambda path, out: run("cassette", "check", "--live", "--values", path),
})


def prepared_report(path, out):
    """A replay's report that has used no interactions of the cassette."""
    unused = [{"method": "GET", "url": "http://127.0.0.1:1/x", "index": 0}]
    report = {"environment": {"id": "x", "name": "x"}, "mode": "replay", "cassette": f"{path}.har", "recordedAt": "2026-01-02T03:04:05.000Z", "clock": {"kind": "frozen"},
              "requests": {"total": 0, "replayed": 0, "recorded": 0, "forwarded": 0, "mocked": 0, "unmatched": 0, "failed": 0}, "unmatched": [], "unused": unused,
              "strings": {"read": 0, "recorded": 0, "missing": [], "unused": []}, "toggles": {"read": {}, "unread": []}, "durationSeconds": 1, "ok": True,
              "failures": [], "commandStatus": 0, "ended": True}
    (out / "report.json").write_text(json.dumps(report))
    return out / "report.json"


def written(folder, before):
    """The bytes of all new and changed files."""
    return b"\n".join(content for name, content in support.snapshot(folder).items() if before.get(name) != content)


def attempt(folder, path, commands):
    """Runs commands on a cassette. Returns what each revealed, or that it hung."""
    found = {}
    for title, command in commands.items():
        before = support.snapshot(folder)
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        shutil.copy(CORPUS / "terminal" / "version.har", out / "honest.har")
        (out / "honest.har").write_text(json.dumps(victims_own()))
        ended = command(path, out)
        told = tells(ended.output + written(folder, before), f'"size": {SIZE}' not in path.with_suffix(".har").read_text())
        found[title] = (told, ended)
    return found


def victims_own(text="honest"):
    """A small valid cassette."""
    log = {"format": 1, "recordedAt": "2026-01-02T03:04:05.000Z", "upstreams": {"api": "http://127.0.0.1:1"}}
    return {"log": {"version": "1.2", "creator": {"name": "diorama", "version": "1"}, "_diorama": log, "entries": [{
        "_diorama": {"upstream": "api"}, "startedDateTime": "2026-01-02T03:04:05.000Z", "time": 1, "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0},
        "request": {"method": "GET", "url": "http://127.0.0.1:1/x", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [], "queryString": [], "headersSize": -1, "bodySize": -1},
        "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [{"name": "Content-Type", "value": "text/plain"}],
                     "content": {"size": len(text), "mimeType": "text/plain", "text": text}, "redirectURL": "", "headersSize": -1, "bodySize": -1}}]}}


def bodies(checks, folder):
    """A cassette's `_file` can name only a file of its own bodies."""
    def one(path):
        own = folder / path.stem
        own.mkdir()
        place_secrets(own)
        cassette = own / "cassettes" / "NAME"
        cassette.with_suffix(".har").write_text(path.read_text().replace("OUTSIDE", str(own / "outside")))
        if path.stem.startswith("strings"):
            shutil.copy(own / "secret.txt", own / "cassettes" / "NAME.strings.json")
        return attempt(own, cassette, COMMANDS)

    files = sorted((CORPUS / "bodies").glob("*.har"))
    for path, found in zip(files, victim.together(3, one, files)):
        for title, (told, ended) in found.items():
            checks.that(not told, f"bodies: {path.stem}: {title} reveals nothing of other files", f"{told}; {ended}")
            checks.that(not ended.hung, f"bodies: {path.stem}: {title} ends", ended)
    # Valid ones still replay.
    honest = b"honest " * 60_000
    for name, place in (("own", f"NAME.bodies/{hashlib.sha256(honest).hexdigest()}.txt"), ("playwright", f"{hashlib.sha1(honest).hexdigest()}.txt")):
        own = folder / f"honest-{name}"
        (own / "NAME.bodies").mkdir(parents=True)
        (own / place).write_bytes(honest)
        shutil.copy(CORPUS / "honest" / f"{name}.har", own / "NAME.har")
        ended = replay(own / "NAME")
        checks.that(honest in ended.output, f"bodies: a valid cassette ({name}) replays", ended)


def links(checks, folder):
    """Links, pipes and devices in place of a cassette's files are neither read nor written."""
    number = iter(range(1000))

    def fresh(har=None):
        own = folder / f"{next(number)}"
        own.mkdir()
        place_secrets(own)
        shutil.rmtree(own / "cassettes" / "NAME.bodies")
        return own, own / "cassettes" / "NAME"

    def with_file(name, size=SIZE, own=True):
        har = victims_own()
        har["log"]["entries"][0]["response"]["content"] = {"size": size, "mimeType": "text/plain", "_file": name}
        if not own:
            del har["log"]["_diorama"], har["log"]["entries"][0]["_diorama"]
        return json.dumps(har)

    digest = hashlib.sha1(b"x").hexdigest()
    shapes = {
        "a link among the bodies": ("NAME.bodies/x.txt", lambda own, at: (at.mkdir(), (at / "x.txt").symlink_to(own / "outside" / "secret.txt"))),
        "a relative link among the bodies": ("NAME.bodies/x.txt", lambda own, at: (at.mkdir(), (at / "x.txt").symlink_to("../secret.txt"))),
        "a link to a link": ("NAME.bodies/x.txt", lambda own, at: (at.mkdir(), (at / "y").symlink_to("../secret.txt"), (at / "x.txt").symlink_to("y"))),
        "a link, and a wrong size": ("NAME.bodies/x.txt", lambda own, at: (at.mkdir(), (at / "x.txt").symlink_to("../secret.txt"))),
        "bodies that are a link, and a wrong size": ("NAME.bodies/secret.txt", lambda own, at: at.symlink_to(own / "outside")),
        "a link to /proc/self/environ": ("NAME.bodies/x.txt", lambda own, at: (at.mkdir(), (at / "x.txt").symlink_to("/proc/self/environ"))),
        "a link to /etc/passwd": ("NAME.bodies/x.txt", lambda own, at: (at.mkdir(), (at / "x.txt").symlink_to("/etc/passwd"))),
        "a loop of links": ("NAME.bodies/x.txt", lambda own, at: (at.mkdir(), (at / "x.txt").symlink_to("x.txt"))),
        "bodies that are a link": ("NAME.bodies/secret.txt", lambda own, at: at.symlink_to(own / "outside")),
        "bodies that are a link to here": ("NAME.bodies/secret.txt", lambda own, at: at.symlink_to(".")),
        "bodies that are a link to /etc": ("NAME.bodies/passwd", lambda own, at: at.symlink_to("/etc")),
        "a folder among the bodies that is a link": ("NAME.bodies/sub/secret.txt", lambda own, at: (at.mkdir(), (at / "sub").symlink_to(own / "outside"))),
        "a pipe among the bodies": ("NAME.bodies/x.txt", lambda own, at: (at.mkdir(), os.mkfifo(at / "x.txt"))),
        "a folder among the bodies": ("NAME.bodies/x.txt", lambda own, at: (at / "x.txt").mkdir(parents=True)),
        "a link to /dev/zero": ("NAME.bodies/x.txt", lambda own, at: (at.mkdir(), (at / "x.txt").symlink_to("/dev/zero"))),
        "a device among the bodies": ("NAME.bodies/x.txt", lambda own, at: (at.mkdir(), os.mknod(at / "x.txt", 0o644 | stat.S_IFCHR, os.makedev(1, 5)))),
        "Playwright's name as a link": (f"{digest}.txt", lambda own, at: (at.parent / f"{digest}.txt").symlink_to(own / "outside" / "secret.txt")),
        "Playwright's name as a pipe": (f"{digest}.txt", lambda own, at: os.mkfifo(at.parent / f"{digest}.txt")),
    }

    def one(shape):
        title, (name, make) = shape
        own, cassette = fresh()
        try:
            make(own, cassette.with_suffix(".bodies"))
        except PermissionError:
            return None  # only root can create devices
        sizes = {"a link to /etc/passwd": os.stat("/etc/passwd").st_size, "bodies that are a link to /etc": os.stat("/etc/passwd").st_size, "a link to /proc/self/environ": 0}
        size = 1 if "wrong size" in title else sizes.get(title, SIZE)
        text = with_file(name, size, own="Playwright" not in title)
        cassette.with_suffix(".har").write_text(text)
        outside = support.snapshot(own / "outside")
        found = {}
        for command, ended in ((each, MORE[each]) for each in MORE):
            out = own / "out"
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            (out / "honest.har").write_text(json.dumps(victims_own()))
            cassette.with_suffix(".har").write_text(text)
            ended = ended(cassette, out)
            told = tells(ended.output + b"".join(file.read_bytes() for file in out.rglob("*") if file.is_file() and not file.is_symlink()), size == 1)
            if support.snapshot(own / "outside") != outside:
                told.append("files outside have changed")
            found[command] = (told, ended)
        return found

    for (title, _), found in zip(shapes.items(), victim.together(4, one, list(shapes.items()))):
        if found is None:
            checks.say(f"links: {title}: not tested, requires root")
            continue
        for command, (told, ended) in found.items():
            checks.that(not told, f"links: {title}: {command} reveals nothing of other files", f"{told}; {ended}")
            checks.that(not ended.hung and ended.status >= 0, f"links: {title}: {command} ends", ended)
            checks.that(ended.peak < 300 << 20, f"links: {title}: {command} uses little memory", ended)
    writes(checks, fresh)


def writes(checks, fresh):
    """A recording overwrites and removes no files elsewhere."""
    with victim.Wire(lambda head: victim.response(b"big " * 100_000, "Content-Type: text/plain\r\n")) as upstream:
        names = {
            "NAME.bodies": "outside", "NAME.har.partial": "outside/secret.txt", "NAME.har": "outside/secret.txt", "NAME.strings.json": "outside/secret.txt",
            "NAME.unfinished.har": "outside/secret.txt", "NAME.previous.har": "outside/secret.txt", "NAME.unfinished.bodies": "outside", "NAME.previous.bodies": "outside",
        }
        live = ["--upstream", f"api={upstream.url}"]
        ways = {
            "run --mode record": lambda path: replay(path, *live, mode="record"),
            "run --mode extend": lambda path: replay(path, *live, mode="extend"),
            "cassette check --recover": lambda path: run("cassette", "check", "--recover", path),
            "cassette import --force": lambda path: run("cassette", "import", path.parent / "whole.har", "--to", path, "--force"),
            "cassette prune": lambda path: run("cassette", "prune", path, "--report", prepared_report(path, path.parent)),
        }

        def one(trial):
            (name, target), (command, way) = trial
            own, cassette = fresh()
            if name != "NAME.har":
                cassette.with_suffix(".har").write_text(json.dumps(victims_own()))
            whole = victims_own()
            whole["log"]["entries"][0]["response"]["content"] = {"size": 400_000, "mimeType": "text/plain", "text": "big " * 100_000}
            (cassette.parent / "whole.har").write_text(json.dumps(whole))
            if name.endswith("partial"):
                os.chmod(own / target, 0o644)
            (cassette.parent / name).symlink_to(own / target)
            before = support.snapshot(own / "outside")
            ended = way(cassette)
            after = support.snapshot(own / "outside")
            return ended, [f"{file}: {len(before.get(file, b''))} to {len(after.get(file, b''))} bytes" for file in sorted({*before, *after}) if before.get(file) != after.get(file)]

        trials = [(name, way) for name in names.items() for way in ways.items()]
        for ((name, target), (command, _)), (ended, changed) in zip(trials, victim.together(4, one, trials)):
            checks.that(not changed, f"links: {name} as a link: {command} doesn't change the target", f"{changed}; {ended}")
            checks.that(not ended.hung, f"links: {name} as a link: {command} ends", ended)
            checks.that(not tells(ended.output), f"links: {name} as a link: {command} reveals nothing of the target", ended)


# Secrets

SECRET = "hush-hush-of-the-command-line"


def certificate(folder, name):
    """A self-signed certificate and its key, in PEM."""
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
    return folder / f"{name}.pem", folder / f"{name}.key"


def secrets(checks, folder):
    """Secrets go to upstreams that the user named, never to those that only the cassette names."""
    pem, key = certificate(folder, "thief")
    mine, my_key = certificate(folder, "me")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(mine)
    variables = {"SK": SECRET}
    (folder / "secret-file").write_text(SECRET)
    with victim.Wire() as thief, victim.Wire(context=context) as masked, victim.Wire() as good:
        sources = {"env": "env:SK", "file": f"file:{folder / 'secret-file'}"}
        hars = sorted((CORPUS / "thieves").glob("*.har"))

        def cassette(path, thief, name):
            text = path.read_text()
            for mark, wire in (("THIEF", thief), ("GOOD", good)):
                text = text.replace(f"{mark}HOST", f"127.0.0.1:{wire.port}").replace(mark, wire.url)
            place = folder / f"{path.stem}-{name}"
            place.with_suffix(".har").write_text(text)
            return place

        for path in hars:
            for source, value in sources.items():
                for field in ("Authorization", "X-Api-Key", "Cookie"):
                    header = ["--header", f"api/{field}={value}"]
                    plain = cassette(path, thief, "plain")
                    trials = {
                        "check --live": lambda: run("cassette", "check", "--live", *header, plain, variables=variables),
                        "run --mode extend": lambda: Bounded([support.binary("diorama"), "run", "--mode", "extend", "--cassette", plain, *header, "--", "sh", "-c",
                            'for u in $(env | grep ^DIORAMA_ENDPOINT | cut -d= -f2); do curl -s -m 9 $u/new; curl -s -m 9 $u/x; done'], variables=variables),
                    }
                    if path.stem in ("entry-elsewhere", "two-backends"):
                        trials["check --live with a backend named"] = lambda: run("cassette", "check", "--live", *header, "--upstream", f"api={good.url}", plain, variables=variables)
                    if field != "Authorization" and source == "file":
                        trials = dict(list(trials.items())[:1])
                    for title, trial in trials.items():
                        thief.seen.clear()
                        ended = trial()
                        stolen = [each for each in thief.seen if SECRET.encode() in each]
                        checks.that(not stolen, f"secrets: {path.stem}: {title} sends the thief no {field} from {source}:", (stolen[:1], str(ended)))
                        checks.that(not ended.hung, f"secrets: {path.stem}: {title} ends", ended)
        # A client certificate reveals and proves the user's identity.
        for options in (["--client-certificate", f"api={mine},{my_key}", "--insecure", "api"], ["--client-certificate", f"api={mine},{my_key}", "--ca", f"api={pem}"]):
            for title, make in {
                "check --live": lambda path: run("cassette", "check", "--live", *options, path),
                "run --mode extend": lambda path: Bounded([support.binary("diorama"), "run", "--mode", "extend", "--cassette", path, *options, "--", "sh", "-c", 'curl -s -m 9 "$DIORAMA_ENDPOINT_API/new"']),
            }.items():
                masked.certificates.clear()
                ended = make(cassette(CORPUS / "thieves" / "plain.har", masked, "masked"))
                shown = [each for each in masked.certificates if each]
                checks.that(not shown, f"secrets: {title} {options[2]} shows the thief no client certificate", f"{len(shown)} shown; {ended}")
        redirected(checks, folder, thief, variables)
        allowed(checks, folder, good, variables)
        asked_of_the_daemon(checks, folder, thief)


def redirected(checks, folder, thief, variables):
    """An upstream named by the user redirects to another one."""
    with victim.Wire(lambda head: f"HTTP/1.1 307 Elsewhere\r\nLocation: {thief.url}/stolen\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()) as good:
        har = victims_own()
        har["log"]["_diorama"]["upstreams"]["api"] = good.url
        har["log"]["entries"][0]["request"]["url"] = f"{good.url}/x"
        (folder / "redirected.har").write_text(json.dumps(har))
        thief.seen.clear()
        for mode in ("check", "extend", "record"):
            header = ["--header", "api/Authorization=env:SK", "--upstream", f"api={good.url}"]
            if mode == "check":
                ended = run("cassette", "check", "--live", *header, folder / "redirected", variables=variables)
            else:
                ended = Bounded([support.binary("diorama"), "run", "--mode", mode, "--cassette", folder / "redirected", *header, "--", "sh", "-c", 'curl -s -L -m 9 "$DIORAMA_ENDPOINT_API/new"'], variables=variables)
            stolen = [each for each in thief.seen if SECRET.encode() in each]
            checks.that(not stolen, f"secrets: {mode}: a redirect doesn't forward the secret", (stolen[:1], str(ended)))
            checks.that(any(SECRET.encode() in each for each in good.seen), f"secrets: {mode}: the named upstream receives the secret", ended)
            good.seen.clear()


def allowed(checks, folder, good, variables):
    """The same with upstreams named by the user, and without secrets."""
    har = victims_own("ok")
    har["log"]["_diorama"]["upstreams"]["api"] = good.url
    har["log"]["entries"][0]["request"]["url"] = f"{good.url}/x"
    (folder / "allowed.har").write_text(json.dumps(har))
    good.seen.clear()
    ended = run("cassette", "check", "--live", folder / "allowed")
    checks.that(len(good.seen) == 1, "secrets: a live check without secrets sends requests to the cassette's upstreams", ended)
    good.seen.clear()
    ended = run("cassette", "check", "--live", "--upstream", f"api={good.url}", "--header", "api/Authorization=env:SK", folder / "allowed", variables=variables)
    checks.that(SECRET.encode() in good.bytes, "secrets: a live check sends the secrets to the named upstream", ended)
    refused = run("cassette", "check", "--live", "--header", "api/Authorization=env:SK", folder / "allowed", variables=variables)
    said = refused.output.decode(errors="replace")
    checks.that(refused.status not in (0, 1) and "--upstream" in said and SECRET not in said, "secrets: the error explains that the upstream must be named", refused)


def asked_of_the_daemon(checks, folder, thief):
    har = victims_own()
    har["log"]["_diorama"]["upstreams"]["api"] = thief.url
    har["log"]["entries"][0]["request"]["url"] = f"{thief.url}/x"
    (folder / "daemon").mkdir()
    (folder / "daemon" / "c.har").write_text(json.dumps(har))
    thief.seen.clear()
    with daemon.Daemon(folder / "daemon", ports=100) as host:
        made = host.provision(mode="extend", cassette=str(folder / "daemon" / "c"), upstreams={"api": {"headers": {"X-Api-Key": SECRET}}})
        if made.status == 201:
            victim.get(int(made.json["endpoints"]["api"].rsplit(":", 1)[1]), "/new")
        checks.that(SECRET.encode() not in thief.bytes, "secrets: an environment of the daemon sends no secret to the thief", (made.status, thief.bytes[:300]))


# Bombs

HUGE = 512 << 20  # decoded; the message itself is 0.5 MB
ROOM = 192 << 20  # disk limit for one message, which may decode to 100 times its size
MEMORY = 256 << 20  # limit of additional memory; text of up to 64 MiB is searched


def zipped(size, wbits=31):
    """A gzip stream of zeros; with wbits 15, deflate."""
    packer, piece = zlib.compressobj(9, zlib.DEFLATED, wbits), bytes(1 << 20)
    return b"".join(packer.compress(piece) for _ in range(size >> 20)) + packer.flush()


def brotli(size):
    """A brotli stream of zeros, or None if the library is not installed."""
    name = ctypes.util.find_library("brotlienc")
    if not name:
        return None
    library = ctypes.CDLL(name)
    library.BrotliEncoderMaxCompressedSize.restype = ctypes.c_size_t
    room = ctypes.c_size_t(1 << 20)
    output, data = ctypes.create_string_buffer(1 << 20), bytes(size)
    done = library.BrotliEncoderCompress(1, 24, 0, ctypes.c_size_t(size), data, ctypes.byref(room), output)
    return output.raw[: room.value] if done else None


class Usage:
    """Measures the peak disk and memory use of a process and a folder."""

    def __init__(self, figures, folder):
        self.figures, self.folder, self.disk, self.going = figures, folder, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.going.wait(0.05):
            with contextlib.suppress(OSError):
                self.disk = max(self.disk, on_disk(self.folder) + self.figures.open_bytes())
                if self.disk > 8 * ROOM:  # the limit is clearly exceeded
                    os.kill(self.figures.pid, signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.going.set()
        self.thread.join()


def on_disk(folder):
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def bombs(checks, folder):
    """A small message that decodes to 512 MiB uses little disk and memory, and replays as sent."""
    gz = zipped(HUGE)
    br = brotli(HUGE)
    kinds = {"gzip": ("gzip", gz), "deflate": ("deflate", zipped(HUGE, 15)), "double-gzip": ("gzip, gzip", gzip.compress(gz)), "x-gzip": ("x-gzip", gz),
             "gzip-members": ("gzip", zipped(HUGE // 64) * 64), "gzip-html": ("gzip", gz), "gzip-json": ("gzip", gz)}
    if br:
        kinds["brotli"] = ("br", br)
    else:
        checks.say("bombs: brotli not tested: library not installed")
    types = {"gzip-html": "text/html", "gzip-json": "application/json"}

    def answer(head):
        coding, content = kinds[head.split(b"/", 1)[1].split(b" ", 1)[0].decode()]
        name = head.split(b"/", 1)[1].split(b" ", 1)[0].decode()
        return victim.response(content, f"Content-Type: {types.get(name, 'application/octet-stream')}\r\nContent-Encoding: {coding}\r\n")

    accepting = "Accept-Encoding: gzip, deflate, br\r\n"
    with victim.Wire(answer, whole=True) as upstream:
        for kind, (coding, content) in kinds.items():
            place = folder / kind
            place.mkdir()
            temporary = {"TMPDIR": str(place)}
            modes = ("record", "extend", "replay") if kind == "gzip" else ("record", "replay")
            for mode in modes:
                cassette = place / ("recorded" if mode == "replay" else mode)
                if mode == "replay":
                    if not (place / "record.har").exists():
                        checks.that(False, f"bombs: {kind}: the cassette was recorded")
                        continue
                    shutil.move(place / "record.har", place / "recorded.har")
                    if (place / "record.bodies").exists():
                        (place / "recorded.har").write_text((place / "recorded.har").read_text().replace("record.bodies", "recorded.bodies"))
                        shutil.move(place / "record.bodies", place / "recorded.bodies")
                if mode == "extend":
                    har = victims_own()
                    har["log"]["entries"] = []
                    cassette.with_suffix(".har").write_text(json.dumps(har))
                upstreams = {} if mode == "replay" else {"api": upstream.url}
                with victim.Victim(mode, cassette, upstreams, variables=temporary) as run:
                    if not checks.that(run.started, f"bombs: {kind}: {mode} starts", run):
                        continue
                    before, start = run.figures.peak(), run.figures.cpu()
                    with Usage(run.figures, place) as usage:
                        code, got = victim.get(run.port(), f"/{kind}", accepting)
                        if kind in ("gzip", "brotli", "double-gzip"):
                            upload(checks, kind, mode, run, coding, content)
                        peak = run.figures.peak() if run.process.poll() is None else 1 << 40
                        spent = run.figures.cpu() - start if run.process.poll() is None else 0
                        run.end()
                    usage.disk = max(usage.disk, on_disk(place))
                    checks.that(code == 200 and victim.body(got).endswith(content) and f"content-encoding: {coding}".encode() in got.lower(), f"bombs: {kind}: {mode}: the response is passed on as sent", got[:300])
                    checks.that(usage.disk < ROOM, f"bombs: {kind}: {mode} uses little disk", f"{usage.disk >> 20} MB; {run}")
                    checks.that(peak - before < MEMORY, f"bombs: {kind}: {mode} uses little memory", f"{(peak - before) >> 20} MB; {run}")
                    checks.that(spent < 20, f"bombs: {kind}: {mode} uses little CPU time", f"{spent:.1f} s")
                    checks.that(run.status == 0 or mode != "replay", f"bombs: {kind}: {mode} matches the recording", run)
    imports(checks, folder, gz)


def upload(checks, kind, mode, run, coding, content):
    """The app sends a bomb, which matches its recording."""
    fields = f"Content-Type: application/json\r\nContent-Encoding: {coding}\r\nAccept-Encoding: gzip, deflate, br\r\n"
    code, got = victim.get(run.port(), f"/{kind}", fields, method="POST", body=content)
    checks.that(code == 200, f"bombs: {kind}: {mode}: an upload gets a response", got[:400])


def imports(checks, folder, gz):
    """The same in recordings of other tools."""
    place = folder / "imports"
    place.mkdir()
    encoded = base64.b64encode(gz).decode()
    har = victims_own()
    for member in ("_diorama",):
        del har["log"][member], har["log"]["entries"][0][member]
    entry = har["log"]["entries"][0]
    entry["response"]["headers"].append({"name": "Content-Encoding", "value": "gzip"})
    entry["response"]["content"] = {"size": len(gz), "mimeType": "text/plain", "encoding": "base64", "text": encoded}
    (place / "har.har").write_text(json.dumps(har))
    entry["request"].update(method="POST", headers=[{"name": "Content-Encoding", "value": "gzip"}], postData={"mimeType": "application/json", "encoding": "base64", "text": encoded})
    (place / "request.har").write_text(json.dumps(har))
    vcr = ("interactions:\n- request:\n    body: null\n    headers: {}\n    method: GET\n    uri: http://127.0.0.1:1/x\n  response:\n    body:\n      string: !!binary |\n        "
           + encoded + "\n    headers:\n      Content-Encoding: [gzip]\n      Content-Type: [text/plain]\n    status: {code: 200, message: OK}\nversion: 1\n")
    (place / "vcrpy.yaml").write_text(vcr)
    (place / "dvr.json").write_text(json.dumps({"name": "dvr", "interactions": [{"recorded_at": 1767323045, "request": {"method": "GET", "url": "http://127.0.0.1:1/x", "headers": {}},
        "response": {"status": 200, "url": "http://127.0.0.1:1/x", "headers": {"Content-Encoding": "gzip", "Content-Type": "text/plain"}, "body": encoded}}]}))
    for file in sorted(place.glob("*.*")):
        out = folder / f"imported-{file.stem}"
        out.mkdir()
        ended = run("cassette", "import", file, "--to", out / "c", variables={"TMPDIR": str(out)})
        checks.that(not ended.hung and ended.status is not None and ended.status >= 0, f"bombs: an import of {file.name} ends", ended)
        checks.that(ended.peak < MEMORY, f"bombs: an import of {file.name} uses little memory", ended)
        checks.that(on_disk(out) < ROOM, f"bombs: an import of {file.name} uses little disk", f"{on_disk(out) >> 20} MB; {ended}")
        if file.suffix == ".har":
            for title, words in {"show": ["show", file.with_suffix("")], "check": ["check", file.with_suffix("")], "export": ["export", file.with_suffix(""), "--to", out / "e.har", "--as", "har"]}.items():
                ended = run("cassette", *words)
                checks.that(ended.peak < MEMORY and not ended.hung, f"bombs: cassette {title} of {file.name} uses little memory", ended)
            ended = replay(file.with_suffix(""))
            checks.that(ended.peak < MEMORY and not ended.hung, f"bombs: a replay of {file.name} uses little memory", ended)


# The terminal

# Characters that control a terminal or change the text direction: C0 except tab and line feed, DEL, C1, directional
# marks, line separators.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def obeyed(output):
    """Returns the control characters in an output, and forged lines."""
    text = output.decode(errors="surrogateescape")
    found = sorted({f"U+{ord(each):04X}" for each in OBEYED.findall(text)})
    found += ["a raw byte 9B"] if "\udc9b" in text else []
    return found + [f"the line {line[:60]!r}" for line in text.split("\n") if line.startswith(("diorama: replay ok: forged", "diorama: forged", "forged"))]


def terminal(checks, folder):
    """Text of cassettes, upstreams and apps reaches the terminal only in escaped form."""
    strange = "\u009b31m\u202e\x1b]0;owned\x07\ndiorama: forged"

    def one(path):
        own = folder / path.stem
        own.mkdir()
        for file in path.parent.glob(f"{path.stem}.*"):
            # A project file is found by its name, in the folder where the command runs.
            shutil.copy(file, own / ("diorama.json" if file.name.endswith(".diorama.json") else file.name))
        (own / "honest.har").write_text(json.dumps(victims_own()))
        cassette, honest, out = own / path.stem, own / "honest", own / "out"
        out.mkdir()

        def run(*words):
            return Bounded([support.binary("diorama"), *words], folder=own)

        trials = {
            "show": run("cassette", "show", cassette), "check": run("cassette", "check", cassette), "diff": run("cassette", "diff", "--values", cassette, honest),
            "diff, the other way": run("cassette", "diff", "--values", honest, cassette), "export": run("cassette", "export", cassette, "--to", out / "e.har", "--as", "har"),
            "export --as wiremock": run("cassette", "export", cassette, "--to", out / "mock", "--as", "wiremock"), "import": run("cassette", "import", f"{cassette}.har", "--to", out / "c"),
            "replay": replay(cassette, quiet=True, folder=own), "prune --dry-run": run("cassette", "prune", "--dry-run", cassette, "--report", prepared_report(cassette, out)),
            "check --live": run("cassette", "check", "--live", "--values", "--timeout", "2", cassette),
            "extend": replay(cassette, "--upstream", "api=http://127.0.0.1:1", mode="extend", quiet=True, folder=own),
        }
        return trials

    files = sorted((CORPUS / "terminal").glob("*.har"))
    for path, trials in zip(files, victim.together(3, one, files)):
        for title, ended in trials.items():
            checks.that(not obeyed(ended.output), f"terminal: {path.stem}: {title} prints plain text", f"{obeyed(ended.output)}; {ended}")
            checks.that(not ended.hung and (ended.status or 0) >= 0, f"terminal: {path.stem}: {title} ends", ended)

    # Names of files, and suggested commands.
    place = folder / f"strange{strange.replace('/', '')}"
    place.mkdir()
    (place / "c.har").write_text(json.dumps(victims_own()))
    (place / "broken.har").write_text("{")
    for words in (["cassette", "show", place / "c"], ["cassette", "check", place / "c"], ["cassette", "check", place / "broken"], ["cassette", "show", place / "none"],
                  ["run", "--mode", "replay", "--cassette", place / "c", "--", "true"], ["run", "--mode", "replay", "--cassette", place / "none", "--", "true"], ["cassette", "import", place / "broken.har", "--to", place / "d"]):
        ended = run(*words)
        checks.that(not obeyed(ended.output), f"terminal: a folder's name: {' '.join(map(str, words[:2]))} prints plain text", f"{obeyed(ended.output)}; {ended}")

    # An upstream and an app that send control characters.
    head = "Content-Type: application/json\r\nX-A: \x1b]0;owned\x07\r\nX-B: \xc2\x9b31m\xe2\x80\xae\r\nSet-Cookie: a\x1b[31m=b; Path=/\x1b[31m\r\n".encode("latin-1")
    content = json.dumps({f"k{strange}": f"v{strange}"}, ensure_ascii=True).encode()
    answer = b"HTTP/1.1 200 O\x1b[31mK\r\n" + head + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(content) + content
    with victim.Wire(lambda head: answer) as upstream:
        journal = folder / "journal"
        for mode in ("record", "replay"):
            upstreams = {"api": upstream.url} if mode == "record" else {}
            with victim.Victim(mode, folder / "sent", upstreams, options=["--failed-recording", "replace"]) as run_:
                if not checks.that(run_.started, f"terminal: {mode} starts", run_):
                    continue
                port = run_.port()
                for target, fields, body in (
                    ("/x", "", b""), ("/%1b%5b31m%0adiorama:%20forged%c2%9b31m%e2%80%ae", "", b""), ("/q?%1b=%0adiorama:%20forged&%c2%9b=%e2%80%ae", "", b""), ("/raw\x1b[31m\x9b\xe2\x80\xae", "", b""),
                    ("/j", "Content-Type: application/json\r\n", json.dumps({f"k{strange}{mode}": f"v{strange}{mode}"}).encode()),
                    ("/j", "Content-Type: application/json\r\n", json.dumps({f"k{strange}": f"v{strange}{mode}"}, ensure_ascii=False).encode()),
                    ("/f", "Content-Type: application/x-www-form-urlencoded\r\n", f"a%1b=%0adiorama:+forged%c2%9b{mode}".encode()),
                    ("/t", "Content-Type: text/plain\r\n", f"{strange}{mode}".encode()), ("/none%1b%5b31m%0adiorama:%20forged", f"X: \x1b]0;owned\x07{mode}\r\n", b""),
                ):
                    victim.get(port, target, fields, method="POST" if body else "GET", body=body)
                victim.exchange(port, b"G\x1b[31mT /x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port, 1)
                victim.exchange(run_.main, b"GET /\x1b[31mevil.example/x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % run_.main, 1)
                victim.get(run_.main, "/evil%1b[31m%0adiorama:%20forged.example/x")
                victim.get(run_.main, "http://evil.example%1b%0adiorama:%20forged/x")
                run_.end()
                checks.that(not obeyed(run_.words), f"terminal: {mode}: text of upstream and app is escaped", f"{obeyed(run_.words)}; {run_.words[:1500]}")
        for title, words in {"show": ["show", folder / "sent"], "check": ["check", folder / "sent"], "diff": ["diff", "--values", folder / "sent", folder / "version" / "honest"]}.items():
            ended = run("cassette", *words)
            checks.that(not obeyed(ended.output), f"terminal: {title} of such a recording prints plain text", f"{obeyed(ended.output)}; {ended}")
