"""Imports what vcrpy and mitmproxy record here and now, and replays it with the backend gone; exports it for WireMock,
whose server has to answer as the cassette does.

    importers.py
"""

import base64
import gzip
import json
import pathlib
import shutil
import sys
import urllib.parse
import zlib

import support

# The app: makes the calls that it is given, at an endpoint, under vcrpy or through a proxy; prints what it got.
APP = """
import base64, contextlib, http.client, json, os, sys, urllib.parse
calls, way, at = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
if way == "vcrpy":
    import vcr
    file = sys.argv[4]
    name = "json" if file.endswith(".json") else "yaml"
    tape = vcr.VCR(serializer=name, record_mode="all").use_cassette(file)
else:
    tape = contextlib.nullcontext()
origin = os.environ["DIORAMA_ENDPOINT_API"] if way == "endpoint" else at
proxy = sys.argv[4] if way == "proxy" else None
seen = []
with tape:
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(proxy or origin).netloc, timeout=60)
    for method, target, headers, body in calls:
        body = base64.b64decode(body) if body is not None else None
        connection.request(method, origin + target if proxy else target, body, headers)
        response = connection.getresponse()
        content = response.read()
        seen.append([response.status, response.getheaders(), base64.b64encode(content).decode()])
    connection.close()
print(json.dumps([origin, seen]))
"""

ZIPPED = {"Accept-Encoding": "gzip, deflate"}
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def call(method, target, headers=None, body=None):
    return [method, target, headers or {}, body if body is None else base64.b64encode(body).decode()]


# What every one of the formats can hold.
CALLS = [
    call("GET", "/json?q=a%20b&q=c+d&r=%7E"),
    call("GET", "/gzip", ZIPPED),
    call("GET", "/deflate", ZIPPED),
    call("GET", "/binary"),
    call("GET", "/latin1"),
    call("GET", "/chunked"),
    call("GET", "/count"),
    call("GET", "/redirect"),
    call("GET", "/missing"),
    call("DELETE", "/thing"),
    call("HEAD", "/json"),
    call("POST", "/orders", JSON, '{"item": "té", "price": 0.00, "tags": []}'.encode()),
    call("POST", "/forms", FORM, b"name=a+b&name=c%26d&empty="),
    call("POST", "/notes", {"Content-Type": "text/plain"}, b"two\nlines\r\n"),
    call("GET", "/large"),
    call("GET", "/count"),
    call("GET", "/count"),
]
# mitmproxy's HARs have no bytes of a request's body, only what can be read in it.
UPLOAD = call("PUT", "/bytes", {"Content-Type": "application/octet-stream"}, bytes(range(256)))


def backend():
    """Answers that say what was asked, of every kind of body."""
    count = iter(range(1, 1000))
    squeeze = zlib.compressobj(wbits=15)
    deflated = squeeze.compress(b"deflated " * 100) + squeeze.flush()

    def answer(handler, body):
        path = urllib.parse.urlsplit(handler.path).path
        url = f"http://{handler.headers['Host']}"
        if path == "/json":
            fields = [("Content-Type", "application/json; charset=utf-8"), ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2")]
            content = f'{{"total": 0.00, "name": "Zo\u00eb \U0001f600", "self": "{url}/json"}}'.encode()
            return 200, fields, b"" if handler.command == "HEAD" else content
        if path == "/gzip":
            return 200, [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")], gzip.compress(b"squeezed " * 100)
        if path == "/deflate":
            return 200, [("Content-Type", "text/plain"), ("Content-Encoding", "deflate")], deflated
        if path == "/binary":
            return 200, [("Content-Type", "image/png")], bytes(range(256)) * 4
        if path == "/latin1":
            return 200, [("Content-Type", "text/plain; charset=iso-8859-1")], "déjà vu".encode("latin-1")
        if path == "/chunked":
            return 200, [("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")], b"chunk " * 2000
        if path == "/large":
            return 200, [("Content-Type", "application/octet-stream")], bytes(range(256)) * 2048
        if path == "/count":
            return 200, [("Content-Type", "text/plain")], f"number {next(count)}".encode()
        if path == "/redirect":
            return 302, [("Location", f"{url}/json?q=1")], b""
        if path == "/missing":
            return 404, [("Content-Type", "text/html")], b"<h1>none</h1>\n"
        if path == "/thing":
            return 204, [], b""
        return 201, [("Content-Type", "application/json")], json.dumps(
            {"path": handler.path, "sum": zlib.crc32(body), "type": handler.headers.get("Content-Type")}
        ).encode()

    return answer


class Backend(support.Upstream):
    """The backend; it can answer HEAD, too."""

    def __init__(self):
        super().__init__(backend())
        self.server.RequestHandlerClass.do_HEAD = self.server.RequestHandlerClass.handle_any


def app(calls, way, at="", more=""):
    return [support.python("importers"), "-c", APP, json.dumps(calls), way, at, str(more)]


def seen(output, elsewhere=()):
    """What the app got, as far as it is the same wherever it is asked: status, types, cookies, decoded body."""
    origin, answers = json.loads(output)
    result = []
    for status, headers, content in answers:
        fields = {name.lower(): value for name, value in headers}
        content = base64.b64decode(content)
        if fields.get("content-encoding") == "gzip":
            content = gzip.decompress(content)
        if fields.get("content-encoding") == "deflate":
            content = zlib.decompress(content)
        for other in [origin, *elsewhere]:
            content = content.replace(other.encode(), b"http://backend")
            fields = {name: value.replace(other, "http://backend") for name, value in fields.items()}
        cookies = [value for name, value in headers if name.lower() == "set-cookie"]
        result.append([status, fields.get("content-type"), fields.get("location"), cookies, content])
    return result


def compare(checks, title, calls, live, again):
    for (method, target, *_), one, other in zip(calls, live, again):
        checks.that(one == other, f"{title}: {method} {target} is answered as it was", f"{str(one)[:600]} and now {str(other)[:600]}")
    checks.that(len(live) == len(again) == len(calls), f"{title}: every call is answered", len(again))


def record_by_vcrpy(folder, name, calls):
    with Backend() as upstream:
        ended = support.finish(app(calls, "vcrpy", upstream.url, folder / name))
    if ended.returncode != 0:
        sys.exit(f"vcrpy did not record: {ended.stderr}")
    return upstream.url, seen(ended.stdout)


def record_by_mitmproxy(folder, name, calls):
    mitmdump = str(pathlib.Path(support.python("importers")).parent / "mitmdump")
    words = [mitmdump, "--listen-host", "127.0.0.1", "--listen-port", "0", "--set", f"confdir={folder / 'mitmproxy'}"]
    # Its output is a pipe here, in which Python would keep the line back.
    words = ["env", "PYTHONUNBUFFERED=1", *words, "--set", f"hardump={folder / name}"]
    with Backend() as upstream, support.Program(words, says="proxy listening at ") as proxy:
        ended = support.finish(app(calls, "proxy", upstream.url, f"http://{proxy.host}:{proxy.port}"))
    if ended.returncode != 0:
        sys.exit(f"mitmproxy did not record: {ended.stderr}")
    return upstream.url, seen(ended.stdout)


def imported(checks, title, folder, name, url, count):
    """Imports a file with its cookies, which are compared; the path of the cassette, and the answer of the command."""
    cassette = folder / f"{pathlib.Path(name).name.replace('.', '-')}-cassette"
    ended = support.diorama(
        "cassette", "import", folder / name, "--to", cassette, "--upstream", f"api={url}", "--json", "--as-is")
    if not checks.that(ended.returncode == 0, f"{title}: it is imported", ended):
        checks.end()
    answer = json.loads(ended.stdout)
    checks.that(answer["interactions"] == count, f"{title}: all {count} interactions are carried over", answer)
    checks.that(answer["upstreams"] == {"api": url}, f"{title}: they belong to the one backend", answer["upstreams"])
    lines = [line for line in ended.stderr.splitlines() if "not carried over: " in line]
    checks.that(len(lines) == len(answer["notCarriedOver"]), f"{title}: standard error lists what --json lists", ended)
    for one in answer["notCarriedOver"]:
        checks.say(f"{title}: not carried over: {one['entries'] or 'the whole'}: {one['what']}")
    checked = support.diorama("cassette", "check", cassette)
    checks.that(checked.returncode == 0, f"{title}: the cassette is whole", checked)
    return cassette, answer


def replayed(checks, title, cassette, url, calls):
    """What the app gets from the cassette while nobody is at the backend."""
    with support.Watch(int(url.rsplit(":", 1)[1])) as watch:
        run = support.Run("replay", cassette, app(calls, "endpoint"))
    checks.that(watch.count == 0, f"{title}: no connection to the backend is tried")
    if not checks.that(run.status == 0 and run.report["ok"], f"{title}: it replays", run):
        return []
    checks.that(run.report["unused"] == [], f"{title}: nothing of it is unused", run.report["unused"])
    return seen(run.output)


def stubbed(checks, title, folder, cassette, url, calls, replay):
    """The same calls at a WireMock that has nothing but the exported mappings."""
    root = folder / f"{cassette.name}-wiremock"
    ended = support.diorama("cassette", "export", cassette, "--as", "wiremock", "--to", root, "--json")
    if not checks.that(ended.returncode == 0, f"{title}: mappings are exported", ended):
        return
    for one in json.loads(ended.stdout)["notCarriedOver"]:
        checks.say(f"{title} to WireMock: not carried over: {one['interactions'] or 'the whole'}: {one['what']}")
    jar = next(pathlib.Path(support.python("importers")).parents[1].rglob("wiremock*.jar"))
    words = ["java", "-jar", str(jar), "--root-dir", str(root), "--port", "0", "--bind-address", "127.0.0.1"]
    with support.Program(words, says="port:") as mock:
        ended = support.finish(app(calls, "live", mock.url))
        strange = support.finish(app([call("POST", "/orders", JSON, b'{"item": "other"}'), call("PUT", "/notes")], "live", mock.url))
    if not checks.that(ended.returncode == 0, f"{title}: WireMock answers", ended):
        return
    compare(checks, f"{title} at WireMock", calls, replay, seen(ended.stdout, [url]))
    statuses = [one[0] for one in seen(strange.stdout)]
    checks.that(statuses == [404, 404], f"{title}: WireMock refuses what was not recorded", strange)


def main():
    checks = support.Checks("importers")
    java = shutil.which("java")
    checks.that(java, "java is installed, without which WireMock cannot be started: its half of this script is not run")
    with support.folder() as folder:
        for title, record, name, calls in (
            ("vcrpy", record_by_vcrpy, "vcrpy.yaml", [*CALLS, UPLOAD]),
            ("mitmproxy", record_by_mitmproxy, "mitmproxy.har", CALLS),
        ):
            url, live = record(folder, name, calls)
            cassette, _ = imported(checks, title, folder, name, url, len(calls))
            replay = replayed(checks, title, cassette, url, calls)
            compare(checks, title, calls, live, replay)
            if java:
                stubbed(checks, title, folder, cassette, url, calls, replay)

        # vcrpy's other serializer cannot write binary bodies.
        calls = [one for one in CALLS if one[1] not in ("/binary", "/latin1", "/gzip", "/deflate", "/large")]
        url, live = record_by_vcrpy(folder, "vcrpy.json", calls)
        cassette, _ = imported(checks, "vcrpy in JSON", folder, "vcrpy.json", url, len(calls))
        compare(checks, "vcrpy in JSON", calls, live, replayed(checks, "vcrpy in JSON", cassette, url, calls))

        # Out as a HAR and in again: nothing is lost but what the command lists.
        ended = support.diorama("cassette", "export", folder / "vcrpy-yaml-cassette", "--as", "har", "--to", folder / "out.har")
        checks.that(ended.returncode == 0, "a HAR is exported", ended)
        document = json.loads((folder / "out.har").read_text())
        checks.that("_diorama" not in document["log"], "the HAR has no header of ours", list(document["log"]))
        url = json.loads(support.diorama("cassette", "show", folder / "vcrpy-yaml-cassette", "--json").stdout)["upstreams"]["api"]
        again, _ = imported(checks, "our HAR", folder, "out.har", url, len(CALLS) + 1)
        first = replayed(checks, "our HAR", folder / "vcrpy-yaml-cassette", url, [*CALLS, UPLOAD])
        compare(checks, "our HAR", [*CALLS, UPLOAD], first, replayed(checks, "our HAR", again, url, [*CALLS, UPLOAD]))
    checks.end()


if len(sys.argv) > 1:
    sys.exit("usage: importers.py")
main()
