"""Runs every acceptance script, two at a time; fails when a script fails twice. Prints what each took at the end.

    all.py [--soak] [SCRIPT…]     --soak runs them in full, in place of a few rounds; SCRIPTs: these alone
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time

import support

# The longest come first, so that the last to finish is a short one.
FEW = {
    "outside_package": [],
    "isolation": [],
    "hostile": [],
    "inert": [],
    "large": ["--megabytes", "40"],
    "canary": [],
    "daemon_soak": ["--minutes", "0.2"],
    "api_fuzz": ["--calls", "400"],
    "openapi": [],
    "hostile_fuzz": ["--seconds", "10"],
    "importers": [],
    "wiremock": [],
    "clients": [],
    "killed": ["--rounds", "6"],
    "http2": ["--megabytes", "40"],
    "grpc_calls": [],
    "streams": [],
    "httpbin_roundtrip": [],
    "matching": [],
    "echo": [],
    "traces": ["--rounds", "10"],
    "api_crowd": [],
    "leases": ["--generations", "2", "--processes", "24"],
    "daemon_examples": [],
    "disk": [],
    "daemon_disk": [],
    "verify": [],
    "failed_runs": [],
    "fidelity": [],
    "misses": [],
    "miss_advice": [],
    "shifting": [],
    "drift": [],
    "daemon_killed": ["--rounds", "4"],
    "others_recordings": [],
    "wiremock_clients": [],
    "conversations": [],
    "mock_traces": [],
    "secrets_redacted": [],
    "connecting": [],
    "issuers": [],
    "command_line": [],
    "activation": [],
    "strangers": [],
    "reach": [],
    "fleet": [],
    "fleet_stress": ["--daemons", "3", "--clients", "8", "--checkouts", "20", "--accounts", "12"],
    "documentation": [],
    "features": [],
    "swift_snippets": [],
    "portpicker_client": [],
    "scenario_reports": [],
    "clinic": ["--rounds", "2", "--copies", "4"],
    "openfeature": [],
    "missing_libraries": [],
}
FULL = dict(
    FEW,
    traces=["--rounds", "1000"],
    large=["--megabytes", "1024"],
    http2=["--megabytes", "1024"],
    killed=["--rounds", "50"],
    clinic=["--rounds", "100", "--copies", "16"],
    daemon_killed=["--rounds", "100"],
    api_fuzz=["--soak"],
    api_crowd=["--soak"],
    daemon_soak=["--soak"],
    leases=["--generations", "10"],
    fleet_stress=["--checkouts", "400", "--pooler"],
    outside_package=["--soak"],
    isolation=["--soak"],
    hostile_fuzz=["--seconds", "600"],
    # It needs root.
    fleet_machines=["--rounds", "100"],
    # They need a kernel that lets programs make namespaces and supervise system calls.
    isolation_clock=[],
    isolation_helper=["--starts", "1000"],
    inert=["--optimized"],
)


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


class Run:
    """One run of a script: whether it passed, what it printed, and how long it took."""

    def __init__(self, name, words):
        started = time.monotonic()
        title = " ".join([name, *words])
        say(f"acceptance: running {title}\n")
        script = [sys.executable, support.HERE / f"{name}.py", *words]
        process = subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = process.stdout.read()
        process.stdout.close()
        # wait4 gives this child's processor time, with that of all its children.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.name, self.passed = name, process.returncode == 0
        self.seconds, self.processor = time.monotonic() - started, used.ru_utime + used.ru_stime
        text = output.decode(errors="replace")
        self.last = [line[:600] for line in text.rstrip().splitlines()[-6:]]
        # In one piece, since another script is running.
        say(f"acceptance: output of {title}\n{text}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--soak", action="store_true")
    options.add_argument("scripts", nargs="*", metavar="SCRIPT")
    options = options.parse_args()
    scripts = FULL if options.soak else FEW
    if unknown := set(options.scripts) - set(scripts):
        sys.exit(f"all.py: no such script: {', '.join(sorted(unknown))}")
    scripts = {name: words for name, words in scripts.items() if not options.scripts or name in options.scripts}

    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = list(pool.map(lambda name: Run(name, scripts[name]), scripts))
    # A script that fails runs once more, alone. If it passes then, it is flaky: reported, but no reason to fail the run.
    again = {run.name: Run(run.name, scripts[run.name]) for run in first if not run.passed}
    failed = [name for name, run in again.items() if not run.passed]

    print("acceptance: seconds, and seconds of processor time")
    for run in sorted([*first, *again.values()], key=lambda run: -run.seconds):
        print(f"  {run.seconds:6.1f} {run.processor:6.1f}  {run.name}{' (second run)' if run is again.get(run.name) else ''}")
    for run in first:
        if not run.passed:
            print(f"acceptance: {'failed twice' if run.name in failed else 'FLAKY, TO BE FIXED (passed on the second run)'}: {run.name}")
            print("\n".join(f"  {line}" for line in run.last))
    summary = f"{len(scripts) - len(failed)} of {len(scripts)} scripts passed in {time.monotonic() - started:.0f} s"
    print(f"acceptance: {summary}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
