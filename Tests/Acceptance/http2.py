"""HTTP/2 with clients that other people wrote: curl, httpx, and grpcio with all four kinds of calls. The server is the
test program HTTP2Echo. Bodies of a gigabyte pass at constant memory.

    http2.py [--megabytes N]
"""

import argparse
import json
import pathlib
import subprocess

import support

MEMORY = 64  # MiB


def curl(checks, server, megabytes):
    def run(*options, **more):
        words = ["curl", "-sS", "--http2-prior-knowledge", *options]
        return subprocess.run(words, capture_output=True, timeout=support.PATIENCE * 10, env=support.environment(), **more)

    count = megabytes << 20
    with subprocess.Popen(["head", "-c", str(count), "/dev/zero"], stdout=subprocess.PIPE) as source:
        sent = run("-T", "-", f"{server.url}/count", stdin=source.stdout)
    checks.that(sent.stdout == f"{count}\n".encode(), f"curl uploads {megabytes} MiB", sent)
    for path in (f"/bytes/{count}", f"/bytes/{count}/chunked"):
        got = run("-o", "/dev/null", "-w", "%{http_version} %{http_code} %{size_download}", server.url + path)
        checks.that(got.stdout.decode() == f"2 200 {count}", f"curl downloads {path}", got)
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    peak = next(int(line.split()[1]) >> 10 for line in status.splitlines() if line.startswith("VmHWM:"))
    checks.that(peak < MEMORY, f"at most {MEMORY} MiB of memory", f"{peak} MiB")
    checks.say(f"peak memory: {peak} MiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1024)
    megabytes = parser.parse_args().megabytes
    checks = support.Checks("http2")
    with support.Program([support.binary("HTTP2Echo")]) as server:
        client = [support.python("http2"), str(support.HERE / "http2_client.py"), f"127.0.0.1:{server.port}"]
        ended = support.finish(client)
        if checks.that(ended.returncode == 0, "the Python clients ended well", ended.stderr[-1500:]):
            for what, holds, seen in json.loads(ended.stdout):
                checks.that(holds, what, seen)
        curl(checks, server, megabytes)
        checks.that(server.process.poll() is None, "the server is still running")
    checks.end()


main()
