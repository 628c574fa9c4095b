"""A gRPC service for grpc_calls.py, in a virtual environment with grpcio: grpc_service.py [KEY CERTIFICATE]

Its messages are those of grpc_service.proto, encoded by hand. No two answers of it are equal. Prints its port.
"""

import concurrent.futures
import itertools
import pathlib
import sys
import threading
import time

import grpc

numbers = itertools.count(int(time.time()) % 100_000)


def pet(name, number=None):
    """A message Pet."""
    text = name.encode()
    message = b"\x0a" + varint(len(text)) + text
    return message + (b"\x10" + varint(number) if number else b"")


def varint(value):
    return bytes([value & 0x7F | 0x80]) + varint(value >> 7) if value > 0x7F else bytes([value])


def name(message):
    """The field `name` of a message Pet that has no other field."""
    size, shift, at = 0, 0, 1
    while True:
        size |= (message[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if message[at - 1] < 0x80:
            return message[at : at + size].decode()


def unary(request, context):
    sent = dict(context.invocation_metadata())
    context.send_initial_metadata([("x-sent", sent.get("x-sent", "")), ("x-first-bin", b"\0\1\xff")])
    context.set_trailing_metadata([("x-number", str(next(numbers))), ("x-last-bin", b"\xff\0")])
    return pet(f"found {name(request)}", next(numbers))


def server_stream(request, context):
    context.set_trailing_metadata([("x-number", str(next(numbers)))])
    for index in range(int(name(request))):
        yield pet(f"watched {index}", next(numbers))


def client_stream(requests, context):
    return pet("counted " + " ".join(name(request) for request in requests), next(numbers))


def bidirectional(requests, context):
    # The first message comes before any of the client's.
    yield pet("welcome", next(numbers))
    for request in requests:
        yield pet(f"heard {name(request)}", next(numbers))
        if name(request) == "twice":
            yield pet("heard twice", next(numbers))
    yield pet("farewell", next(numbers))


def failing(request, context):
    context.set_trailing_metadata([("x-number", str(next(numbers))), ("grpc-status-details-bin", b"\x08\x05\x12\x04lost")])
    context.abort(grpc.StatusCode.NOT_FOUND, f"no pet {name(request)}: é, 100 % and {next(numbers)}")


def failing_stream(request, context):
    yield pet("the first", next(numbers))
    context.abort(grpc.StatusCode.DATA_LOSS, f"the second is lost, {next(numbers)}")


def slow(request, context):
    yield pet("in time", next(numbers))
    over = threading.Event()
    context.add_callback(over.set)
    over.wait(60)


def large(request, context):
    size = int(name(request))
    return pet(f"{next(numbers)} " + "x" * size)


HANDLERS = {
    "Find": grpc.unary_unary_rpc_method_handler(unary),
    "Watch": grpc.unary_stream_rpc_method_handler(server_stream),
    "Count": grpc.stream_unary_rpc_method_handler(client_stream),
    "Chat": grpc.stream_stream_rpc_method_handler(bidirectional),
    "Lose": grpc.unary_unary_rpc_method_handler(failing),
    "LoseSecond": grpc.unary_stream_rpc_method_handler(failing_stream),
    "Wait": grpc.unary_stream_rpc_method_handler(slow),
    "Grow": grpc.unary_unary_rpc_method_handler(large),
}


def main():
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(32), compression=grpc.Compression.Gzip, options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("pets.Store", HANDLERS)])
    if len(sys.argv) > 1:
        key, certificate = (pathlib.Path(path).read_bytes() for path in sys.argv[1:])
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"listening on {port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
