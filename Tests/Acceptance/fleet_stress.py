"""Many clients of several daemons lease few accounts, while daemons, the database and connections are killed.

    fleet_stress.py [--daemons N] [--clients N] [--checkouts N] [--accounts N] [--calm SECONDS] [--pooler [only]]

Each account stands for a system outside, which keeps who holds it and the highest fence that it has seen.
"""

import argparse
import array
import json
import os
import random
import re
import socket
import threading
import time
import uuid

import daemon
import postgresql
import support


class Accounts:
    """The system outside. It notices two holders at once, and fences that do not grow."""

    def __init__(self):
        self.lock, self.holders, self.fences, self.wrong = threading.Lock(), {}, {}, []

    def take(self, name, fence, client):
        with self.lock:
            if name in self.holders:
                self.wrong.append(f"{name} is held by {self.holders[name]} and, with fence {fence}, by {client}")
            if fence <= self.fences.get(name, 0):
                self.wrong.append(f"{name}: fence {fence} after {self.fences[name]}")
            self.holders[name] = (client, fence)
            self.fences[name] = max(fence, self.fences.get(name, 0))

    def give(self, name):
        with self.lock:
            del self.holders[name]


class Client(threading.Thread):
    """Leases an account of either kind, or one of each, and returns it."""

    def __init__(self, number, host, accounts, checkouts):
        super().__init__(daemon=True)
        self.number, self.host, self.accounts, self.checkouts = number, host, accounts, checkouts
        self.random = random.Random(number)
        self.connection = None
        self.waits, self.refused, self.failure = array.array("f"), 0, None

    def run(self):
        try:
            for _ in range(self.checkouts):
                self.once()
        except Exception as error:
            self.failure = f"client {self.number}: {error!r}"

    def call(self, method, target, body=None):
        """Makes one call on the connection. With http.client, this program would need as much time as the daemons."""
        text = json.dumps(body) if body is not None else ""
        self.connection.sendall(
            f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(text)}\r\n\r\n{text}".encode())
        received, end = b"", -1
        while end < 0 or len(received) < end:
            part = self.connection.recv(65536)
            if not part:
                raise ConnectionError("the daemon has closed the connection")
            received += part
            if end < 0 and b"\r\n\r\n" in received:
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", received)
                end = received.index(b"\r\n\r\n") + 4
                content = end
                end += int(length[1]) if length else 0
        return int(received[9:12]), received[content:end]

    def ask(self, method, target, body=None):
        """Repeats a call until the daemon, which may be killed, has answered it."""
        until = time.monotonic() + 300
        while True:
            try:
                if not self.connection:
                    self.connection = socket.socket(socket.AF_UNIX)
                    self.connection.settimeout(200)
                    self.connection.connect(self.host.ready["socket"])
                status, content = self.call(method, target, body)
                if status != 503:
                    return status, content
            except OSError:
                self.connection.close()
                self.connection = None
            if time.monotonic() > until:
                raise TimeoutError(f"{method} {target} was not answered")
            time.sleep(0.05 + self.random.random() / 10)

    def once(self):
        kind = self.random.choice(["a", "b", "any", "both"])
        where = {"a": [{"kind": "a"}], "b": [{"kind": "b"}], "any": [{}], "both": [{"kind": "a"}, {"kind": "b"}]}[kind]
        id = str(uuid.uuid4())
        body = {
            "id": id, "waitSeconds": 150, "owner": {"pid": os.getpid()},
            "resources": {f"r{index}": {"pool": "accounts", "where": one} for index, one in enumerate(where)},
        }
        started = time.monotonic()
        while True:
            status, content = self.ask("POST", "/v1/leases", body)
            if status == 201:
                break
            # Not in time, while something was away.
            self.refused += 1
            if time.monotonic() - started > 600:
                raise TimeoutError(f"{status} {content}")
        self.waits.append(time.monotonic() - started)
        held = sorted(json.loads(content)["resources"].values(), key=lambda one: one["name"])
        for one in held:
            self.accounts.take(one["name"], one["fence"], self.number)
        if self.random.random() < 0.2:
            time.sleep(self.random.random() / 50)
        for one in held:
            self.accounts.give(one["name"])
        status, content = self.ask("DELETE", f"/v1/leases/{id}")
        if status not in (204, 404):
            raise RuntimeError(f"{status} {content}")


def disturb(server, hosts, pooler, over, counts, calm):
    """Kills at random until `over` is set, with pauses of `calm` seconds on average."""
    dice = random.Random(7)
    while not over.wait(calm * dice.uniform(0.3, 1.7)):
        what = dice.choice(["daemon", "daemon", "cut", "cut", "cut", "restart", "crash"] + (["pooler"] if pooler else []))
        counts[what] = counts.get(what, 0) + 1
        if what == "daemon":
            host = dice.choice(hosts)
            host.kill()
            over.wait(dice.uniform(0, 1))
            # The database may be away at the moment.
            while True:
                try:
                    host.start()
                    break
                except SystemExit:
                    time.sleep(0.2)
        elif what == "cut":
            try:
                server.query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'diorama' AND random() < 0.4 "
                    "AND pid <> pg_backend_pid()")
            except RuntimeError:
                pass
        elif what == "restart":
            server.stop("fast")
            server.start()
        elif what == "crash":
            server.kill()
            server.start()
        else:
            pooler.kill()
            pooler.start()


def stress(checks, server, url, pooler, options, folder):
    title = "behind pgbouncer: " if pooler else ""
    key = folder / "key"
    key.write_bytes(os.urandom(32))
    hosts = []
    for number in range(options.daemons):
        path = folder / f"{'p' if pooler else 'd'}{number}"
        path.mkdir()
        hosts.append(daemon.Daemon(path, ports=100, options=["--store", url, "--store-key", f"file:{key}"]))
    try:
        pool = hosts[0].call("POST", "/v1/pools", {"name": "accounts"})
        checks.that(pool.status == 204, title + "the pool is made", pool)
        resources = [
            {"name": f"account-{number}", "attributes": {"kind": "ab"[number % 2]}, "secrets": {"pin": str(number)}}
            for number in range(options.accounts)
        ]
        made = hosts[0].call("POST", "/v1/pools/accounts/resources", {"resources": resources})
        checks.that(made.json == {"added": options.accounts, "replaced": 0}, title + "accounts are imported", made)
        accounts, over, counts = Accounts(), threading.Event(), {}
        clients = [
            Client(number, hosts[number % options.daemons], accounts, options.checkouts)
            for number in range(options.daemons * options.clients)
        ]
        troubles = threading.Thread(target=disturb, args=(server, hosts, pooler, over, counts, options.calm))
        started = time.monotonic()
        for client in clients:
            client.start()
        troubles.start()
        said = started
        while any(client.is_alive() for client in clients):
            time.sleep(0.2)
            if time.monotonic() - said > 60:
                said = time.monotonic()
                done = sum(len(client.waits) for client in clients)
                checks.say(f"{title}{done} checkouts in {said - started:.0f} s, {len(accounts.wrong)} wrong")
        seconds = time.monotonic() - started
        over.set()
        troubles.join()
        waits = sorted(wait for client in clients for wait in client.waits)
        failures = [client.failure for client in clients if client.failure]
        checks.that(not failures, title + "each client gets what it asks for", failures)
        checks.that(len(waits) == options.checkouts * len(clients), title + "no checkout is missing", len(waits))
        checks.that(not accounts.wrong, title + "no account has two holders, and fences grow", accounts.wrong[:5])
        # Whatever is left belongs to no one: after the last return, all is free.
        until = time.monotonic() + 60
        while time.monotonic() < until:
            left = hosts[-1].call("GET", "/v1/leases")
            if left.json.get("leases") == [] and not left.json["store"].get("away"):
                break
            time.sleep(0.2)
        checks.that(left.json["leases"] == [], title + "no lease is left", left)
        states = hosts[-1].call("GET", "/v1/pools").json["pools"][0]["states"]
        checks.that(states == {"free": options.accounts}, title + "no account is lost", states)
        fences = {one["name"]: one["fence"] for one in hosts[0].call("GET", "/v1/pools/accounts/resources").json["resources"]}
        checks.that(
            all(fences[name] >= fence for name, fence in accounts.fences.items()),
            title + "the store knows all fences")
        checks.say(
            f"{title}{len(waits)} checkouts of {options.accounts} accounts by {len(clients)} clients of {options.daemons} "
            f"daemons in {seconds:.0f} s ({len(waits) / seconds:.0f}/s), amid {dict(sorted(counts.items()))}; waits: median "
            f"{waits[len(waits) // 2] * 1000:.0f} ms, 99 % {waits[len(waits) * 99 // 100]:.2f} s, longest {waits[-1]:.1f} s; "
            f"asked again {sum(client.refused for client in clients)} times")
    finally:
        for host in hosts:
            host.stop()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--daemons", type=int, default=8)
    options.add_argument("--clients", type=int, default=32, help="of each daemon")
    options.add_argument("--checkouts", type=int, default=40, help="of each client")
    options.add_argument("--accounts", type=int, default=100)
    options.add_argument("--calm", type=float, default=0.9, help="seconds between two disturbances, on average")
    options.add_argument("--pooler", nargs="?", const="also", help="also, or only, with pgbouncer in between")
    options = options.parse_args()
    daemon.raise_limit()
    checks = support.Checks("fleet_stress")
    with support.folder() as folder, postgresql.Server() as server:
        if options.pooler != "only":
            stress(checks, server, server.url(), None, options, folder)
        if options.pooler:
            server.query("CREATE DATABASE pooled")
            with postgresql.Pooler(server) as pooler:
                stress(checks, server, pooler.url("pooled"), pooler, options, folder)
    checks.end()


if __name__ == "__main__":
    main()
