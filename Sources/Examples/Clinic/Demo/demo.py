"""Records the clinic app with a backend, stops the backend, and replays the recording eight times in parallel, a year
later. Run it with `make demo`. The cassette stays in .build/demo."""

import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[4]
PROGRAMS = ROOT / ".build/debug"
PLACE = ROOT / ".build/demo"
CASSETTE = PLACE / "booking"
COPIES = 8
# Without the machine's proxy settings, because everything here is local.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.lower().endswith("_proxy") and not name.startswith("DIORAMA_")
}
CLEAR = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def coloured(code, text):
    return f"\033[{code}m{text}\033[0m" if CLEAR else text


def step(text):
    print(f"\n{coloured(1, text)}", flush=True)


def fail(text):
    sys.exit(coloured(31, f"demo: {text}"))


def shown(words):
    """A command line, relative to the package folder."""
    return "  $ " + " ".join(str(word).replace(f"{ROOT}/", "") for word in words)


class Backend:
    """clinic-backend with a date of our own."""

    def __init__(self, now):
        words = [PROGRAMS / "clinic-backend", "--now", now]
        print(shown(words), flush=True)
        self.process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        line = next((line for line in self.process.stdout if "http://" in line), None)
        if line is None:
            fail(f"clinic-backend did not start; exit status {self.process.wait()}")
        self.url = re.search(r"http://[\w.:]+", line).group()

    def stop(self):
        """Stops the backend and checks that its port is closed."""
        self.process.terminate()
        self.process.wait(20)
        with socket.socket() as probe:
            host, port = self.url.split("//")[1].split(":")
            if probe.connect_ex((host, int(port))) == 0:
                fail(f"a program still listens at {self.url}")


class Run:
    """A run of the clinic app in `diorama run`."""

    def __init__(self, name, mode, *options):
        report = PLACE / f"{name.replace(chr(32), chr(45))}.report.json"
        self.name = name
        self.words = [PROGRAMS / "diorama", "run", "--mode", mode, "--cassette", CASSETTE, *options]
        self.words += ["--report", report, "--", PROGRAMS / "clinic", "book"]
        started = time.monotonic()
        ended = subprocess.run(self.words, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
        self.seconds = time.monotonic() - started
        self.status, self.output, self.errors = ended.returncode, ended.stdout, ended.stderr
        self.report = json.loads(report.read_text()) if report.exists() else {}
        self.email = self.found(r"[\w.+-]+@[\w.-]+")
        self.slot = self.found(r"\d{4}-\d\d-\d\dT[\d:.]+Z?")

    def found(self, pattern):
        match = re.search(pattern, self.output)
        return match.group() if match else "–"

    def requests(self, kind):
        return self.report.get("requests", {}).get(kind, "–")

    def row(self):
        handled = self.requests("recorded") if self.name == "recording" else self.requests("replayed")
        return [self.name, self.status, self.email, self.slot, handled, self.requests("unmatched"), f"{self.seconds:.2f}"]

    def said(self):
        return "\n".join(f"  | {line}" for line in (self.output + self.errors).strip().splitlines()[-12:])


def table(runs):
    rows = [["run", "exit", "e-mail", "slot booked", "requests", "unmatched", "seconds"]] + [run.row() for run in runs]
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        line = "  " + "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths))
        print(coloured(1, line) if number == 0 else line)


def main():
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    now = datetime.datetime.now(datetime.timezone.utc)
    past = (now - datetime.timedelta(days=365)).strftime("%Y-%m-%dT09:00:00Z")

    step(f"1. Start a backend whose tokens, IDs and slots differ in every run. Its date is {past}.")
    backend = Backend(past)

    step("2. Record the app: it registers a random e-mail address, books a slot and downloads the confirmation.")
    try:
        recording = Run("recording", "record", "--start", past, "--upstream", f"clinic={backend.url}")
    finally:
        backend.stop()
    print(shown(recording.words))
    if recording.status != 0:
        fail(f"the recording failed:\n{recording.said()}")
    print(recording.said())

    step("3. The backend is stopped; nothing listens on its port.")

    step(f"4. Replay {COPIES} copies at once. Today is {now:%Y-%m-%d}; the app sees the date of the recording.")
    with concurrent.futures.ThreadPoolExecutor(COPIES) as pool:
        replays = list(pool.map(lambda number: Run(f"replay {number}", "replay"), range(1, COPIES + 1)))
    print(shown(replays[0].words), end="\n\n")
    table([recording, *replays])
    for run in replays:
        same = (run.email, run.slot) == (recording.email, recording.slot)
        complete = run.requests("replayed") == recording.requests("recorded") and run.requests("unmatched") == 0
        if run.status != 0 or not same or not complete:
            fail(f"{run.name} differs from the recording:\n{run.said()}")

    step("5. Why the clock has to stand still: the same replay under today's clock.")
    awake = Run("awake", "replay", "--clock", "system")
    print(shown(awake.words))
    print(awake.said())
    if awake.status == 0 or "past" not in awake.output + awake.errors:
        fail(f"the app should have rejected slots of a year ago; exit status {awake.status}")
    print(f"  It exits with status {awake.status}, as expected.")

    place = PLACE.relative_to(pathlib.Path.cwd()) if PLACE.is_relative_to(pathlib.Path.cwd()) else PLACE
    step(coloured(32, f"Done. Read the recording: {place}/booking.har"))


main()
