"""The app of traces.py: a session with streams, a WebSocket and fifty concurrent requests, each with a number that is the
same in every run. Writes what each request received.

    traces_client.py FILE SEED

A seed other than 0 determines when requests are sent, in which pieces, and how slowly responses are read; and the app
is stopped and continued at random moments.
"""

import asyncio
import gzip
import hashlib
import json
import os
import random
import signal
import sys
import time

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

CONNECTION = {"connection", "keep-alive"}  # hop-by-hop
FRAMING = {"content-length", "transfer-encoding"}  # the server chooses their position

chance = random.Random(sys.argv[2])
isShaken = sys.argv[2] != "0"
shop = os.environ.get("DIORAMA_ENDPOINT_SHOP", "").split("//")[-1]
chat = os.environ.get("DIORAMA_ENDPOINT_CHAT", "").replace("http", "ws", 1)


async def pause(most):
    """Sleeps for a random time, often not at all."""
    if isShaken:
        await asyncio.sleep(max(0, chance.uniform(-most, most)))


async def send(writer, data):
    while data:
        count = chance.randrange(1, len(data) + 1) if isShaken and chance.random() < 0.3 else len(data)
        writer.write(data[:count])
        await writer.drain()
        data = data[count:]
        await pause(0.003)


async def read_chunks(reader):
    while True:
        chunk = await reader.readexactly(int(await reader.readline(), 16))
        await reader.readline()
        if not chunk:
            return
        yield chunk
        await pause(0.002)


async def ask(method, path, body=b"", headers=(), events=False):
    """What a request received: status, headers in order, and the body, or its list of events."""
    reader, writer = await asyncio.open_connection(*shop.split(":"), limit=1 << 20)
    head = [f"{method} {path} HTTP/1.1", f"Host: {shop}", *(f"{name}: {value}" for name, value in headers)]
    if body:
        head.append(f"Content-Length: {len(body)}")
    await send(writer, "\r\n".join([*head, "", ""]).encode() + body)
    await pause(0.01)
    status = (await reader.readline()).decode("latin-1").split(" ", 2)
    fields = []
    while line := (await reader.readline()).strip():
        name, value = line.decode("latin-1").split(":", 1)
        fields.append((name, value.strip()))
    told = {name.lower(): value for name, value in fields}
    content = b""
    if told.get("transfer-encoding") == "chunked":
        content = b"".join([chunk async for chunk in read_chunks(reader)])
    elif method != "HEAD" and "content-length" in told:
        content = await reader.readexactly(int(told["content-length"]))
    writer.close()
    without = set(CONNECTION)
    if told.get("content-encoding") == "gzip":
        content = gzip.decompress(content)
        without.add("content-length")  # re-encoded bodies may have another length
    # The endpoint's port differs between runs.
    if shop.encode() in content:
        content = content.replace(shop.encode(), b"{shop}")
        without.add("content-length")
    fields = [(name, value.replace(shop, "{shop}")) for name, value in fields if name.lower() not in without]
    inner = [field for field in fields if field[0].lower() not in FRAMING]
    framing = sorted(field for field in fields if field[0].lower() in FRAMING)
    seen = content.decode("latin-1").split("\n\n") if events else [len(content), hashlib.sha256(content).hexdigest()]
    return [int(status[1]), status[2].strip(), inner + framing, seen]


async def talk(room):
    """What a WebSocket received: its subprotocol, each message in order, and the close code."""
    heard = []
    try:
        async with connect(f"{chat}/room/{room}", subprotocols=["chat"], proxy=None, open_timeout=100) as socket:
            heard.append(socket.subprotocol)
            for number in range(8):
                await pause(0.01)
                await socket.send(bytes([number]) * 100 if number % 3 == 2 else f"{room}: message {number} 🚂")
                # Each message gets two answers.
                heard += [told if isinstance(told, str) else told.hex() for told in [await socket.recv(), await socket.recv()]]
            await socket.send("bye")
            await socket.recv()
    except ConnectionClosed as error:
        heard.append([error.rcvd.code, error.rcvd.reason] if error.rcvd else "cut")
    return heard


JSON = ("Content-Type", "application/json")
FORM = ("Content-Type", "application/x-www-form-urlencoded")
GZIP = ("Accept-Encoding", "gzip")


def distinct(number):
    """One of the thirty requests that are sent once."""
    return [
        lambda: ask("GET", f"/plain/{number}?b=2&a={number}"),
        lambda: ask("GET", f"/gzip/{number}", headers=[GZIP]),
        lambda: ask("POST", f"/echo/{number}", b'{"number": %d}' % number, [JSON]),
        lambda: ask("PUT", f"/bytes/{number}", bytes(range(256)) * 40, [("Content-Type", "application/octet-stream")]),
        lambda: ask("GET", f"/chunked/{number}"),
        lambda: ask("GET", f"/large/{number}"),
        lambda: ask("HEAD", f"/plain/{number}"),
        lambda: ask("GET", f"/moved/{number}"),
        lambda: ask("POST", f"/echo/{number}", b"a=1&b=%d" % number, [FORM]),
        lambda: ask("GET", f"/nothing/{number}"),
    ][number % 10]


def repeated(number):
    """One of the five requests that are sent four times at once: answered from memory, in chunks, and from a file."""
    return [
        lambda: ask("GET", "/plain/turn"),
        lambda: ask("GET", "/gzip/turn", headers=[GZIP]),
        lambda: ask("POST", "/echo/turn", b'{"turn": true}', [JSON]),
        lambda: ask("GET", "/chunked/turn"),
        lambda: ask("GET", "/large/turn"),
    ][number]


async def session():
    got = {}

    async def one(name, request, most):
        await pause(most)
        got[name] = await request()

    await one("login", lambda: ask("POST", "/login", b'{"name": "ann"}', [JSON]), 0.01)
    for number in range(3):
        await one(f"counter {number}", lambda: ask("GET", "/plain/counter"), 0.01)
    together = [(f"distinct {number}", distinct(number)) for number in range(30)]
    together += [(f"turn {kind}, {number}", repeated(kind)) for kind in range(5) for number in range(4)]
    together += [(f"events {number}", lambda number=number: ask("GET", f"/events/{number}", events=True)) for number in range(2)]
    together += [(f"room {number}", lambda number=number: talk(number)) for number in range(2)]
    if isShaken:
        chance.shuffle(together)
    await asyncio.gather(*(one(name, request, 0.05) for name, request in together))
    # Sent after all four have been answered, so it is the fifth in any case.
    for kind in range(5):
        await one(f"fifth {kind}", repeated(kind), 0.005)
    await one("counter 3", lambda: ask("GET", "/plain/counter"), 0.005)
    with open(sys.argv[1], "w") as file:
        json.dump(got, file, sort_keys=True)


def shake(child):
    """Stops and continues the app until it has ended, and exits with its status. The app is a child process, since
    `diorama run` stops together with its command, as a shell does."""
    shaking = random.Random(sys.argv[2] + " stops")
    while True:
        time.sleep(shaking.uniform(0, 0.08))
        # Only this process waits for the child, so its id stays its own until then.
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            sys.exit(os.waitstatus_to_exitcode(status))
        os.kill(child, signal.SIGSTOP)
        time.sleep(shaking.uniform(0, 0.04))
        os.kill(child, signal.SIGCONT)


if isShaken and (child := os.fork()):
    shake(child)
if isShaken:
    os.nice(chance.randrange(0, 15))
asyncio.run(asyncio.wait_for(session(), 100))
