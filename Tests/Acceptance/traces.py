"""Records a session with server-sent events, WebSockets and fifty concurrent requests once, and replays it many times
without its upstreams, several at a time on busy cores, each with another order and timing of the app's requests. What
each request received, to the byte and in order, must equal the recording in every replay.

    traces.py [--rounds N] [--seed N]
"""

import argparse
import asyncio
import collections
import concurrent.futures
import contextlib
import gzip
import hashlib
import json
import random
import secrets
import subprocess
import sys
import threading

import support

AT_ONCE = 4  # concurrent replays
BUSY = 3  # processes that keep the cores busy

# Runs until its parent has ended, alternating between yielding and computing.
WORK = """
import os, random
parent = os.getppid()
os.nice(random.randrange(10))
while os.getppid() == parent:
    for _ in range(1000000): pass
"""

# Answers each message with two, the second after a delay, and closes with its own code.
CHAT = """
import secrets, time
from websockets.sync.server import serve
def talk(socket):
    for message in socket:
        if message == "bye": return socket.close(4000, "as you wish")
        socket.send(message)
        time.sleep(0.005)
        socket.send(secrets.token_hex(8) if isinstance(message, str) else secrets.token_bytes(1000))
with serve(talk, "127.0.0.1", 0, subprotocols=["chat"]) as server:
    print(f"listening on {server.socket.getsockname()[1]}", flush=True)
    server.serve_forever()
"""


class Shop:
    """The upstream. No two of its responses are equal, so a body identifies its response."""

    def __init__(self):
        self.loop, self.turns, ready = asyncio.new_event_loop(), collections.Counter(), threading.Event()

        async def serve():
            self.server = await asyncio.start_server(self.connected, "127.0.0.1", 0, backlog=128)
            self.port = self.server.sockets[0].getsockname()[1]
            self.url = f"http://127.0.0.1:{self.port}"
            ready.set()

        self.loop.create_task(serve())
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        ready.wait()

    async def connected(self, reader, writer):
        try:
            while line := await reader.readline():
                method, target, _ = line.decode().split()
                headers = {}
                while line := (await reader.readline()).strip():
                    name, value = line.decode().split(":", 1)
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                await self.answer(writer, method, target, body)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(self, writer, method, target, body):
        kind = target.split("/")[1]
        self.turns[target] += 1
        content = json.dumps({"turn": self.turns[target], "nonce": secrets.token_hex(20), "body": len(body)}).encode()
        status, headers = "200 OK", ["Content-Type: application/json", f"X-Nonce: {secrets.token_hex(8)}", "X-twice: 1", "X-twice: 0.00"]
        await asyncio.sleep(random.uniform(0, 0.02))
        if kind == "events":
            headers[0] = "Content-Type: text/event-stream"
            writer.write(self.head(status, [*headers, "Transfer-Encoding: chunked"]))
            for number in range(12):
                event = f"id: {number}\ndata: {secrets.token_hex(10)}\n\n".encode()
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
                await writer.drain()
                await asyncio.sleep(0.01)
            return writer.write(b"0\r\n\r\n")
        if kind == "login":
            headers += ["Set-Cookie: session=1; Path=/", "Set-Cookie: theme=dark; Path=/"]
        elif kind == "gzip":
            content = gzip.compress(content * 50)
            headers.append("Content-Encoding: gzip")
        elif kind == "large":
            # Larger than bodies inside the HAR, so it is stored as a file.
            content = secrets.token_bytes(300_000)
            headers[0] = "Content-Type: application/octet-stream"
        elif kind == "moved":
            status = "302 Found"
            headers.append(f"Location: {self.url}/plain/0")
        elif kind == "nothing":
            return writer.write(self.head("204 No Content", headers[1:]))
        if kind == "chunked":
            writer.write(self.head(status, [*headers, "Transfer-Encoding: chunked"]))
            for part in (content[:7], content[7:]):
                writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            return writer.write(b"0\r\n\r\n")
        writer.write(self.head(status, [*headers, f"Content-Length: {len(content)}"]) + (b"" if method == "HEAD" else content))

    @staticmethod
    def head(status, headers):
        return "\r\n".join([f"HTTP/1.1 {status}", "Date: Mon, 08 Oct 2018 09:00:00 GMT", *headers, "", ""]).encode()

    def stop(self):
        self.loop.call_soon_threadsafe(self.server.close)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


class Session:
    """A run of the app, with what each request received, and when each interaction was played."""

    def __init__(self, mode, cassette, folder, seed, upstreams=()):
        seen, journal = folder / f"seen-{mode}-{seed}.json", folder / f"journal-{mode}-{seed}"
        app = [support.python("websockets"), support.HERE / "traces_client.py", seen, seed]
        self.run = support.Run(mode, cassette, app, upstreams, ["--journal", journal], cwd=folder)
        self.got = json.loads(seen.read_text()) if seen.exists() else {}
        self.journal = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
        for file in (seen, journal):
            file.unlink(missing_ok=True)

    def trace(self):
        """What each request received, by the app's own numbers.

        There is one exception: which of four equal concurrent requests reaches the server first depends on the network,
        both in the recording and in a replay, and the first one gets the first response. Only these four may have
        swapped their responses: the one that got the k-th response counts as the k-th request. No response may be
        missing, repeated, or belong to another request. ``played_in_order`` checks the order in which they were
        *played*. The fifth request, sent after the four were answered, must get the fifth response.
        """
        groups = collections.defaultdict(list)
        for name in sorted(self.got):
            groups[name.split(",")[0] if name.startswith("turn") else name].append(json.dumps(self.got[name]))
        return {name: sorted(answers) for name, answers in groups.items()}

    def digest(self):
        return hashlib.sha256(json.dumps(self.trace(), sort_keys=True).encode()).hexdigest()

    def differences(self, other):
        one, two = self.trace(), other.trace()
        names = [name for name in sorted(one.keys() | two.keys()) if one.get(name) != two.get(name)]
        return "\n      ".join(f"{name}: {str(one.get(name))[:400]}\n      and {str(two.get(name))[:400]}" for name in names[:3])

    def played_in_order(self, requests):
        """Whether every interaction was played once, and repeats of a request in recorded order."""
        played = [entry["interaction"] for entry in self.journal if entry["kind"] == "replayed"]
        of_request = collections.defaultdict(list)
        for index in played:
            of_request[requests[index]].append(index)
        return sorted(played) == list(range(len(requests))) and all(row == sorted(row) for row in of_request.values())


def requests(cassette):
    """The distinguishing parts of the request, for each interaction."""
    return [(entry["request"]["method"], entry["request"]["url"]) for entry in support.har(cassette)]


class Busy:
    """Child processes that keep the cores busy."""

    def __enter__(self):
        self.children = [subprocess.Popen([sys.executable, "-c", WORK]) for _ in range(BUSY)]

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait()


@contextlib.contextmanager
def replaying():
    """A pool of replay threads. If the script ends early, replays that have not started never do."""
    pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = options.parse_args()
    checks = support.Checks("traces")
    checks.say(f"{options.rounds} replays, {AT_ONCE} at a time, --seed {options.seed}")
    with support.folder() as folder:
        cassette = folder / "session"
        # Nothing here is secret, and every header is compared.
        (folder / "diorama.json").write_text('{"redaction": {"keep": {"headers": ["Set-Cookie"]}}}')
        shop = Shop()
        with support.Program([support.python("websockets"), "-c", CHAT]) as chat:
            recorded = Session("record", cassette, folder, 0, {"shop": shop.url, "chat": chat.url})
        shop.stop()
        told = recorded.got
        if not checks.that(recorded.run.status == 0 and len(told) == 64, "the session is recorded", recorded.run):
            checks.end()
        wanted, index = recorded.digest(), requests(cassette)
        checks.that(len(index) == len(told), "the cassette contains every request once", len(index))
        checks.that(all(len(told[f"events {number}"][3]) == 13 for number in range(2)), "the recording has all events", told["events 0"])
        checks.that(all(len(told[f"room {number}"]) == 18 for number in range(2)), "the recording has all messages", told["room 0"])

        traces, orders = collections.Counter(), set()

        def replay(number):
            return number, Session("replay", cassette, folder, f"{options.seed}-{number}")

        with support.Watch(shop.port) as watch, Busy(), replaying() as pool:
            started = [pool.submit(replay, number) for number in range(1, options.rounds + 1)]
            for done in concurrent.futures.as_completed(started):
                number, replayed = done.result()
                title = f"replay {number}"
                traces[replayed.digest()] += 1
                checks.that(replayed.run.status == 0, f"{title}: the replay succeeds", replayed.run)
                checks.that(replayed.digest() == wanted, f"{title}: the trace equals the recording", recorded.differences(replayed))
                counted = replayed.run.report["requests"] if replayed.run.report else {}
                checks.that(counted.get("replayed") == len(index) == counted.get("total"), f"{title}: all requests are replayed", counted)
                order = tuple(entry["interaction"] for entry in replayed.journal)
                orders.add(order)
                checks.that(replayed.played_in_order(index), f"{title}: each interaction is played once, repeats in recorded order", order)
                replayed.got = replayed.journal = None  # saves memory
                if sum(traces.values()) - traces[wanted] > 20:
                    break  # enough failures
        checks.that(watch.count == 0, "no connection to the upstream is attempted", watch.count)
        checks.that(list(traces) == [wanted], "all traces are identical", traces)
        checks.that(len(orders) > options.rounds / 2, "the requests arrive in different orders", len(orders))
        hashes = ", ".join(f"{trace[:16]} {count} times" for trace, count in traces.most_common(5))
        checks.say(f"traces of {len(told)} requests: {hashes}; recorded: {wanted[:16]}; {len(orders)} orders of playing")
    checks.end()


main()
