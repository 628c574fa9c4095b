"""Checks messages byte by byte, live, recorded and replayed: case and order of headers, repeated and empty ones, dates,
`0.00`, charsets, binary bodies, ranges, conditions, trailers, cookies of two upstreams, added headers, custom CAs and
client certificates, WebSockets over TLS. Uses raw sockets, Python's http.client and curl.

    fidelity.py
"""

import base64
import hashlib
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import threading

import support

ALL_BYTES = bytes(range(256)) * 3

# The app: sends the given bytes, and prints the complete response.
APP = r"""
import json, os, socket, sys
for name, request in json.load(sys.stdin if len(sys.argv) < 2 else open(sys.argv[1])):
    host, port = os.environ["DIORAMA_ENDPOINT_" + name].split("//")[1].split(":")
    own = request.replace("ENDPOINT", f"{host}:{port}")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(own.encode("latin-1"))
        answer = b""
        while part := connection.recv(65536): answer += part
    print(json.dumps(answer.decode("latin-1").replace(f"{host}:{port}", "ENDPOINT")))
"""

# A browser in Python. Its cookie jar ignores ports.
BROWSER = r"""
import http.cookiejar, json, os, urllib.request
jar = http.cookiejar.CookieJar()
jar.set_cookie(http.cookiejar.Cookie(0, "theme", "dark", None, False, "127.0.0.1", False, False, "/", True, False, None, True, None, None, {}))
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar))
for path in ["/login", "/me"]:
    for name in ["A", "B"]:
        print(json.dumps(opener.open(os.environ["DIORAMA_ENDPOINT_" + name] + path).read().decode()))
print(json.dumps(opener.open(os.environ["DIORAMA_ENDPOINT_A"] + "/logout").read().decode()))
for name in ["A", "B"]:
    print(json.dumps(opener.open(os.environ["DIORAMA_ENDPOINT_" + name] + "/me").read().decode()))
print(json.dumps("; ".join(sorted(cookie.name + "=" + cookie.value for cookie in jar))))
"""


class Raw:
    """A server that answers with given bytes: `answer(head, body)` returns the complete response. It stores its requests.
    """

    def __init__(self, answer, context=None):
        self.answer, self.context, self.requests = answer, context, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                try:
                    connection.do_handshake()
                except ssl.SSLError:
                    # Closing at once would reset the connection, which would hide the actual error.
                    with socket.socket(fileno=connection.detach()) as bare:
                        while bare.recv(65536):
                            pass
                    return
            with connection, connection.makefile("rb") as lines:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = lines.readline()
                    if not line:
                        return
                    head += line
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2] if b": " in line)
                body = lines.read(int(fields.get(b"content-length", 0)))
                self.requests.append((head.decode("latin-1"), body))
                if fields.get(b"upgrade") == b"websocket":
                    return self.chat(connection, lines, fields[b"sec-websocket-key"])
                connection.sendall(self.answer(head.decode("latin-1"), body))
        except OSError:
            pass  # the client disconnected

    def chat(self, connection, lines, key):
        """A WebSocket that answers one message with its own address."""
        key = dict(line.split(": ", 1) for line in self.requests[-1][0].split("\r\n")[1:-2])["Sec-WebSocket-Key"]
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        )
        size = lines.read(2)[1] & 127
        mask = lines.read(4)
        said = bytes(byte ^ mask[index % 4] for index, byte in enumerate(lines.read(size)))
        text = b"%s -> wss://127.0.0.1:%d/next" % (said, self.port)
        connection.sendall(bytes([0x81, len(text)]) + text + bytes([0x88, 2, 3, 232]))
        lines.read(8)  # the client's close frame

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def plain(body, headers="", status="200 OK"):
    body = body if isinstance(body, bytes) else body.encode()
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode("latin-1") + body


def ask(target, headers="", body="", method="GET"):
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n{headers}{length}Connection: close\r\n\r\n{body}"


def run(mode, cassette, requests, upstreams=(), options=(), folder=None):
    """Returns the app's response for each request, and the run."""
    script = pathlib.Path(f"{cassette}.requests")
    script.write_text(json.dumps(requests))
    ran = support.Run(mode, cassette, [sys.executable, "-c", APP, script], upstreams, options)
    return [json.loads(line) for line in ran.output.splitlines()], ran


def messages(checks, folder):
    """Checks heads and bodies."""
    date = "Mon, 08 Oct 2018 09:00:00 GMT"
    answers = {
        "/head": plain(
            '{"total": 0.00, "n": 1E+2, "big": 12345678901234567890}',
            f"x-LOWER: 1\r\nX-UPPER: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: a=1\r\nset-cookie: b=\r\nX-Empty: \r\ndate: {date}\r\n"
            f"last-modified: {date}\r\nVary: a\r\nVary: b\r\nContent-type: application/json; charset=\"UTF-8\"\r\n",
        ),
        "/latin": plain("na\u00efve caf\u00e9".encode("latin-1"), "Content-Type: text/plain; charset=ISO-8859-1\r\n"),
        "/utf16": plain("h\u00e9llo".encode("utf-16"), "Content-Type: text/html; charset=utf-16\r\n"),
        "/bytes": plain(ALL_BYTES, "Content-Type: text/plain\r\n"),
        "/image": plain(ALL_BYTES, "Content-Type: image/png\r\n"),
        "/empty": plain(b"", "Content-Type: text/plain\r\n"),
        "/none": b"HTTP/1.1 204 No Content\r\nX-A: 1\r\nConnection: close\r\n\r\n",
        "/missing": plain("no", status="404 Not Here"),
        "/trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
        b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\nx-at: ENDPOINT\r\n\r\n",
    }
    with Raw(lambda head, body: answers.get(head.split()[1].split("?")[0], plain(body))) as upstream:
        answers["/trailers"] = answers["/trailers"].replace(b"ENDPOINT", upstream.url.encode())
        requests = [["API", ask(path)] for path in answers]
        requests += [
            ["API", ask("/q?b=2&a=1&b=1&&c=&d", "x-lower: 1\r\nX-UPPER: 2\r\nX-Dup: 1\r\nX-Empty:\r\nx-dup: 2\r\ncOOKIE: c=1\r\n")],
            ["API", ask("/echo", "content-TYPE: application/octet-stream\r\n", ALL_BYTES.decode("latin-1"), "POST")],
            ["API", ask("/echo", "Content-Type: text/plain; charset=ISO-8859-1\r\n", "caf\u00e9", "PUT")],
            ["API", "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"],
        ]
        cassette = folder / "messages"
        keep = folder / "keep.json"
        keep.write_text('{"redaction": {"keep": {"headers": ["Cookie", "Set-Cookie"]}}}')
        live, ran = run("record", cassette, requests, {"API": upstream.url}, ["--config", keep])
        checks.that(ran.status == 0 and len(live) == len(requests), "all requests are recorded", ran)
        sent = [head for head, _ in upstream.requests]
        bodies = [body for _, body in upstream.requests]
    replayed, ran = run("replay", cassette, requests, options=["--config", keep])
    checks.that(ran.status == 0 and len(replayed) == len(requests), "all requests are replayed", ran)
    for (_, request), one, other in zip(requests, live, replayed):
        # The framing fields may move among the other fields.
        one, other = (answer.replace("Transfer-Encoding: chunked\r\n", "") for answer in (one, other))
        checks.that(one == other, f"the same live and in replay: {request.split()[1]}", f"{one}\n{other}")
    first = live[0]
    for line in [
        "x-LOWER: 1\r\nX-UPPER: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: a=1\r\nset-cookie: b=\r\n", f"date: {date}\r\n", "Vary: a\r\nVary: b\r\n",
        'Content-type: application/json; charset="UTF-8"\r\n', '"total": 0.00, "n": 1E+2, "big": 12345678901234567890',
    ]:
        checks.that(line in first, f"reaches the app as sent: {line.strip()[:60]}", first)
    checks.that("\r\nX-Empty:" in first, "a field without a value is kept", first)
    for path, (_, request), answer in zip(answers, requests, live):
        body = answers[path].split(b"\r\n\r\n", 1)[1]
        if path != "/trailers":
            checks.that(answer.encode("latin-1").endswith(b"\r\n\r\n" + body), f"the body is unchanged: {path}", answer[-200:])
    trailers = live[list(answers).index("/trailers")]
    checks.that(
        trailers.endswith("0\r\nX-Sum: 5\r\nx-at: http://ENDPOINT\r\n\r\n") and "Trailer: X-Sum\r\n" in trailers,
        "trailer fields reach the app, with rewritten addresses", trailers,
    )
    asked = sent[len(answers)]
    checks.that(asked.startswith("GET /q?b=2&a=1&b=1&&c=&d HTTP/1.1\r\n"), "query items keep their order, repeats and empty values", asked)
    checks.that(
        "x-lower: 1\r\nX-UPPER: 2\r\nX-Dup: 1\r\nX-Empty:" in asked and "x-dup: 2\r\n" in asked and "cOOKIE: c=1\r\n" in asked,
        "reaches the upstream in the app's case and order", asked,
    )
    checks.that("content-TYPE: application/octet-stream" in sent[len(answers) + 1], "a body's content type reaches the upstream", sent[len(answers) + 1])
    checks.that(bodies[len(answers) + 1 :] == [ALL_BYTES, "caf\u00e9".encode("latin-1"), b""], "bodies reach the upstream unchanged")
    checks.that("Content-Length: 0\r\n" in sent[-1], "an empty body has a Content-Length", sent[-1])
    checks.that("Content-Length" not in sent[0], "an absent body has no Content-Length", sent[0])
    entries = support.har(cassette)
    reasons = {entry["request"]["url"].rsplit("/", 1)[1]: entry["response"]["statusText"] for entry in entries}
    checks.that(reasons["missing"] == "Not Here" and reasons["none"] == "No Content", "the recording keeps the reason phrase", reasons)
    fields = [[field["name"], field["value"]] for field in entries[len(answers)]["request"]["headers"]]
    checks.that(["x-lower", "1"] in fields and ["X-UPPER", "2"] in fields and fields.index(["X-Dup", "1"]) < fields.index(["x-dup", "2"]), "the recording keeps the case", fields)


def parts(checks, folder):
    """Checks ranges and conditional requests with curl."""

    def answer(head, body):
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:-2])
        tag = 'ETag: "v1"\r\n'
        if fields.get("If-None-Match") == '"v1"':
            return f"HTTP/1.1 304 Not Modified\r\n{tag}Connection: close\r\n\r\n".encode()
        if "Range" not in fields:
            return plain(b"0123456789", tag)
        low, high = map(int, fields["Range"].removeprefix("bytes=").split("-"))
        return plain(b"0123456789"[low : high + 1], f"{tag}Content-Range: bytes {low}-{high}/10\r\n", "206 Partial Content")

    curl = 'curl -s -w " %{http_code}\\n" '
    url = '"$DIORAMA_ENDPOINT_API/digits"'
    tag = "-H 'If-None-Match: \"v1\"' "
    with Raw(answer) as upstream:
        script = "; ".join([f"{curl}-r 0-3 {url}", f"{curl}-r 4-9 {url}", f"{curl}{url}", f"{curl}{tag}{url}"])
        live = support.Run("record", folder / "parts", ["sh", "-c", script], {"API": upstream.url})
        checks.that(live.output == "0123 206\n456789 206\n0123456789 200\n 304\n", "ranges and conditional requests work", live)
    other = "; ".join([f"{curl}{tag}{url}", f"{curl}-r 4-9 {url}", f"{curl}-r 0-3 {url}", f"{curl}{url}", f"{curl}{url}"])
    replay = support.Run("replay", folder / "parts", ["sh", "-c", other])
    checks.that(
        replay.status == 0 and replay.output == " 304\n456789 206\n0123 206\n0123456789 200\n0123456789 200\n",
        "in any order, each range and condition gets its own response", replay,
    )


def cookies(checks, folder):
    """Cookies: a browser's jar ignores ports, but each upstream receives only its own cookies."""

    def upstream(name):
        def answer(head, body):
            fields = [line.split(": ", 1)[1] for line in head.split("\r\n") if line.lower().startswith("cookie: ")]
            sets = f"Set-Cookie: {name}=1; Path=/\r\nSet-Cookie: sid=of-{name}; Path=/; HttpOnly\r\n"
            if "/logout" in head:
                sets = f"Set-Cookie: {name}=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT\r\nSet-Cookie: sid=; Path=/; Max-Age=0\r\n"
            return plain("; ".join(sorted("; ".join(fields).split("; "))), sets if "/log" in head else "")

        return Raw(answer)

    project = {"cassettes": "cookies", "matching": {"rules": [{"path": "/me", "compare": {"headers": ["Cookie"]}}]}}
    project["redaction"] = {"keep": {"headers": ["Cookie", "Set-Cookie"]}}
    (folder / "diorama.json").write_text(json.dumps({"overrides": [project]}))
    command = [sys.executable, "-c", BROWSER]
    with upstream("a") as a, upstream("b") as b:
        live = support.Run("record", folder / "cookies", command, {"A": a.url, "B": b.url}, cwd=folder)
        words = [json.loads(line) for line in live.output.splitlines()]
        checks.that(
            words[:4] == ["theme=dark", "theme=dark", "a=1; sid=of-a; theme=dark", "b=1; sid=of-b; theme=dark"],
            "each upstream receives its own cookies, and the app's", live,
        )
        checks.that(
            words[5:] == ["theme=dark", "b=1; sid=of-b; theme=dark", "b=1; sid=of-b; theme=dark"],
            "a cookie that A deletes is gone for A, but not for B, which set the same name", live,
        )
        seen = "".join(head for head, _ in b.requests)
        checks.that("a=1" not in seen and "of-a" not in seen, "A's cookies never reach B", seen)
    recorded = [field["value"] for entry in support.har(folder / "cookies")[2:4] for field in entry["request"]["headers"] if field["name"] == "Cookie"]
    checks.that(len(recorded) == 2 and "a=1" in recorded[0] and "a=1" not in recorded[1], "the recording contains the cookies sent", recorded)
    replay = support.Run("replay", folder / "cookies", command, cwd=folder)
    checks.that(replay.status == 0 and replay.output == live.output, "it replays with cookies compared", replay)


def certificates(folder):
    """A CA, a server certificate and a client certificate."""
    words = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    script = f"""set -e
      openssl req -x509 {words} -keyout ca.key -out ca.pem -subj '/CN=our authority'
      for name in server client; do
        openssl req {words} -keyout $name.key -out $name.csr -subj /CN=127.0.0.1
        echo subjectAltName=IP:127.0.0.1 > $name.ext
        openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $name.ext -out $name.pem
      done
      cat client.pem client.key > both.pem"""
    made = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"openssl failed: {made.stderr}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    strict = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    strict.load_cert_chain(folder / "server.pem", folder / "server.key")
    strict.load_verify_locations(folder / "ca.pem")
    strict.verify_mode = ssl.CERT_REQUIRED
    return context, strict


# Sends one message over a WebSocket, and prints the answer.
TALK = r"""
import os, socket
host, port = os.environ["DIORAMA_ENDPOINT_API"].split("//")[1].split(":")
with socket.create_connection((host, int(port)), timeout=60) as connection, connection.makefile("rb") as lines:
    connection.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
    status = lines.readline().split()[1].decode()
    while lines.readline().strip(): pass
    if status == "101":
        said = f"from ws://{host}:{port}/me".encode()
        connection.sendall(bytes([0x81, 0x80 | len(said), 0, 0, 0, 0]) + said)
        size = lines.read(2)[1]
        print(lines.read(size).decode().replace(f"{host}:{port}", "ENDPOINT"))
        connection.sendall(bytes([0x88, 0x82, 0, 0, 0, 0, 3, 232]))
        lines.read()
    else: print(status)
"""


def access(checks, folder):
    """Checks headers, CAs and certificates: in a run, in the live check, and in the daemon."""
    context, strict = certificates(folder)
    secret = "key-4711-of-nobody"
    os.environ["SECRET"] = secret
    command = ["sh", "-c", 'curl -s "$DIORAMA_ENDPOINT_API/headers"']
    talk = [sys.executable, "-c", TALK]
    ca = ["--ca", f"API={folder}/ca.pem"]
    client = ["--client-certificate", f"API={folder}/client.pem,{folder}/client.key"]
    headers = ["--header", "API/X-Api-Key=env:SECRET", "--header", "API/X-Bypass=env:SECRET", "--header", "API/x-tenant=a=b, c"]
    cassette = folder / "access"
    with Raw(lambda head, body: plain(head), context) as upstream:
        refused = support.Run("proxy", cassette, command, {"API": upstream.url})
        checks.that("failed at TLS" in refused.output and "add its authority to" in refused.output, "an upstream with an unknown CA is not trusted", refused)
        run = support.Run("record", cassette, command, {"API": upstream.url}, ca + headers)
        checks.that(
            run.status == 0 and f"X-Api-Key: {secret}\n" in run.output and f"X-Bypass: {secret}\n" in run.output
            and "x-tenant: a=b, c\n" in run.output,
            "with its CA and added headers, the upstream responds", run,
        )
        recorded = "".join(f.read_text() for f in folder.glob("access.*") if f.is_file())
        checks.that(secret not in recorded and "a=b, c" in recorded, "no recording contains the secrets", recorded[:2000])
        run = support.Run("proxy", cassette, command, {"API": upstream.url}, ["--insecure", "API"])
        checks.that(run.status == 0 and "GET /headers" in run.output, "--insecure skips certificate verification", run)
        check = support.diorama("cassette", "check", "--live", "--upstream", f"API={upstream.url}", *ca, *headers[:4], cassette)
        checks.that(check.returncode == 0 and "1 request repeated, none changed in shape" in check.stdout, "the live check reaches the upstream with the same options", check)
        check = support.diorama("cassette", "check", "--live", cassette)
        checks.that(check.returncode == 69 and "failed at TLS" in check.stderr, "the live check fails without the options", check)
        run = support.Run("record", folder / "chat", talk, {"API": upstream.url}, ca)
        checks.that(run.status == 0 and run.output == "from ws://ENDPOINT/me -> ws://ENDPOINT/next\n", "a WebSocket over TLS works, with rewritten addresses", run)
        said = [message["data"] for message in support.har(folder / "chat")[0]["_webSocketMessages"] if message["opcode"] == 1]
        own = f"wss://127.0.0.1:{upstream.port}"
        checks.that(said == [f"from {own}/me", f"from {own}/me -> {own}/next"], "the upstream and the recording contain the upstream's address", said)
    replay = support.Run("replay", cassette, command, (), ca + headers)
    checks.that(replay.status == 0 and secret not in replay.output and "redacted" in replay.output, "a replay needs none of the options", replay)
    run = support.Run("replay", folder / "chat", talk)
    checks.that(run.status == 0 and run.output.endswith("-> ws://ENDPOINT/next\n"), "the WebSocket replays with the endpoint's address", run)
    with Raw(lambda head, body: plain(head), strict) as upstream:
        run = support.Run("proxy", cassette, command, {"API": upstream.url}, ca)
        checks.that("client certificate that the upstream requires" in run.output, "the error of an upstream that requires a certificate explains it", run)
        for options in [client, ["--client-certificate", f"API={folder}/both.pem"]]:
            run = support.Run("proxy", cassette, command, {"API": upstream.url}, ca + options)
            checks.that(run.status == 0 and "GET /headers" in run.output, "an upstream accepts the client certificate", run)
        run = support.Run("proxy", folder / "x", talk, {"API": upstream.url}, ca + client)
        checks.that(run.output.endswith("-> ws://ENDPOINT/next\n"), "a WebSocket, too", run)
        home = folder / "home"
        words = ["env", "create", "--state", home, "--mode", "proxy", "--upstream", f"API={upstream.url}", *ca, *client, *headers, "--json"]
        made = support.diorama(*words)
        if checks.that(made.returncode == 0, "the daemon accepts the options", made):
            environment = json.loads(made.stdout)
            got = subprocess.run(["curl", "-s", environment["endpoints"]["API"] + "/headers"], capture_output=True, text=True, env=support.environment())
            checks.that(f"X-Api-Key: {secret}" in got.stdout, "the daemon uses the options", got.stdout)
            support.diorama("env", "delete", "--state", home, environment["id"])
        support.diorama("serve", "--stop", "--state", home)
    for options, status, words in [
        (["--ca", "API=/nowhere.pem"], 74, "the CA of upstream 'API', /nowhere.pem, does not exist"),
        (["--ca", f"API={folder}/ca.key"], 64, "contains no PEM certificate"),
        (["--client-certificate", f"API={folder}/client.pem"], 64, "contains no PEM key"),
        (["--insecure", "OTHER"], 64, "there is no upstream 'OTHER'"),
        (["--header", "API/X-A=env:NOT_SET"], 64, "NOT_SET is not set"),
        (["--header", "API/X-Api-Key=hunter2"], 64, "other users can read a secret in a command line"),
        (["--header", "X-A=1"], 64, "--header takes UPSTREAM/NAME"),
    ]:
        said = support.diorama("run", "--mode", "proxy", "--upstream", "API=https://127.0.0.1:1", *options, "--", "true")
        checks.that(
            said.returncode == status and words in said.stderr and len(said.stderr.splitlines()) == 1,
            f"one line for {' '.join(options)[:60]}", said,
        )


def main():
    if not shutil.which("curl") or not shutil.which("openssl"):
        sys.exit("this needs curl and openssl")
    checks = support.Checks("fidelity")
    with support.folder() as folder:
        for part in [messages, parts, cookies, access]:
            part(checks, folder)
    checks.end()


main()
