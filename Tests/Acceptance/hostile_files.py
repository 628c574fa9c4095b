"""Damaged state of the daemon, and irregular files: pipes, devices, folders, sockets, loops of links. Each function is a
part of hostile.py."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import time

import daemon
import hostile_cassettes
import support
import victim

# Kinds of damage to the daemon's database. Each function gets the state folder.


def overwrite(name, *places, content=b"\xff" * 64):
    def damage(state):
        with open(state / name, "r+b") as file:
            size = file.seek(0, 2)
            for place in places:
                file.seek(int(size * place))
                file.write(content)

    return damage


def shorten(name, part):
    return lambda state: os.truncate(state / name, int((state / name).stat().st_size * part))


def garbage(name):
    return lambda state: (state / name).write_bytes(random.Random(1).randbytes(20_000))


def remove(*names):
    return lambda state: [(state / name).unlink() for name in names if (state / name).exists()]


def empty(*names):
    return lambda state: [(state / name).write_bytes(b"") for name in names]


def other_database(state):
    """Another database with the same tables but no content."""
    remove("state.sqlite-wal", "state.sqlite-shm")(state)
    import sqlite3

    original = sqlite3.connect(state / "state.sqlite")
    tables = [name for (name,) in original.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")]
    for table in tables:
        with contextlib.suppress(sqlite3.Error):
            if table not in ("meta", "schema", "version"):
                original.execute(f"delete from {table}")
    original.commit()
    original.close()


DATABASE, WAL = "state.sqlite", "state.sqlite-wal"
DAMAGE = {
    # Stopped: the log is empty or gone, everything is in the database.
    "stopped, the database emptied": (False, empty(DATABASE)),
    "stopped, the database removed": (False, remove(DATABASE, WAL)),
    "stopped, the database is garbage": (False, garbage(DATABASE)),
    "stopped, the database is cut in half": (False, shorten(DATABASE, 0.5)),
    "stopped, the database's head is damaged": (False, overwrite(DATABASE, 0)),
    "stopped, the database's pages are damaged": (False, overwrite(DATABASE, 0.3, 0.6, 0.9)),
    # Killed: the latest changes are in the log.
    "killed, the database emptied": (True, empty(DATABASE)),
    "killed, the database removed": (True, remove(DATABASE)),
    "killed, both removed": (True, remove(DATABASE, WAL)),
    "killed, both emptied": (True, empty(DATABASE, WAL)),
    "killed, the log removed": (True, remove(WAL)),
    "killed, the log emptied": (True, empty(WAL)),
    "killed, the log is garbage": (True, garbage(WAL)),
    "killed, the log's head is damaged": (True, overwrite(WAL, 0)),
    "killed, the log's first frame is damaged": (True, lambda state: overwrite_at(state / WAL, 40)),
    "killed, the log's second frame is damaged": (True, lambda state: overwrite_at(state / WAL, 32 + 4120 + 100)),
    "killed, the log is damaged in its middle": (True, overwrite(WAL, 0.5)),
    "killed, the log is cut in half": (True, shorten(WAL, 0.5)),
    "killed, the log is cut to a quarter": (True, shorten(WAL, 0.25)),
    "killed, the log is full of zeros": (True, lambda state: (state / WAL).write_bytes(bytes((state / WAL).stat().st_size))),
}


def overwrite_at(path, place):
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(b"\xff" * 64)


def contracts(state):
    return {path.name: path.read_bytes() for path in (state / "contracts").glob("*")} if (state / "contracts").is_dir() else {}


def serve_once(host):
    """Starts the daemon again. Returns its ready line (None if it refused), its process and its output."""
    with open(host.log, "ab") as log:
        start = log.tell()
        process = subprocess.Popen([str(word) for word in host.words], env=host.variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
    line = process.stdout.readline()
    if not line:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        if process.poll() is None:
            process.kill()
            process.wait()
    process.stdout.close()
    return process, (json.loads(line) if line else None), host.log.read_bytes()[start:].decode(errors="replace")


def state(checks, folder):
    """A daemon with a damaged state continues with all of it, or refuses in one line and deletes nothing."""
    original = folder / "original"
    original.mkdir()
    host = daemon.Daemon(original, ports=100)
    secret = [{"service": "s", "account": "a", "text": "hush"}]
    made = [host.provision(name=f"e{number}", ttlSeconds=3600, credentials=secret).json["id"] for number in range(4)]
    ports = {host.call("POST", "/v1/ports", {"ttlSeconds": 3600}).json["ports"][0]["port"] for _ in range(2)}
    for number in range(3):
        host.call("PATCH", f"/v1/environments/{made[number]}", {"toggles": {"t": number}})
    host.kill()
    shutil.copytree(original / "state", folder / "killed", ignore=shutil.ignore_patterns("*.sock"))
    host.start()
    # After a regular stop, environments are gone, but leases stay.
    host.stop()
    shutil.copytree(original / "state", folder / "stopped", ignore=shutil.ignore_patterns("*.sock"))
    for title, (killed, damage) in DAMAGE.items():
        shutil.rmtree(host.state)
        shutil.copytree(folder / ("killed" if killed else "stopped"), host.state)
        try:
            damage(host.state)
        except OSError as error:
            checks.say(f"state: {title}: not tested: {error}")
            continue
        before, damaged = contracts(host.state), {name: (host.state / name).read_bytes() for name in (DATABASE, WAL) if (host.state / name).exists()}
        process, ready, said = serve_once(host)
        try:
            if ready:
                host.process, host.ready = process, ready
                host.token = json.loads(pathlib.Path(ready["tokenFile"]).read_text())["token"]
                host.port = int(ready["control"].rsplit(":", 1)[1])
                there = {each["id"] for each in host.call("GET", "/v1/environments").json["environments"]}
                leased = {each["port"] for each in host.call("GET", "/v1/ports").json["ports"]}
                kept = (not killed or there >= set(made)) and leased >= ports
                after = contracts(host.state)
                checks.that(kept, f"state: {title}: the daemon continues with the complete state, or not at all", (f"{len(there)} of {len(made) if killed else 0} environments, {len(leased & ports)} of {len(ports)} ports", said[-300:]))
                checks.that(set(after) >= set(before), f"state: {title}: no contract is deleted", f"{len(before)} before, {len(after)} after")
            else:
                lines = [line for line in said.splitlines() if not line.startswith("{")]
                checks.that(process.returncode in (65, 73, 74) and len(lines) == 1 and lines[0].startswith("diorama: "), f"state: {title}: the daemon refuses in one line", (process.returncode, said[-600:]))
                checks.that(lines and str(host.state) in lines[-1], f"state: {title}: the line names the folder", said[-400:])
                checks.that(contracts(host.state) == before, f"state: {title}: no contract is deleted")
                for name, content in damaged.items():
                    there = (host.state / name).read_bytes() if (host.state / name).exists() else None
                    checks.that(there == content, f"state: {title}: {name} is unchanged", None if there is None else len(there))
                again, ready, _ = serve_once(host)
                checks.that(ready is None, f"state: {title}: the daemon refuses again")
                again.kill()
                again.wait()
        finally:
            process.kill()
            process.wait()
    # A new, empty folder isn't damaged.
    shutil.rmtree(host.state)
    process, ready, said = serve_once(host)
    checks.that(ready is not None, "state: the daemon starts in a new folder", said[-300:])
    process.kill()
    process.wait()


# Irregular files

def kinds(folder):
    """Functions that create each kind of irregular file, by name."""
    def a_socket(path):
        with socket.socket(socket.AF_UNIX) as it:
            with contextlib.chdir(path.parent):  # a socket's path must be short
                it.bind(path.name)

    return {
        "a pipe": lambda path: os.mkfifo(path),
        "a link to a pipe": lambda path: (os.mkfifo(f"{path}.pipe"), path.symlink_to(f"{path}.pipe")),
        "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
        "a link to a terminal": lambda path: path.symlink_to("/dev/ptmx"),
        "a device": lambda path: os.mknod(path, 0o644 | stat.S_IFCHR, os.makedev(1, 5)),
        "a folder": lambda path: path.mkdir(),
        "a socket": a_socket,
        "a loop of links": lambda path: path.symlink_to(path.name),
        "an endless file": lambda path: path.touch() or os.truncate(path, 1 << 40),
    }


def readers():
    """All commands that read a named file: the file's name in its folder, and the arguments."""
    run = ["run", "--mode", "replay", "--cassette", "honest"]
    create = ["env", "create", "--state", "state", "--mode", "mock"]
    return {
        "cassette show": ("c.har", ["cassette", "show", "c"]), "cassette check": ("c.har", ["cassette", "check", "c"]), "cassette diff": ("c.har", ["cassette", "diff", "c", "honest"]),
        "cassette diff, the other way": ("c.har", ["cassette", "diff", "honest", "c"]), "cassette export": ("c.har", ["cassette", "export", "c", "--to", "out.har", "--as", "har"]),
        "cassette import": ("c.har", ["cassette", "import", "c.har", "--to", "out"]), "cassette import of YAML": ("c.yaml", ["cassette", "import", "c.yaml", "--to", "out"]),
        "cassette import --from vcr": ("c", ["cassette", "import", "c", "--from", "vcr", "--to", "out"]),
        "cassette import --config": ("r.json", ["cassette", "import", "honest.har", "--to", "out", "--config", "r.json"]),
        "cassette prune": ("c.har", ["cassette", "prune", "c", "--report", "report.json"]), "cassette prune --report": ("r.json", ["cassette", "prune", "honest", "--report", "r.json"]),
        "cassette check --openapi": ("o.yaml", ["cassette", "check", "--openapi", "o.yaml", "honest"]), "cassette check --live": ("c.har", ["cassette", "check", "--live", "c"]),
        "cassette check --recover": ("honest.har.partial", ["cassette", "check", "--recover", "honest"]), "run beside a partial file": ("honest.har.partial", [*run, "--", "true"]),
        "run --mode record over a partial file": ("c.har.partial", ["run", "--mode", "record", "--cassette", "c", "--upstream", "api=http://127.0.0.1:1", "--", "true"]),
        "run --mode replay": ("c.har", ["run", "--mode", "replay", "--cassette", "c", "--", "true"]),
        "run --mode extend": ("c.har", ["run", "--mode", "extend", "--cassette", "c", "--upstream", "api=http://127.0.0.1:1", "--", "true"]),
        "run --mode once": ("c.har", ["run", "--cassette", "c", "--upstream", "api=http://127.0.0.1:1", "--", "true"]),
        "run with strings": ("honest.strings.json", [*run, "--", "true"]), "run with a leftover rules file": ("honest.rules.json", [*run, "--", "true"]),
        "run with a project file": ("diorama.json", [*run, "--", "true"]), "env create --config": ("r.json", [*create, "--config", "r.json"]),
        "cassette import with a project file": ("diorama.json", ["cassette", "import", "honest.har", "--to", "out"]),
        "cassette export with a project file": ("diorama.json", ["cassette", "export", "honest", "--to", "out.har", "--as", "har"]),
        "cassette check with strings": ("honest.strings.json", ["cassette", "check", "honest"]), "cassette check with a project file": ("diorama.json", ["cassette", "check", "honest"]),
        "cassette check --live with a project file": ("diorama.json", ["cassette", "check", "--live", "honest"]),
        "run --config": ("r.json", [*run, "--config", "r.json", "--", "true"]), "cassette check --config": ("r.json", ["cassette", "check", "--config", "r.json", "honest"]),
        "run --credential": ("s", [*run, "--credential", "s/a=file:s", "--", "true"]),
        "run --header": ("s", ["run", "--mode", "proxy", "--cassette", "x", "--upstream", "api=http://127.0.0.1:1", "--header", "api/X-Api-Key=file:s", "--", "true"]),
        "run --ca": ("s", ["run", "--mode", "proxy", "--cassette", "x", "--upstream", "api=https://127.0.0.1:1", "--ca", "api=s", "--", "true"]),
        "serve --config": ("d.json", ["serve", "--state", "state", "--portserver-address", "", "--config", "d.json"]),
        "contract check": ("contract.json", ["contract", "check", "contract.json"]),
    }


TAKE_PIPES = {
    "cassette import", "cassette import of YAML", "cassette import --from vcr", "cassette import --config", "cassette prune --report",
    "cassette check --openapi", "run --config", "cassette check --config", "env create --config", "run --credential", "run --header", "serve --config",
}


def irregular(checks, folder):
    """With any irregular file, a command ends within seconds, with one line and little memory."""
    # A file named by the user may be a pipe, `<(…)`. Its reader waits for a writer, and handles signals.
    def may_wait(title, kind):
        return kind in ("a pipe", "a link to a pipe") and title in TAKE_PIPES

    def one(trial):
        number, ((title, (name, words)), (kind, put)) = trial
        place = folder / f"{number}"
        place.mkdir()
        (place / "honest.har").write_text(json.dumps(hostile_cassettes.victims_own()))
        hostile_cassettes.prepared_report(place / "honest", place)
        try:
            put(place / name)
        except PermissionError:
            return None
        return hostile_cassettes.Bounded([support.binary("diorama"), *words], seconds=6 if may_wait(title, kind) else 30, memory=2 << 30, folder=place)

    few = ("a pipe", "a link to /dev/zero", "a folder", "a socket", "a loop of links")  # the others open files in the same way
    trials = [
        (reader, kind) for reader in readers().items() for kind in kinds(folder).items()
        if kind[0] in few or reader[0] in ("cassette show", "cassette import", "run --mode replay", "run with strings", "run with a project file", "run --config", "serve --config")
    ]
    for ((title, _), (kind, _)), ended in zip(trials, victim.together(4, one, list(enumerate(trials)))):
        if ended is None:
            continue
        checks.that(may_wait(title, kind) or not ended.hung, f"irregular: {title}: {kind} doesn't make it hang", ended)
        checks.that(ended.heeds, f"irregular: {title}: {kind} SIGTERM ends it", ended)
        if not ended.hung:
            checks.that(ended.status >= 0 and ended.peak < 256 << 20, f"irregular: {title}: {kind} uses little memory", ended)
            lines = ended.output.decode(errors="replace").splitlines()
            checks.that(ended.status == 0 or any(line.startswith("diorama: ") for line in lines) or title == "contract check", f"irregular: {title}: {kind} is reported", ended)
    of_the_daemon(checks, folder)


def of_the_daemon(checks, folder):
    """The daemon survives all irregular files."""
    place = folder / "daemon"
    place.mkdir()
    with daemon.Daemon(place, ports=200) as host:
        limit = lambda: resource.prlimit(host.process.pid, resource.RLIMIT_AS, (4 << 30, 4 << 30))
        limit()
        for kind, put in kinds(place).items():
            name = re.sub(r"\W", "-", kind)
            try:
                put(place / f"{name}.har")
                put(place / f"{name}-2.strings.json")
                (place / f"{name}-2.har").write_text(json.dumps(hostile_cassettes.victims_own()))
            except PermissionError:
                continue
            for cassette in (name, f"{name}-2"):
                answer = None
                with contextlib.closing(host.connection(timeout=4)) as connection, contextlib.suppress(OSError, http.client.HTTPException):
                    answer = host.call("POST", "/v1/environments", {"mode": "replay", "cassette": str(place / cassette), "ttlSeconds": 60}, connection=connection)
                checks.that(answer is not None and 400 <= answer.status < 500 or kind == "an endless file" and answer is not None, f"irregular: the daemon refuses {kind} as {'a cassette' if cassette == name else 'its strings'}", answer)
                if answer is None:  # it may have stopped permanently
                    host.kill()
                    host.start()
                    limit()
        health = None
        with contextlib.closing(host.connection(timeout=4)) as connection, contextlib.suppress(OSError, http.client.HTTPException):
            health = host.call("GET", "/v1/health", connection=connection)
        checks.that(health is not None and health.status == 200, "irregular: the daemon works afterwards", health)
        memory = host.figures()["memory"] if host.process.poll() is None else 0
        checks.that(memory < 256 << 20, "irregular: the daemon uses little memory", memory)
        started = time.monotonic()
        host.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            host.process.wait(15)
        if not checks.that(host.process.poll() is not None, "irregular: SIGTERM stops the daemon", time.monotonic() - started):
            host.process.kill()


def threats(checks, folder):
    """Checks that THREATS.md covers cassettes, pages and endpoints, and that the tests it names exist."""
    text = (support.ROOT / "Sources/Daemon/THREATS.md").read_text()
    for word in ("cassette", "pull request", "endpoint", "page"):
        checks.that(word in text.lower(), f"threats: THREATS.md mentions a {word}")
    named = re.findall(r"`(\w+\.py): ([\w, ]+)`", text)
    own = [(script, name) for script, names in named for name in names.split(", ") if script.startswith("hostile")]
    checks.that(len(own) >= 8, "threats: THREATS.md names these tests", own)
    for script, names in (each for each in named if each[0] != "script.py"):  # an explanation of the notation
        path = support.HERE / script
        source = path.read_text() if path.exists() else ""
        for name in names.split(", "):
            checks.that(re.search(rf"^def {name}\(", source, re.M), f"threats: {script}: {name} exists", "")
