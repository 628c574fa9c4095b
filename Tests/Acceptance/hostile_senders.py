"""Attacks by senders of hostile messages: endless lines, ambiguous framing, other sites' pages, more connections than
descriptors. Each function is a part of hostile.py."""

import contextlib
import itertools
import json
import os
import pathlib
import re
import resource
import socket
import stat
import time

import daemon
import support
import victim

CORPUS = support.HERE / "Hostile"
SECRET = "hush-hush-of-the-command-line"


def messages(kind, group):
    """The corpus's messages of a group, by name."""
    return {path.stem: path.read_bytes() for path in sorted((CORPUS / kind / group).glob("*.http"))}


# Endless lines

CHUNKED = b"POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n"
PLAIN = b"GET / HTTP/1.1\r\nHost: HOST\r\n"
ENDLESS = {
    "a chunk extension": CHUNKED + b"5;" + b"a" * 60_000,
    "a quoted chunk extension": CHUNKED + b'5;a="' + b"\\" * 60_000,
    "a chunk size": CHUNKED + b"0" * 60_000,
    "a chunk size of spaces": CHUNKED + b"5" + b" " * 60_000,
    "a second chunk's extension": CHUNKED + b"5\r\nhello\r\n5;" + b"a" * 60_000,
    "the last chunk's extension": CHUNKED + b"5\r\nhello\r\n0;" + b"a" * 60_000,
    "a tail of a chunk": CHUNKED + b"5\r\nhello" + b"\r" * 60_000,
    "a trailer": CHUNKED + b"0\r\nX: " + b"a" * 200_000,
    "trailers": CHUNKED + b"0\r\n" + b"X: y\r\n" * 40_000,
    "a request line": b"GET /" + b"a" * 200_000,
    "a method": b"G" * 200_000,
    "spaces in a request line": b"GET " + b" " * 200_000,
    "a field": PLAIN + b"X: " + b"a" * 200_000,
    "a field's name": PLAIN + b"a" * 200_000,
    "spaces in a field": PLAIN + b"X:" + b" " * 200_000,
    "fields": PLAIN + b"X: y\r\n" * 40_000,
    "empty lines": b"\r\n" * 100_000,
    "line feeds": b"\n" * 200_000,
    "spaces": b" " * 200_000,
    "NUL": b"\0" * 200_000,
}


def spin(*victims):
    """The share of a core that each process uses once it has processed its input."""
    shares = [1.0] * len(victims)
    for _ in range(3):  # the first rounds may be real work
        before, start = [each.cpu() for each in victims], time.monotonic()
        time.sleep(0.25)
        seconds = time.monotonic() - start
        shares = [min(old, (each.cpu() - was) / seconds) for each, was, old in zip(victims, before, shares)]
        if max(shares) < 0.2:
            break
    return shares


def idle(checks, what, *victims):
    """Checks that no process spins."""
    shares = spin(*victims)
    for each, share in zip(victims, shares):
        checks.that(share < 0.2, f"{what}: {each.name} does not spin", f"it uses {share:.0%} of a core")
    return max(shares) < 0.2


def send(place, message):
    """Sends as much as the other side accepts within two seconds. Returns the open connection."""
    connection = victim.connect(place, timeout=2)
    with contextlib.suppress(OSError):
        connection.sendall(message.replace(b"HOST", b"127.0.0.1:%d" % place if isinstance(place, int) else b"localhost"))
    return connection


def endless_lines(checks, folder):
    """An endless line uses no CPU time, ends its connection, and doesn't block other clients."""
    fresh = itertools.count()
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(victim.Wire())

        def start():
            number = next(fresh)
            (folder / f"d{number}").mkdir()
            run = victim.Victim("record", folder / f"endless{number}", {"api": upstream.url})
            host = daemon.Daemon(folder / f"d{number}", ports=100)
            host.process.figures = victim.Figures(host.process.pid, "the daemon")
            places = {"an endpoint": run.port(), "the main port": run.main, "the control port": host.port, "the control socket": host.ready["socket"]}
            return run, host, places

        def stop():
            run.process.kill()  # a spinning process wouldn't end otherwise
            run.end()
            host.kill()

        run, host, places = start()
        try:
            for what, message in ENDLESS.items():
                connections = {name: send(place, message) for name, place in places.items()}
                well = idle(checks, f"endless: {what}", run.figures, host.process.figures)
                for name, connection in connections.items():
                    answer, closed = victim.received(connection, 5 if well else 0.1)
                    refused = closed and (not answer or 400 <= victim.status(answer) < 600) and len(victim.statuses(answer)) < 2
                    checks.that(refused, f"endless: {what}: {name} refuses it and closes the connection", (answer[:200], closed))
                    connection.close()
                if not well:
                    stop()
                    run, host, places = start()

            # Many at once, with a well-behaved client.
            for what in ("a chunk extension", "a chunk size", "a field"):
                connections = [send(place, ENDLESS[what]) for place in places.values() for _ in range(8)]
                served = [victim.get(run.port(), "/fine")[0] for _ in range(4)]
                well = idle(checks, f"endless: {what}, 32 times", run.figures, host.process.figures)
                checks.that(served == [200] * 4, f"endless: {what}, 32 times: others are served", served)
                with contextlib.closing(host.connection(timeout=20)) as connection:
                    with contextlib.suppress(OSError):
                        health = host.call("GET", "/v1/health", connection=connection)
                        checks.that(health.status == 200, f"endless: {what}, 32 times: the daemon answers others", health)
                for connection in connections:
                    connection.close()
                if not well or served != [200] * 4:
                    stop()
                    run, host, places = start()

            others(checks, run, upstream)
        finally:
            if run.process.poll() is None:
                stop()


def others(checks, run, upstream):
    """Incomplete requests use no CPU time either."""
    port = run.port()
    stops = {
        "half a chunk": CHUNKED + b"FFFF\r\nhello",
        "half a body": b"POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 100\r\n\r\nhello",
        "half a head": PLAIN,
        "a chunk size without its end": CHUNKED + b"5\r",
    }
    connections = [send(place, message) for message in stops.values() for place in (port, run.main)]
    for what, connection in zip([name for name in stops for _ in range(2)], connections):
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
    idle(checks, f"endless: {', '.join(stops)}, then a half-close", run.figures)
    waiting = [send(port, message) for message in stops.values()]
    idle(checks, f"endless: {', '.join(stops)}, then silence", run.figures)
    for connection in connections + waiting:
        connection.close()


# Framing

def told_apart(message, number, port, upstream=None):
    """A message of the corpus for a port: with unique paths of the same length, and the port's name for HOST."""
    message = message.replace(b"/smuggled", b"/s%07d" % number).replace(b"/attack", b"/a%05d" % number)
    if upstream:  # on the main port, the first segment names the upstream
        message = message.replace(b" /a%05d" % number, b" /127.0.0.1:%d/a%05d" % (upstream, number), 1)
    return message.replace(b"HOST", b"127.0.0.1:%d" % port)


def in_head(message, change):
    """Changes a message's head without changing the length of its body."""
    end = re.search(rb"\r?\n\r?\n", message)
    return change(message[: end.start()]) + message[end.start() :] if end else change(message)


def framing(checks, folder):
    """Ambiguous messages are refused with 400 and the connection is closed; what follows is not a request."""
    cases = [(group, name, message) for group in ("refused", "broken-bodies", "contained", "served") for name, message in messages("requests", group).items()]
    # Some messages may be forwarded: each case identifies its own requests by their paths.
    with victim.Wire(whole=True) as upstream, victim.Victim("record", folder / "framing", {"api": upstream.url}) as run:
        (folder / "framing-daemon").mkdir()
        with daemon.Daemon(folder / "framing-daemon", ports=100) as host:
            ports = {"an endpoint": (run.port(), None), "the main port": (run.main, upstream.port), "the control port": (host.port, None)}

            def attempt(case):
                number, (where, (group, name, message)) = case
                port, segment = ports[where]
                change = lambda part: told_apart(part, number, port, segment)
                message = change(message) if group in ("refused", "broken-bodies") else in_head(message, change)
                if group not in ("refused", "broken-bodies"):
                    message = message.replace(b"/smuggled", b"/s%07d" % number)
                # Doesn't wait for connections that may stay open.
                return victim.exchange(port, message, 2 if group in ("refused", "broken-bodies") else 0.5)

            trials = list(enumerate(itertools.product(ports, cases)))
            answers = victim.together(16, attempt, trials)
            time.sleep(1.5)  # lets pending requests reach the upstream
            seen = list(upstream.seen)
            for (number, (where, (group, name, message))), (answer, closed) in zip(trials, answers):
                title = f"framing: {name} at {where}"
                first, all_of_them = victim.status(answer), [each for each in victim.statuses(answer) if each >= 200]
                own = [each for each in seen if b"a%05d" % number in each.partition(b"\r\n")[0]]
                smuggled = [each for each in seen if b"s%07d" % number in each.partition(b"\r\n")[0]]
                spoiled = [each for each in own if victim.left_over(each)]
                checks.that(not smuggled, f"{title}: the second request does not reach the upstream", smuggled)
                checks.that(not spoiled, f"{title}: the upstream receives unambiguous messages", spoiled)
                # libmicrohttpd refuses an invalid Content-Length with its head sent twice, the second time as the body.
                refused_once = closed and all(400 <= status <= 505 for status in all_of_them)
                if group == "refused":
                    checks.that(not own, f"{title}: the upstream receives nothing", own)
                    checks.that(refused_once, f"{title}: refused, and the connection is closed", (answer[:300], closed))
                elif group == "broken-bodies":
                    checks.that(refused_once, f"{title}: refused, and the connection is closed", (answer[:300], closed))
                elif group == "contained":
                    checks.that(len(all_of_them) < 2 or refused_once, f"{title}: at most one response", answer[:500])
                elif where != "the control port":
                    checks.that(all_of_them == [200] and len(own) == 1, f"{title}: served", (answer[:300], own))
            health = host.call("GET", "/v1/health")
            checks.that(health.status == 200, "framing: the daemon works afterwards", health)
        checks.that(victim.get(run.port(), "/after")[0] == 200, "framing: the endpoint works afterwards")
        run.end()
        smuggled = re.findall(r'"url": "[^"]*/s\d{7}"', (folder / "framing.har").read_text(errors="replace")) if (folder / "framing.har").exists() else []
        checks.that(not smuggled, "framing: no smuggled request is recorded", smuggled)


def flood(head, filler, size=32 << 20):
    """A response whose head doesn't end, up to some megabytes."""
    yield head
    for _ in range(size // 65536):
        yield (filler * (65536 // len(filler) + 1))[:65536]


def answers(checks, folder):
    """An upstream's ambiguous response, or one with too large a head, becomes a 502 and is not recorded."""
    start = b"HTTP/1.1 200 OK\r\n"
    made = {
        "head-of-101-kb": lambda: victim.response("ok", "".join(f"X-{n}: {'a' * 1000}\r\n" for n in range(101))),
        "head-of-300-kb": lambda: victim.response("ok", "".join(f"X-{n}: {'a' * 1000}\r\n" for n in range(300))),
        "field-of-150-kb": lambda: victim.response("ok", f"X: {'a' * 150_000}\r\n"),
        "many-fields": lambda: victim.response("ok", "X: y\r\n" * 30_000),
        "endless-status-line": lambda: flood(b"HTTP/1.1 200 ", b"a"),
        "endless-field": lambda: flood(start + b"X: ", b"a"),
        "endless-fields": lambda: flood(start, b"X: yyyy\r\n"),
        "endless-spaces": lambda: flood(start + b"X:", b" "),
        "endless-chunk-extension": lambda: flood(start + b"Transfer-Encoding: chunked\r\n\r\n5;", b"a"),
        "endless-chunk-size": lambda: flood(start + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
        "endless-trailers": lambda: flood(start + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: yyyy\r\n"),
        "endless-interim": lambda: flood(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        "interim-heads-of-300-kb": lambda: [(b"HTTP/1.1 103 Early Hints\r\nX: " + b"a" * 30_000 + b"\r\n\r\n") * 10, victim.OK],
    }
    kept = {group: messages("answers", group) for group in ("refused", "contained", "served")}
    cases = [("contained" if name.startswith("interim") else "refused", name, make) for name, make in made.items()]
    cases += [(group, name, lambda message=message: message) for group in kept for name, message in kept[group].items()]

    def answer(head):
        number = int(head.split(b"/case-", 1)[1].split(b" ", 1)[0])
        return cases[number][2]()

    with victim.Wire(answer) as upstream, victim.Victim("record", folder / "answers", {"api": upstream.url}) as run:
        port = run.port()
        memory = run.figures.peak()
        got = victim.together(6, lambda number: victim.exchange(port, (
            f"GET /case-{number} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n").encode(), 8), list(range(len(cases))))
        idle(checks, "answers: all", run.figures)
        checks.that(run.figures.peak() - memory < 64 << 20, "answers: none uses much memory", f"{(run.figures.peak() - memory) >> 20} MB")
        run.end()
        recorded = {entry["request"]["url"].rsplit("-", 1)[1] for entry in support.har(folder / "answers")} if (folder / "answers.har").exists() else None
        if not checks.that(run.status is not None, "answers: the run ends", run):
            return
        if recorded is None:
            # If an upstream failed, the recording is saved beside the cassette.
            others = sorted(folder.glob("answers*.har"))
            recorded = {entry["request"]["url"].rsplit("-", 1)[1] for other in others for entry in json.loads(other.read_text())["log"]["entries"]}
        for number, ((group, name, _), (message, closed)) in enumerate(zip(cases, got)):
            code, content = victim.status(message), victim.body(message)
            if group == "refused":
                # An error after the head has been sent truncates the response.
                late = name.startswith(("chunk-", "endless-chunk", "endless-trailers")) and not content.endswith(b"\r\n0\r\n\r\n")
                checks.that(code in (502, 504) or late and code in (0, 200), f"answers: {name} is a 502{', or cut off' if late else ''}", message[:300])
                checks.that(str(number) not in recorded or is_cut(folder, number), f"answers: {name} is not recorded", run.words[-300:])
            elif group == "served":
                checks.that(code == 200 and b"ok" in content or b"hello" in content, f"answers: {name} is served", message[:300])
                checks.that(str(number) in recorded, f"answers: {name} is recorded")
            checks.that(b"smuggled" not in message, f"answers: {name}: nothing after the response reaches the app", message[-300:])
            checks.that(b"\0" not in message and not re.search(rb"\r(?!\n)", message), f"answers: {name}: no NUL or bare CR reaches the app", message[:300])
            checks.that(b"session=evil" not in message.replace(b"\r", b"") or code >= 500, f"answers: {name}: no field is split into two", message[:300])
        places = b"".join(file.read_bytes() for file in folder.glob("answers*.har"))
        checks.that(b"smuggled" not in places, "answers: nothing after a response is recorded")


def is_cut(folder, number):
    """Whether an entry is marked as truncated."""
    for path in folder.glob("answers*.har"):
        for entry in json.loads(path.read_text())["log"]["entries"]:
            if entry["request"]["url"].endswith(f"/case-{number}"):
                return "incomplete" in json.dumps(entry) or "cut" in json.dumps(entry["response"]["content"].get("_diorama", {}))
    return False


# Web pages and neighbors

FOREIGN = "https://evil.example"
PAGES = {
    "a cross-site page": f"Origin: {FOREIGN}\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n",
    "a cross-site image": "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n",
    "a cross-site frame": "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n",
    "a sandboxed page": "Origin: null\r\nSec-Fetch-Site: cross-site\r\n",
}
FORM = "Content-Type: text/plain\r\n"


def hosts(port):
    """Host names with which a rebound page reaches a port, and names that resemble the port's."""
    return ["evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"localhost.evil.example:{port}", f"evil.localhost:{port}x",
            f"127.0.0.1:{port}.evil.example", "127.0.0.1:1", f"10.0.0.1:{port}", f"0x7f.1.evil.example:{port}", f"evil-127.0.0.1:{port}"]


def pages(checks, folder):
    """Other sites' pages and rebound names use no secret, record nothing and fail no replay."""
    with victim.Wire() as upstream:
        for mode in ("record", "extend", "proxy"):
            cassette = folder / f"pages-{mode}"
            if mode == "extend":
                cassette.with_suffix(".har").write_text(json.dumps(empty(upstream.url)))
            upstream.seen.clear()
            options = ["--header", "api/X-Api-Key=env:SK"]
            with victim.Victim(mode, cassette, {"api": upstream.url}, options, variables={"SK": SECRET}) as run:
                if not checks.that(run.started, f"pages: {mode} runs", run):
                    continue
                refuse_pages(checks, mode, run, upstream)
                allow_own(checks, mode, run, upstream)
                run.end()
                if mode != "proxy":
                    recorded = [entry["request"]["url"] for entry in support.har(cassette)] if cassette.with_suffix(".har").exists() else []
                    checks.that(not any("evil" in url for url in recorded), f"pages: {mode}: no page's request is recorded", recorded)
        replayed(checks, folder, upstream)


def empty(origin, entries=()):
    log = {"format": 1, "recordedAt": "2026-01-02T03:04:05Z", "upstreams": {"api": origin}}
    return {"log": {"version": "1.2", "creator": {"name": "diorama", "version": "1"}, "_diorama": log, "entries": list(entries)}}


def entry(origin, target, text="recorded"):
    return {
        "startedDateTime": "2026-01-02T03:04:05Z", "time": 1, "_diorama": {"upstream": "api"}, "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0},
        "request": {"method": "GET", "url": origin + target, "httpVersion": "HTTP/1.1", "cookies": [], "headers": [], "queryString": [], "headersSize": -1, "bodySize": 0},
        "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "redirectURL": "", "headersSize": -1, "bodySize": -1,
                     "headers": [{"name": "Content-Type", "value": "text/plain"}, {"name": "Access-Control-Allow-Origin", "value": "*"}],
                     "content": {"size": len(text), "mimeType": "text/plain", "text": text}},
    }


def refuse_pages(checks, mode, run, upstream):
    port, main = run.port(), run.main
    segment = f"/127.0.0.1:{upstream.port}"
    for name in hosts(port):
        code, answer = victim.get(port, "/evil-host", host=name)
        checks.that(400 <= code < 500, f"pages: {mode}: an endpoint refuses Host {name}", answer[:300])
    for name in hosts(main):
        code, answer = victim.get(main, f"{segment}/evil-host", host=name)
        checks.that(400 <= code < 500, f"pages: {mode}: the main port refuses Host {name}", answer[:300])
    for what, fields in PAGES.items():
        for where, place, target in (("an endpoint", port, "/evil-page"), ("the main port", main, f"{segment}/evil-page")):
            code, answer = victim.get(place, target, fields)
            checks.that(400 <= code < 500, f"pages: {mode}: {where} refuses {what}", answer[:300])
            code, answer = victim.get(place, target, fields + FORM, method="POST", body=b"evil")
            checks.that(400 <= code < 500, f"pages: {mode}: {where} refuses a form of {what}", answer[:300])
    evil = [each for each in upstream.seen if b"/evil" in each.partition(b"\r\n")[0]]
    checks.that(not evil, f"pages: {mode}: no page reaches the upstream", evil[:2])
    checks.that(not any(SECRET.encode() in each for each in evil), f"pages: {mode}: no page's request gets the secret")
    control(checks, mode, run)


def control(checks, mode, run):
    """Checks `/__diorama` on the main port."""
    flags = "/__diorama/ofrep/v1/evaluate/flags"
    bearer = f"Authorization: Bearer {run.token}\r\n"
    good, answer = victim.get(run.main, flags, "Content-Type: application/json\r\n", method="POST", body=b'{"context": {}}')
    checks.that(good == 200, f"pages: {mode}: a program evaluates flags", answer[:300])
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain; application/json", None):
        code, answer = victim.get(run.main, flags, f"Content-Type: {kind}\r\n" if kind else "", method="POST", body=b'{"context": {}}')
        checks.that(400 <= code < 500, f"pages: {mode}: OFREP refuses {kind}", answer[:300])
    for what, fields in PAGES.items():
        for method, target, body in (("POST", flags, b'{"context": {}}'), ("GET", "/__diorama/state", b""), ("POST", "/__diorama/strings", b'{"key": "evil"}')):
            kind = "Content-Type: application/json\r\n" if body else ""
            code, answer = victim.get(run.main, target, bearer + kind + fields, method=method, body=body)
            checks.that(400 <= code < 500, f"pages: {mode}: {target} refuses {what}", answer[:300])
    for name in ("evil.example", f"evil.example:{run.main}"):
        code, answer = victim.get(run.main, "/__diorama/state", bearer, host=name)
        checks.that(400 <= code < 500, f"pages: {mode}: /__diorama refuses Host {name}", answer[:300])
        code, answer = victim.get(run.main, flags, "Content-Type: application/json\r\n", host=name, method="POST", body=b'{"context": {}}')
        checks.that(400 <= code < 500, f"pages: {mode}: OFREP refuses Host {name}", answer[:300])


def allow_own(checks, mode, run, upstream):
    port, main = run.port(), run.main
    for name in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}"):
        code, answer = victim.get(port, "/own", host=name)
        checks.that(code == 200, f"pages: {mode}: an endpoint accepts {name}", answer[:300])
    code, answer = victim.get(main, f"/127.0.0.1:{upstream.port}/own")
    checks.that(code == 200, f"pages: {mode}: the main port accepts its own name", answer[:300])
    code, answer = victim.get(main, f"{upstream.url}/own", host=f"127.0.0.1:{upstream.port}")
    checks.that(code == 200, f"pages: {mode}: the main port works as a proxy", answer[:300])
    code, answer = victim.get(port, f"http://127.0.0.1:{port}/own")
    checks.that(code == 200, f"pages: {mode}: an endpoint accepts the absolute form with its own name", answer[:300])
    for what, fields in {"the app's own page": f"Origin: http://127.0.0.1:{port}\r\nSec-Fetch-Site: same-origin\r\n", "a user who types": "Sec-Fetch-Site: none\r\n"}.items():
        code, answer = victim.get(port, "/own", fields)
        checks.that(code == 200, f"pages: {mode}: an endpoint serves {what}", answer[:300])
    checks.that(any(SECRET.encode() in each for each in upstream.seen), f"pages: {mode}: the app's requests get the secret")


def replayed(checks, folder, upstream):
    """A replay has no secrets to protect, but a refused request must not count as a miss."""
    cassette = folder / "pages-replay"
    cassette.with_suffix(".har").write_text(json.dumps(empty(upstream.url, [entry(upstream.url, "/own")])))
    upstream.seen.clear()
    with victim.Victim("replay", cassette) as run:
        if not checks.that(run.started, "pages: the replay starts", run):
            return
        port = run.port()
        for name in hosts(port)[:8]:
            code, answer = victim.get(port, "/own", host=name)
            checks.that(400 <= code < 500, f"pages: replay: an endpoint refuses Host {name}", answer[:300])
            victim.get(port, "/evil-miss", host=name)
            victim.get(run.main, f"/127.0.0.1:{upstream.port}/evil-miss", host=name)
        control(checks, "replay", run)
        # The app's page is served from another port or name, and its requests carry the headers that browsers send.
        for site in ("cross-site", "same-site"):
            code, answer = victim.get(port, "/own", f"Origin: http://localhost:3000\r\nSec-Fetch-Site: {site}\r\nSec-Fetch-Mode: cors\r\n")
            allowed = b"recorded" in answer and b"access-control-allow-origin" in answer.lower()
            checks.that(code == 200 and allowed, f"pages: replay: a page of the app reads its endpoint ({site})", answer[:400])
        run.end()
        requests = (run.report or {}).get("requests", {})
        checks.that(requests.get("unmatched") == 0 and run.status == 0, "pages: replay: a refused request is not a miss", (requests, run.words[-400:]))
    checks.that(not upstream.seen, "pages: replay: the upstream gets no requests", upstream.seen[:2])


def modes(checks, folder):
    """Whatever the umask, no file is writable by others, and unfinished files are private."""
    place = folder / "modes"
    place.mkdir()
    before = os.umask(0)
    try:
        with victim.Wire(lambda head: victim.response(b"x" * 400_000 if b"/big" in head else b"ok", "Content-Type: text/plain\r\n")) as upstream:
            options = ["--journal", place / "journal.ndjson", "--report", place / "asked.json"]
            with victim.Victim("record", place / "c", {"api": upstream.url}, options[:2]) as run:
                for target in ("/big", "/small"):
                    victim.get(run.port(), target)
                unfinished = {file.relative_to(place): stat.S_IMODE(file.lstat().st_mode) for file in place.rglob("*") if not file.name.endswith((".stderr", ".report.json"))}
                run.end()
            support.diorama("cassette", "export", place / "c", "--to", place / "exported.har", "--as", "har")
            support.diorama("cassette", "import", place / "exported.har", "--to", place / "imported")
            support.diorama("cassette", "export", place / "c", "--to", place / "mock", "--as", "wiremock")
    finally:
        os.umask(before)
    for name, mode in unfinished.items():
        if name.name.endswith((".partial", ".ndjson")):
            checks.that(mode == 0o600, f"modes: {name} is 0600 while it is written", f"{mode:o}")
    checks.that(any(name.name.endswith(".partial") for name in unfinished), "modes: a partial file exists", unfinished)
    for file in sorted(place.rglob("*")):
        if file.name.endswith(".stderr"):
            continue  # this script's own file
        mode, most = stat.S_IMODE(file.lstat().st_mode), 0o755 if file.is_dir() else 0o600 if file.name.endswith(".ndjson") else 0o644
        checks.that(mode & ~most == 0, f"modes: {file.relative_to(place)} is at most {most:o}", f"{mode:o}")


# Few descriptors

def crowd(port, count, target="/"):
    """Connects this many clients at once, with one request each. Returns the statuses."""
    connections = []
    for _ in range(count):
        with contextlib.suppress(OSError):
            connections.append(victim.connect(port, timeout=40))
    for number, connection in enumerate(connections):
        with contextlib.suppress(OSError):
            connection.sendall(f"GET {target}{number} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())

    def read(connection):
        with connection:
            return victim.status(victim.received(connection, 40)[0])

    return victim.together(20, read, connections) + [0] * (count - len(connections))


def few_descriptors(checks, folder):
    """With a hard limit of 64, connections wait; a soft limit is raised. A failed request is never reported as ok."""
    soft, hard = daemon.resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    slow = lambda head: (time.sleep(0.05), victim.OK)[1]
    with victim.Wire(slow) as upstream:
        for mode in ("record", "proxy", "replay"):
            cassette = folder / f"few-{mode}"
            if mode == "replay":
                cassette.with_suffix(".har").write_text(json.dumps(empty(upstream.url, [entry(upstream.url, f"/{n}") for n in range(100)])))
            upstreams = {} if mode == "replay" else {"api": upstream.url}
            with victim.Victim(mode, cassette, upstreams, limits=[(resource.RLIMIT_NOFILE, (64, 64))]) as run:
                if not checks.that(run.started, f"few descriptors: {mode} starts with 64 descriptors", run):
                    continue
                served = crowd(run.port(), 100)
                idle(checks, f"few descriptors: {mode}", run.figures)
                later = victim.get(run.port(), "/1")[0]
                run.end()
            counts = {code: served.count(code) for code in set(served)}
            said_ok = bool(run.report and run.report["ok"]) or run.status == 0
            checks.that(served == [200] * 100 or not said_ok, f"few descriptors: {mode}: all are served, or the run fails", (counts, run.words[-400:]))
            checks.that(served == [200] * 100, f"few descriptors: {mode}: connections wait for descriptors", (counts, run.words[-400:]))
            checks.that(later == 200, f"few descriptors: {mode}: it works afterwards", later)
        with victim.Victim("record", folder / "few-soft", {"api": upstream.url}, limits=[(resource.RLIMIT_NOFILE, (64, 1024))]) as run:
            checks.that(run.figures.limit() == 1024, "few descriptors: a soft limit of 64 is raised to the hard one", run.figures.limit())
            served = crowd(run.port(), 100)
            checks.that(served == [200] * 100, "few descriptors: all are served with a raised limit", {code: served.count(code) for code in set(served)})
            run.end()
    few_of_a_daemon(checks, folder)


def few_of_a_daemon(checks, folder):
    (folder / "few-daemon").mkdir()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as stack:
        # The daemon inherits the soft limit; this process raises its own again.
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
        try:
            host = stack.enter_context(daemon.Daemon(folder / "few-daemon", ports=100))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        limit = victim.Figures(host.process.pid).limit()
        checks.that(limit > 64, "few descriptors: the daemon raises a soft limit of 64", limit)
        answers = crowd(host.port, 100, "/v1/health?")
        checks.that(all(answers) and 503 not in answers, "few descriptors: the daemon answers 100 clients", {code: answers.count(code) for code in set(answers)})
