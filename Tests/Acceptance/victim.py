"""Runs a `diorama run` that is attacked from outside while its command waits, and provides raw sockets, raw upstreams, and
resource figures of the process."""

import contextlib
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import support

# A command that prints its environment, then waits for the end of its input.
WAITING = "import json, os, sys; print(json.dumps(dict(os.environ)), flush=True); sys.stdin.read()"
TICKS = os.sysconf("SC_CLK_TCK")


class Figures:
    """The resources that a process has used: CPU time, memory, disk."""

    def __init__(self, pid, name="diorama run"):
        self.pid, self.name = pid, name

    def cpu(self):
        """User and system CPU time in seconds."""
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak(self):
        """Peak resident memory in bytes."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+)", status)  # missing once the process has ended
        return int(found[1]) * 1024 if found else 0

    def limit(self):
        """The soft limit on open files."""
        limits = pathlib.Path(f"/proc/{self.pid}/limits").read_text()
        return int(re.search(r"Max open files\s+(\d+)", limits)[1])

    def open_bytes(self):
        """The bytes on disk of its open files, including unlinked ones."""
        total = 0
        for descriptor in pathlib.Path(f"/proc/{self.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if "/" in os.readlink(descriptor) and descriptor.is_file():
                    total += descriptor.stat().st_blocks * 512
        return total


class Victim:
    """A `diorama run` whose command waits. `end` returns when both have ended."""

    def __init__(self, mode, cassette, upstreams=(), options=(), limits=(), variables=None):
        self.folder = pathlib.Path(cassette).parent
        self.report_file = self.folder / f"{pathlib.Path(cassette).name}.{mode}.report.json"
        words = support.arguments(
            mode, cassette, [sys.executable, "-c", WAITING], upstreams, [*options, "--report", self.report_file]
        )

        def limited():
            for kind, pair in limits:
                resource.setrlimit(kind, pair)

        self.said = open(self.folder / f"{pathlib.Path(cassette).name}.{mode}.stderr", "w+b")
        self.process = subprocess.Popen(
            words, env=dict(support.environment(), **(variables or {})), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.said, preexec_fn=limited,
        )
        self.figures = Figures(self.process.pid)
        ready, _, _ = select.select([self.process.stdout], [], [], 30)
        line = self.process.stdout.readline() if ready else b""
        self.environment = json.loads(line) if line else None
        if not line and self.process.poll() is None and not ready:
            self.process.kill()

    @property
    def started(self):
        return self.environment is not None

    def port(self, name="API"):
        return int(self.environment[f"DIORAMA_ENDPOINT_{name}"].rsplit(":", 1)[1])

    @property
    def main(self):
        return int(self.environment["DIORAMA_CONTROL"].split("/")[2].rsplit(":", 1)[1])

    @property
    def token(self):
        return self.environment["DIORAMA_TOKEN"]

    def end(self):
        """Ends the command. Returns the exit status, or None if the process had to be killed."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            self.status = None
        self.process.stdout.close()
        self.said.seek(0)
        self.words = self.said.read()
        self.said.close()
        self.report = json.loads(self.report_file.read_text()) if self.report_file.is_file() else None
        return self.status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.said.closed:
            self.end()

    def __str__(self):
        return f"status {getattr(self, 'status', '?')}, it said: {getattr(self, 'words', b'')[-800:].decode(errors='replace')}"


def connect(place, timeout=15):
    """Connects to a port on 127.0.0.1, or to a Unix socket."""
    if isinstance(place, int):
        return socket.create_connection(("127.0.0.1", place), timeout=timeout)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    connection.connect(str(place))
    return connection


def received(connection, seconds, enough=1 << 22):
    """Receives until the other side closes. Returns the bytes, and whether it closed within the time."""
    answer, until = b"", time.monotonic() + seconds
    while len(answer) < enough:
        ready, _, _ = select.select([connection], [], [], max(0, until - time.monotonic()))
        if not ready:
            return answer, False
        try:
            part = connection.recv(65536)
        except OSError:  # a reset also closes
            return answer, True
        if not part:
            return answer, True
        answer += part
    return answer, False


def exchange(place, message, seconds=2):
    """Sends raw bytes. Returns the response, and whether the connection was closed."""
    try:
        connection = connect(place)
    except OSError:  # the victim is gone, so there is no response
        return b"", True
    with connection:
        with contextlib.suppress(OSError):
            connection.sendall(message)
        return received(connection, seconds)


def get(port, target="/", fields="", host=None, method="GET", body=b""):
    """Sends a well-formed request on a new connection. Returns the status (0 if there is none) and the complete response.
    """
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    head = f"{method} {target} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{port}'}\r\n{fields}{length}Connection: close\r\n\r\n"
    answer, _ = exchange(port, head.encode("latin-1") + body, seconds=30)
    return status(answer), answer


def status(answer):
    """The status of the first response; 0 if there is none."""
    found = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
    return int(found[1]) if found else 0


def statuses(answer):
    """The statuses of all responses on a connection."""
    return [int(each) for each in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answer)]


def body(answer):
    """The bytes after the head."""
    return answer.partition(b"\r\n\r\n")[2]


class Wire:
    """An upstream that stores all received bytes, and answers each connection's first request with `answer(head)`."""

    def __init__(self, answer=None, context=None, whole=False):
        self.answer = answer or (lambda head: OK)
        self.whole = whole  # whether to read the request's body before responding
        self.context, self.seen, self.certificates = context, [], []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.socket.getsockname()[1]
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        place = len(self.seen)
        self.seen.append(b"")
        with contextlib.suppress(OSError):
            connection.settimeout(30)
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
                self.certificates.append(connection.getpeercert(binary_form=True))
            with connection:
                while b"\r\n\r\n" not in self.seen[place]:
                    part = connection.recv(65536)
                    if not part:
                        return
                    self.seen[place] += part
                connection.settimeout(3)
                while self.whole and left_over(self.seen[place]) is None:
                    part = connection.recv(65536)
                    if not part:
                        return
                    self.seen[place] += part
                for part in self.pieces(self.answer(self.seen[place])):
                    connection.sendall(part)
                connection.shutdown(socket.SHUT_WR)
                # Everything after a request's head is evidence.
                connection.settimeout(1)
                while part := connection.recv(65536):
                    self.seen[place] += part

    def pieces(self, answer):
        return [answer] if isinstance(answer, bytes) else answer

    @property
    def bytes(self):
        return b"\n".join(self.seen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def left_over(message):
    """What follows a request's body, parsed strictly by RFC 9112; None if the request is incomplete."""
    head, _, rest = message.partition(b"\r\n\r\n")
    fields = [line.split(b":", 1) for line in head.lower().split(b"\r\n")[1:] if b":" in line]
    lengths = [value.strip() for name, value in fields if name == b"content-length"]
    codings = [value.strip() for name, value in fields if name == b"transfer-encoding"]
    if (lengths and codings) or len(lengths) > 1 or codings not in ([], [b"chunked"]):
        return b"ambiguous: " + head
    if lengths:
        return rest[int(lengths[0]) :] if len(rest) >= int(lengths[0]) else None
    while codings:
        size, end, rest = rest.partition(b"\r\n")
        if not end:
            return None
        if not re.fullmatch(rb"[0-9a-fA-F]+(;[^\r\n]*)?", size):
            return b"no chunk: " + size
        count = int(size.split(b";")[0], 16)
        if count == 0:
            trailer, end, after = (b"\r\n" + rest).partition(b"\r\n\r\n")
            return after if end else None
        if len(rest) < count + 2:
            return None
        rest = rest[count + 2 :]
    return rest


def response(content, fields="", status="200 OK"):
    """A plain response that ends its connection."""
    content = content if isinstance(content, bytes) else content.encode()
    return f"HTTP/1.1 {status}\r\n{fields}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content


OK = response("ok", "Content-Type: text/plain\r\n")


def together(count, work, items):
    """Runs `work` for all items, `count` at a time. Returns the results in order."""
    results, waiting = [None] * len(items), list(enumerate(items))
    lock = threading.Lock()

    def take():
        while True:
            with lock:
                if not waiting:
                    return
                index, item = waiting.pop(0)
            results[index] = work(item)

    threads = [threading.Thread(target=take) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
