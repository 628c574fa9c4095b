"""Disk problems: a full disk, a folder without write permission, broken files. Each gets one clear line, the right exit
status, and keeps the old cassette."""

import contextlib
import ctypes
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

import support

# The app: sends many requests and ignores the responses.
APP = """
import http.client, os, sys
host = os.environ["DIORAMA_ENDPOINT_STORE"].split("//")[1]
for number in range(int(sys.argv[1])):
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        connection.request("GET", f"/item/{number}")
        connection.getresponse().read()
    except (http.client.HTTPException, OSError):
        pass
    connection.close()
"""


def answer(handler, _):
    return 200, [("Content-Type", "text/plain")], (handler.path * 1000).encode()


def app(calls=40):
    return [sys.executable, "-c", APP, str(calls)]


def small_files():
    """Simulates a full disk with a limit of 64 KiB per file: writes fail with EFBIG instead of ENOSPC."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


def no_override():
    """Removes the capability by which root ignores permissions from the bounding set (capabilities(7), prctl(2))."""
    if os.geteuid() == 0:
        ctypes.CDLL(None, use_errno=True).prctl(24, 1, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE


@contextlib.contextmanager
def small_disk(folder):
    """A file system of 256 KiB, or None if mounting is not allowed."""
    place = folder / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    mounted = os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0
    try:
        yield place if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)


def one_line(checks, title, run, statuses, *names):
    """Checks the exit status, and that one line of Diorama names the problem."""
    checks.that(run.status in statuses, f"{title}: exit status {' or '.join(map(str, statuses))}", run)
    lines = [line for line in run.words.splitlines() if all(name in line for name in names)]
    checks.that(len(lines) == 1, f"{title}: one line names {' and '.join(names)}", run.words)
    for noise in ("Fatal error", "Stack dump", "Swift/", "NSCocoaErrorDomain", "Optional("):
        checks.that(noise not in run.words, f"{title}: no {noise} in it", run.words)


def main():
    checks = support.Checks("disk")
    with support.folder() as folder, support.Upstream(answer) as upstream:
        store = {"store": upstream.url}
        (folder / "old").mkdir()
        recording = support.Run("record", folder / "old" / "booking", app(3), store)
        if not checks.that(recording.status == 0, "a cassette is recorded", recording):
            checks.end()
        old = support.snapshot(folder / "old")

        def copy(name):
            shutil.copytree(folder / "old", folder / name)
            return folder / name

        def whole(title, place):
            now = support.snapshot(place)
            checks.that(all(now.get(name) == data for name, data in old.items()), f"{title}: the old cassette is unchanged", list(now))

        # A full disk, in both ways available.
        place = copy("limited")
        run = support.Run("record", place / "booking", app(), store, preexec_fn=small_files)
        one_line(checks, "a limit on file sizes", run, (73, 74), "booking")
        whole("a limit on file sizes", place)
        with small_disk(folder) as place:
            if place:
                shutil.copytree(folder / "old", place, dirs_exist_ok=True)
                run = support.Run("record", place / "booking", app(), store)
                one_line(checks, "a full disk", run, (73, 74), "booking")
                whole("a full disk", place)
                checks.that(
                    "No space left on device" in run.words and " failed)" in run.words and "failed upstream" not in run.words,
                    "a full disk: the report does not blame the upstream", run,
                )
                full = place / "fill"
                with full.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(4096))
                for words in (["port"], ["env", "create", "--mode", "mock"], ["serve"]):
                    variables = dict(support.environment(), DIORAMA_HOME=str(place / "daemon"))
                    started = subprocess.run([support.binary("diorama"), *words], env=variables, capture_output=True, text=True)
                    checks.that(
                        started.returncode in (69, 73) and "No space left on device" in started.stderr and started.stderr.count("\n") == 1,
                        f"a full disk: {' '.join(words)} says so", started,
                    )
                full.unlink()
                run = support.Run("replay", place / "booking", app(3))
                checks.that(run.status == 0, "a full disk: the old cassette replays", run)
            else:
                checks.say("cannot mount a file system: tested only with a limit on file sizes")

        # A folder without write permission.
        place = copy("read-only")
        place.chmod(0o555)
        run = support.Run("record", place / "booking", app(3), store, preexec_fn=no_override)
        one_line(checks, "a read-only folder", run, (73,), "booking")
        whole("a read-only folder", place)
        run = support.Run("replay", place / "booking", app(3), preexec_fn=no_override)
        checks.that(run.status == 0, "a read-only folder: replay needs only read permission", run)
        place.chmod(0o755)
        (folder / "file").write_text("")
        run = support.Run("record", folder / "file" / "booking", app(3), store)
        one_line(checks, "a folder that is a file", run, (73,), "booking")

        # Broken files.
        text = old["booking.har"]
        broken = {
            "cut off": text[: len(text) // 2],
            "empty": b"",
            "no JSON": b"<html>",
            "no HAR": b'{"entries": []}',
            "not UTF-8": text.replace(b"/item/1", b"/item/\xff\xfe"),
            "of a later format": json.dumps(later(json.loads(text))).encode(),
        }
        for title, data in broken.items():
            place = copy(f"broken, {title}")
            (place / "booking.har").write_bytes(data)
            for mode in ("replay", "extend", "once"):
                run = support.Run(mode, place / "booking", app(3), store if mode != "replay" else {})
                one_line(checks, f"a HAR that is {title}, {mode}", run, (65,), "booking.har")
            check = support.diorama("cassette", "check", place / "booking")
            checks.that(check.returncode == 65, f"a HAR that is {title}: cassette check", f"{check.returncode} {check.stderr}")
            checks.that((place / "booking.har").read_bytes() == data, f"a HAR that is {title}: is unchanged")
        place = copy("broken strings")
        (place / "booking.strings.json").write_bytes(b'{"format": 1, "algorithm"')
        run = support.Run("replay", place / "booking", app(3))
        one_line(checks, "a truncated string store", run, (65,), "booking.strings.json")

        # An empty folder, and a recording whose command can't start.
        run = support.Run("replay", folder / "nowhere" / "booking", app(3))
        one_line(checks, "no cassette", run, (66,), "booking")
        place = copy("no command")
        run = support.Run("record", place / "booking", [place / "no-such-command"], store)
        one_line(checks, "a missing command", run, (127,), "no-such-command")
        whole("a missing command", place)
        plain = place / "plain"
        plain.write_text("words")
        run = support.Run("record", place / "booking", [plain], store)
        one_line(checks, "a command that can't be run", run, (126,), "plain")
        whole("a command that can't be run", place)
    checks.end()


def later(document):
    document["log"].setdefault("_diorama", {})["format"] = 99
    return document


main()
