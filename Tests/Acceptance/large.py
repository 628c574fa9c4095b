"""Transfers large bodies through a recording and its replay: both ends compute the same checksums, and the anonymous
memory of `diorama run` stays at that of a small run.

    large.py [--megabytes N]

A binary body and a text body are downloaded and uploaded: recorded, then replayed without the upstream. The uploaded
text contains the endpoint's URL in every megabyte, which is rewritten to the upstream's.
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
FLAT = 32  # MB in addition to a run with 1 MB


class Store(http.server.BaseHTTPRequestHandler):
    """The upstream: receives and sends bodies in pieces, and reports their digests."""

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
        # Text is searched for the upstream's URLs while it is streamed, and is sent in chunks.
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
    """A `diorama run` with its peak anonymous memory (MB), sampled continuously."""

    def __init__(self, mode, cassette, way, megabytes, url):
        command = [sys.executable, support.HERE / "large_client.py", way, megabytes, url]
        upstreams = {"store": url} if mode == "record" else ()
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
        # Without a return code the process hasn't been reaped, so its id is still its own.
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
    ways = ("down", "text", "up", "up-text")
    with support.folder() as folder:
        runs = {}
        with store({1, large}) as url:
            for way in ways:
                for size in (1, large):
                    # A separate cassette each, so that opening one doesn't affect another measurement.
                    runs["record", way, size] = Watched("record", folder / f"{way}-{size}", way, size, url)
        for way in ways:
            for size in (1, large):
                runs["replay", way, size] = Watched("replay", folder / f"{way}-{size}", way, size, url)

    for (mode, way, size), run in runs.items():
        title = f"{mode} {way} {size} MB"
        least = runs[mode, way, 1].most
        if size > 1:
            rate = size / run.seconds
            checks.say(f"{title}: {run.most:.1f} MB of anonymous memory, {least:.1f} for 1 MB, {rate:.0f} MB/s")
        checks.that(run.looks > 3, f"{title}: its memory was sampled", run.looks)
        status, one, other = run.told
        if way.startswith("up"):
            other = json.loads(other or "null")
        else:
            other = [other, size * MEGABYTE]
        checks.that(run.status == 0 and status == 200, f"{title}: the run succeeds", run)
        checks.that(one == other, f"{title}: both ends have the same checksum", f"{one} and {other}, {run}")
        checks.that(
            run.most - least < FLAT, f"{title}: at most {FLAT} MB more than with 1 MB", f"{run.most:.1f} and {least:.1f} MB"
        )
    checks.end()


main()
