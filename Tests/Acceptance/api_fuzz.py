"""Fuzzes the control API with schemathesis, based on its OpenAPI document: no 5xx, no undocumented answer, no hang.

    api_fuzz.py [--calls N] [--soak] [--seed N]
"""

import argparse
import contextlib
import datetime
import os
import random
import re
import signal
import subprocess
import threading

import daemon
import support

SETTINGS = """
[checks]
# A valid request may name something that does not exist, is in use, or contradicts itself; the error says so.
positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "410", "422", "429"]

# What bounds a random value depends on its type, beyond what the document says: nonsense is a 400 here.
[[operations]]
include-operation-id = "drawString"
[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "409", "410", "422", "429"]
"""


def answered(host):
    """How many calls the daemon has answered, by status."""
    page = host.call("GET", "/metrics").body.decode()
    counts = {}
    for status, count in re.findall(r'^diorama_control_requests_total\{.*status="(\d+)"\} (\d+)$', page, re.M):
        counts[status] = counts.get(status, 0) + int(count)
    return counts


class Sweeper:
    """Releases resources that the fuzzer has created, so that limits are not reached."""

    def __init__(self, host):
        self.host, self.going = host, threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def call(self, method, target):
        with contextlib.closing(self.host.unix()) as connection:
            return self.host.call(method, target, connection=connection)

    def sweep(self, spared=10):
        """Releases everything older than this many seconds; the fuzzer may be about to use younger resources."""
        limit = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=spared)
        old = lambda time: datetime.datetime.fromisoformat(time.replace("Z", "+00:00")) <= limit
        for each in self.call("GET", "/v1/leases").json["leases"]:
            if old(each["since"]):
                self.call("DELETE", f"/v1/leases/{each['id']}")
        for each in self.call("GET", "/v1/environments").json["environments"]:
            # Resources created by the fuzzer's hooks end by themselves.
            if old(each["createdAt"]) and (each["name"] != "fuzzed" or not spared):
                self.call("DELETE", f"/v1/environments/{each['id']}")
        for lease in self.call("GET", "/v1/ports").json["ports"]:
            if old(lease["since"]) and "environment" not in lease:
                self.call("DELETE", f"/v1/ports/{lease['port']}")

    def work(self):
        while not self.going.wait(0.5):
            self.sweep()

    def close(self):
        self.going.set()
        self.thread.join()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--calls", type=int)
    options.add_argument("--soak", action="store_true")
    options.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    options = options.parse_args()
    calls = options.calls or (10_000 if options.soak else 600)
    checks = support.Checks("api_fuzz")
    subprocess.run([support.ROOT / "Config/venv", "schemathesis"], check=True)
    with support.folder() as folder:
        (folder / "cassettes").mkdir()
        (folder / "schemathesis.toml").write_text(SETTINGS)
        # Limits made-up cassette paths to this folder.
        settings = {"cassetteRoots": [str(folder / "cassettes")]}
        with daemon.Daemon(folder, ports=1000, configuration=settings) as host:
            before = daemon.settled(host.figures)
            sweeper = Sweeper(host)
            try:
                rounds, seen = 0, 0
                while seen < calls and rounds < 50:
                    seed = options.seed + rounds
                    rounds += 1
                    said = fuzz(host, folder, seed, most=10 if calls <= 1000 else 60)
                    seen = sum(answered(host).values())
                    if not checks.that(said.returncode == 0, f"schemathesis finds no errors, --seed {seed}", findings(said.stdout)):
                        break
            finally:
                sweeper.close()
            counts = answered(host)
            checks.say(f"{sum(counts.values())} calls: " + ", ".join(f"{n} × {s}" for s, n in sorted(counts.items())))
            broken = {status: count for status, count in counts.items() if status.startswith("5")}
            checks.that(not broken, "no answer is a 5xx", broken)
            checks.that(seen >= calls, f"{calls} calls were made", seen)
            checks.that(host.call("GET", "/v1/health").status == 200, "the daemon is still running")
            sweeper.sweep(spared=0)
            after = daemon.settled(host.figures)
            checks.that(after["descriptors"] <= before["descriptors"] + 2, "no descriptor leaks", (before, after, host.descriptors()))
            checks.that(host.stop() == 0, "the daemon stops regularly", host.said()[-1000:])
    checks.end()


def findings(output):
    """The output of schemathesis without its own stack traces."""
    start = output.find("= FAILURES =")
    return output[start if start >= 0 else output.find("= ERRORS ="):]


def fuzz(host, folder, seed, most):
    variables = dict(
        support.environment(), FUZZ_URL=host.ready["control"], FUZZ_TOKEN=host.token, FUZZ_SEED=str(seed),
        FUZZ_CASSETTES=str(folder / "cassettes"), SCHEMATHESIS_HOOKS="api_fuzz_hooks", PYTHONPATH=str(support.HERE),
        PYTHONDONTWRITEBYTECODE="1", NO_COLOR="1",
    )
    words = [
        support.ROOT / ".build/schemathesis/bin/st", "--config-file", folder / "schemathesis.toml", "run",
        f"{host.ready['control']}/openapi.json", "--header", f"Authorization: Bearer {host.token}", "--seed", str(seed),
        "--max-examples", str(most), "--request-timeout", "20", "--checks", "all", "--no-color",
        # An environment's report stays available after DELETE.
        "--exclude-checks", "use_after_free",
    ]
    process = subprocess.Popen(
        [str(word) for word in words], cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=1800)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
    return subprocess.CompletedProcess(words, process.returncode, output)


main()
