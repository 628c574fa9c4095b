"""Compares `diorama mock` with WireMock's own server, case by case: both get the same stubs and the same requests.

    wiremock.py [--only TEXT] [--root-dir DIR]

--only runs the cases whose name contains TEXT. --root-dir compares how the two serve the mappings in DIR/mappings and
DIR/__files, instead: it sends requests that should match each mapping, and requests that lack one of its conditions.

Fails on every difference that GENERAL and EXPECTED don't list and, with all cases, on every entry of theirs that no longer
occurs.
"""

import argparse
import collections
import concurrent.futures
import gzip
import http.client
import http.server
import json
import pathlib
import re
import shutil
import socket
import sys
import time
from dataclasses import dataclass, field

import support
import wiremock_admin_cases  # adds its cases to SECTIONS
import wiremock_folder
from wiremock_cases import FIXED_ID, OTHER_ID, SECTIONS, get, request

# What differs everywhere, and why. `Comparison` reports each by its key.
GENERAL = {
    "vary": "Diorama doesn't compress answers, so it sends neither Vary nor Content-Encoding.",
    "reason": "Reason phrases are those of RFC 9110, not Jetty's.",
    "miss": "An unmatched request gets a problem document (RFC 9457) and Diorama-Miss, not a text table.",
    "page": "Where WireMock answers an HTML page, mostly a stack trace, any complete answer will do.",
}
# What differs in single cases, and why. An entry is "CASE | METHOD PATH [HEADER]… BODY"; words at its end may be left out.
EXPECTED = {
    "Contradictory, unknown and invalid members of a mapping are refused with 422; WireMock picks one or ignores them.": [
        "url: url wins over urlPath | POST /__admin/mappings",
        "url: urlPath with a query in it | POST /__admin/mappings",
        "body: first known matcher wins | POST /__admin/mappings",
        "body: unknown extra member | POST /__admin/mappings",
        "equalToJson: placeholder matches custom | POST /__admin/mappings",
        "matchesJsonPath: $.store.book[(@.length-1)] | POST /__admin/mappings",
        "matchesJsonPath: invalid path | POST /__admin/mappings",
        "matchesJsonPath: invalid filter | POST /__admin/mappings",
        "matchesXPath: //item[ | POST /__admin/mappings",
        "matchesXPath: //x:item | POST /__admin/mappings",
        "matchesXPath: namespaces missing | POST /__admin/mappings",
        "response: base64Body with body | POST /__admin/mappings",
        "response: body with jsonBody | POST /__admin/mappings",
        "response: body with bodyFileName | POST /__admin/mappings",
        "response: header line end | POST /__admin/mappings",
        "response: unknown transformer | POST /__admin/mappings",
        'mapping: accepted {"request": {"url": "/", "customMatcher": {"name": "none"}}} |',
    ],
    "An invalid template is refused with 422 when it is uploaded; WireMock answers 500 when it is used.": [
        "template: syntax {{'literal'}} | POST /__admin/mappings",
        'template: syntax {{"literal"}} | POST /__admin/mappings',
        "template: syntax {{12}} | POST /__admin/mappings",
        "template: strings {{split 'a,b' ','}} | POST /__admin/mappings",
        "template: strings {{formatDate '2021-06-14'}} | POST /__admin/mappings",
        "template: dates {{date (parseDate '2021-06-14T15:16:17Z') format='''yyyy'''}} | POST /__admin/mappings",
        "template: broken {{#if x}} | POST /__admin/mappings",
        "template: broken {{/if}} | POST /__admin/mappings",
        "template: broken {{nohelper 'x'}} | POST /__admin/mappings",
        "template: broken {{> partial}} | POST /__admin/mappings",
        "template: broken {{#if a}}{{/each}} | POST /__admin/mappings",
        "template: broken {{}} | POST /__admin/mappings",
    ],
    "The pointer of an error names the member that is wrong; WireMock's names an object around it.": [
        "bad mapping: invalid regex |",
        "bad mapping: invalid regex in a header |",
        "bad mapping: invalid JSON in equalToJson |",
        "bad mapping: invalid XML in equalToXml |",
        "bad mapping: expression missing |",
        "bad mapping: and of a wrong type |",
        "bad mapping: and empty |",
        "bad mapping: unknown delay type |",
        "bad mapping: invalid base64 |",
        "bad mapping: date unit |",
        "bad mapping: only in version 3: not |",
        "bad mapping: only in version 3: hasExactly |",
        "bad mapping: only in version 3: includes |",
        "bad mapping: only in version 3: matchesJsonSchema |",
        "bad mapping: empty | POST /__admin/mappings",
        "bad mapping: matcher missing |",
        "bad mapping: truncation |",
    ],
    "Features of WireMock 3, which its version 2 doesn't have.": [
        "bad mapping: only in version 3: urlPathTemplate |",
        "proxy: removeProxyRequestHeaders is unknown |",
        "template: request {{request.bodyAsBase64}} |",
        "template: request {{request.parts}} |",
        "template: request {{request.clientIp}} |",
        "template: multipart {{request.parts.text.body}} |",
        "template: multipart {{request.parts.text.headers.content-type}} |",
        "admin unknown | GET /__admin/health",
        "admin unknown | GET /__admin/version",
        "admin files | GET /__admin/files/a.txt",
    ],
    "JSON is read strictly: no comments, single quotes or text after the document.": [
        'equalToJson: object | POST /b {"a":1,"b":[1,2]} x',
        "equalToJson: comments and single quotes in the body | POST /b {'a':'x'}",
        'equalToJson: comments and single quotes in the body | POST /b {"a":"x"/*c*/}',
        'matchesJsonPath: number with {"absent": true} | POST /b not json',
        "mapping: comments and single quotes |",
    ],
    "Numbers are compared and kept exactly; WireMock's may become Java's int, double or infinity.": [
        'equalToJson: big numbers | POST /b {"a":1.2345678901234567890e19}',
        'matchesJsonPath: number with {"equalToJson": "10"} | POST /b {"a":10.0}',
        'matchesJsonPath: number with {"equalToJson": "10"} | POST /b {"a":1e1}',
        "response: jsonBody number 1e400 | GET /r",
        "template: numbers {{math 9223372036854775807 '+' 1}} |",
        "admin mappings: serialise response, json |",
        "admin mappings: serialise response, delays |",
    ],
    "A jsonBody has characters beyond U+FFFF in UTF-8; WireMock has them as two escapes.": ["response: jsonBody emoji | GET /r"],
    "JSON paths are those of RFC 9535 with Jayway's newer functions; objects in lists are JSON texts, not Java's.": [
        'matchesJsonPath: object with {"equalTo": "{\\n  \\"b\\" : 1\\n}"} | POST /b {"a":[{"b":1}]}',
        'matchesJsonPath: object with {"matchesJsonPath": "$.b"} | POST /b {"a":[{"b":1}]}',
        "matchesJsonPath: result of $.n.first() |",
        "matchesJsonPath: $.n.first() is 1 |",
        "matchesJsonPath: result of $.n.last() |",
        "matchesJsonPath: $.n.last() is 4 |",
        "matchesJsonPath: result of $.n.index(1) |",
        "matchesJsonPath: $.n.index(1) is 2 |",
        "matchesJsonPath: result of $.n[::2] |",
        "matchesJsonPath: $.n[::2] is 1 |",
        "matchesJsonPath: result of $.n[1:-1] |",
        "matchesJsonPath: $.n[1:-1] is 2 |",
        "template: json {{jsonPath request.body '$..n'}} |",
        "template: json {{jsonPath request.body '$.name['}} |",
    ],
    "XPath expressions may give numbers and texts; WireMock takes only nodes, or writes 2 as 2.0.": [
        "matchesXPath: count(//item) |",
        "matchesXPath: count(//item)=2 |",
        "matchesXPath: string(//name) |",
        "matchesXPath: number with equalTo integer |",
        "template: xml {{xPath request.body 'count(//item)'}} |",
        "template: xml {{xPath request.body 'string(//name)'}} |",
    ],
    "XML that declares entities is not read, and XML with text between elements matches itself.": [
        "equalToXml: document type | POST /b <!DOCTYPE a [<!ENTITY e 'x'>]><a/>",
        "equalToXml: mixed text | POST /b <a>x<b/>y</a>",
        "equalToXml: mixed text | POST /b <a> x <b/> y </a>",
    ],
    "`absent: false` means that a value is there; WireMock reads it as `absent: true`.": ["query: absent false |"],
    "Headers and reason phrases are UTF-8, as bodies are, and a byte order mark is skipped; WireMock's headers are Latin-1.": [
        "headers: caseInsensitive non-ASCII |",
        "response: statusMessage non-ASCII |",
        "response: header non-ASCII |",
        "equalToJson: whitespace and byte order mark |",
    ],
    "Numbers and booleans are taken as text where text is expected; WireMock refuses them.": [
        "response: header value types | POST /__admin/mappings",
        "bad mapping: matcher of a wrong type |",
        "bad mapping: contains of a wrong type |",
    ],
    "The machine's name and locales stay out of templates, so that a run repeats anywhere.": [
        "template: strings {{hostname}} |",
        "template: strings {{numberFormat 1234567.891 'decimal' 'de_DE'}} |",
    ],
    "Failures are problem documents (RFC 9457) with their own status.": [
        "files: GET /../mappings/ |",
        "proxy: unreachable |",
        "admin mappings: delete | DELETE /__admin/mappings/no-uuid",
        "admin files | PUT /__admin/files/../out.txt",
        "admin files | DELETE /__admin/files/none.txt",
        "admin unknown | GET /__admin/nope",
        "admin unknown | POST /__admin/nope",
        "admin unknown | PUT /__admin/mappings",
    ],
    "`$schema` is kept, and a stub without metadata has none: `absent` finds it.": [
        'mapping: accepted {"$schema": "x"} |',
        'admin mappings: metadata | POST /__admin/mappings/find-by-metadata {"absent": true}',
    ],
    "The admin API shows no paths of this machine, and answers without a redirect.": [
        "admin mappings: empty | GET /__admin",
        "admin files | GET /__admin/files",
        "admin files | PUT /__admin/files/a.txt",
        "admin files | PUT /__admin/files/d/b.txt",
    ],
    "Regular expressions have the classes of Unicode; Java's are those of ASCII.": [
        "body: matches classes | POST /b é 12",
        "body: matches non-ASCII | POST /b é",
    ],
    "Files are sent whole, and an empty reason phrase is the usual one.": [
        "response: statusMessage empty | GET /r",
        "files: If-Modified-Since and Range |",
    ],
    "Templates print an element with a prefix as any other; WireMock prints nothing.": [
        "template: xml {{xPath request.body '//x'}} |",
    ],
    "The journal has charsets as they were sent and no copies of files; `since` also counts; errors have no codes of WireMock's.": [
        "admin requests: bodies | GET /__admin/requests",
        "admin requests: list | GET /__admin/requests?matchingStub=x",
        "admin requests: list | GET /__admin/requests?since=2999-01-01T00:00:00Z",
        "admin requests: list | GET /__admin/requests?since=x",
        "admin requests: one with a file, a fault and a proxy | GET /__admin/requests/@EVENT@",
        "admin settings | PATCH /__admin/settings/extended",
        "admin settings | POST /__admin/settings",
    ],
    "A near miss of a request shows the request as it was sent, and a request without a body has none.": [
        "admin near misses: of a request |",
    ],
    "Recording is done by `diorama run` or an environment, not through the mock's admin API.": [
        "admin recordings | POST /__admin/recordings/start",
        "admin recordings | POST /__admin/recordings/stop",
    ],
}

# Jetty's reason phrases, and what Diorama sends.
REASONS = {
    "Server Error": "Internal Server Error",
    "Unprocessable Entity": "Unprocessable Content",
    "I'm a Teapot": "Non-Standard Status",
}
# Headers of the moment or the connection.
HEADERS_LEFT_OUT = {"date", "server", "connection", "keep-alive", "transfer-encoding", "content-length"}
# Members of JSON answers whose values differ from run to run, are in no order, or hold such headers.
NUMBERS = {"loggedDate", "processTime", "responseSendTime", "serveTime", "totalTime", "addedDelay"}
UNORDERED = {"possibleStates", "scenarios"}
HEADERS_OF_THE_MOMENT = {"Date", "Server", "User-Agent"}
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?")
SURROGATES = re.compile(r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w")
RAW = {"raw", "fault", "chunks"}


@dataclass
class Answer:
    status: int = 0
    reason: str = ""
    headers: list = field(default_factory=list)
    body: bytes = b""
    failure: str = ""
    raw: bytes = b""
    seconds: float = 0

    def header(self, name):
        return next((value for key, value in self.headers if key.lower() == name), "")

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return {"<text>": self.body.decode("utf-8", "replace")}


class Server:
    """One of the two servers, with what a case gave it."""

    def __init__(self, program, upstream):
        self.host, self.port, self.upstream, self.files = program.host, program.port, upstream, {}
        self.authority = f"{program.host}:{program.port}"

    def run(self, case, keeps_stubs=False):
        """Gives the server the case's stubs, files and settings and nothing else, and sends the requests. Returns each
        request with its answer, uploads first; a refused upload ends the case. With `keeps_stubs`, only sends requests."""
        if keeps_stubs:
            return [(item, self.send(item)) for item in case.requests]
        self.reset()
        self.put_files(case.files)
        seen = []
        for document in case.stubs:
            upload = request("POST", "/__admin/mappings", document, compare="upload")
            seen.append((upload, self.send(upload)))
            if seen[-1][1].status != 201:
                return seen
        if case.settings:
            self.admin("POST", "/settings", case.settings)
        seen += [(item, self.send(item)) for item in case.requests]
        if case.settings:
            self.admin("POST", "/settings", {})
        return seen

    def reset(self):
        self.admin("DELETE", "/mappings")
        self.admin("DELETE", "/requests")
        self.admin("POST", "/scenarios/reset")

    def put_files(self, files):
        if files == self.files:
            return
        for name in self.files.keys() - files.keys():
            self.admin("DELETE", f"/files/{name}")
        for name, text in files.items():
            self.admin("PUT", f"/files/{name}", text)
        self.files = files

    def admin(self, method, path, body=None):
        answer = self.send(request(method, f"/__admin{path}", body))
        if answer.failure or answer.status >= 400:
            sys.exit(f"wiremock.py: {method} http://{self.authority}/__admin{path} failed: {answer}")

    def send(self, item):
        path = item.path
        if "@EVENT@" in path:  # the newest entry of the journal
            events = json.loads(self.send(get("/__admin/requests")).body)["requests"]
            path = path.replace("@EVENT@", events[0]["id"] if events else FIXED_ID)
        body = item.body.replace(b"@UPSTREAM@", self.upstream.encode()) if item.body is not None else None
        return self.send_raw(item, path, body) if item.compare in RAW else self.send_parsed(item, path, body)

    def send_parsed(self, item, path, body):
        start = time.monotonic()
        connection = http.client.HTTPConnection(self.host, self.port, timeout=support.PATIENCE)
        try:
            connection._validate_path = lambda _: None
            connection.putrequest(item.method, path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", item.host or self.authority)
            for name, value in item.headers:
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            reply = connection.getresponse()
            content = reply.read()
            return Answer(reply.status, reply.reason, reply.getheaders(), content, seconds=time.monotonic() - start)
        except (http.client.HTTPException, OSError) as error:
            return Answer(failure=type(error).__name__)
        finally:
            connection.close()

    def send_raw(self, item, path, body):
        lines = [f"{item.method} {path} HTTP/1.1", f"Host: {item.host or self.authority}"]
        if item.compare == "raw":
            lines.append("Connection: close")
        lines += [f"{name}: {value}" for name, value in item.headers]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        data, failure = b"", ""
        try:
            with socket.create_connection((self.host, self.port), timeout=support.PATIENCE) as connection:
                connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))
                while chunk := connection.recv(65536):
                    data += chunk
                    if item.compare == "chunks" and data.endswith(b"\r\n0\r\n\r\n"):
                        break
        except OSError as error:
            failure = type(error).__name__
        head, blank, rest = data.partition(b"\r\n\r\n")
        head = re.sub(rb"(?i)\r\n(date|server|connection): [^\r\n]*", b"", head)
        if item.compare == "raw":
            rest = without_chunks(rest) if re.search(rb"(?i)\r\ntransfer-encoding: chunked", head) else rest
            head = re.sub(rb"(?i)\r\n(transfer-encoding|content-length): [^\r\n]*", b"", head)
        return Answer(raw=head + blank + rest, failure=failure)


def without_chunks(data):
    """The content of a chunked body."""
    content = b""
    while size := re.match(rb"([0-9a-fA-F]+)\r\n", data):
        length, start = int(size.group(1), 16), size.end()
        if not length:
            break
        content, data = content + data[start : start + length], data[start + length + 2 :]
    return content or data


class Upstream(support.Upstream):
    """The server behind stubs that proxy: it answers with what it received, in a fixed order."""

    hidden = {"connection", "user-agent", "accept-encoding", "content-length", "transfer-encoding", "host", "keep-alive"}

    def __init__(self):
        super().__init__(self.answer)
        handler = self.server.RequestHandlerClass
        handler.do_HEAD = handler.do_OPTIONS = handler.handle_any

    def answer(self, handler, body):
        while "chunked" in (handler.headers.get("Transfer-Encoding") or ""):
            size = int(handler.rfile.readline(), 16)
            body += handler.rfile.read(size)
            handler.rfile.readline()
            if not size:
                break
        fields = [("X-Upstream", "yes")]
        if handler.path.startswith("/status/"):
            status = int(handler.path.split("/")[2])
            fields += [("Content-Type", "text/plain")] + ([("Location", "/elsewhere")] if status == 302 else [])
            return status, fields, b"" if status == 204 else f"status {status}".encode()
        seen = sorted((name.lower(), value) for name, value in handler.headers.items() if name.lower() not in self.hidden)
        addressed = handler.headers.get("Host") == f"127.0.0.1:{self.port}"
        content = {"method": handler.command, "path": handler.path, "headers": seen, "body": body.decode("latin-1"), "host": addressed}
        fields.append(("Content-Type", "application/json"))
        return 200, fields, b"" if handler.command == "HEAD" else json.dumps(content).encode()


class Comparison:
    """Compares answers, and counts how often each general difference occurs."""

    def __init__(self, oracle, subject):
        self.oracle, self.subject, self.general = oracle, subject, collections.Counter()

    def differences(self, item, expected, actual):
        """Lines that tell how two answers to a request differ."""
        if expected.status >= 400 and expected.body.startswith(b"<html>"):
            self.general["page"] += 1
            if item.compare == "served" and actual.status != expected.status:
                return [f"status: WireMock {expected.status}, diorama {actual.status}"]
            return [f"failed: {actual.failure}"] if actual.failure else []
        if is_miss(item, expected):
            self.general["miss"] += 1
            problem = actual.json() if item.method != "HEAD" else {"status": 404}
            seen = [actual.status, actual.header("content-type"), actual.header("diorama-miss"), problem.get("status")]
            return [] if seen == [404, "application/problem+json", "1", 404] else [f"not a miss: {actual}"]
        if item.compare == "near" and expected.status == actual.status:
            return self.distance(item, expected, actual)
        left, right = self.view(item, expected, self.oracle), self.view(item, actual, self.subject)
        lines = []
        for key in left:
            if key == "body" and item.compare == "json":
                lines += [f"body{line}" for line in places(left[key], right[key])]
            elif left[key] != right[key]:
                lines.append(f"{key}: WireMock {left[key]!r}, diorama {right[key]!r}")
        return lines

    @staticmethod
    def distance(item, expected, actual):
        try:
            distance = abs(float(expected.body) - float(actual.body))
        except ValueError:
            return [f"body: WireMock {expected.body}, diorama {actual.body}"]
        return [] if distance <= item.tolerance else [f"{distance} apart, allowed are {item.tolerance}"]

    def view(self, item, answer, server):
        """What is compared of an answer."""
        if item.compare == "upload":
            refused = "refused: " + answer.body.decode("utf-8", "replace")
            return {"upload": "accepted" if answer.status == 201 else refused if server is self.subject else "refused"}
        if item.compare in RAW:
            text = masked_ids(answer.raw.decode("latin-1"))
            text, found = re.subn(r"\r\nVary: Accept-Encoding, User-Agent", "", text)
            self.general["vary"] += found
            return {"failure": answer.failure, "bytes": text}
        parts = {"failure": answer.failure, "status": answer.status}
        if item.compare in ("exact", "json", "delay", "served"):
            parts["reason"] = self.reason(answer)
            parts["headers"] = self.headers(answer, server)
        if item.compare == "file":
            parts["type"] = answer.header("content-type")
        if item.compare in ("exact", "delay", "file"):
            parts["body"] = content(answer).decode("utf-8", "backslashreplace").replace(server.authority, "<server>")
        if item.compare == "served":
            # As EXPECTED has it: headers are UTF-8, and so are characters beyond U+FFFF.
            if server is self.subject:
                fields = ((name, value.encode("latin-1")) for name, value in parts["headers"])
                parts["headers"] = [(name, value.decode("utf-8", "replace")) for name, value in fields]
            text = content(answer).decode("utf-8", "backslashreplace")
            parts["body"] = TIME.sub("<time>", SURROGATES.sub(lambda pair: json.loads(f'"{pair[0]}"'), text))
        if item.compare == "json":
            parts["body"] = masked(answer.json(), server)
        if item.compare == "error":
            parts["errors"] = errors(answer)
        if item.compare == "pattern":
            text = answer.body.decode("utf-8", "replace")
            parts["body"] = f"matches {item.pattern}" if re.fullmatch(item.pattern, text) else text
        if item.compare == "delay":
            in_time = item.least <= answer.seconds <= item.most
            parts["time"] = "in time" if in_time else f"{answer.seconds:.2f} s, not {item.least} to {item.most} s"
        return parts

    def reason(self, answer):
        """The reason phrase as Diorama gives it. Jetty repeats the number of a status that it doesn't know."""
        known = REASONS.get(answer.reason, "Non-Standard Status" if answer.reason == str(answer.status) else answer.reason)
        self.general["reason"] += known != answer.reason
        return known

    def headers(self, answer, server):
        """Sorted by name; values of one name keep their order."""
        kept = []
        for name, value in answer.headers:
            name = name.lower()
            added = name == "vary" and value in ("Accept-Encoding, User-Agent", "User-Agent") and server is self.oracle
            if name == "content-encoding" or added:
                self.general["vary"] += 1
            elif name not in HEADERS_LEFT_OUT:
                kept.append((name, masked_ids(value).replace(server.authority, "<server>")))
        return sorted(kept, key=lambda pair: pair[0])


def is_miss(item, answer):
    """Whether WireMock says that no stub matches."""
    if item.compare == "served":
        return answer.status == 404 and not answer.header("matched-stub-id")
    texts = (b"No response could be served as there are no stub mappings", b"\n" + b" " * 47 + b"Request was not matched\n")
    return answer.status == 404 and (answer.body.startswith(texts) or answer.header("content-type") == "text/plain" and not answer.body)


def content(answer):
    """The body, decompressed."""
    if answer.header("content-encoding") != "gzip":
        return answer.body
    try:
        return gzip.decompress(answer.body)
    except (OSError, EOFError):
        return b"(not gzip) " + answer.body


def errors(answer):
    """Codes and pointers of an error document; the wording is each server's own."""
    document = answer.json()
    listed = document.get("errors", []) if isinstance(document, dict) and answer.status >= 400 else []
    return [(one.get("code"), (one.get("source") or {}).get("pointer")) for one in listed]


def masked_ids(text):
    return UUID.sub(lambda found: found.group() if found.group() in (FIXED_ID, OTHER_ID) else "<id>", text)


def masked(value, server, key=""):
    """JSON without what differs from run to run."""
    if isinstance(value, dict):
        return {masked_ids(k): "<moment>" if k in HEADERS_OF_THE_MOMENT else masked(v, server, k) for k, v in value.items()}
    if isinstance(value, list):
        items = [masked(item, server, key) for item in value]
        return sorted(items, key=str) if key in UNORDERED else items
    if key in NUMBERS and isinstance(value, int) or key == "port" and value == server.port:
        return "<number>"
    if not isinstance(value, str) or key == "clientIp":
        return value
    if key == "loggedDateString":
        return re.sub(r"\d", "0", value)
    text = re.sub(r"^/.*(?=/__files/)", "<root>", masked_ids(value))
    text = text.replace(server.authority, "<server>").replace(server.upstream.removeprefix("http://"), "<upstream>")
    return re.sub(rf"(?<=:){server.port}\b", "<port>", text)


def places(one, two, at=""):
    """Where two JSON values differ."""
    if isinstance(one, dict) and isinstance(two, dict):
        for key in sorted(one.keys() | two.keys()):
            if key in one and key in two:
                yield from places(one[key], two[key], f"{at}.{key}")
            else:
                yield f"{at}.{key}: only {'WireMock has it' if key in one else 'diorama has it'}: {one.get(key, two.get(key))!r}"
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for index, pair in enumerate(zip(one, two)):
            yield from places(*pair, f"{at}[{index}]")
    elif one != two or type(one) is not type(two):
        yield f"{at}: WireMock {one!r}, diorama {two!r}"


def main():
    options = argparse.ArgumentParser(usage="wiremock.py [--only TEXT] [--root-dir DIR]")
    options.add_argument("--only", default="")
    options.add_argument("--root-dir", type=pathlib.Path)
    options = options.parse_args()
    checks = support.Checks("wiremock")
    if not checks.that(shutil.which("java"), "java is installed, which WireMock requires"):
        checks.end()
    if options.root_dir and not (options.root_dir / "mappings").is_dir():
        sys.exit(f"wiremock.py: {options.root_dir} has no folder 'mappings'")
    sections = [lambda: wiremock_folder.cases(options.root_dir)] if options.root_dir else SECTIONS
    cases = [case for section in sections for case in section() if options.only in case.name]
    reasons = {entry: reason for reason, entries in EXPECTED.items() for entry in entries}
    used, requests, served, differing = set(), 0, 0, 0
    with support.folder() as folder, Upstream() as upstream:
        for name in ("wiremock", "diorama"):
            if options.root_dir:
                shutil.copytree(options.root_dir, folder / name)
            for inner in ("mappings", "__files"):
                (folder / name / inner).mkdir(parents=True, exist_ok=True)
        if options.root_dir:
            wiremock_folder.put_in_order(folder / "wiremock")
        java = ["java", "-Duser.language=en", "-Duser.country=US", "-Duser.timezone=UTC", "-jar", support.wiremock_jar()]
        java += ["--port", "0", "--bind-address", "127.0.0.1", "--root-dir", folder / "wiremock", "--global-response-templating"]
        mock = support.Mock(folder / "diorama", "--global-response-templating", "--time-zone", "UTC")
        with mock, support.Program([str(word) for word in java], says="port:") as wiremock:
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                servers = Server(wiremock, upstream.url), Server(mock, upstream.url)
                comparison = Comparison(*servers)
                for case in cases:
                    both = list(pool.map(lambda server: server.run(case, keeps_stubs=options.root_dir), servers))
                    requests += len(case.requests)
                    for (item, expected), (_, actual) in zip(*both):
                        served += item.compare == "served" and not is_miss(item, expected)
                        lines = comparison.differences(item, expected, actual)
                        title = f"{case.name} | {item}"
                        entries = {entry for entry in reasons if f"{title} ".startswith(entry.rstrip() + " ")} if lines else set()
                        used |= entries
                        differing += bool(entries)
                        checks.that(not lines or entries, title[:300], "\n      ".join(lines))
                    if options.root_dir:
                        reached = any(item.compare == "served" and not is_miss(item, answer) for item, answer in both[0])
                        checks.that(reached, f"{case.name}: a request is made that it answers")
    if not options.only and not options.root_dir:
        for key, reason in GENERAL.items():
            checks.that(comparison.general[key], f"a general difference no longer occurs; remove it: {reason}")
        for entry in sorted(reasons.keys() - used):
            checks.that(False, f"no longer differs; remove it from EXPECTED: {entry}")
    counts = f"{len(cases)} cases, {requests} requests" + (f", {served} served" if options.root_dir else "")
    checks.say(f"{counts}, {differing} expected differences; {dict(comparison.general)}")
    checks.end()


if __name__ == "__main__":
    main()
