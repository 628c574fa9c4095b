"""Records with vcrpy and mitmproxy, imports the recordings, and replays them without the upstream. Exports them to
WireMock, whose server must answer like the cassette.

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

# The app: makes the given calls to an endpoint, with vcrpy or through a proxy, and prints the responses.
APP = """
import base64, contextlib, http.client, json, os, sys, urllib.parse
calls, way, at = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
if way == "vcrpy":
    import vcr
    file = sys.argv[4]
    name = "json" if file.endswith(".json") else "yaml"
    recorder = vcr.VCR(serializer=name, record_mode="all").use_cassette(file)
else:
    recorder = contextlib.nullcontext()
origin = os.environ["DIORAMA_ENDPOINT_API"] if way == "endpoint" else at
proxy = sys.argv[4] if way == "proxy" else None
seen = []
with recorder:
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


# Calls that all formats can represent.
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
# mitmproxy's HARs contain only text of request bodies, not bytes.
UPLOAD = call("PUT", "/bytes", {"Content-Type": "application/octet-stream"}, bytes(range(256)))


def backend():
    """Responses that describe the request, with every kind of body."""
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
    """The upstream, with support for HEAD."""

    def __init__(self):
        super().__init__(backend())
        self.server.RequestHandlerClass.do_HEAD = self.server.RequestHandlerClass.handle_any


def app(calls, way, at="", more=""):
    return [support.python("importers"), "-c", APP, json.dumps(calls), way, at, str(more)]


def seen(output, elsewhere=()):
    """The comparable parts of the app's responses: status, types, cookies, decoded body."""
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
        checks.that(one == other, f"{title}: {method} {target} gets the recorded response", f"{str(one)[:600]} and now {str(other)[:600]}")
    checks.that(len(live) == len(again) == len(calls), f"{title}: every call gets a response", len(again))


def record_by_vcrpy(folder, name, calls):
    with Backend() as upstream:
        ended = support.finish(app(calls, "vcrpy", upstream.url, folder / name))
    if ended.returncode != 0:
        sys.exit(f"vcrpy did not record: {ended.stderr}")
    return upstream.url, seen(ended.stdout)


def record_by_mitmproxy(folder, name, calls):
    mitmdump = str(pathlib.Path(support.python("importers")).parent / "mitmdump")
    words = [mitmdump, "--listen-host", "127.0.0.1", "--listen-port", "0", "--set", f"confdir={folder / 'mitmproxy'}"]
    # Python would buffer the line, since the output is a pipe.
    words = ["env", "PYTHONUNBUFFERED=1", *words, "--set", f"hardump={folder / name}"]
    with Backend() as upstream, support.Program(words, says="proxy listening at ") as proxy:
        ended = support.finish(app(calls, "proxy", upstream.url, f"http://{proxy.host}:{proxy.port}"))
    if ended.returncode != 0:
        sys.exit(f"mitmproxy did not record: {ended.stderr}")
    return upstream.url, seen(ended.stdout)


def imported(checks, title, folder, name, url, count):
    """Imports a file, keeping the compared cookies. Returns the path of the cassette and the command's result."""
    cassette = folder / f"{pathlib.Path(name).name.replace('.', '-')}-cassette"
    ended = support.diorama(
        "cassette", "import", folder / name, "--to", cassette, "--upstream", f"api={url}", "--json", "--as-is")
    if not checks.that(ended.returncode == 0, f"{title}: the import succeeds", ended):
        checks.end()
    answer = json.loads(ended.stdout)
    checks.that(answer["interactions"] == count, f"{title}: all {count} interactions are imported", answer)
    checks.that(answer["upstreams"] == {"api": url}, f"{title}: they belong to one upstream", answer["upstreams"])
    lines = [line for line in ended.stderr.splitlines() if "not carried over: " in line]
    checks.that(len(lines) == len(answer["notCarriedOver"]), f"{title}: standard error lists what --json lists", ended)
    for one in answer["notCarriedOver"]:
        checks.say(f"{title}: not carried over: {one['entries'] or 'the whole'}: {one['what']}")
    checked = support.diorama("cassette", "check", cassette)
    checks.that(checked.returncode == 0, f"{title}: the cassette is valid", checked)
    return cassette, answer


def replayed(checks, title, cassette, url, calls):
    """The app's responses from the cassette, without the upstream."""
    with support.Watch(int(url.rsplit(":", 1)[1])) as watch:
        run = support.Run("replay", cassette, app(calls, "endpoint"))
    checks.that(watch.count == 0, f"{title}: no connection to the upstream is attempted")
    if not checks.that(run.status == 0 and run.report["ok"], f"{title}: the replay succeeds", run):
        return []
    checks.that(run.report["unused"] == [], f"{title}: no interaction is unused", run.report["unused"])
    return seen(run.output)


def stubbed(checks, title, folder, cassette, url, calls, replay):
    """The same calls to a WireMock server with the exported mappings."""
    root = folder / f"{cassette.name}-wiremock"
    ended = support.diorama("cassette", "export", cassette, "--as", "wiremock", "--to", root, "--json")
    if not checks.that(ended.returncode == 0, f"{title}: mappings are exported", ended):
        return
    for one in json.loads(ended.stdout)["notCarriedOver"]:
        checks.say(f"{title} to WireMock: not carried over: {one['interactions'] or 'the whole'}: {one['what']}")
    words = ["java", "-jar", str(support.wiremock_jar()), "--root-dir", str(root), "--port", "0", "--bind-address", "127.0.0.1"]
    with support.Program(words, says="port:") as mock:
        ended = support.finish(app(calls, "live", mock.url))
        strange = support.finish(app([call("POST", "/orders", JSON, b'{"item": "other"}'), call("PUT", "/notes")], "live", mock.url))
    if not checks.that(ended.returncode == 0, f"{title}: WireMock responds", ended):
        return
    compare(checks, f"{title} at WireMock", calls, replay, seen(ended.stdout, [url]))
    statuses = [one[0] for one in seen(strange.stdout)]
    checks.that(statuses == [404, 404], f"{title}: WireMock refuses calls that aren't recorded", strange)


def main():
    checks = support.Checks("importers")
    java = shutil.which("java")
    checks.that(java, "java is installed, which WireMock requires")
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

        # vcrpy's JSON serializer can't write binary bodies.
        calls = [one for one in CALLS if one[1] not in ("/binary", "/latin1", "/gzip", "/deflate", "/large")]
        url, live = record_by_vcrpy(folder, "vcrpy.json", calls)
        cassette, _ = imported(checks, "vcrpy in JSON", folder, "vcrpy.json", url, len(calls))
        compare(checks, "vcrpy in JSON", calls, live, replayed(checks, "vcrpy in JSON", cassette, url, calls))

        # Exports a HAR and imports it again: only the listed losses occur.
        ended = support.diorama("cassette", "export", folder / "vcrpy-yaml-cassette", "--as", "har", "--to", folder / "out.har")
        checks.that(ended.returncode == 0, "a HAR is exported", ended)
        document = json.loads((folder / "out.har").read_text())
        checks.that("_diorama" not in document["log"], "the HAR has no _diorama header", list(document["log"]))
        url = json.loads(support.diorama("cassette", "show", folder / "vcrpy-yaml-cassette", "--json").stdout)["upstreams"]["api"]
        again, _ = imported(checks, "our HAR", folder, "out.har", url, len(CALLS) + 1)
        first = replayed(checks, "our HAR", folder / "vcrpy-yaml-cassette", url, [*CALLS, UPLOAD])
        compare(checks, "our HAR", [*CALLS, UPLOAD], first, replayed(checks, "our HAR", again, url, [*CALLS, UPLOAD]))
    checks.end()


if len(sys.argv) > 1:
    sys.exit("usage: importers.py")
main()
