"""Replays what other tools recorded: go-vcr and mitmproxy (WebSockets) as they write it here, Polly.JS and the first
vcrpy in their forms. Compares JSON paths with another implementation of RFC 9535.

    others_recordings.py
"""

import base64
import gzip
import json
import pathlib
import subprocess
import sys

import support

# Asks for everything, and prints each response. Its first argument is the endpoint, if it isn't in the environment.
APP = """
import http.client, json, os, sys, urllib.parse
origin = sys.argv[1] if len(sys.argv) > 1 else os.environ["DIORAMA_ENDPOINT_API"]
connection = http.client.HTTPConnection(urllib.parse.urlsplit(origin).netloc, timeout=60)
for method, target, body in json.loads(os.environ["CALLS"]):
    connection.request(method, target, body, {"Accept-Encoding": "gzip", "Content-Type": "application/json"})
    response = connection.getresponse()
    content = response.read()
    import gzip
    coding = response.getheader("Content-Encoding")
    text = (gzip.decompress(content) if coding == "gzip" else content).decode("latin-1")
    print(json.dumps([response.status, response.reason, coding, response.headers.get_all("Set-Cookie"), text]))
"""

# Records with go-vcr: the same calls, with the file's name as the first argument.
GO = """
package main

import (
	"fmt"
	"io/ioutil"
	"net/http"
	"os"
	"strings"

	"github.com/dnaeon/go-vcr/recorder"
)

func main() {
	recorded, err := recorder.New(os.Args[1])
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: recorded}
	for _, call := range os.Args[3:] {
		parts := strings.SplitN(call, " ", 3)
		request, _ := http.NewRequest(parts[0], os.Args[2]+parts[1], strings.NewReader(parts[2]))
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			panic(err)
		}
		body, _ := ioutil.ReadAll(response.Body)
		fmt.Println(response.StatusCode, len(body))
	}
	if err := recorded.Stop(); err != nil {
		panic(err)
	}
}
"""

CHAT = """
from websockets.sync.server import serve
def talk(socket):
    socket.send("hello")
    for message in socket:
        socket.send(message.upper() if isinstance(message, str) else message[::-1])
with serve(talk, "127.0.0.1", 0, compression=None) as server:
    print(f"listening on {server.socket.getsockname()[1]}", flush=True)
    server.serve_forever()
"""

TALK = """
import json, os, sys
from websockets.sync.client import connect
url = (sys.argv[1] if len(sys.argv) > 1 else os.environ["DIORAMA_ENDPOINT_CHAT"]).replace("http", "ws", 1)
heard = []
with connect(url + "/chat?room=1", proxy=None) as socket:
    heard.append(socket.recv(60))
    for said in ["first", "second", bytes(range(256))]:
        socket.send(said)
        answer = socket.recv(60)
        heard.append(answer if isinstance(answer, str) else answer.hex())
print(json.dumps(heard))
"""

CALLS = [("GET", "/list?q=a%20b", ""), ("POST", "/orders", '{"item": "tea"}'), ("GET", "/none", ""), ("GET", "/zip", "")]
ITEMS = json.dumps({"items": [{"id": number, "name": "té"} for number in range(200)]})


def backend():
    def answer(handler, body):
        if handler.path == "/orders":
            return 201, [("Content-Type", "application/json"), ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2")], body
        if handler.path == "/none":
            return 404, [("Content-Type", "text/plain")], b"none"
        if handler.path == "/zip" and "gzip" in handler.headers.get("Accept-Encoding", ""):
            return 200, [("Content-Type", "application/json"), ("Content-Encoding", "gzip")], gzip.compress(ITEMS.encode())
        return 200, [("Content-Type", "application/json")], ITEMS.encode()

    return support.Upstream(answer)


def ask(*words, calls=CALLS):
    return ["env", f"CALLS={json.dumps(calls)}", sys.executable, "-c", APP, *words]


def replay(checks, title, cassette, expected, command):
    run = support.Run("replay", cassette, command)
    checks.that(run.status == 0 and run.report["ok"], f"{title}: the replay succeeds", run)
    checks.that(run.output == expected, f"{title}: the app gets what the server said", f"{run.output}\nand not\n{expected}")


def imported(checks, title, file, cassette, *options):
    ended = support.diorama("cassette", "import", file, "--to", cassette, "--as-is", *options)
    checks.that(ended.returncode == 0, f"{title}: the import succeeds", ended)
    return ended


def go_vcr(checks, folder):
    """Go's client asks for gzip itself, and decodes it: go-vcr then saves the decoded body."""
    (folder / "main.go").write_text(GO)
    go = ["env", "GO111MODULE=off", "GOPATH=/usr/share/gocode", f"GOCACHE={folder / 'go'}", "go", "run", folder / "main.go"]
    with backend() as upstream:
        live = support.finish(ask(upstream.url))
        calls = [" ".join(call) for call in CALLS]
        recorded = support.finish([*map(str, go), str(folder / "recorded"), upstream.url, *calls])
        url = upstream.url
    checks.that(recorded.returncode == 0, "go-vcr records", recorded)
    ended = imported(checks, "go-vcr", folder / "recorded.yaml", folder / "go-cassette", "--upstream", f"api={url}")
    checks.that("go-vcr" in ended.stdout + ended.stderr, "go-vcr: the import names the format", ended)
    replay(checks, "go-vcr", folder / "go-cassette", live.stdout.replace('"gzip"', "null"), ask())


def mitmproxy(checks, folder):
    python = support.python("importers")
    mitmdump = str(pathlib.Path(python).parent / "mitmdump")
    with support.Program([python, "-c", CHAT], says="listening on ") as chat:
        words = [mitmdump, "--mode", f"reverse:{chat.url}", "--listen-host", "127.0.0.1", "--listen-port", "0"]
        words += ["--set", f"confdir={folder / 'mitmproxy'}", "--set", f"hardump={folder / 'chat.har'}"]
        with support.Program(["env", "PYTHONUNBUFFERED=1", *words], says="listening at ") as proxy:
            live = support.finish([python, "-c", TALK, proxy.url])
        url = chat.url
    checks.that(live.returncode == 0, "mitmproxy records a WebSocket", live)
    checks.that(len(json.loads(live.stdout)) == 4, "mitmproxy: the server answers every message", live)
    checked = support.diorama("cassette", "check", folder / "chat.har")
    checks.that(
        checked.returncode == 0 and "1 interaction," in checked.stdout and "left out" not in checked.stderr,
        "mitmproxy: check finds the WebSocket, and nothing is left out", checked)
    imported(checks, "mitmproxy", folder / "chat.har", folder / "chat-cassette", "--upstream", f"chat={url}")
    replay(checks, "mitmproxy", folder / "chat-cassette", live.stdout, [python, "-c", TALK])
    # As Chrome and Playwright write it.
    text = (folder / "chat.har").read_text().replace(url, url.replace("http", "ws"))
    text = text.replace('"name": "mitmproxy"', '"name": "WebInspector"')
    (folder / "chrome.har").write_text(text)
    imported(checks, "Chrome", folder / "chrome.har", folder / "chrome-cassette", "--upstream", f"chat={url}")
    replay(checks, "Chrome", folder / "chrome-cassette", live.stdout, [python, "-c", TALK])


def polly(checks, folder):
    """Polly.JS stores coded bodies as sent, in encoded chunks: Base64 since version 5, hexadecimal digits before."""
    with backend() as upstream:
        live = support.finish(ask(upstream.url)).stdout
        url = upstream.url
    zipped = gzip.compress(ITEMS.encode(), mtime=0)
    for version, name in ((6, "base64"), (4, "hexadecimal")):
        entries = []
        for number, (line, call) in enumerate(zip(map(json.loads, live.splitlines()), CALLS)):
            status, reason, coding, cookies, text = line
            content = {"mimeType": "application/json", "size": len(text), "text": text.encode("latin-1").decode()}
            headers = [{"name": "content-type", "value": "application/json"}]
            if cookies:
                several = [{"_fromType": "array", "name": "set-cookie", "value": cookie} for cookie in cookies]
                headers += several if version == 6 else [{"name": "set-cookie", "value": cookies}]
            if coding:
                headers.append({"name": "content-encoding", "value": coding})
                chunks = [zipped[:100], zipped[100:]]
                encoded = [base64.b64encode(one).decode() if version == 6 else one.hex() for one in chunks]
                content |= {"text": json.dumps(encoded)} | ({"encoding": "base64"} if version == 6 else {"_isBinary": True})
            request = {"method": call[0], "url": url + call[1], "headers": [], "queryString": [], "cookies": []}
            if call[2]:
                request["postData"] = {"mimeType": "application/json", "params": [], "text": call[2]}
            response = {"status": status, "statusText": reason, "headers": headers, "content": content, "cookies": []}
            entries.append({
                "_id": f"{number}", "_order": 0, "startedDateTime": f"2018-10-08T09:00:0{number}.000Z", "time": 1,
                "cache": {}, "timings": {}, "request": request, "response": response})
        log = {"_recordingName": "x", "version": "1.2", "creator": {"name": "Polly.JS", "version": f"{version}.0.0"}}
        (folder / f"polly-{name}.har").write_text(json.dumps({"log": log | {"entries": entries, "pages": []}}))
        checked = support.diorama("cassette", "check", folder / f"polly-{name}.har")
        checks.that(checked.returncode == 0 and "4 interactions" in checked.stdout, f"Polly.JS {name}: the HAR is whole", checked)
        imported(checks, f"Polly.JS {name}", folder / f"polly-{name}.har", folder / name, "--upstream", f"api={url}")
        replay(checks, f"Polly.JS {name}", folder / name, live, ask())


def old_vcrpy(checks, folder):
    """What vcrpy's own migration reads from a file of a version before 1.0 is what is imported."""
    with backend() as upstream:
        live = support.finish(ask(upstream.url)).stdout
        url = upstream.url
    recorded = []
    for line, (method, path, body) in zip(map(json.loads, live.splitlines()[:3]), CALLS[:3]):
        status, reason, _, cookies, text = line
        request = {"protocol": "http", "host": "127.0.0.1", "port": int(url.rsplit(":", 1)[1]), "path": path}
        request |= {"method": method, "body": body or None, "headers": {"Content-Type": "application/json"}}
        headers = ["Content-Type: application/json\r\n"] + [f"Set-Cookie: {cookie}\r\n" for cookie in cookies or []]
        body = {"string": text.encode("latin-1").decode()}
        recorded.append({"request": request, "response": {"status": {"code": status, "message": reason}, "headers": headers, "body": body}})
    (folder / "old.json").write_text(json.dumps(recorded))
    (folder / "migrated.json").write_text(json.dumps(recorded))
    ended = support.finish([support.python("importers"), "-m", "vcr.migration", str(folder / "migrated.json")])
    checks.that("[OK]" in ended.stderr, "vcrpy migrates the file", ended)
    shown = []
    for name in ("old", "migrated"):
        imported(checks, f"vcrpy, {name}", folder / f"{name}.json", folder / f"{name}-cassette", "--upstream", f"api={url}",
                 "--recorded-at", "2018-10-08T09:00:00Z")
        shown.append([
            [one["request"]["method"], one["request"]["url"], one["request"].get("postData", {}).get("text"), one["response"]["status"],
             one["response"]["content"].get("text")]
            for one in support.har(folder / f"{name}-cassette")])
    checks.that(shown[0] == shown[1], "vcrpy: the old file gives what the migrated one gives", shown)
    # The migration keeps only the last of several fields; the import keeps all.
    expected = "".join(line + "\n" for line in live.splitlines()[:3])
    replay(checks, "vcrpy, old", folder / "old-cassette", expected, ask(calls=CALLS[:3]))


def left_out(checks, folder):
    """A check of a HAR names each entry that cannot be replayed."""
    entry = {"startedDateTime": "2018-10-08T09:00:00Z", "time": 1, "request": {"method": "GET", "url": "http://h/"}}
    entries = [
        entry | {"response": {"status": 200, "content": {"size": 2, "text": "ok"}}},
        entry | {"response": {"status": 0}},
        entry | {"response": {"status": 101}, "_resourceType": "websocket"},
        entry | {"response": {"status": 200, "content": {"size": 5}}},
        entry | {"request": {"method": "GET", "url": "data:text/plain,x"}, "response": {"status": 200}},
    ]
    (folder / "some.har").write_text(json.dumps({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": entries}}))
    checked = support.diorama("cassette", "check", folder / "some.har")
    text = checked.stdout + checked.stderr
    for words in ("entry 2: status 0", "entry 3: a WebSocket whose messages were not saved", "entry 4: GET http://h/: the body was not saved", "entry 5: its URL begins with data:"):
        checks.that(words in text, f"check names what can't be replayed: {words}", checked)


NAMES = ["a", "_", "a1", "ä", "☺", "a b", "a-b", "1", "$ref", "", "'", '"', "\\", "\n", "\u0001", "\ud83d\ude00", "*", "a.b", "]"]


def paths():
    """Paths of every form, valid and not."""
    for name in NAMES:
        yield f"$.{name}"
        yield f"$..{name}"
        for quote in "'\"":
            yield f"$[{quote}{name}{quote}]"
            escaped = json.dumps(name)[1:-1]
            yield f"$[{quote}{escaped}{quote}]"
            yield f"$[ {quote}a{quote} ,\t{quote}{escaped}{quote}\n]"
    for escape in "bfnrt/\\'\"0vaxu ":
        yield from (f"$['\\{escape}']", f'$["\\{escape}"]')
    for digits in ("u0041", "uD83D", "uDE00", "uD83D\\uDE00", "uDE00\\uD83D", "uD83D\\u0041", "u00g0", "u004", "U0041"):
        yield from (f"$['\\{digits}']", f'$["\\{digits}"]')
    for index in ("0", "1", "-1", "-0", "00", "01", "-01", "+1", "1.0", "1e2", "0x1", " 1", "1 ", "9007199254740991",
                  "-9007199254740991", "9007199254740992", "-9007199254740992", "*", " * ", "", " ", "a", "0,1", "0,", ",0", "0,*,'a'"):
        yield from (f"$[{index}]", f"$..[{index}]")
    # "$" alone is valid, but not as something to ignore.
    yield from ("", " $", "$ ", "$ .a", "$\n[0]", "$. a", "$.a .b", "$.a [0]", "$.. a", "$...a", "$..", "$.", "$[", "$]", "$.[0]", "$a",
                "$.a$", "$.*", "$..*", "$.*a", "$.**", "a", "@.a", "$.a.", "$.a[0][1]['b'].c", "$ ['a'] [0] .b", "$['a'", "$['a]", "$[a]")


def json_paths(checks, folder):
    """The peer reads the same paths; both must take the same ones."""
    peer = """
import json, sys
from jsonpath_rfc9535 import compile
def is_valid(path):
    try: compile(path)
    except Exception: return False
    return True
print(json.dumps([is_valid(path) for path in json.load(sys.stdin)]))
"""
    every = list(paths())
    words = [support.python("importers"), "-c", peer]
    ended = subprocess.run(words, input=json.dumps(every), capture_output=True, text=True, timeout=support.PATIENCE)
    expected = json.loads(ended.stdout)
    differing = []
    (folder / "empty.har").write_text(json.dumps({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": []}}))
    for path, is_valid in zip(every, expected):
        rule = {"path": "/**", "ignore": {"json": [path]}}
        (folder / "diorama.json").write_text(json.dumps({"matching": {"rules": [rule]}}))
        ended = support.diorama("cassette", "check", folder / "empty.har", cwd=folder)
        if (ended.returncode == 0) != is_valid or ended.returncode not in (0, 65) or ended.stderr.count("\n") != (not is_valid):
            differing.append([path, is_valid, ended.returncode, ended.stderr])
    checks.that(not differing, f"{len(every)} JSON paths, {sum(expected)} of them valid, are judged as jsonpath-rfc9535 does", differing)
    checks.that(100 < sum(expected) < len(every) - 100, "both kinds are many", [sum(expected), len(every)])


def main():
    checks = support.Checks("others_recordings")
    with support.folder() as folder:
        go_vcr(checks, folder)
        mitmproxy(checks, folder)
        polly(checks, folder)
        old_vcrpy(checks, folder)
        left_out(checks, folder)
        json_paths(checks, folder)
    checks.end()


if len(sys.argv) > 1:
    sys.exit("usage: others_recordings.py")
main()
