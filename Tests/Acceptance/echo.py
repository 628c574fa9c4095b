"""Replays clients that check whether an answer is theirs: JSON-RPC ids, the state of OAuth, and ids of messages in
WebSockets, by rules that echo them. And multipart forms with their parts in another order.
"""

import json
import urllib.parse

import support

# The JSON-RPC client, whose ids are random; it prints results, and the ids of calls and answers.
RPC = """
import json, os, sys
import jsonrpclib, jsonrpclib.history
history = jsonrpclib.history.History()
server = jsonrpclib.ServerProxy(os.environ["DIORAMA_ENDPOINT_RPC"] + "/rpc", history=history)
results = [server.add(1, 2), server.add(3, 4)]
batch = jsonrpclib.MultiCall(server)
batch.add(5, 6), batch.add(7, 8)
results += list(batch())
print(json.dumps([results, [[json.loads(text) for text in texts] for texts in (history.requests, history.responses)]]))
"""

# The OAuth client: it refuses an answer with a state that is not its own.
LOGIN = """
import json, os, sys
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
import requests
from requests_oauthlib import OAuth2Session
endpoint = os.environ["DIORAMA_ENDPOINT_LOGIN"]
session = OAuth2Session("app", redirect_uri="https://app.test/cb")
session.trust_env = False
url, state = session.authorization_url(endpoint + "/authorize", **({"state": sys.argv[1]} if len(sys.argv) > 1 else {}))
session._state = state  # a state that was given is not checked otherwise
answer = requests.get(url, allow_redirects=False, timeout=60)
try:
    token = session.fetch_token(endpoint + "/token", authorization_response=answer.headers["Location"], timeout=60)
    print(json.dumps([token["access_token"], state, dict(answer.headers)]))
except Exception as error:
    print(json.dumps([type(error).__name__, state, dict(answer.headers)]))
"""

# A JSON-RPC server over WebSockets: it answers calls in the reverse order of two, and notifies of the first one.
CALLS = """
import json
from websockets.sync.server import serve
def talk(socket):
    first = None
    for text in socket:
        call = json.loads(text)
        if not first:
            first = call
            socket.send(json.dumps({"id": call["id"], "result": "open"}))
            continue
        socket.send(json.dumps({"id": call["id"], "result": call["params"][0].upper()}))
        socket.send(json.dumps({"id": first["id"], "event": {"id": 1, "said": call["params"][0]}}))
with serve(talk, "127.0.0.1", 0) as server:
    print(f"listening on {server.socket.getsockname()[1]}", flush=True)
    server.serve_forever()
"""

# Its client, with random ids, which waits for the answers to its own.
CALLER = """
import json, os, sys, uuid
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
heard = []
try:
    with connect(os.environ["DIORAMA_ENDPOINT_CALLS"].replace("http", "ws", 1) + "/rpc", proxy=None) as socket:
        def call(method, *params):
            id = str(uuid.uuid4())
            socket.send(json.dumps({"id": id, "method": method, "params": params}))
            while (answer := json.loads(socket.recv(60)))["id"] != id: heard.append(["other", answer])
            return id, answer
        topic, _ = call("subscribe")
        for word in sys.argv[1:]:
            heard.append(call("say", word)[1]["result"])
            event = json.loads(socket.recv(60))
            heard.append(event["event"] if event["id"] == topic else ["other", event])
except ConnectionClosed as end: heard.append(end.rcvd.code)
except TimeoutError: heard.append("no answer")
print(json.dumps(heard))
"""

# Sends the parts of a form in the given order.
FORM = """
import os, sys, requests
session = requests.Session()
session.trust_env = False
parts = [(name, (None, value)) for name, value in (word.split("=") for word in sys.argv[1:])]
answer = session.post(os.environ["DIORAMA_ENDPOINT_FORM"] + "/form", files=parts, timeout=60)
print(answer.status_code)
"""


def answered(handler, body):
    """The server of all calls."""
    target = urllib.parse.urlsplit(handler.path)
    if target.path == "/authorize":
        query = urllib.parse.parse_qs(target.query)
        location = query["redirect_uri"][0] + "?" + urllib.parse.urlencode({"code": "c0de", "state": query["state"][0]})
        return 302, [("Location", location)], b""
    if target.path == "/token":
        return 200, [("Content-Type", "application/json")], b'{"access_token": "t0ken", "token_type": "bearer"}'
    if target.path == "/rpc":
        calls = json.loads(body)
        answers = [{"jsonrpc": "2.0", "id": call["id"], "result": sum(call["params"])} for call in (calls if isinstance(calls, list) else [calls])]
        text = json.dumps(answers if isinstance(calls, list) else answers[0])
        return 200, [("Content-Type", "application/json")], text.encode()
    return 200, [("Content-Type", "text/plain")], b"ok"


def main():
    checks = support.Checks("echo")
    python = support.python("echo")

    with support.folder() as folder:
        def rule(**members):
            (folder / "diorama.json").write_text(json.dumps({"matching": {"rules": [members]}}))

        def run(mode, name, program, *words, upstreams=()):
            ended = support.Run(mode, folder / name, [python, "-c", program, *words], upstreams, cwd=folder)
            return ended, json.loads(ended.output) if ended.output.strip() else None

        with support.Upstream(answered) as server:
            _, calls = run("record", "rpc", RPC, upstreams={"rpc": server.url})
            checks.that(calls and calls[0] == [3, 7, 11, 15], "JSON-RPC: recorded", calls)
            _, login = run("record", "login", LOGIN, upstreams={"login": server.url})
            checks.that(login and login[0] == "t0ken", "OAuth: recorded", login)
            ended, _ = run("record", "form", FORM, "a=1", "b=2", "a=3", upstreams={"form": server.url})
            checks.that(ended.status == 0, "multipart: recorded", ended)

        # JSON-RPC.
        ended, _ = run("replay", "rpc", RPC)
        checks.that(ended.status and ended.report["unmatched"], "JSON-RPC: random ids are a miss without a rule", ended)
        rule(path="/rpc", ignore={"json": ["$.id", "$[*].id"]})
        ended, _ = run("replay", "rpc", RPC)
        checks.that(
            ended.status == 0 and len(ended.report["unechoed"]) == 2
            and 'which rule 1 of diorama.json ignores; to put the request\'s value there, give the rule "echo": {"json": ["$.id"]}' in ended.words,
            "JSON-RPC: with ids only ignored, the report names the rule that echoes them", ended.words,
        )
        rule(path="/rpc", echo={"json": ["$.id", "$[*].id"]})
        ended, again = run("replay", "rpc", RPC)
        checks.that(ended.status == 0 and again[0] == calls[0] and "unechoed" not in ended.report, "JSON-RPC: an echo answers every call", ended)
        sent, heard = again[1]

        def ids(messages):
            return [message["id"] for text in messages for message in (text if isinstance(text, list) else [text])]

        checks.that(ids(sent) == ids(heard) and len(set(ids(sent))) == 4, "JSON-RPC: each answer has the id of its call", again)
        checks.that(not set(ids(sent)) & set(ids(calls[1][0])), "JSON-RPC: the ids are not the recorded ones", again)

        # OAuth.
        rule(path="/authorize", ignore={"query": ["state"]})
        ended, other = run("replay", "login", LOGIN)
        checks.that(
            other and other[0] == "MismatchingStateError" and 'give the rule "echo": {"query": ["state"]}' in ended.words,
            "OAuth: with the state only ignored, the client refuses the answer, and the report names the rule", f"{other} {ended}",
        )
        rule(path="/authorize", echo={"query": ["state"]})
        for state in ([], ["x"], ["a b&c=d#e%"], ["0\r\nSet-Cookie: a=b"]):
            ended, again = run("replay", "login", LOGIN, *state)
            checks.that(
                ended.status == 0 and again and again[0] != "MismatchingStateError" and "Set-Cookie" not in again[2],
                f"OAuth: the client gets its own state {state}", f"{again} {ended}",
            )
            if again:
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(again[2]["Location"]).query)
                checks.that(query["state"] == [again[1]] and again[1] != login[1], "OAuth: it is in Location", again)

        # WebSockets.
        (folder / "diorama.json").unlink()
        with support.Program([python, "-c", CALLS]) as server:
            ended, talk = run("record", "calls", CALLER, "tea", "milk", upstreams={"calls": server.url})
        wanted = ["TEA", {"id": 1, "said": "tea"}, "MILK", {"id": 1, "said": "milk"}]
        checks.that(talk == wanted, "WebSocket: recorded", talk)
        ended, talk = run("replay", "calls", CALLER, "tea", "milk")
        checks.that(
            ended.status == 3 and talk == [1008] and "message 1 $.id: recorded " in ended.words,
            "WebSocket: random ids are a miss without a rule, which names the place", f"{talk} {ended}",
        )
        rule(path="/rpc", echo={"json": ["$.id"]})
        for _ in range(3):
            ended, talk = run("replay", "calls", CALLER, "tea", "milk")
            checks.that(ended.status == 0 and talk == wanted, "WebSocket: an echo answers every message, and the subscription continues", f"{talk} {ended}")
        ended, talk = run("replay", "calls", CALLER, "tea", "salt")
        checks.that(
            ended.status == 3 and 'message 3 $.params[0]: recorded "milk", got "salt", compared by rule 1 of diorama.json (/rpc): echoes JSON $.id' in ended.words,
            "WebSocket: a miss names the place and the rule", ended.words,
        )

        # Multipart.
        for words, partial, status in (
            (["b=2", "a=1", "a=3"], None, 501), (["b=2", "a=1", "a=3"], False, 200), (["a=3", "b=2", "a=1"], False, 501),
            (["a=1", "a=3", "b=4"], False, 501),
        ):
            rule(path="/form", compare={"partOrder": partial is not False})
            ended, answer = run("replay", "form", FORM, *words)
            checks.that(answer == status, f"multipart: {words}, partOrder {partial}: {status}", f"{answer} {ended}")
        checks.that("part `b`: recorded `2`, got `4`" in ended.words, "multipart: a miss names the part", ended.words)
    checks.end()


main()
