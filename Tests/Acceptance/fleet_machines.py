"""Three machines, which are network namespaces, run the clinic's tests in Swift, and the clinic app in recordings and replays,
with few shared accounts in a PostgreSQL database.

    fleet_machines.py [--rounds N] [--parallel N] [--accounts N]     N tests at a time on each machine

Needs root. No account may have two tests at a time; the tests of all machines pass in each round.
"""

import argparse
import base64
import concurrent.futures
import contextlib
import datetime
import os
import shutil
import subprocess
import sys
import time

import daemon
import postgresql
import support

MACHINES = 3
NETWORK = "10.77.0"


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, timeout=support.PATIENCE)


@contextlib.contextmanager
def network(tag):
    """Namespaces that reach each other's bridge, which has the address .1."""
    names = [f"{tag}{number}" for number in range(MACHINES)]
    try:
        for words in (["link", "add", f"{tag}br", "type", "bridge"], ["addr", "add", f"{NETWORK}.1/24", "dev", f"{tag}br"],
                      ["link", "set", f"{tag}br", "up"]):
            done = ip(*words)
            if done.returncode:
                sys.exit(f"fleet_machines: ip {' '.join(words)}: {done.stderr.strip()}; run it as root")
        for number, name in enumerate(names):
            for words in (
                ["netns", "add", name], ["link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name],
                ["link", "set", f"{name}a", "master", f"{tag}br", "up"], ["-n", name, "link", "set", "lo", "up"],
                ["-n", name, "addr", "add", f"{NETWORK}.{10 + number}/24", "dev", f"{name}b"],
                ["-n", name, "link", "set", f"{name}b", "up"],
            ):
                done = ip(*words)
                if done.returncode:
                    sys.exit(f"fleet_machines: ip {' '.join(words)}: {done.stderr.strip()}")
        yield names
    finally:
        for name in names:
            ip("netns", "del", name)
        ip("link", "del", f"{tag}br")


class Machine(daemon.Daemon):
    """A daemon in a namespace, and programs beside it."""

    def __init__(self, name, folder, url, key):
        self.name = name
        super().__init__(folder, ports=300, options=["--store", url, "--store-key", f"file:{key}"])

    def start(self):
        self.words = ["ip", "netns", "exec", self.name, *self.words] if self.words[0] != "ip" else self.words
        super().start()

    def run(self, *words):
        return subprocess.run(
            ["ip", "netns", "exec", self.name, *map(str, words)], env=dict(self.variables, DIORAMA_HOME=str(self.state)),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


TEST = """#!/bin/sh
# A test of the clinic, with an account of its own. The lock stands for the clinic's session.
# A replay has no account.
test "$1" = record || exec "$CLINIC" book
mkdir "$LOCKS/$DIORAMA_RESOURCE_PATIENT" || { echo "two tests have $DIORAMA_RESOURCE_PATIENT" >&2; exit 9; }
"$CLINIC" book
status=$?
rmdir "$LOCKS/$DIORAMA_RESOURCE_PATIENT"
exit $status
"""


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--parallel", type=int, default=4)
    options.add_argument("--accounts", type=int, default=4)
    options = options.parse_args()
    checks = support.Checks("fleet_machines")
    # In real time, the slots of this hour are not over before the last round.
    start = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=365)).strftime("%Y-%m-%dT09:02:00Z")
    tag = f"dm{os.getpid() % 10_000}"
    with support.folder() as folder, network(tag) as names, postgresql.Server(f"{NETWORK}.1") as server:
        key, locks, script = folder / "key", folder / "locks", folder / "test.sh"
        key.write_text(base64.b64encode(os.urandom(32)).decode())
        locks.mkdir()
        script.write_text(TEST)
        script.chmod(0o755)
        machines, backends = [], []
        try:
            for name in names:
                (folder / name).mkdir()
                machine = Machine(name, folder / name, f"host={NETWORK}.1 user=diorama dbname=fleet", key)
                machine.variables.update(LOCKS=str(locks), CLINIC_SESSIONS=str(locks), CLINIC=support.binary("clinic"))
                machines.append(machine)
                backends.append(support.Program(
                    ["ip", "netns", "exec", name, support.binary("clinic-backend"), "--now", start]))
            one = machines[0]
            checks.that(one.run(support.binary("diorama"), "pool", "create", "patients").returncode == 0, "the pool is made")
            accounts = folder / "p.csv"
            accounts.write_text("name,secret:pin\n" + "".join(
                f"patient-{number},{number}5208134\n" for number in range(options.accounts)))
            done = one.run(support.binary("diorama"), "pool", "import", "patients", accounts)
            checks.that(done.returncode == 0, "accounts are imported", done)

            def suite(number):
                """Four tests at a time; each holds an account."""
                return machines[number].run(
                    support.binary("dioramaPackageTests.xctest"), "--testing-library", "swift-testing", "--filter", "PatientsTests")

            def test(place):
                number, slot, cycle = place
                cassette = folder / f"c-{number}-{slot}"
                words = [support.binary("diorama"), "run", "--quiet", "--mode", "record", "--cassette", cassette, "--resource",
                         "patient=patients", "--resource-wait", "120", "--upstream", f"clinic={backends[number].url}",
                         "--start", start, "--", script, "record"]
                recorded = machines[number].run(*words)
                # Another machine replays it, without an account.
                other = machines[(number + 1) % MACHINES]
                words[words.index("record")] = words[-1] = "replay"
                replayed = other.run(*words)
                return place, recorded, replayed

            started, passed = time.monotonic(), 0
            with concurrent.futures.ThreadPoolExecutor(MACHINES * options.parallel) as pool:
                for cycle in range(options.rounds):
                    runs = list(pool.map(suite, range(MACHINES)))
                    wrong = [
                        (run.returncode, run.stdout[-2000:], run.stderr[-600:])
                        for run in runs if run.returncode or "with 4 test cases passed" not in run.stderr]
                    checks.that(not wrong, f"round {cycle}: the suites of all machines pass", wrong[:2])
                    places = [(number, slot, cycle) for number in range(MACHINES) for slot in range(options.parallel)]
                    results = list(pool.map(test, places))
                    wrong = [
                        (place, run.returncode, run.stdout[-300:], run.stderr[-600:])
                        for place, recorded, replayed in results for run in (recorded, replayed)
                        if run.returncode or run.stdout != recorded.stdout]
                    passed += not any(run.returncode for run in runs) and not wrong
                    checks.that(not wrong, f"round {cycle}: all tests of all machines pass", wrong[:2])
            seconds = time.monotonic() - started
            checks.that(os.listdir(locks) == [], "no session is left")
            left = one.call("GET", "/v1/leases", connection=one.unix()).json["leases"]
            checks.that(left == [], "no lease is left", left)
            states = one.call("GET", "/v1/pools", connection=one.unix()).json["pools"][0]["states"]
            checks.that(states == {"free": options.accounts}, "all accounts are free", states)
            checks.say(
                f"{passed} of {options.rounds} rounds passed: {MACHINES * options.parallel} tests at a time on {MACHINES} "
                f"machines, {options.accounts} accounts, {seconds / max(options.rounds, 1):.1f} s a round")
        finally:
            for backend in backends:
                backend.stop()
            for machine in machines:
                machine.stop()
    checks.end()


if __name__ == "__main__":
    main()
