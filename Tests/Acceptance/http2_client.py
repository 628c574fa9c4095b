"""Run by http2.py in a virtual environment with grpcio and httpx: http2_client.py HOST:PORT. Prints checks as JSON."""

import asyncio
import concurrent.futures
import json
import queue
import sys
import threading

import grpc
import httpx

ADDRESS = sys.argv[1]
checks = []


def check(holds, what, seen=""):
    checks.append([what, bool(holds), str(seen)[:1500]])


def unary(channel):
    call = channel.unary_unary("/echo.Echo/Unary")
    for size in (0, 1, 70_000, 3_000_000):
        answer, state = call.with_call(b"x" * size, timeout=60, metadata=[("x-a", "b"), ("x-raw-bin", b"\0\1")])
        check(answer == b"x" * size, f"unary: {size} bytes")
        trailers = dict(state.trailing_metadata())
        check(trailers.get("x-method") == "Unary" and state.code() == grpc.StatusCode.OK, "unary: trailers", trailers)
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda number: call(str(number).encode(), timeout=60), range(1000)))
    check(answers == [str(number).encode() for number in range(1000)], "unary: 1000 calls, 64 at a time")
    compressed = channel.unary_unary("/echo.Echo/Unary")(b"y" * 10_000, timeout=60, compression=grpc.Compression.NoCompression)
    check(compressed == b"y" * 10_000, "unary: without compression")


def streams(channel):
    served = list(channel.unary_stream("/echo.Echo/ServerStream")(b"abcdef" * 500, timeout=60))
    check(b"".join(served) == b"abcdef" * 500 and len(served) == 3000, "server stream: 3000 messages", len(served))
    joined = channel.stream_unary("/echo.Echo/ClientStream")((str(n).encode() for n in range(3000)), timeout=60)
    check(joined == "".join(map(str, range(3000))).encode(), "client stream: 3000 messages")

    outgoing = queue.Queue()
    call = channel.stream_stream("/echo.Echo/BidiStream")(iter(outgoing.get, None), timeout=60)
    heard = []
    for number in range(200):
        outgoing.put(f"message {number}".encode())
        heard.append(next(call))  # The answer comes before the next message is sent.
    outgoing.put(None)
    rest = list(call)
    check(heard == [f"message {n}".encode() for n in range(200)] and rest == [], "bidirectional stream: by turns")
    check(call.code() == grpc.StatusCode.OK, "bidirectional stream: status", call.code())

    large = [bytes([n]) * 1_000_000 for n in range(50)]
    answers = list(channel.stream_stream("/echo.Echo/BidiStream")(iter(large), timeout=120))
    check(answers == large, "bidirectional stream: 50 messages of 1 MB")


def ends(channel):
    try:
        channel.unary_unary("/echo.Echo/Unknown")(b"", timeout=60)
        check(False, "an unknown method fails")
    except grpc.RpcError as error:
        check(error.code() == grpc.StatusCode.UNIMPLEMENTED, "an unknown method is UNIMPLEMENTED", error)
    outgoing = queue.Queue()
    call = channel.stream_stream("/echo.Echo/BidiStream")(iter(outgoing.get, None))
    outgoing.put(b"1")
    check(next(call) == b"1", "a call to cancel begins")
    call.cancel()
    try:
        next(call)
        check(False, "a cancelled call ends")
    except grpc.RpcError as error:
        check(error.code() == grpc.StatusCode.CANCELLED, "a cancelled call ends", error)
    outgoing.put(None)
    silent = threading.Event()
    try:
        list(channel.stream_stream("/echo.Echo/BidiStream")(iter(silent.wait, True), timeout=0.3))
        check(False, "a deadline ends a call")
    except grpc.RpcError as error:
        check(error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, "a deadline ends a call", error)
    silent.set()
    check(channel.unary_unary("/echo.Echo/Unary")(b"after", timeout=60) == b"after", "the channel still works")


def web():
    with httpx.Client(http1=False, http2=True, timeout=60, trust_env=False) as client:
        answer = client.post(f"http://{ADDRESS}/mirror?a=1", content=b"body", headers={"x-a": "1"}, cookies={"c": "d", "e": "f"})
        check(answer.http_version == "HTTP/2" and "x-a: 1" in answer.text and answer.text.endswith("body"), "httpx: POST", answer.text)
        body = bytes(range(256)) * 8000
        answer = client.post(f"http://{ADDRESS}/echo", content=(body[at : at + 5000] for at in range(0, len(body), 5000)))
        check(answer.content == body, "httpx: a streamed upload comes back")
    sizes = asyncio.run(download())
    check(sizes == [n * 1000 for n in range(100)], "httpx: 100 downloads at the same time")


async def download():
    """On one connection, which threads must not share: httpcore's HTTP/2 connection has races."""
    async with httpx.AsyncClient(http1=False, http2=True, timeout=60, trust_env=False) as client:
        answers = await asyncio.gather(*(client.get(f"http://{ADDRESS}/bytes/{n * 1000}") for n in range(100)))
        return [len(answer.content) for answer in answers]


with grpc.insecure_channel(ADDRESS, options=[("grpc.enable_http_proxy", 0)]) as opened:
    unary(opened)
    streams(opened)
    ends(opened)
web()
print(json.dumps(checks))
