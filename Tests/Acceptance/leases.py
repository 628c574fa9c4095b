"""64 processes take 100 leases each while 8 others bind any port all the time, in generations, and owners are killed at
random: no port is leased twice or taken by a binder, and an empty pool reuses the ports of killed owners at the next request.

    leases.py [--generations N] [--processes N] [--leases N] [--seed N]
"""

import argparse
import contextlib
import json
import os
import random
import select
import signal
import socket
import sys
import time

import daemon
import support

BINDERS = 8
HELD = 40  # ports of each of them at a time
# In the system's ephemeral range, so that programs that bind any port compete for them.
AREA = range(33_000, 60_900)


def reusing(port):
    """A server's socket with the usual options."""
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen(8)
    return server


def can_bind(port):
    """Whether a server could bind the port now. Closed connections of other programs block theirs for a minute."""
    try:
        reusing(port).close()
    except OSError:
        return False
    return True


def by_portserver(address):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + address[1:])
        client.sendall(b"%d\n" % os.getpid())
        answer = client.recv(100)
    if not answer:
        raise RuntimeError("the portserver had none")
    return [int(answer)]


def by_call(server, connection, count):
    body = {"count": count, "owner": {"pid": os.getpid()}}
    answer = server.call("POST", "/v1/ports", body, connection=connection)
    if answer.status != 201:
        raise RuntimeError(str(answer))
    return [lease["port"] for lease in answer.json["ports"]]


def own(server, address, count, seed):
    """An owner: takes leases one by one and several at once, uses some, tries all, and keeps running."""
    chance = random.Random(seed)
    connection = server.unix()
    ports, servers, problem = [], [], None
    try:
        while len(ports) < count:
            left = count - len(ports)
            ports += by_portserver(address) if chance.random() < 0.3 else by_call(server, connection, min(left, chance.randint(1, 10)))
        for port in ports:
            # Binding a port that another program has bound fails.
            listening = reusing(port)
            with socket.create_connection(("127.0.0.1", port), timeout=support.PATIENCE):
                listening.accept()[0].close()
            if chance.random() < 0.05:
                servers.append(listening)
            else:
                listening.close()
    except (OSError, RuntimeError) as error:
        problem = f"{error!r} with {len(ports)} leases, port {ports[-1:]}"
    print(json.dumps({"ports": ports, "problem": problem}), flush=True)
    sys.stdin.read()


def bind_any():
    """Binds any free port repeatedly, on all addresses that programs use."""
    held = []
    while True:
        for host in ("127.0.0.1", "0.0.0.0", "::"):
            other = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            other.bind((host, 0))
            held.append(other)
        while len(held) > HELD:
            held.pop(random.randrange(len(held))).close()
        time.sleep(0.001)  # leaves processor time to the others


class Process:
    """A copy of this process that runs a function, with pipes for its standard input and output."""

    def __init__(self, function, *arguments):
        taken, self.input = os.pipe()
        self.output, given = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.dup2(taken, 0)
                os.dup2(given, 1)
                os.closerange(3, 4096)
                sys.stdin, sys.stdout = open(0), open(1, "w")
                function(*arguments)
            os._exit(0)
        os.close(taken)
        os.close(given)

    def line(self):
        """The next line of its output; None if there is none."""
        said = b""
        while not said.endswith(b"\n"):
            ready, _, _ = select.select([self.output], [], [], support.PATIENCE)
            part = os.read(self.output, 65536) if ready else b""
            if not part:
                return None
            said += part
        return json.loads(said)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.input)
        os.close(self.output)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--generations", type=int, default=2)
    options.add_argument("--processes", type=int, default=64)
    options.add_argument("--leases", type=int, default=100)
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = options.parse_args()
    chance = random.Random(options.seed)
    checks = support.Checks("leases")
    checks.say(f"{options.generations} generations, --seed {options.seed}")
    daemon.raise_limit()
    total = options.processes * options.leases
    # A little more than all leases together, so that the pool is often empty from the second generation on. The rest is
    # for the ports that binders hold, and for closed connections of former owners.
    free = sum(map(can_bind, AREA)) / len(AREA)
    count = int((total + total // 20 + BINDERS * HELD) / free)
    ports = daemon.own_ports(count, AREA.start, AREA.stop)
    address = f"@diorama-leases-{os.getpid()}"
    owners, binders = {}, []

    with support.folder() as folder, daemon.Daemon(folder, ports=ports, portserver=address) as server:
        try:
            binders = [Process(bind_any) for _ in range(BINDERS)]
            for generation in range(options.generations):
                new = [
                    Process(own, server, address, options.leases, chance.random())
                    for _ in range(options.processes - len(owners))
                ]
                title = f"generation {generation + 1}"
                for process in new:
                    said = process.line() or {"ports": [], "problem": "it ended"}
                    checks.that(said["problem"] is None, f"{title}: an owner gets all its leases and can use them", said["problem"])
                    owners[process] = said["ports"]
                ports = [port for held in owners.values() for port in held]
                twice = {port for port in ports if ports.count(port) > 1} if len(set(ports)) < len(ports) else set()
                checks.that(not twice, f"{title}: no port is leased twice", sorted(twice))
                checks.that(len(ports) == total, f"{title}: {total} ports are leased", len(ports))
                listed = {lease["port"]: lease["owner"]["pid"] for lease in server.call("GET", "/v1/ports").json["ports"]}
                wrong = [port for process, held in owners.items() for port in held if listed.get(port) != process.pid]
                checks.that(not wrong, f"{title}: the daemon lists each with its owner", wrong)
                # Kills at least a quarter, so that the rest of the pool is too small for the next generation.
                for process in chance.sample(list(owners), chance.randint(options.processes // 4, options.processes)):
                    process.kill()
                    del owners[process]
        finally:
            for process in [*owners, *binders]:
                process.kill()
        owners.clear()
        last = Process(own, server, address, total // 2, options.seed)
        said = last.line() or {"ports": [], "problem": "it ended"}
        last.kill()
        checks.that(said["problem"] is None and len(set(said["ports"])) == total // 2, "with all owners gone, one gets half the pool", said["problem"])
        checks.that(server.process.poll() is None, "the daemon runs to the end", server.said()[-1000:])
    checks.end()


main()
