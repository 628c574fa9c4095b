"""The clinic app, recorded at a date a year ago, replays today without its upstream, in parallel, many times. Without the
frozen clock, or without its strings, it fails and explains why.

    clinic.py [--rounds N] [--copies M]
"""

import argparse
import concurrent.futures
import datetime
import pathlib
import re

import support


def booked(run):
    """The e-mail address and the times in a run's output."""
    return re.findall(r"[\w.+-]+@[\w.-]+|\d{4}-\d\d-\d\dT[\d:.]+Z?", run.output)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--copies", type=int, default=4)
    options = options.parse_args()
    checks = support.Checks("clinic")
    year_ago = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=365)
    start = year_ago.strftime("%Y-%m-%dT09:20:00Z")
    app = [support.binary("clinic"), "book"]

    with support.folder() as folder:
        cassette = folder / "booking"
        with support.Program([support.binary("clinic-backend"), "--now", start]) as backend:
            recording = support.Run("record", cassette, app, {"clinic": backend.url}, ["--start", start])
        if not checks.that(recording.status == 0, "the app runs while it is recorded", recording):
            checks.end()
        first = booked(recording)
        checks.that(len(first) >= 2 and any("@" in word for word in first), "the app prints its booking and e-mail address", recording)
        checks.say(f"recorded at {start}: {recording.report['requests']['recorded']} requests; {' '.join(first[:2])}")

        calls = recording.report["requests"]["recorded"]
        slowest = 0.0

        def replay(_):
            return support.Run("replay", cassette, app)

        with support.Watch(backend.port) as watch, concurrent.futures.ThreadPoolExecutor(options.copies) as pool:
            for number in range(options.rounds):
                for run in pool.map(replay, range(options.copies)):
                    slowest = max(slowest, run.seconds)
                    fine = run.status == 0 and run.report["ok"] and booked(run) == first
                    complete = fine and run.report["requests"]["replayed"] == calls and not run.report["unused"] and not run.report["strings"]["unused"]
                    checks.that(complete, f"round {number}: the app behaves as recorded a year ago", f"{run} {run.report}")
        checks.that(watch.count == 0, "no connection to the upstream is attempted", watch.count)
        checks.say(f"{options.rounds} rounds of {options.copies} concurrent copies; the slowest took {slowest:.1f} s")

        awake = support.Run("replay", cassette, app, options=["--clock", "system"])
        checks.that(awake.status != 0, "without the frozen clock, the app fails", awake)
        checks.that(re.search(r"\bpast\b", awake.output + awake.words), "the message says that the slot is in the past", awake)

        pathlib.Path(f"{cassette}.strings.json").unlink()
        forgetful = support.Run("replay", cassette, app)
        checks.that(forgetful.status != 0, "without the string store, the app fails", forgetful)
        named = re.search(r"\bstring", forgetful.output + forgetful.words) and "email" in forgetful.output + forgetful.words
        checks.that(named, "the message names the missing string", forgetful)
    checks.end()


main()
