"""`diorama verify` finds ten planted kinds of nondeterminism and names each, and finds nothing in a program that is
deterministic and in the clinic app. The programs are Python scripts that call a recorded endpoint."""

import json
import os
import re
import signal
import subprocess

import support

# The start of every program. `call` sends a request and returns the body; a miss is no error for the program.
CLIENT = """
import http.client, json, os, sys, tempfile, threading, time, uuid, random, socket
ADDRESS = os.environ["DIORAMA_ENDPOINT_API"].split("//")[1]
def call(method, path, body=None, headers={}):
    connection = http.client.HTTPConnection(ADDRESS)
    connection.request(method, path, body, {"Content-Type": "application/json", **headers} if body else headers)
    response = connection.getresponse()
    return response.status, response.read().decode()
"""

# Counts the runs in a file, atomically: each run appends one byte.
COUNT = """
with open("count", "ab", buffering=0) as file:
    file.write(b".")
    count = file.tell()
"""

# A name, the program, the kind, a text of the place, and a text of the first thing to do.
PLANTED = [
    ("current time in a query", 'call("GET", f"/now?t={time.time():.3f}")', "instant", "query item `t`", "environment's clock"),
    ("UUID in a body", 'call("POST", "/order", json.dumps({"tea": 2, "id": str(uuid.uuid4())}))', "uuid", "body $.id", "string store"),
    ("counter in a file", COUNT + 'call("POST", "/order", json.dumps({"number": count}))', "counter", "body $.number", "reset the file"),
    (
        "set order in a body",
        'call("POST", "/tags", json.dumps({"tags": list({"red", "green", "blue", "white", "black", "pink", "gold"})}))',
        "hashOrder", "body $.tags", "sort"),
    (
        # The system may start either thread first. The program sees to it that both orders occur in five runs.
        "race of two threads",
        COUNT + """
first, second = ("a", "b") if count % 2 else ("b", "a")
is_sent = threading.Event()
def work(name):
    if name == second: is_sent.wait()
    print(call("GET", f"/{name}")[1], flush=True)
    is_sent.set()
threads = [threading.Thread(target=work, args=name) for name in "ab"]
for thread in threads: thread.start()
for thread in threads: thread.join()
""", "race", "standard output", "one after another"),
    ("random number in the output", 'call("GET", "/a"); print("chosen", random.random())', "random", "standard output, line 1", "string store"),
    ("PID in the output", 'call("GET", "/a"); print("worker", os.getpid())', "process", "standard output, line 1", "DIORAMA_ENVIRONMENT"),
    (
        "temporary path in the output",
        'call("GET", "/a"); name = tempfile.mkdtemp(); os.rmdir(name); print("report:", name + "/report.txt")',
        "temporaryPath", "standard output, line 1", "fixed path"),
    (
        "port in a header",
        """
own = socket.create_server(("127.0.0.1", 0))
call("GET", "/a", headers={"X-Callback": "http://127.0.0.1:%d/done" % own.getsockname()[1]})
""", "port", "header X-Callback", "--port NAME"),
    (
        "duration in the output",
        """
started = time.perf_counter()
call("GET", "/a")
print(f"1 test took {time.perf_counter() - started:.6f} s")
""", "duration", "standard output, line 1", "environment's clock"),
]

STEADY = """
for name in sorted({"b", "a"}): print(call("GET", f"/{name}")[1])
print(os.environ["DIORAMA_ENDPOINT_API"], os.environ["DIORAMA_ENVIRONMENT"], os.environ["DIORAMA_PORT_WEB"])
print("listening on port", ADDRESS.split(":")[1], file=sys.stderr)
"""

# Different requests, at once: their order does not matter.
PARALLEL = """
found = {}
def work(name): found[name] = call("GET", f"/{name}")[1]
threads = [threading.Thread(target=work, args=name) for name in "ab"]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(found.items()))
"""


class Verified:
    """A `diorama verify` with its result."""

    def __init__(self, folder, cassette, command, options=()):
        report = folder / "verify.json"
        report.unlink(missing_ok=True)
        words = [support.binary("diorama"), "verify", "--cassette", cassette, "--report", report, *options, "--", *command]
        ended = support.finish([str(word) for word in words], cwd=folder)
        self.status, self.output, self.words = ended.returncode, ended.stdout, ended.stderr
        self.result = json.loads(report.read_text()) if report.exists() else {}

    @property
    def first(self):
        return (self.result.get("differences") or [{}])[0]

    def __str__(self):
        return f"status {self.status}; it said: {self.output}{self.words}"


def answer(handler, body):
    return 200, [("Content-Type", "text/plain")], f"answer to {handler.path.split('?')[0]}\n".encode()


def planted(checks, folder, upstream):
    for number, (title, source, kind, place, fix) in enumerate(PLANTED):
        program = folder / f"planted{number}.py"
        program.write_text(CLIENT + source)
        cassette, command = folder / f"planted{number}", ["python3", program]
        recording = support.Run("record", cassette, command, {"api": upstream.url}, cwd=folder)
        checks.that(recording.status == 0, f"{title}: is recorded", recording)
        found = Verified(folder, cassette, command)
        checks.that(found.status == 3 and found.result.get("deterministic") is False, f"{title}: is found", found)
        checks.that(found.first.get("kind") == kind, f"{title}: is named", found)
        checks.that(place in found.first.get("place", ""), f"{title}: the place is {place}", found)
        checks.that(fix in " ".join(found.first.get("levers", [])), f"{title}: the report says how to fix it", found)
        said = f"first difference: {found.first.get('place')}" in found.words and "looks like" in found.words
        checks.that(said, f"{title}: standard error says so", found)
        (folder / "count").unlink(missing_ok=True)


def steady(checks, folder, upstream):
    for name, source, options in [("steady", STEADY, ["--port", "web"]), ("parallel", PARALLEL, [])]:
        program = folder / f"{name}.py"
        program.write_text(CLIENT + source)
        cassette, command = folder / name, ["python3", program]
        support.Run("record", cassette, command, {"api": upstream.url}, options)
        page = folder / "page.html"
        found = Verified(folder, cassette, command, [*options, "--stress", "--runs", "6", "--html", page])
        checks.that(found.status == 0 and found.result.get("deterministic"), f"{name}: nothing is found", found)
        checks.that("verify ok: 6 runs did the same" in found.words, f"{name}: standard error says so", found)
        text = page.read_text() if page.exists() else ""
        checks.that("6 runs did the same" in text and "<script" not in text, f"{name}: so does the page", text)
        conditions = " ".join(run["conditions"] for run in found.result.get("runs", []))
        checks.that("on one processor" in conditions and "nice 10" in conditions, f"{name}: the runs are stressed", conditions)


def others(checks, folder, upstream):
    command = ["sh", "-c", 'curl -s -o /dev/null "$DIORAMA_ENDPOINT_API/a"; exit 7']
    cassette = folder / "failing"
    support.Run("record", cassette, command, {"api": upstream.url}, ["--failed-recording", "replace"])
    found = Verified(folder, cassette, command, ["--runs", "2", "--json"])
    checks.that(found.status == 7, "runs that fail in the same way return the command's status", found)
    checks.that("2 runs failed in the same way, with status 7" in found.words, "standard error says so", found)
    checks.that(json.loads(found.output)["deterministic"], "--json prints the result", found)

    missed = ["sh", "-c", 'curl -s -o /dev/null "$DIORAMA_ENDPOINT_API/c"']
    found = Verified(folder, cassette, missed, ["--runs", "2"])
    checks.that(found.status == 3 and "not recorded: GET" in found.words, "a request that is always missed is reported", found)
    checks.that(found.result.get("deterministic"), "and is no difference", found)

    found = Verified(folder, cassette, ["true"], ["--runs", "2"])
    checks.that(found.status == 3 and "no request reached the environment" in found.words, "a command without requests fails, as in run", found)
    found = Verified(folder, cassette, ["true"], ["--runs", "2", "--allow-no-requests"])
    checks.that(found.status == 0 and "no request reached the environment" in found.words, "unless it may; the report says so", found)

    isolated = ["curl", "-s", "-o", "/dev/null", f"{upstream.url}/a"]
    found = Verified(folder, cassette, isolated, ["--runs", "2", "--isolate=proxy", "--upstream", f"api={upstream.url}"])
    checks.that("unexpected argument" not in found.words and found.status == 0, "the command of each run can be isolated", found)

    # The programs read the time of day.
    found = Verified(folder, folder / "none", ["date", "+%N"], ["--runs", "2", "--mode", "mock", "--isolate", "--allow-no-requests"])
    checks.that(found.status == 0, "in mode mock, the clocks of all runs begin at the same time", found)

    found = Verified(folder, folder / "none", ["true"])
    checks.that(found.status == 66 and "no cassette" in found.words, "without a cassette, the status is 66", found)

    # What is ignored is no difference.
    cassette = folder / "planted1"
    (folder / "diorama.json").write_text(json.dumps({"matching": {"rules": [{"path": "/order", "ignore": {"json": ["$.id"]}}]}}))
    found = Verified(folder, cassette, ["python3", folder / "planted1.py"])
    checks.that(found.status == 0, "what a matching rule ignores is no difference", found)
    (folder / "diorama.json").unlink()
    found = Verified(folder, folder / "planted8", ["python3", folder / "planted8.py"], ["--ignore-header", "x-callback"])
    checks.that(found.status == 0, "nor is an ignored header field", found)
    found = Verified(folder, folder / "planted9", ["python3", folder / "planted9.py"], ["--ignore-output"])
    checks.that(found.status == 0, "nor is ignored output", found)


def ended(checks, folder, upstream):
    """A verify that is interrupted or killed leaves no process and no folder behind."""
    cassette = folder / "waiting"
    support.Run("record", cassette, ["sh", "-c", 'curl -s -o /dev/null "$DIORAMA_ENDPOINT_API/a"'], {"api": upstream.url})
    pipe, place = folder / "pipe", folder / "temporary"
    place.mkdir()
    os.mkfifo(pipe)
    command = ["sh", "-c", f"exec 3>{pipe}; echo ready >&3; exec sleep 1000"]
    words = [support.binary("diorama"), "verify", "--cassette", str(cassette), "--", *command]
    for how, status in [(signal.SIGINT, 130), (signal.SIGKILL, -9)]:
        process = subprocess.Popen(
            words, env={**support.environment(), "TMPDIR": str(place)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        with pipe.open() as reader:
            checks.that(reader.readline() == "ready\n", f"{how.name}: the command runs")
            process.send_signal(how)
            # Ends when no process has the pipe any more.
            checks.that(reader.read() == "", f"{how.name}: the command has ended")
        checks.that(process.wait(support.PATIENCE) == status, f"{how.name}: the status is {status}", process.returncode)
        if how == signal.SIGINT:
            checks.that(not list(place.iterdir()), f"{how.name}: no folder is left", list(place.iterdir()))


def clinic(checks, folder):
    app = [support.binary("clinic"), "book"]
    cassette = folder / "booking"
    with support.Program([support.binary("clinic-backend"), "--now", "2025-10-08T09:00:00Z"]) as backend:
        recording = support.Run("record", cassette, app, {"clinic": backend.url}, ["--start", "2025-10-08T09:00:00Z"])
    checks.that(recording.status == 0, "the clinic is recorded", recording)
    found = Verified(folder, cassette, app, ["--stress"])
    checks.that(found.status == 0 and found.result.get("deterministic"), "nothing is found in the clinic", found)
    checks.that(re.search(r"verify ok: 5 runs did the same, \d+ requests each", found.words), "standard error says so", found)


def main():
    checks = support.Checks("verify")
    with support.folder() as folder:
        with support.Upstream(answer) as upstream:
            planted(checks, folder, upstream)
            steady(checks, folder, upstream)
            others(checks, folder, upstream)
            ended(checks, folder, upstream)
        clinic(checks, folder)
        left = [path.name for path in folder.iterdir() if path.name.startswith("tmp")]
        checks.that(not left, "nothing is left behind", left)
    checks.end()


if __name__ == "__main__":
    main()
