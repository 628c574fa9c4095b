"""A client of grpc_service.py, for grpc_calls.py: grpc_client.py URL…. Prints what it receives, and nothing that depends on time.

A URL is of a scheme and a host, such as https://api.example. Any other word names a variable that contains one.
"""

import os
import queue
import sys
import urllib.parse

import grpc
from grpc_service import pet

TIMEOUT = 60


def show(what, answers, call):
    print(what, [bytes(answer).hex() for answer in answers], flush=True)
    named = lambda fields: sorted((key, value) for key, value in fields or () if key.startswith(("x-", "grpc-status-details")))
    # The text for a deadline depends on where grpcio noticed it.
    details = "" if call.code() == grpc.StatusCode.DEADLINE_EXCEEDED else call.details()
    print(what, call.code(), repr(details), named(call.initial_metadata()), named(call.trailing_metadata()), flush=True)


def unary(channel, method, name, **options):
    try:
        answer, call = channel.unary_unary(f"/pets.Store/{method}").with_call(pet(name), timeout=TIMEOUT, **options)
        show(f"{method} {name[:20]}", [answer], call)
    except grpc.RpcError as error:
        show(f"{method} {name[:20]}", [], error)


def stream(channel, method, name, timeout=TIMEOUT):
    call = channel.unary_stream(f"/pets.Store/{method}")(pet(name), timeout=timeout)
    answers = []
    try:
        for answer in call:
            answers.append(answer)
    except grpc.RpcError:
        pass
    show(f"{method} {name}", answers, call)


def chat(channel, words):
    outgoing = queue.Queue()
    call = channel.stream_stream("/pets.Store/Chat")(iter(outgoing.get, None), timeout=TIMEOUT)
    answers = [next(call)]
    for word in words:
        outgoing.put(pet(word))
        # The answer comes before the next message is sent.
        answers.append(next(call))
        if word == "twice":
            answers.append(next(call))
    outgoing.put(None)
    answers += call
    show(f"Chat {words}", answers, call)


def main():
    for word in sys.argv[1:]:
        url = urllib.parse.urlsplit(word if "://" in word else os.environ[word])
        target = url.netloc if url.port else f"{url.netloc}:{443 if url.scheme == 'https' else 80}"
        options = [("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]
        if url.scheme == "https":
            channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(), options)
        else:
            channel = grpc.insecure_channel(target, options)
        print(url.scheme)
        with channel:
            unary(channel, "Find", "Rex", metadata=[("x-sent", "a"), ("x-raw-bin", b"\0\1")])
            # Twice the same: the answers differ, and are replayed in order.
            unary(channel, "Find", "Rex")
            unary(channel, "Find", "Max" * 1000, compression=grpc.Compression.Gzip)
            unary(channel, "Lose", "Rex")
            unary(channel, "Grow", "2000000")
            unary(channel, "Unknown", "Rex")
            stream(channel, "Watch", "0")
            stream(channel, "Watch", "300")
            stream(channel, "LoseSecond", "Rex")
            stream(channel, "Wait", "Rex", timeout=2)
            counted = channel.stream_unary("/pets.Store/Count")
            answer, call = counted.with_call((pet(str(number)) for number in range(100)), timeout=TIMEOUT)
            show("Count 100", [answer], call)
            answer, call = counted.with_call(iter(()), timeout=TIMEOUT)
            show("Count 0", [answer], call)
            chat(channel, ["one", "twice", "three"])
            chat(channel, [])


main()
