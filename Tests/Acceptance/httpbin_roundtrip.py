"""Records an app against a live httpbin, stops httpbin, replays, and compares byte by byte.

Four runs of one unchanged app: direct, recorded, and replayed twice.
"""

import base64
import json
import re
import shutil
import subprocess
import sys

import support

IGNORED = {"connection", "keep-alive"}  # hop-by-hop
FRAMING = {"content-length", "transfer-encoding"}  # the server chooses their position
REPORT_CHANGES = {"id", "durationSeconds", "now", "variables"}  # ids, times and ports


class Observed:
    """The app's observations in one run, by the name of the call."""

    def __init__(self, file, *aliases):
        seen = json.loads(file.read_text())
        self.own = [seen["endpoint"], *aliases]
        self.calls = {call["name"]: call for call in seen["observations"]}
        assert len(self.calls) == len(seen["observations"]), "two calls have the same name"

    def neutral(self, text):
        """Replaces the endpoint's address."""
        for host in self.own:
            text = text.replace(host.encode(), b"{endpoint}")
        return text

    def body(self, name):
        return self.neutral(base64.b64decode(self.calls[name]["body"]))

    def holds_address(self, name):
        return self.body(name) != base64.b64decode(self.calls[name]["body"])

    def headers(self, name, without=frozenset()):
        """The headers in order, with the framing fields last."""
        kept = [
            (key, self.neutral(value.encode("latin-1")).decode("latin-1"))
            for key, value in self.calls[name]["headers"]
            if key.lower() not in IGNORED | without
        ]
        return [h for h in kept if h[0].lower() not in FRAMING] + sorted(h for h in kept if h[0].lower() in FRAMING)


def compare(checks, title, one, other, exact=True):
    """Compares status, headers and decoded body of every call. `exact=False` is for two separate conversations with
    httpbin."""
    checks.that(one.calls.keys() == other.calls.keys(), f"{title}: the same calls")
    for name in one.calls.keys() & other.calls.keys():
        if not exact and one.calls[name]["volatile"]:
            continue
        # Doesn't compare the reason phrase of the direct run: libmicrohttpd sends its own (RFC 9112, 4, tells clients
        # to ignore it).
        for part in ("status",) if not exact else ("status", "reason"):
            a, b = one.calls[name][part], other.calls[name][part]
            checks.that(a == b, f"{title}: {name}: the same {part}", f"{a} and {b}")
        without = set() if exact else {"date"}
        coded = any(key.lower() == "content-encoding" for key, _ in one.calls[name]["headers"])
        if coded or one.holds_address(name) or other.holds_address(name):
            # Re-encoding and rewritten addresses change the length; the client has verified it.
            without.add("content-length")
        a, b = one.headers(name, without), other.headers(name, without)
        checks.that(a == b, f"{title}: {name}: the same headers", f"{a}\n      and {b}")
        a, b = one.body(name), other.body(name)
        checks.that(a == b, f"{title}: {name}: the same body", f"{a[:600]}\n      and {b[:600]}")


def escaped(observed, upstream):
    """Calls whose response refers to the upstream itself. Addresses in query values are not rewritten."""
    pattern = re.compile(rb"(?<!=)https?://" + re.escape(upstream.encode()))
    for name, call in observed.calls.items():
        headers = "\n".join(value for _, value in call["headers"]).encode("latin-1")
        if pattern.search(base64.b64decode(call["body"])) or pattern.search(headers):
            yield name


def scrubbed(report):
    if isinstance(report, dict):
        return {key: scrubbed(value) for key, value in report.items() if key not in REPORT_CHANGES}
    return [scrubbed(value) for value in report] if isinstance(report, list) else report


def dialled(trace):
    """The addresses of connection attempts, from strace's output."""
    text = trace.read_text()
    return {
        (address, int(port))
        for port, address in re.findall(r'sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)', text)
        + re.findall(r'sin6_port=htons\((\d+)\).*?"([^"]+)"', text)
    }


def main():
    checks = support.Checks("httpbin")
    with support.folder() as folder:
        cassette = folder / "httpbin"
        # Nothing here is secret, and every header is compared.
        (folder / "diorama.json").write_text('{"redaction": {"keep": {"headers": ["Set-Cookie"]}}}')

        def app(name):
            return [sys.executable, support.HERE / "httpbin_client.py", folder / f"{name}.json"]

        with support.httpbin() as upstream:
            address = f"{upstream.host}:{upstream.port}"
            directly = subprocess.run(
                [str(word) for word in app("direct")],
                env=dict(support.environment(), DIORAMA_ENDPOINT_HTTPBIN=upstream.url),
                timeout=support.PATIENCE,
            )
            checks.that(directly.returncode == 0, "the app runs directly against httpbin")
            recording = support.Run("record", cassette, app("record"), {"httpbin": upstream.url}, cwd=folder)
            if not checks.that(recording.status == 0, "the app runs while it is recorded", recording):
                checks.end()

        direct = Observed(folder / "direct.json")
        recorded = Observed(folder / "record.json")
        routes = {call["call"].split("?")[0].split("/")[1] for call in recorded.calls.values()}
        checks.say(f"{len(recorded.calls)} calls to {len(routes)} families of endpoints, recorded in {recording.seconds:.1f} s")
        checks.that(len(recorded.calls) >= 100 and len(routes) >= 35, "the script covers enough of httpbin")
        checks.that(recording.report["requests"]["recorded"] == len(recorded.calls), "all calls are recorded", recording.report)
        compare(checks, "direct and recorded", direct, Observed(folder / "record.json", address), exact=False)
        leaks = sorted(escaped(recorded, address))
        checks.that(not leaks, "no response leads past the endpoint", leaks)

        # httpbin is gone. First replay: without an upstream. Second: with its old address, which is watched.
        first = support.Run("replay", cassette, app("first"), cwd=folder)
        prefix, trace = [], folder / "trace"
        if shutil.which("strace") and support.finish(["strace", "-e", "trace=connect", "true"]).returncode == 0:
            prefix = ["strace", "-f", "-qq", "-e", "trace=connect", "-o", str(trace)]
        with support.Watch(upstream.port) as watch:
            second = support.Run("replay", cassette, app("second"), {"httpbin": upstream.url}, prefix=prefix, cwd=folder)
        checks.that(watch.count == 0, "no connection to httpbin is attempted", watch.count)
        for name, run in (("first", first), ("second", second)):
            if not checks.that(run.status == 0, f"the {name} replay succeeds", run):
                checks.end()
            replayed = Observed(folder / f"{name}.json")
            compare(checks, f"recorded and {name} replay", recorded, replayed)
            counted = run.report["requests"]
            checks.that(counted["replayed"] == counted["total"] == len(recorded.calls), "all calls are replayed", counted)
            checks.that(run.report["unused"] == [] and run.report["ok"], "no interaction is unused", run.report)
        if prefix:
            endpoint = tuple(json.loads((folder / "second.json").read_text())["endpoint"].split(":"))
            others = {(host, port) for host, port in dialled(trace) if (host, str(port)) != endpoint}
            checks.that(dialled(trace), "strace reports the app's connections")
            checks.that(not others, "strace reports connections to the endpoint only", others)
            checks.say("replay watched by a listener at httpbin's old address, and by strace")
        else:
            checks.say("replay watched by a listener at httpbin's old address (strace is not available here)")
        a, b = scrubbed(first.report), scrubbed(second.report)
        checks.that(a == b, "two replays write the same report except for ids and times", f"{a}\n      and {b}")
        checks.say(f"replayed in {first.seconds:.1f} s")
    checks.end()


main()
