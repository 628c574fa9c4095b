"""Large bodies go up and come down through a recording and its replay: both ends have the same checksums, and the
anonymous memory of `diorama run` stays where that of a small run is.

    large.py [--megabytes N]

A body of bytes and one of text come down, one goes up: recorded, then replayed with the upstream gone. A request is looked
up by its body, which a replay holds for that: up to HELD bytes; above that it refuses with 413, says so, and fails the run.
"""

import argparse
import contextlib
import hashlib
import http.server
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

import support
from large_client import blocks, digest_of

MEGABYTE = 1 << 20
FLAT = 32  # MB above what one megabyte takes
HELD = 64 * MEGABYTE  # the most bytes of a request's body that a replay looks up
# What a replay may take for matching a body that it holds, in sizes of the body above FLAT: it is looked at as it came, as it
# is redacted and as it was recorded, each for a moment in two copies. The one way that is not flat; more than HELD has to be.
COPIES = 4


class Store(http.server.BaseHTTPRequestHandler):
    """The upstream: takes and gives bodies piece by piece, and tells their digests."""

    protocol_version = "HTTP/1.1"
    digests = {}

    def do_PUT(self):
        rest = int(self.headers["Content-Length"])

        def read(most):
            nonlocal rest
            piece = self.rfile.read(min(most, rest))
            rest -= len(piece)
            return piece

        answer = json.dumps(digest_of(read)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self):
        _, way, size = self.path.split("/")
        megabytes = int(size)
        self.send_response(200)
        # Text is looked through for the upstream's URLs as it passes, and comes in chunks.
        self.send_header("Content-Type", "text/plain; charset=latin-1" if way == "text" else "application/octet-stream")
        self.send_header("X-Digest", self.digests[megabytes])
        if way == "text":
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(megabytes * MEGABYTE))
        self.end_headers()
        for block in blocks(megabytes):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block) if way == "text" else block)
        if way == "text":
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


@contextlib.contextmanager
def store(sizes):
    for size in sizes:
        digest = hashlib.sha256()
        for block in blocks(size):
            digest.update(block)
        Store.digests[size] = digest.hexdigest()
    server = Server(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Watched:
    """One `diorama run`, and the most anonymous memory that it ever had (megabytes), looked at all the time."""

    def __init__(self, mode, cassette, way, megabytes, upstreams=()):
        command = [sys.executable, support.HERE / "large_client.py", way, megabytes]
        started = time.monotonic()
        process = subprocess.Popen(
            support.arguments(mode, cassette, command, upstreams), env=support.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.most, self.looks = 0, 0
        watching = threading.Thread(target=self.watch, args=(process,))
        watching.start()
        try:
            self.output, self.words = process.communicate(timeout=support.PATIENCE + 3 * megabytes)
        finally:
            process.kill()
            process.wait()
            watching.join()
        self.status, self.seconds = process.returncode, time.monotonic() - started
        self.told = json.loads(self.output) if self.output.strip() else [None, None, None]

    def watch(self, process):
        path = pathlib.Path(f"/proc/{process.pid}/status")
        # Nobody has waited for it while it has no return code: the id is its own.
        while process.returncode is None:
            with contextlib.suppress(OSError):
                if found := re.search(r"RssAnon:\s+(\d+) kB", path.read_text()):
                    self.most = max(self.most, int(found[1]) / 1024)
                    self.looks += 1
            time.sleep(0.005)

    def __str__(self):
        return f"status {self.status}, {self.most:.1f} MB, it said: {self.output.strip()[:400]} {self.words.strip()[-800:]}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--megabytes", type=int, default=64)
    large = options.parse_args().megabytes
    checks = support.Checks("large")
    ways = ("down", "text", "up")
    with support.folder() as folder:
        runs = {}
        with store({1, large}) as url:
            for way in ways:
                for size in (1, large):
                    # A cassette of its own for each: opening one must not be what another way costs.
                    runs["record", way, size] = Watched("record", folder / f"{way}-{size}", way, size, {"store": url})
        for way in ways:
            for size in (1, large):
                runs["replay", way, size] = Watched("replay", folder / f"{way}-{size}", way, size)

    for (mode, way, size), run in runs.items():
        title = f"{mode} {way} {size} MB"
        least = runs[mode, way, 1].most
        if size > 1:
            rate = size / run.seconds
            checks.say(f"{title}: {run.most:.1f} MB of anonymous memory, {least:.1f} for 1 MB, {rate:.0f} MB/s")
        checks.that(run.looks > 3, f"{title}: its memory was looked at", run.looks)
        room = FLAT
        if (mode, way) == ("replay", "up"):
            room += COPIES * min(size * MEGABYTE, HELD) / MEGABYTE
            if size * MEGABYTE > HELD:
                checks.that(run.told[0] == 413, f"{title}: more than can be looked up is refused", run)
                checks.that(run.status == 3 and "did not come whole" in run.words, f"{title}: and the run fails with a reason", run)
                checks.that(run.most - least < FLAT, f"{title}: the refusal takes no memory", run)
                continue
        status, one, other = run.told
        other = json.loads(other) if way == "up" and other else [other, size * MEGABYTE]
        checks.that(run.status == 0 and status == 200, f"{title}: it ends well", run)
        checks.that(one == other, f"{title}: both ends have the same checksum", f"{one} and {other}, {run}")
        checks.that(run.most - least < room, f"{title}: under {room} MB above what 1 MB takes", f"{run.most:.1f} and {least:.1f} MB")
    checks.end()


main()
