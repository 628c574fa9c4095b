"""Runs every acceptance script: with few rounds, or with --soak in full. Fails when one of them fails."""

import collections
import subprocess
import sys

import support

FEW = {
    "httpbin_roundtrip": [],
    "misses": [],
    "canary": [],
    "fidelity": [],
    "streams": [],
    "traces": ["--rounds", "10"],
    "large": ["--megabytes", "64"],
    "importers": [],
    "matching": [],
    "shifting": [],
    "drift": [],
    "killed": ["--rounds", "6"],
    "clinic": ["--rounds", "2", "--copies", "4"],
    "disk": [],
    "inert": [],
    "openfeature": [],
    "outside_package": [],
    "daemon_killed": ["--rounds", "4"],
    "daemon_disk": [],
    "activation": [],
    "strangers": [],
    "hostile": [],
    "hostile_fuzz": ["--seconds", "20"],
    "daemon_examples": [],
    "documentation": [],
    "swift_snippets": [],
    "api_fuzz": [],
    "api_crowd": [],
    "daemon_soak": [],
    "portpicker_client": [],
    "leases": ["--generations", "2"],
}
FULL = dict(
    FEW,
    traces=["--rounds", "1000"],
    large=["--megabytes", "1024"],
    killed=["--rounds", "50"],
    clinic=["--rounds", "100", "--copies", "16"],
    daemon_killed=["--rounds", "100"],
    api_fuzz=["--soak"],
    api_crowd=["--soak"],
    daemon_soak=["--soak"],
    leases=["--generations", "10"],
    hostile_fuzz=["--seconds", "600"],
)

if sys.argv[1:] not in ([], ["--soak"]):
    sys.exit("usage: all.py [--soak]")


def run(name, words):
    """Whether a script has passed, and what it said of what did not hold: its last lines."""
    print(f"acceptance: {' '.join([name, *words])}", flush=True)
    script = [sys.executable, support.HERE / f"{name}.py", *words]
    child = subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    last = collections.deque(maxlen=6)
    for line in child.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        last.append(line.decode(errors="replace").rstrip()[:600])
    return child.wait() == 0, last


scripts = FULL if sys.argv[1:] else FEW
first = {name: run(name, words) for name, words in scripts.items()}
# What fails runs once more: what passes then is a flake, to be mended, and no reason to lose the run.
again = {name: run(name, scripts[name]) for name, (passed, _) in first.items() if not passed}
failed = [name for name, (passed, _) in again.items() if not passed]
for name, (passed, _) in again.items():
    print(f"acceptance: {'A FLAKE, TO BE MENDED (it has passed when run again)' if passed else 'failed twice'}: {name}")
    print("\n".join(f"  {line}" for line in first[name][1]))
print(f"acceptance: {len(scripts) - len(failed)} of {len(scripts)} scripts passed" + (f"; failed: {', '.join(failed)}" if failed else ""))
sys.exit(1 if failed else 0)
