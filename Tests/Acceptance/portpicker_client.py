"""The unmodified PyPI client portpicker gets its ports from `diorama serve`. Config/venv portpicker installs it."""

import os
import pathlib
import subprocess
import sys

import daemon
import support

CLIENT = str(support.ROOT / ".build/portpicker/bin/python")
PORTS = 60

# The client: takes ports and tests them as portpicker does, prints them, and stays until its input ends.
APP = """
import portpicker, sys
ports = [portpicker.pick_unused_port() for _ in range(int(sys.argv[1]))]
print(*ports, flush=True)
print(*[port for port in ports if not portpicker.is_port_free(port)], flush=True)
sys.stdin.read()
"""


class Client:
    """A process with portpicker, which owns the ports that it takes."""

    def __init__(self, count, address):
        self.process = subprocess.Popen(
            [CLIENT, "-c", APP, str(count)], env=dict(support.environment(), PORTSERVER_ADDRESS=address),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.ports = [int(port) for port in self.process.stdout.readline().split()]
        self.busy = [int(port) for port in self.process.stdout.readline().split()]

    def end(self):
        """Ends the process. Returns its error output."""
        return self.process.communicate(timeout=support.PATIENCE)[1]

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=support.PATIENCE)


def ask(address, pid):
    """Runs `python -m portpicker PID`. Without a portserver, it would take a random port outside the pool."""
    return subprocess.run(
        [CLIENT, "-m", "portpicker", str(pid)], env=dict(support.environment(), PORTSERVER_ADDRESS=address),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=support.PATIENCE,
    )


def leases(server):
    return {lease["port"]: lease for lease in server.call("GET", "/v1/ports").json["ports"]}


def run(checks, folder, address):
    with daemon.Daemon(folder, ports=PORTS, portserver=address) as server:
        pool = set(range(server.low, server.high + 1))
        free = PORTS  # unless other programs use some of them

        client = Client(20, address)
        checks.that(len(set(client.ports)) == 20, "20 ports are distinct", client.ports)
        checks.that(set(client.ports) <= pool, "the ports are from the daemon's pool", client.ports)
        checks.that(not client.busy, "portpicker finds all of them free: TCP and UDP, v4 and v6", client.busy)
        held = leases(server)
        checks.that(set(held) == set(client.ports), "the daemon lists the ports", held)
        owners = {lease.get("owner", {}).get("pid") for lease in held.values()}
        checks.that(owners == {client.process.pid}, "the ports belong to the process", owners)

        answer = ask(address, os.getpid())
        port = int(answer.stdout or 0)
        checks.that(port in pool and port not in client.ports, "python -m portpicker PID takes a port for another process", answer)
        owner = leases(server).get(port, {}).get("owner", {}).get("pid")
        checks.that(owner == os.getpid(), "the port belongs to that process", owner)
        server.call("DELETE", f"/v1/ports/{port}")

        gone = subprocess.Popen(["true"])
        gone.wait()
        for pid, name in ((gone.pid, "a process that has ended"), (1, "init"), (0, "no process")):
            answer = ask(address, pid)
            refused = "failed to find a port" in answer.stderr and int(answer.stdout or 0) not in leases(server)
            checks.that(refused, f"{name} gets none", answer)

        # Takes the remaining ports; then the first owner exits.
        rest = Client(free - 20, address)
        own = [port for port in rest.ports if port in pool]
        checks.that(len(own) >= (free - 20) * 0.9, "the whole pool can be leased", rest.ports)
        more = ask(address, os.getpid())
        checks.that("failed to find a port" in more.stderr, "an empty pool refuses", more)
        client.kill()
        again = Client(20, address)
        checks.that(set(again.ports) == set(client.ports), "a killed owner's ports are leased again", again.ports)
        checks.that(not again.busy, "portpicker finds these ports free, too", again.busy)
        for process in (rest, again):
            process.end()


def main():
    checks = support.Checks("portpicker client")
    if not os.access(CLIENT, os.X_OK):
        sys.exit(f"{CLIENT} is missing; run Config/venv portpicker first")
    with support.folder() as folder:
        for name, address in (
            ("abstract", f"@diorama-acceptance-{os.getpid()}"),
            ("path", str(pathlib.Path(folder) / "portserver")),
        ):
            (folder / name).mkdir()
            run(checks, folder / name, address)
        checks.that(not (folder / "portserver").exists(), "the daemon removes its socket")
    checks.end()


main()
