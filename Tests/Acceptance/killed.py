"""Kills `diorama run` with SIGKILL at random moments of a recording. All responses that the app received completely are
kept, an older cassette is unchanged, and every cassette opens.

    killed.py [--rounds N] [--seed N]
"""

import argparse
import hashlib
import os
import pathlib
import random
import select
import shutil
import subprocess
import sys
import time

import support

# The app: four threads send requests; a line on standard output names each completely received response, with its
# digest. A line is one write to a pipe, so a kill never splits it.
APP = """
import hashlib, http.client, os, sys, threading
host = os.environ["DIORAMA_ENDPOINT_STORE"].split("//")[1]
targets = open(sys.argv[1]).read().split()
lock = threading.Lock()
def work():
    connection = http.client.HTTPConnection(host, timeout=60)
    while True:
        with lock:
            if not targets: return
            target = targets.pop(0)
        connection.request("GET", target)
        response = connection.getresponse()
        body = response.read()
        if response.status != 200: sys.exit(f"{target}: {response.status} {body[:500]}")
        os.write(1, f"{target} {hashlib.sha256(body).hexdigest()}\\n".encode())
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
os.write(1, b"done\\n")
"""


def answer(handler, _):
    """A body derived from the path: small JSON, binary, or text over 256 KiB, which is stored as a file."""
    number = int(handler.path.rsplit("/", 1)[1])
    source = random.Random(handler.path)
    if number % 40 == 7:
        return 200, [("Content-Type", "text/plain; charset=utf-8")], ("naïve 🙂 " * 30_000 + handler.path).encode()
    if number % 10 == 3:
        return 200, [("Content-Type", "application/octet-stream")], source.randbytes(50_000)
    headers = [("Content-Type", "application/json")]
    if number % 4 == 1:
        headers.append(("Transfer-Encoding", "chunked"))
    return 200, headers, b'{"value": "%s"}' % source.randbytes(source.randrange(10, 5000)).hex().encode()


class Recording:
    """A `diorama run` to be killed."""

    def __init__(self, mode, cassette, targets, upstream):
        listed = pathlib.Path(f"{cassette}.targets")
        listed.write_text("\n".join(targets))
        self.words = open(f"{cassette}.words", "wb+")
        self.process = subprocess.Popen(
            support.arguments(mode, cassette, [sys.executable, "-c", APP, listed], {"store": upstream.url}),
            env=support.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.words,
        )
        self.output, self.ended = b"", False

    def read(self, until):
        """Reads the app's output until the condition on its lines holds, or the app has ended."""
        descriptor = self.process.stdout.fileno()
        while not self.ended and not until(self.output.split(b"\n")[:-1]):
            ready, _, _ = select.select([descriptor], [], [], support.PATIENCE)
            if not ready:
                raise TimeoutError(f"no output for {support.PATIENCE} s")
            read = os.read(descriptor, 65536)
            self.output += read
            self.ended = not read

    def kill(self):
        """Kills the run. Returns what the app received; the end of the pipe means that the app has ended, too."""
        self.process.kill()
        self.process.wait()
        started = time.monotonic()
        self.read(lambda _: False)
        self.orphaned = time.monotonic() - started
        lines = [line.decode().split() for line in self.output.split(b"\n")[:-1] if line != b"done"]
        return dict(lines)

    def close(self):
        self.process.stdout.close()
        self.words.close()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = options.parse_args()
    chance = random.Random(options.seed)
    checks = support.Checks("killed")
    checks.say(f"{options.rounds} rounds, --seed {options.seed}")
    acknowledged, recovered_rounds = 0, 0

    with support.folder() as folder, support.Upstream(answer) as upstream:
        # An older cassette, and how long starting and saving take on this machine.
        (folder / "old").mkdir()
        older = folder / "old" / "store"
        old_targets = [f"/old/{number}" for number in range(50)]
        started = time.monotonic()
        recording = Recording("record", older, old_targets, upstream)
        recording.read(lambda lines: lines)
        start = time.monotonic() - started
        recording.read(lambda lines: b"done" in lines)
        sealing = time.monotonic()
        status = recording.process.wait(support.PATIENCE)
        seal = time.monotonic() - sealing
        recording.close()
        if not checks.that(status == 0, "recording the older cassette succeeds", status):
            checks.end()
        old_entries = {entry["request"]["url"] for entry in support.har(older)}

        for number in range(options.rounds):
            mode, over, moment = [
                ("record", True, "while it records"), ("record", False, "while it records"),
                ("record", True, "while it seals"), ("extend", True, "while it records"),
                ("record", True, "while it starts"), ("extend", True, "while it seals"),
            ][number % 6]
            title = f"round {number}, {mode}{' over an older cassette' if over else ''}, killed {moment}"
            place = folder / f"round-{number}"
            shutil.copytree(folder / "old", place) if over else place.mkdir()
            before = {name: data for name, data in support.snapshot(place).items() if not name.endswith((".targets", ".words"))}
            cassette = place / "store"
            count = 60 if moment == "while it seals" else 2000
            recording = Recording(mode, cassette, [f"/new/{number}/{item}" for item in range(count)], upstream)
            if moment == "while it starts":
                time.sleep(chance.uniform(0, start * 1.2))
            elif moment == "while it seals":
                recording.read(lambda lines: b"done" in lines)
                time.sleep(chance.uniform(0, seal * 1.2))
            else:
                wanted = chance.randrange(1, 300)
                recording.read(lambda lines: len(lines) >= wanted)
                time.sleep(chance.uniform(0, 0.01))
            received = recording.kill()
            recording.close()
            acknowledged += len(received)
            checks.that(recording.orphaned < 10, f"{title}: its command ends, too", f"{recording.orphaned:.1f} s")

            after = support.snapshot(place)
            sealed = after.get("store.har") != before.get("store.har")
            if moment != "while it seals":
                checks.that(not sealed, f"{title}: the HAR is unchanged")
            if over and not sealed:
                changed = [name for name, data in before.items() if after.get(name) != data]
                checks.that(not changed, f"{title}: the older cassette is unchanged", changed)
                shown = support.diorama("cassette", "show", cassette)
                checks.that(shown.returncode == 0, f"{title}: the older cassette opens", shown)

            check = support.diorama("cassette", "check", "--recover", cassette)
            if not received and not over and check.returncode == 66:
                continue  # killed before anything was recorded
            recovered_rounds += 1
            checks.that(check.returncode == 0, f"{title}: the recording is recovered", f"{check.stdout} {check.stderr}")
            shown = support.diorama("cassette", "show", "--json", cassette)
            if checks.that(shown.returncode == 0, f"{title}: the recording opens", f"{shown.stdout[:300]} {shown.stderr}"):
                checks.that(shown.stdout.lstrip()[:1] in "{[", f"{title}: show --json prints JSON", shown.stdout[:300])
            entries = support.har(cassette)
            there = {
                entry["request"]["url"].split(str(upstream.port), 1)[1]: hashlib.sha256(
                    support.content(cassette, entry)
                ).hexdigest()
                for entry in entries
            }
            lost = [target for target, digest in received.items() if there.get(target) != digest]
            checks.that(not lost, f"{title}: all {len(received)} acknowledged interactions are kept", lost)
            if mode == "extend":
                kept = old_entries <= {entry["request"]["url"] for entry in entries}
                checks.that(kept, f"{title}: the older interactions are kept, too")

            if over:
                checks.that(entries, f"{title}: an empty recording does not replace the older one")
            if not received:
                continue

            # The acknowledged interactions replay.
            listed = place / "replayed.targets"
            listed.write_text("\n".join(received))
            run = support.Run("replay", cassette, [sys.executable, "-c", APP, listed])
            again = dict(line.split() for line in run.output.splitlines() if line != "done")
            checks.that(run.status == 0 and again == received, f"{title}: the acknowledged interactions replay", run)
            shutil.rmtree(place)

        checks.that(acknowledged > 0 and recovered_rounds > 0, "some recordings were recovered")
        checks.say(f"{acknowledged} interactions acknowledged before the kill, all checked")
    checks.end()


main()
