"""Many clients at the control API: idle connections and senders that never finish don't block other clients' requests.

    api_crowd.py [--soak] [--idle N] [--slow N] [--calls N]
"""

import argparse
import contextlib
import selectors
import socket
import statistics
import threading
import time

import daemon
import support


def connect(port, count):
    """Opens connections that send nothing."""
    made = []
    for _ in range(count):
        made.append(socket.create_connection(("127.0.0.1", port), timeout=support.PATIENCE))
    return made


class SlowSenders:
    """Send one byte at a time, of a head or of a body without end, as long as the daemon allows."""

    def __init__(self, host, count):
        head = f"GET /v1/environments HTTP/1.1\r\nHost: 127.0.0.1:{host.port}\r\nX-Slow: "
        body = (
            f"POST /v1/ports HTTP/1.1\r\nHost: 127.0.0.1:{host.port}\r\nAuthorization: Bearer {host.token}\r\n"
            "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"
        )
        self.ended = 0
        self.sockets = connect(host.port, count)
        for number, each in enumerate(self.sockets):
            each.sendall((head if number % 2 else body).encode())
            each.setblocking(False)
        self.going = True
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        while self.going:
            for each in list(self.sockets):
                try:
                    each.send(b" ")
                except BlockingIOError:
                    pass
                except OSError:
                    self.ended += 1
                    each.close()
                    self.sockets.remove(each)
            time.sleep(0.5)

    def close(self):
        self.going = False
        self.thread.join()
        for each in self.sockets:
            each.close()


def timed(call):
    started = time.monotonic()
    answer = call()
    return answer, time.monotonic() - started


def work(checks, host, calls, title):
    """Makes calls over TCP and the Unix socket; all must be answered quickly."""
    taken, wrong = [], []
    for number in range(calls):
        connection = host.unix(timeout=30) if number % 2 else host.connection(timeout=30)
        with contextlib.closing(connection):
            made, seconds = timed(lambda: host.provision(connection))
            taken.append(seconds)
            if made.status != 201:
                wrong.append(str(made))
                continue
            for method, target in (("GET", "/v1/environments"), ("GET", "/v1/health"), ("DELETE", f"/v1/environments/{made.json['id']}")):
                answer, seconds = timed(lambda: host.call(method, target, connection=connection))
                taken.append(seconds)
                if answer.status != 200:
                    wrong.append(f"{method} {target}: {answer}")
    taken.sort()
    checks.that(not wrong, f"{title}: every call succeeds", wrong[:3])
    median, slowest = statistics.median(taken), taken[-1]
    checks.say(f"{title}: {len(taken)} calls, median {median * 1000:.1f} ms, slowest {slowest * 1000:.0f} ms")
    checks.that(median < 0.5 and slowest < 5, f"{title}: calls are answered quickly", (median, slowest))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--soak", action="store_true")
    options.add_argument("--idle", type=int)
    options.add_argument("--slow", type=int)
    options.add_argument("--calls", type=int)
    options = options.parse_args()
    idle = options.idle or (10_000 if options.soak else 1500)
    slow = options.slow or (1000 if options.soak else 100)
    calls = options.calls or (200 if options.soak else 20)
    checks = support.Checks("api_crowd")
    limit = daemon.raise_limit()
    if limit < idle + slow + 200:
        checks.that(False, f"the limit of {limit} descriptors is too low for {idle + slow} connections")
        checks.end()
    with support.folder() as folder, daemon.Daemon(folder) as host:
        work(checks, host, 5, "alone")
        before = daemon.settled(host.figures)
        crowd = connect(host.port, idle)
        senders = SlowSenders(host, slow)
        try:
            work(checks, host, calls, f"with {idle} idle connections and {slow} slow senders")
            # Clients that don't complete a head are disconnected eventually; idle ones may stay.
            until = time.monotonic() + 60
            while senders.ended < slow // 2 and time.monotonic() < until:
                time.sleep(0.2)
            checks.that(senders.ended >= slow // 2, "senders of an endless head are disconnected", senders.ended)
            work(checks, host, 5, "after that")
        finally:
            for each in crowd:
                each.close()
            senders.close()
        after = daemon.settled(host.figures)
        checks.that(after["descriptors"] <= before["descriptors"], "no descriptor leaks", (before, after))
        checks.that(after["threads"] <= before["threads"], "no thread leaks", (before, after))
        checks.that(host.process.poll() is None, "the daemon is still running")
    checks.end()


main()
