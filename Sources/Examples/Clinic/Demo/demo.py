"""The main job of Diorama, on the clinic: record an app's world once, take its backend away, and replay it, eight
times in parallel, on a day a year later. `make demo` runs it; the cassette stays in .build/demo to be looked at."""

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
# An app is started with nothing of this machine's proxies: everything here is local.
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
    """A command as one would type it here."""
    return "  $ " + " ".join(str(word).replace(f"{ROOT}/", "") for word in words)


class Backend:
    """clinic-backend, which believes in a date of ours."""

    def __init__(self, now):
        words = [PROGRAMS / "clinic-backend", "--now", now]
        print(shown(words), flush=True)
        self.process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        line = next((line for line in self.process.stdout if "http://" in line), None)
        if line is None:
            fail(f"clinic-backend does not start; its status is {self.process.wait()}")
        self.url = re.search(r"http://[\w.:]+", line).group()

    def stop(self):
        """Ends it, and looks whether it is gone."""
        self.process.terminate()
        self.process.wait(20)
        with socket.socket() as knock:
            host, port = self.url.split("//")[1].split(":")
            if knock.connect_ex((host, int(port))) == 0:
                fail(f"something still listens at {self.url}")


class Run:
    """The clinic app inside `diorama run`, to its end."""

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

    step(f"1. A backend whose tokens, ids and slots are new in every run. It believes that it is {past}.")
    backend = Backend(past)

    step("2. Record the app: it registers under a random e-mail address, books a slot, fetches the confirmation.")
    try:
        recording = Run("recording", "record", "--start", past, "--upstream", f"clinic={backend.url}")
    finally:
        backend.stop()
    print(shown(recording.words))
    if recording.status != 0:
        fail(f"the recording fails:\n{recording.said()}")
    print(recording.said())

    step("3. The backend is stopped: nothing listens there any more.")

    step(f"4. Replay {COPIES} copies at once. Today is {now:%Y-%m-%d}; the app lives at the date of the recording.")
    with concurrent.futures.ThreadPoolExecutor(COPIES) as pool:
        replays = list(pool.map(lambda number: Run(f"replay {number}", "replay"), range(1, COPIES + 1)))
    print(shown(replays[0].words), end="\n\n")
    table([recording, *replays])
    for run in replays:
        same = (run.email, run.slot) == (recording.email, recording.slot)
        complete = run.requests("replayed") == recording.requests("recorded") and run.requests("unmatched") == 0
        if run.status != 0 or not same or not complete:
            fail(f"{run.name} is not what was recorded:\n{run.said()}")

    step("5. Why the clock has to stand still: the same replay under today's clock.")
    awake = Run("awake", "replay", "--clock", "system")
    print(shown(awake.words))
    print(awake.said())
    if awake.status == 0 or "past" not in awake.output + awake.errors:
        fail(f"the app should have refused slots of a year ago; its status is {awake.status}")
    print(f"  It fails with status {awake.status}, as it should.")

    place = PLACE.relative_to(pathlib.Path.cwd()) if PLACE.is_relative_to(pathlib.Path.cwd()) else PLACE
    step(coloured(32, f"All as promised. The recording is there to be read: {place}/booking.har"))


main()
