"""Runs every acceptance script: with few rounds, or with --soak in full. Fails when one of them fails."""

import subprocess
import sys

import support

FEW = {
    "httpbin_roundtrip": [],
    "misses": [],
    "importers": [],
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
    "daemon_examples": [],
    "api_fuzz": [],
    "api_crowd": [],
    "daemon_soak": [],
    "portpicker_client": [],
    "leases": ["--generations", "2"],
}
FULL = dict(
    FEW,
    killed=["--rounds", "50"],
    clinic=["--rounds", "100", "--copies", "16"],
    daemon_killed=["--rounds", "100"],
    api_fuzz=["--soak"],
    api_crowd=["--soak"],
    daemon_soak=["--soak"],
    leases=["--generations", "10"],
)

if sys.argv[1:] not in ([], ["--soak"]):
    sys.exit("usage: all.py [--soak]")
failed = []
for name, words in (FULL if sys.argv[1:] else FEW).items():
    print(f"acceptance: {' '.join([name, *words])}", flush=True)
    if subprocess.run([sys.executable, support.HERE / f"{name}.py", *words]).returncode != 0:
        failed.append(name)
print(f"acceptance: {len(FEW) - len(failed)} of {len(FEW)} scripts passed" + (f"; failed: {', '.join(failed)}" if failed else ""))
sys.exit(1 if failed else 0)
