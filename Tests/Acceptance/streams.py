"""Records streams of a real server as they arrive, and replays them event by event without it: at once, in recorded or
scaled time, and by the environment's clock. Recovers a recording that was killed in the middle of a stream. Does the same
with streams of other types, most of all a watch of a real etcd. Records and replays WebSockets of a real server and a real
client, both in Python, also over TLS.

    streams.py
"""

import contextlib
import json
import pathlib
import select
import socket
import subprocess
import sys
import threading
import time

import daemon
import support

EVENTS = [b"data: departure 09:00\n\n", b"id: 2\nevent: delay\ndata: 09:12\n\n", b"data: departed \xf0\x9f\x9a\x82\n\n"]
PAUSE = 0.3

# The app: prints each chunk of a stream with its time since the first; the last line says how the stream ended.
APP = """
import json, os, socket, sys, time
host, port = os.environ["DIORAMA_ENDPOINT_BOARD"].split("//")[1].split(":")
most = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 30
connection = socket.create_connection((host, int(port)), timeout=60)
connection.sendall(f"GET {sys.argv[1]} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n".encode())
lines = connection.makefile("rb")
while lines.readline().strip(): pass
started, count = time.monotonic(), 0
while count < most:
    size = lines.readline()
    if not size: print(json.dumps("cut")); sys.exit()
    chunk = lines.read(int(size, 16)); lines.readline()
    if not chunk: print(json.dumps("end")); sys.exit()
    print(json.dumps([time.monotonic() - started, chunk.decode("latin-1")]), flush=True)
    count += 1
"""

# The app: watches a key of etcd through its JSON gateway, sees its own puts come, and leaves.
WATCH = """
import base64, http.client, json, os, time
def ask(path, body):
    connection = http.client.HTTPConnection(os.environ["DIORAMA_ENDPOINT_ETCD"].split("//")[1], timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return connection.getresponse()
key = base64.b64encode(b"departures").decode()
watch = ask("/v3/watch", {"create_request": {"key": key}})
print(watch.getheader("Content-Type"), watch.getheader("Content-Length"))
print("created" in json.loads(watch.readline())["result"])
for text in [b"on time", b"delayed", b"departed"]:
    time.sleep(0.1)
    ask("/v3/kv/put", {"key": key, "value": base64.b64encode(text).decode()}).read()
    for event in json.loads(watch.readline())["result"]["events"]:
        print(base64.b64decode(event["kv"]["value"]).decode(), event["kv"]["mod_revision"], flush=True)
"""

# A WebSocket server that greets, answers in capitals or reversed, pings, and closes with its own code.
CHAT = """
import ssl, sys
from websockets.sync.server import serve
def talk(socket):
    socket.send("hello")
    for message in socket:
        if message == "bye": return socket.close(4000, "as you wish")
        if message == "ping me": socket.ping().wait()
        socket.send(message.upper() if isinstance(message, str) else message[::-1])
context = None
if len(sys.argv) > 1:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[1:])
with serve(talk, "127.0.0.1", 0, ssl=context, subprotocols=["chat"], max_size=None) as server:
    print(f"listening on {server.socket.getsockname()[1]}", flush=True)
    server.serve_forever()
"""

# The app: sends the given messages and prints what it receives, including the close.
TALK = """
import json, os, sys
from websockets.sync.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
url = os.environ["DIORAMA_ENDPOINT_CHAT"].replace("http", "ws", 1) + "/chat?room=1"
heard = []
try:
    with connect(url, subprotocols=["chat"], proxy=None, max_size=None) as socket:
        heard.append(socket.subprotocol)
        heard.append(socket.recv(60))
        for said in sys.argv[1:]:
            socket.ping().wait(60)
            socket.send(bytes(range(256)) * 1000 if said == "bytes" else said)
            answer = socket.recv(60)
            heard.append(answer if isinstance(answer, str) else ["bytes", len(answer), answer[:4].hex()])
        if sys.argv[-1] != "leave": socket.send("bye"); socket.recv(60)
except ConnectionClosed as error:
    heard.append([error.rcvd.code, error.rcvd.reason] if error.rcvd else "cut")
except InvalidStatus as error:
    heard.append(error.response.status_code)
print(json.dumps(heard))
"""


class Board:
    """A server of departures: its events are sent one by one with pauses; /open never ends, /cut is cut off; a
    path may be followed by `?` and a media type."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(16)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=(self.socket.accept()[0],), daemon=True).start()

    def serve(self, connection):
        with connection, contextlib.suppress(OSError):
            path, *kind = connection.makefile("rb").readline().split()[1].split(b"?")
            kind = kind[0] if kind else b"text/event-stream"
            if path == b"/plain":
                return connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nplain")
            if path == b"/length":
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\nhello")
                return connection.recv(1)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" % kind
            )
            for number, event in enumerate(EVENTS):
                if number:
                    time.sleep(PAUSE)
                connection.sendall(b"%x\r\n%s\r\n" % (len(event), event))
            if path == b"/open":
                connection.recv(1)  # until the client disconnects
            elif path != b"/cut":
                connection.sendall(b"0\r\n\r\n")

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def listened(run):
    """The chunks that an app printed, their times, and how the stream ended."""
    lines = [json.loads(line) for line in run.output.splitlines()]
    ends = [line for line in lines if isinstance(line, str)]
    chunks = [line for line in lines if not isinstance(line, str)]
    return [chunk.encode("latin-1") for _, chunk in chunks], [time for time, _ in chunks], (ends or ["left"])[0]


def app(path, most=""):
    return [sys.executable, "-c", APP, path, *([most] if most else [])]


def events(checks, folder, board):
    cassette = folder / "board"
    upstreams = {"board": board.url}
    run = support.Run("record", cassette, app("/events"), upstreams)
    chunks, times, end = listened(run)
    checks.that(chunks == EVENTS and end == "end", "the app receives events separately while recording", run)
    checks.that(times[-1] >= PAUSE, "the app receives events when they are sent, not at the end", times)
    (entry,) = support.har(cassette)
    parts = entry["response"]["content"].get("_diorama", {}).get("parts", [])
    checks.that([count for _, count in parts] == [len(event) for event in EVENTS], "the HAR has a chunk for each event", parts)
    checks.that(parts and parts[-1][0] >= 2 * PAUSE * 900, "the HAR has the chunks' times in milliseconds", parts)
    return cassette


def replays(checks, cassette):
    for options, least in [([], 0), (["--streams", "scaled:10"], PAUSE / 10), (["--streams", "recorded"], PAUSE * 1.8)]:
        run = support.Run("replay", cassette, app("/events"), options=options)
        chunks, times, end = listened(run)
        name = " ".join(options) or "without options"
        checks.that(run.status == 0 and chunks == EVENTS and end == "end", f"{name}: the same events, one by one", run)
        checks.that(times and times[-1] >= least, f"{name}: the last event is not early", times)
        checks.say(f"{name}: the last of {len(times)} events came after {times[-1] if times else 0:.3f} s")
    run = support.Run("replay", cassette, app("/events"), options=["--streams", "fast"])
    checks.that(run.status == 64 and "scaled:FACTOR" in run.words, "an unknown pace is refused with the known ones", run)


def endings(checks, folder, board):
    cassette = folder / "ends"
    for path, most, mark in [("/cut", "", {"cut": True}), ("/open", "3", {"cut": True, "open": True})]:
        run = support.Run("record", cassette, app(path, most), {"board": board.url})
        checks.that(run.report and run.report["requests"]["recorded"] == 1, f"{path} is recorded", run)
        notes = support.har(cassette)[0]["response"]["content"]["_diorama"]
        checks.that({key: notes.get(key) for key in mark} == mark, f"the HAR records how {path} ended", notes)
        chunks, _, end = listened(support.Run("replay", cassette, app(path, most)))
        checks.that(chunks == EVENTS, f"{path} is replayed with all received events", chunks)
        checks.that(end == ("cut" if path == "/cut" else "left"), f"{path} ends in replay as it was recorded", end)


def other_types(checks, folder, board):
    types = ["application/json", "application/json-seq", "text/plain", "multipart/x-mixed-replace", "application/octet-stream"]
    for number, kind in enumerate(types):
        cassette = folder / f"type{number}"
        for path, most, ending in [("/events", "", "end"), ("/open", "3", "left"), ("/open", "1", "left")]:
            run = support.Run("record", cassette, app(f"{path}?{kind}", most), {"board": board.url})
            checks.that(run.status == 0 and run.report["requests"]["recorded"] == 1, f"{kind}: {path} is recorded", run)
            notes = support.har(cassette)[0]["response"]["content"].get("_diorama", {})
            checks.that(notes.get("open", False) == (path == "/open"), f"{kind}: the HAR records how it ended", notes)
            run = support.Run("replay", cassette, app(f"{path}?{kind}", most))
            chunks, _, end = listened(run)
            wanted = EVENTS[: int(most or 3)]
            checks.that(run.status == 0 and chunks == wanted and end == ending, f"{kind}: {path} replays up to there", run)
            if most != "1":
                run = support.Run("replay", cassette, app(f"{path}?{kind}", most), options=["--streams", "recorded"])
                chunks, times, _ = listened(run)
                checks.that(chunks == wanted and times[-1] >= PAUSE * 1.8, f"{kind}: {path} replays with its pauses", times)
    run = support.Run("record", folder / "text", app("/cut?text/plain"), {"board": board.url})
    checks.that(
        run.status == 3 and f"failed upstream: GET {board.url}/cut?text/plain: cut off, and recorded up to there" in run.words,
        "a response of another type that the backend cuts off fails the recording", run)
    run = support.Run("record", folder / "text", app("/cut?text/plain"), {"board": board.url}, ["--allow-upstream-failures"])
    checks.that(run.status == 0, "unless that is permitted", run)
    chunks, _, end = listened(support.Run("replay", folder / "text", app("/cut?text/plain")))
    checks.that(chunks == EVENTS and end == "cut", "it replays as cut off", chunks)

    leave = ["sh", "-c", 'curl -s --max-time 1 "$DIORAMA_ENDPOINT_BOARD/length"; true']
    run = support.Run("record", folder / "length", leave, {"board": board.url})
    checks.that(
        run.status == 3 and f"cancelled by the app: GET {board.url}/length: " in run.words and run.report["brokenOff"][0]["count"] == 1,
        "a response with a length that the app cancels is not recorded: the report names it, and the run fails", run)
    run = support.Run("record", folder / "length", leave, {"board": board.url}, ["--allow-upstream-failures"])
    checks.that(run.status == 0 and not (folder / "length.har").exists(), "unless that is permitted", run)


def watches(checks, folder):
    cassette = folder / "watch"
    client, peer = (f"http://127.0.0.1:{port}" for port in (support.free_port(), support.free_port()))
    words = ["etcd", "--data-dir", folder / "etcd", "--listen-client-urls", client, "--advertise-client-urls", client]
    words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
    etcd = support.Program([*map(str, words), "--log-outputs", "stdout"], says="serving insecure client requests on ")
    with etcd:
        run = support.Run("record", cassette, [sys.executable, "-c", WATCH], {"etcd": client})
        seen = run.output
        checks.that(
            run.status == 0 and seen.splitlines()[:3] == ["application/json None", "True", "on time 2"] and "departed 4" in seen,
            "a watch of etcd works while recording", run)
        checks.that(run.report["requests"]["recorded"] == 4, "the watch that the app left is recorded", run)
    entry = next(entry for entry in support.har(cassette) if entry["request"]["url"].endswith("/v3/watch"))
    content = entry["response"]["content"]
    lines = content["text"].splitlines(keepends=True)
    parts = [count for _, count in content["_diorama"]["parts"]]
    checks.that(parts == [len(line) for line in lines] and len(parts) == 4, "its text is readable, and each event is a part", content)
    for options in ([], ["--streams", "recorded"]):
        run = support.Run("replay", cassette, [sys.executable, "-c", WATCH], options=options)
        checks.that(run.status == 0 and run.output == seen, f"the watch replays without etcd {options}", run)


def by_the_clock(checks, folder, cassette):
    with daemon.Daemon(folder, ports=100) as served:
        made = served.call(
            "POST", "/v1/environments",
            {"mode": "replay", "cassette": str(cassette), "streams": "timeline", "clock": {"kind": "frozen"}},
        )
        if not checks.that(made.status == 201, "the daemon accepts streams: timeline", made):
            return
        port = int(made.json["endpoints"]["board"].rsplit(":", 1)[1])
        parts = support.har(cassette)[0]["response"]["content"]["_diorama"]["parts"]
        with socket.create_connection(("127.0.0.1", port), timeout=support.PATIENCE) as connection:
            connection.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            lines = connection.makefile("rb", buffering=0)

            def line():
                found = b""
                while not found.endswith(b"\n"):
                    found += lines.read(1) or b"\n"
                return found.strip()

            while line():
                pass
            passed = 0
            for event, (milliseconds, _) in zip(EVENTS, parts):
                if milliseconds > passed:
                    # Much longer than in the recording.
                    silent = not select.select([connection], [], [], PAUSE * 3)[0]
                    checks.that(silent, f"no event is sent before the clock is moved to {milliseconds} ms")
                    moved = served.call(
                        "POST", f"/v1/environments/{made.json['id']}/clock", {"advance": (milliseconds - passed) / 1000}
                    )
                    checks.that(moved.status == 200, "the clock is moved", moved)
                    passed = milliseconds
                size = int(line(), 16)
                chunk = b""
                while len(chunk) < size:
                    chunk += lines.read(size - len(chunk))
                line()
                checks.that(chunk == event, f"at {milliseconds} ms, the next event is sent", chunk)
            checks.that(line() == b"0", "the stream ends after the last event")
        refused = served.call("POST", "/v1/environments", {"mode": "mock", "streams": "fast"})
        checks.that(refused.status == 422 or refused.status == 400, "the daemon refuses an unknown pace", refused)


def killed(checks, folder, board):
    cassette = folder / "killed"
    script = APP.replace("started, count", "print(json.dumps('reading'), flush=True); started, count", 1)
    words = f"""
import http.client, os
connection = http.client.HTTPConnection(os.environ["DIORAMA_ENDPOINT_BOARD"].split("//")[1], timeout=60)
connection.request("GET", "/plain"); assert connection.getresponse().read() == b"plain"
connection.close()
{script}"""
    process = subprocess.Popen(
        support.arguments("record", cassette, [sys.executable, "-c", words, "/open"], {"board": board.url}),
        env=support.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )
    for line in process.stdout:
        if b"delay" in line:
            break
    process.kill()
    process.wait()
    process.stdout.close()
    checks.that(not pathlib.Path(f"{cassette}.har").exists(), "a recording killed during a stream writes no cassette")
    done = support.diorama("cassette", "check", "--recover", cassette)
    checks.that(done.returncode == 0, "the recording is recovered", done.stderr)
    urls = [entry["request"]["url"] for entry in support.har(cassette)]
    checks.that([url.rsplit("/", 1)[1] for url in urls] == ["plain"], "the recovered recording has the complete responses", urls)


def talk(mode, cassette, said, upstreams=(), **more):
    run = support.Run(mode, cassette, [support.python("websockets"), "-c", TALK, *said], upstreams, **more)
    return run, json.loads(run.output) if run.output.strip() else None


def web_sockets(checks, folder):
    cassette = folder / "chat"
    said = ["na\u00efve \U0001f642", "ping me", "bytes"]
    heard = ["chat", "hello", "NA\u00cfVE \U0001f642", "PING ME", ["bytes", 256_000, "fffefdfc"], [4000, "as you wish"]]
    with support.Program([support.python("websockets"), "-c", CHAT]) as chat:
        run, told = talk("record", cassette, said, {"chat": chat.url})
        checks.that(run.status == 0 and told == heard, "a WebSocket works while recording", f"{told}, {run}")
        run, told = talk("record", folder / "left", ["leave"], {"chat": chat.url})
        checks.that(told == ["chat", "hello", "LEAVE"], "a WebSocket that the app closes works, too", f"{told}, {run}")
    (entry,) = support.har(cassette)
    checks.that(entry["_resourceType"] == "websocket", "the HAR stores it like Chrome")
    messages = [(message["type"], message["opcode"]) for message in entry["_webSocketMessages"]]
    wanted = [("receive", 1), ("send", 1), ("receive", 1), ("send", 1), ("receive", 1), ("send", 2), ("receive", 2), ("send", 1), ("receive", 8)]
    checks.that(messages == wanted, "the messages are recorded in order", messages)
    for options in ([], ["--streams", "recorded"]):
        run, told = talk("replay", cassette, said, options=options)
        checks.that(run.status == 0 and told == heard, f"it replays without the server {options}", f"{told}, {run}")
    run, told = talk("replay", folder / "left", ["leave"])
    checks.that(run.status == 0 and told == ["chat", "hello", "LEAVE"], "the WebSocket that the app closed replays, too", f"{told}, {run}")
    run, told = talk("replay", cassette, ["native"])
    checks.that(run.status == 3 and told and told[-1][0] == 1008, "a different message is a miss, closed with 1008", f"{told}, {run}")
    checks.that("message 1: recorded `na\u00efve \U0001f642`, got `native`" in run.words, "the report names the difference", run.words)
    traces = {json.dumps(talk("replay", cassette, said)[1]) for _ in range(10)}
    checks.that(traces == {json.dumps(heard)}, "ten replays are identical", traces)


def secure_web_sockets(checks, folder):
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = support.finish(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]
    )
    if not checks.that(made.returncode == 0, "openssl creates a certificate", made.stderr):
        return
    with support.Program([support.python("websockets"), "-c", CHAT, str(certificate), str(key)]) as chat:
        run, told = talk(
            "record", folder / "secure", ["a"], {"chat": f"https://localhost:{chat.port}"},
            prefix=["env", f"CURL_CA_BUNDLE={certificate}"],
        )
        checks.that(told == ["chat", "hello", "A", [4000, "as you wish"]], "a WebSocket over TLS is recorded", f"{told}, {run}")
        url = support.har(folder / "secure")[0]["request"]["url"]
        checks.that(url.startswith("wss://localhost:"), "it is recorded with its own address", url)
    run, told = talk("replay", folder / "secure", ["a"])
    checks.that(run.status == 0 and told[-1] == [4000, "as you wish"], "a WebSocket over TLS is replayed", f"{told}, {run}")


def downloads(checks, folder):
    """A chunked body that arrives without a pause is no stream: an app that cancels it is named, and nothing is recorded."""
    blocked = threading.Event()

    def flood(handler, body):
        if handler.path == "/blocked":
            blocked.wait(support.PATIENCE)
            return 200, [], b""
        handler.send_response(200)
        handler.send_header("Content-Type", "application/octet-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.connection.settimeout(0.5)
        try:
            while True:
                handler.wfile.write(b"2000\r\n" + bytes(0x2000) + b"\r\n")
        except TimeoutError:
            # Nothing on the way to the app takes more.
            blocked.set()
        handler.connection.settimeout(support.PATIENCE)
        handler.rfile.read(1)
        raise ConnectionError("the app has left")

    app = """
import os, sys, urllib.request
answer = urllib.request.urlopen(os.environ["DIORAMA_ENDPOINT_API"] + "/big")
answer.read(1000)
urllib.request.urlopen(sys.argv[1] + "/blocked").read()
"""
    with support.Upstream(flood) as upstream:
        run = support.Run("record", folder / "download", [sys.executable, "-c", app, upstream.url], {"api": upstream.url})
    checks.that(run.status == 3 and not run.report["ok"], "a cancelled download fails the recording", run)
    checks.that([one["url"] for one in run.report["brokenOff"]] == [f"{upstream.url}/big"], "and is named", run.report)
    checks.that(not (folder / "download.har").exists(), "and nothing is recorded")


def main():
    checks = support.Checks("streams")
    board = Board()
    with support.folder() as folder:
        cassette = events(checks, folder, board)
        endings(checks, folder, board)
        killed(checks, folder, board)
        other_types(checks, folder, board)
        downloads(checks, folder)
        board.stop()
        watches(checks, folder)
        replays(checks, cassette)
        by_the_clock(checks, folder, cassette)
        web_sockets(checks, folder)
        secure_web_sockets(checks, folder)
    checks.end()


main()
