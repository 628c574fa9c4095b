"""The PyPI client portpicker, unchanged, gets its ports from `diorama serve`. Config/venv portpicker makes it."""

import os
import pathlib
import subprocess
import sys

import daemon
import support

CLIENT = str(support.ROOT / ".build/portpicker/bin/python")
PORTS = 60

# The client: takes ports as its users do, tries them as portpicker does, says what it got, and stays until it is told.
APP = """
import portpicker, sys
ports = [portpicker.pick_unused_port() for _ in range(int(sys.argv[1]))]
print(*ports, flush=True)
print(*[port for port in ports if not portpicker.is_port_free(port)], flush=True)
sys.stdin.read()
"""


class Client:
    """A process with portpicker in it, which owns what it takes."""

    def __init__(self, count, address):
        self.process = subprocess.Popen(
            [CLIENT, "-c", APP, str(count)], env=dict(support.environment(), PORTSERVER_ADDRESS=address),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.ports = [int(port) for port in self.process.stdout.readline().split()]
        self.busy = [int(port) for port in self.process.stdout.readline().split()]

    def end(self):
        """Returns what it said of trouble."""
        return self.process.communicate(timeout=support.PATIENCE)[1]

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=support.PATIENCE)


def ask(address, pid):
    """`python -m portpicker PID`; with no portserver it would take a random port, far from the pool."""
    return subprocess.run(
        [CLIENT, "-m", "portpicker", str(pid)], env=dict(support.environment(), PORTSERVER_ADDRESS=address),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=support.PATIENCE,
    )


def leases(server):
    return {lease["port"]: lease for lease in server.call("GET", "/v1/ports").json["ports"]}


def run(checks, folder, address):
    with daemon.Daemon(folder, ports=PORTS, portserver=address) as server:
        pool = set(range(server.low, server.high + 1))
        free = PORTS  # as far as no other program has some of them

        client = Client(20, address)
        checks.that(len(set(client.ports)) == 20, "each of 20 ports is another", client.ports)
        checks.that(set(client.ports) <= pool, "they are of the daemon's pool", client.ports)
        checks.that(not client.busy, "portpicker finds all of them free: TCP and UDP, v4 and v6", client.busy)
        held = leases(server)
        checks.that(set(held) == set(client.ports), "the daemon lists them", held)
        owners = {lease.get("owner", {}).get("pid") for lease in held.values()}
        checks.that(owners == {client.process.pid}, "they belong to the process", owners)

        answer = ask(address, os.getpid())
        port = int(answer.stdout or 0)
        checks.that(port in pool and port not in client.ports, "python -m portpicker PID takes one for another process", answer)
        owner = leases(server).get(port, {}).get("owner", {}).get("pid")
        checks.that(owner == os.getpid(), "which belongs to the process that it names", owner)
        server.call("DELETE", f"/v1/ports/{port}")

        gone = subprocess.Popen(["true"])
        gone.wait()
        for pid, name in ((gone.pid, "a process that has ended"), (1, "init"), (0, "no process")):
            answer = ask(address, pid)
            refused = "failed to find a port" in answer.stderr and int(answer.stdout or 0) not in leases(server)
            checks.that(refused, f"{name} gets none", answer)

        # What is left, to its end; then the first owner goes.
        rest = Client(free - 20, address)
        own = [port for port in rest.ports if port in pool]
        checks.that(len(own) >= (free - 20) * 0.9, "the pool goes out to its end", rest.ports)
        more = ask(address, os.getpid())
        checks.that("failed to find a port" in more.stderr, "an empty pool refuses", more)
        client.kill()
        again = Client(20, address)
        checks.that(set(again.ports) == set(client.ports), "the next request has the ports of a killed owner back", again.ports)
        checks.that(not again.busy, "portpicker finds these free, too", again.busy)
        for process in (rest, again):
            process.end()


def main():
    checks = support.Checks("portpicker client")
    if not os.access(CLIENT, os.X_OK):
        sys.exit(f"{CLIENT} is not there; run Config/venv portpicker first")
    with support.folder() as folder:
        for name, address in (
            ("abstract", f"@diorama-acceptance-{os.getpid()}"),
            ("path", str(pathlib.Path(folder) / "portserver")),
        ):
            (folder / name).mkdir()
            run(checks, folder / name, address)
        checks.that(not (folder / "portserver").exists(), "the socket's file is gone with the daemon")
    checks.end()


main()
