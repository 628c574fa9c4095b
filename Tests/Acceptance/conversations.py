"""Plays the other side of apps written in Python: WebSockets of the `websockets` package, and event streams read with
curl, with the admin API of an environment in a daemon. Kills the daemon: the stubs are there again.

    conversations.py
"""

import concurrent.futures
import json
import subprocess
import urllib.error
import urllib.request

import daemon
import support

MAPPINGS = {
    "mappings": [
        {"request": {"method": "GET", "urlPath": "/queue"}, "response": {"events": [{"data": "welcome"}]}},
        {"request": {"method": "GET", "urlPath": "/chat"}, "response": {"webSocket": {"protocols": ["v2"]}}},
    ]
}

# The app: answers each message until the other side closes.
APP = """
import json, sys
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
heard = []
with connect(sys.argv[1], subprotocols=["v1", "v2"], proxy=None, max_size=None, max_queue=None) as chat:
    heard.append(chat.subprotocol)
    try:
        while True:
            message = chat.recv()
            heard.append(message if isinstance(message, str) else len(message))
            chat.ping().wait(60)
            chat.send(message.upper() if isinstance(message, str) else message[::-1])
    except ConnectionClosed:
        pass
heard.append([chat.close_code, chat.close_reason])
print(json.dumps(heard))
"""


def ask(port, path, body=None):
    """The status and the JSON of an answer of the admin API."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/__admin{path}", data), timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def app(port):
    words = [support.python("websockets"), "-c", APP, f"ws://127.0.0.1:{port}/chat"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def curl(port, *options):
    return subprocess.Popen(
        ["curl", "-sN", *options, f"http://127.0.0.1:{port}/queue"], stdout=subprocess.PIPE, text=True)


def talk(checks, port):
    chat = app(port)
    said = ["hello", "ä" * 100_000]
    for number, text in enumerate(said):
        status, answer = ask(port, "/sockets", {"path": "/chat", "send": text, "afterConnections": 1, "timeoutSeconds": 60})
        checks.that((status, answer) == (200, {"clients": 1}), f"message {number + 1} reaches the app", answer)
        status, answer = ask(port, f"/sockets?path=/chat&after={number}&timeout=60")
        heard = [message.get("text") for message in answer["messages"]]
        checks.that(heard == [text.upper()], f"the app's answer {number + 1} is read", str(heard)[:200])
    ask(port, "/sockets", {"path": "/chat", "sendBase64": "AQID"})
    status, answer = ask(port, "/sockets?path=/chat&after=2&timeout=60")
    checks.that(answer["messages"] == [{"number": 3, "connection": 1, "base64": "AwIB"}], "bytes pass, too", answer)
    ask(port, "/sockets", {"path": "/chat", "close": {"code": 4000, "reason": "see you"}})
    heard = json.loads(chat.communicate(timeout=support.PATIENCE)[0])
    checks.that(heard == ["v2", *said, 3, [4000, "see you"]], "the app hears all of it, and the close", str(heard)[:200])
    status, answer = ask(port, "/sockets?path=/chat&untilClosed=true&timeout=60")
    checks.that((answer["connections"], answer["open"]) == (1, 0), "its end is awaited", answer)


def events(checks, port):
    listeners = [curl(port) for _ in range(5)]
    event = {"data": "one", "event": "e"}
    status, answer = ask(port, "/events", {"path": "/queue", "event": event, "afterConnections": 5, "timeoutSeconds": 60})
    checks.that((status, answer) == (200, {"id": "2", "clients": 5}), "an event reaches five apps", answer)
    ask(port, "/events", {"path": "/queue", "close": True})
    for listener in listeners:
        text = listener.communicate(timeout=support.PATIENCE)[0]
        checks.that(text == "id: 1\ndata: welcome\n\nid: 2\nevent: e\ndata: one\n\n", "each gets it whole", text)
    ask(port, "/events?path=/queue&untilClosed=true&timeout=60")
    ask(port, "/events", {"path": "/queue", "event": {"data": "two"}})
    again = curl(port, "-H", "Last-Event-ID: 2")
    checks.that([again.stdout.readline() for _ in range(2)] == ["id: 3\n", "data: two\n"], "an app gets what it has missed")
    return again


def crowd(checks, port):
    """Many waits at once. None takes a thread of the daemon."""
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        waits = [pool.submit(ask, port, f"/sockets?path=/chat&after={after}&timeout=60") for after in range(3, 67)]
        chat = app(port)
        for number in range(64):
            ask(port, "/sockets", {"path": "/chat", "send": f"m{number}", "afterConnections": 1, "timeoutSeconds": 60})
        firsts = [wait.result()[1]["messages"][0]["text"] for wait in waits]
    checks.that(firsts == [f"M{number}" for number in range(64)], "64 waits at once end each with its message", firsts)
    return chat


def main():
    checks = support.Checks("conversations")
    with support.folder() as folder:
        (folder / "mappings").mkdir()
        (folder / "mappings/all.json").write_text(json.dumps(MAPPINGS), encoding="utf-8")
        with daemon.Daemon(folder) as served:
            def create():
                words = ["env", "create", "--mode", "mock", "--stubs", folder, "--state", served.state, "--ttl", 600, "--json"]
                return json.loads(support.diorama(*words).stdout)

            made = create()
            port = made["port"]
            talk(checks, port)
            listener = events(checks, port)
            chat = crowd(checks, port)
            ended = support.diorama("env", "delete", made["id"], "--state", served.state)
            heard = json.loads(chat.communicate(timeout=support.PATIENCE)[0])
            checks.that(heard[-1] == [1001, "the environment has ended"], "a WebSocket is closed with the environment", heard[-1])
            checks.that(listener.wait(support.PATIENCE) == 0, "an event stream ends whole with the environment")
            checks.that(ended.returncode == 0, "the environment's report is ok", ended.stdout + ended.stderr)

            made = create()
            port = made["port"]
            ask(port, "/mappings", {"request": {"urlPath": "/more"}, "response": {"events": []}})
            served.kill()
            served.start()
            for path in ("/queue", "/more"):
                status, answer = ask(port, "/events", {"path": path, "event": {"data": "x", "id": "k"}})
                checks.that((status, answer) == (200, {"id": "k", "clients": 0}), f"{path} is there after a kill", answer)
            support.diorama("env", "delete", made["id"], "--state", served.state)
    checks.end()


main()
