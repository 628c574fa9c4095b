"""Kills `diorama serve` with SIGKILL at random moments under load, and starts it again. All acknowledged environments,
leases and changes are kept on the same ports; the apps' next requests succeed; an app that follows its environment
continues; no cassette is damaged; and the final cassette contains what was recorded before the kill. If acknowledged
data is missing from the state folder, the daemon refuses to start and removes nothing.

    daemon_killed.py [--rounds N] [--seed N]
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import shutil
import subprocess
import threading
import time

import daemon
import support

WORKERS = 6


def answer(handler, _):
    """A body derived from the path."""
    source = random.Random(handler.path)
    return 200, [("Content-Type", "application/json")], b'{"value": "%s"}' % source.randbytes(source.randrange(10, 2000)).hex().encode()


class Caller:
    """A client's connection to the control API. A call that fails was not acknowledged: OSError or HTTPException."""

    def __init__(self, host):
        self.token = host.token
        self.connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=60)

    def call(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = self.connection.getresponse()
        content = response.read()
        return response.status, json.loads(content) if content else None


def fetch(url, path):
    """Sends an app's request on a new connection."""
    connection = http.client.HTTPConnection(url.split("//")[1], timeout=60)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class Acknowledged:
    """The acknowledged state. An item is removed while it is changed, and added again once the change is acknowledged, so
    a kill leaves no item in an unknown state."""

    def __init__(self):
        self.lock = threading.Lock()
        self.environments, self.leases, self.ended, self.unsure = {}, {}, set(), set()
        self.calls = 0

    def take(self, chance):
        with self.lock:
            if not self.environments:
                return None
            identifier = chance.choice(sorted(self.environments))
            self.unsure.add(identifier)
            return self.environments.pop(identifier)

    def put(self, environment):
        with self.lock:
            self.unsure.discard(environment["id"])
            self.environments[environment["id"]] = environment


class Following:
    """An app that sleeps by its environment's clock, and survives all kills."""

    def __init__(self, host, folder):
        clock = {"kind": "manual", "start": "2018-10-08T09:00:00Z"}
        _, self.environment = Caller(host).call("POST", "/v1/environments", {"mode": "mock", "clock": clock, "owner": {"pid": os.getpid()}})
        variables = dict(support.environment(), **self.environment["contract"]["environment"])
        self.words = folder / "following.log"
        self.process = subprocess.Popen(
            [support.binary("FollowingApp"), "60"], env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(self.words, "wb"),
        )

    def move(self, host, checks, title):
        """Wakes the app, which requires both directions of the connection."""
        move = {"advance": 60, "sleepers": 1, "timeoutSeconds": 60}
        status, answer = Caller(host).call("POST", f"/v1/environments/{self.environment['id']}/clock", move)
        checks.that(status == 200 and answer["woken"] == 1, f"{title}: an app from before the kill still follows", (status, answer))

    def end(self, host, checks):
        checks.that(self.process.poll() is None, "the following app is still running", self.process.poll())
        checks.that(not self.words.read_bytes(), "the app printed nothing about the kills", self.words.read_text())
        self.process.kill()
        self.process.wait()
        status, report = Caller(host).call("DELETE", f"/v1/environments/{self.environment['id']}")
        checks.that(status == 200 and report["ok"], "its environment ends successfully", (status, report))


class Load:
    """Clients that make all kinds of calls until the daemon is gone."""

    def __init__(self, host, known, folder, cassette, upstream, seed, checks):
        self.host, self.known, self.folder, self.cassette, self.upstream, self.checks = host, known, folder, cassette, upstream, checks
        self.isKilled = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(random.Random(f"{seed}/{number}"),)) for number in range(WORKERS)]
        for thread in self.threads:
            thread.start()

    def work(self, chance):
        caller = Caller(self.host)
        while True:
            try:
                self.step(caller, chance)
            except (OSError, http.client.HTTPException) as error:
                if not self.isKilled.wait(5):
                    self.checks.that(False, "the daemon answers until it is killed", repr(error))
                return
            self.known.calls += 1

    def step(self, caller, chance):
        what = chance.random()
        if what < 0.25 and len(self.known.environments) < 60:
            self.provision(caller, chance)
        elif what < 0.35:
            self.lease(caller, chance)
        elif (environment := self.known.take(chance)) is None:
            return
        elif what < 0.45:
            status, report = caller.call("DELETE", f"/v1/environments/{environment['id']}")
            self.checks.that(status == 200, "an environment is ended", (status, report))
            with self.known.lock:
                self.known.ended.add(environment["id"])
                self.known.unsure.discard(environment["id"])
            self.sealed(environment)
        elif what < 0.6:
            environment["toggles"]["count"] = environment["toggles"].get("count", 0) + 1
            status, body = caller.call("PATCH", f"/v1/environments/{environment['id']}", {"toggles": {"count": environment["toggles"]["count"]}})
            self.checks.that(status == 200, "a toggle is changed", (status, body))
            self.known.put(environment)
        else:
            path = f"/item/{chance.randrange(20)}"
            if environment["mode"] == "record":
                path = f"/new/{chance.randrange(1 << 40)}"
            status, body = fetch(environment["endpoints"]["store"], path)
            self.checks.that((status, body) == (200, expected(path)), f"a request is answered in {environment['mode']}", (path, status, body[:300]))
            environment["asked"].append(path)
            self.known.put(environment)

    def provision(self, caller, chance):
        mode = chance.choice(["replay", "replay", "record"])
        cassette = self.cassette if mode == "replay" else self.folder / f"recording-{chance.randrange(1 << 60)}"
        request = {
            "name": "killed", "mode": mode, "cassette": str(cassette), "upstreams": {"store": self.upstream.url}, "ports": ["debug"],
            "toggles": {"on": True}, "credentials": [{"service": "s", "account": "a", "text": "hush"}], "owner": {"pid": os.getpid()},
        }
        status, environment = caller.call("POST", "/v1/environments", request)
        if self.checks.that(status == 201, "an environment is provisioned", (status, environment)):
            environment.update(toggles={"on": True}, asked=[], cassette=cassette)
            self.known.put(environment)

    def lease(self, caller, chance):
        if len(self.known.leases) > 300:
            return
        status, body = caller.call("POST", "/v1/ports", {"count": chance.randrange(1, 4), "owner": {"pid": os.getpid()}})
        if self.checks.that(status == 201, "ports are leased", (status, body)):
            with self.known.lock:
                for lease in body["ports"]:
                    self.checks.that(lease["port"] not in self.known.leases, "no port is leased twice", lease)
                    self.known.leases[lease["port"]] = lease

    def sealed(self, environment):
        """Checks that the cassette of an ended recording contains all acknowledged interactions."""
        if environment["mode"] == "record" and environment["asked"]:
            urls = {entry["request"]["url"].split(str(self.upstream.port), 1)[1] for entry in support.har(environment["cassette"])}
            lost = [path for path in environment["asked"] if path not in urls]
            self.checks.that(not lost, "the cassette contains all acknowledged interactions", lost)

    def kill(self):
        self.isKilled.set()
        self.host.kill()
        for thread in self.threads:
            thread.join()


def expected(path):
    class Asked:
        pass

    Asked.path = path
    return answer(Asked, None)[2]


def look(host, known, checks, title, app):
    """Checks that the acknowledged state is complete."""
    caller = Caller(host)
    _, listed = caller.call("GET", "/v1/environments")
    there = {environment["id"]: environment for environment in listed["environments"]}
    lost = [identifier for identifier in known.environments if identifier not in there]
    checks.that(not lost, f"{title}: all {len(known.environments)} environments are restored", f"{lost} {host.said()[-2000:]}")
    risen = known.ended & set(there)
    checks.that(not risen, f"{title}: no ended environment is restored", risen)
    for identifier, environment in known.environments.items():
        if identifier not in there:
            continue
        status, now = caller.call("GET", f"/v1/environments/{identifier}")
        same = status == 200 and all(now[member] == environment[member] for member in ("port", "endpoints", "ports", "mode", "createdAt"))
        checks.that(same, f"{title}: an environment is unchanged", (environment, now))
        if same:
            toggles = now["contract"]["document"]["toggles"]
            checks.that(toggles == environment["toggles"], f"{title}: its toggles are unchanged", (environment["toggles"], toggles))
            contract = pathlib.Path(now["contract"]["environment"]["DIORAMA_CONTRACT"].removeprefix("file:"))
            checks.that(contract.exists() and contract.stat().st_mode & 0o777 == 0o600, f"{title}: its contract exists with mode 0600", contract)
        path = "/item/3" if environment["mode"] == "replay" else f"/after/{random.randrange(1 << 40)}"
        status, body = fetch(environment["endpoints"]["store"], path)
        checks.that((status, body) == (200, expected(path)), f"{title}: the next request in {environment['mode']} succeeds", (status, body[:500]))
        environment["asked"].append(path)
    _, leases = caller.call("GET", "/v1/ports")
    ports = {lease["port"]: lease for lease in leases["ports"]}
    lost = [port for port in known.leases if port not in ports]
    checks.that(not lost, f"{title}: all {len(known.leases)} leases are restored", lost)
    # State that was not acknowledged, or half changed, may exist or not; remove it.
    for identifier in set(there) - set(known.environments) - {app.environment["id"]}:
        status, _ = caller.call("DELETE", f"/v1/environments/{identifier}")
        checks.that(status == 200, f"{title}: an unacknowledged environment can be ended", status)
    known.unsure.clear()


def damaged(checks, folder):
    """Checks every kind of damage to the state folder."""
    host = daemon.Daemon(folder, ports=100)
    made = [host.provision().json["id"] for _ in range(8)]
    # A stop moves everything into the database; later changes are only in its log.
    host.end(made.pop())
    made += [host.provision().json["id"] for _ in range(8)]
    host.kill()
    kept = folder / "kept"
    shutil.copytree(host.state, kept, ignore=shutil.ignore_patterns("*.sock"))
    database, log = host.state / "state.sqlite", host.state / "state.sqlite-wal"
    checks.that(log.stat().st_size > 10_000, "the log has content", log.stat())
    damages = {
        "emptied": lambda: database.write_bytes(b""),
        "removed": lambda: database.unlink(),
        "replaced by noise": lambda: database.write_bytes(random.randbytes(database.stat().st_size)),
        "without its log": lambda: log.unlink(),
        "with an empty log": lambda: log.write_bytes(b""),
        "with a log of noise": lambda: log.write_bytes(random.randbytes(log.stat().st_size)),
        "with all of it emptied": lambda: [file.write_bytes(b"") for file in host.state.glob("state.*")],
    }
    for part in range(1, 12):
        damages[f"with {part}/12 of its log"] = lambda part=part: os.truncate(log, log.stat().st_size * part // 12)
    for what, damage in damages.items():
        shutil.rmtree(host.state)
        shutil.copytree(kept, host.state)
        damage()
        contracts = support.snapshot(host.state / "contracts")
        ended = subprocess.run([str(word) for word in host.words], env=host.variables, capture_output=True, text=True, timeout=60)
        checks.that(ended.returncode != 0 and not ended.stdout, f"a state {what} is refused", (ended.stdout, ended.stderr))
        checks.that(f"mv '{host.state}'" in ended.stderr, f"a state {what} is refused with an explanation how to continue", ended.stderr)
        checks.that(support.snapshot(host.state / "contracts") == contracts, f"a state {what} keeps its contracts", ended.stderr)
    shutil.rmtree(host.state)
    shutil.copytree(kept, host.state)
    host.start()
    there = [each["id"] for each in host.call("GET", "/v1/environments").json["environments"]]
    checks.that(there == made, "a restored state is unchanged", (made, there))
    checks.that(host.stop() == 0, "the daemon stops regularly with a restored state", host.said()[-500:])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = options.parse_args()
    chance = random.Random(options.seed)
    checks = support.Checks("daemon_killed")
    checks.say(f"{options.rounds} rounds, --seed {options.seed}")
    known, slowest = Acknowledged(), 0.0

    with support.folder() as folder, support.Upstream(answer) as upstream:
        app, host = None, daemon.Daemon(folder, ports=1000, portserver=f"@diorama-acceptance-{os.getpid()}")
        try:
            # The cassette that all environments replay, recorded by the daemon itself.
            cassette = folder / "store"
            caller = Caller(host)
            status, first = caller.call("POST", "/v1/environments", {"mode": "record", "cassette": str(cassette), "upstreams": {"store": upstream.url}})
            if not checks.that(status == 201, "a recording starts", first):
                checks.end()
            for number in range(20):
                fetch(first["endpoints"]["store"], f"/item/{number}")
            status, report = caller.call("DELETE", f"/v1/environments/{first['id']}")
            checks.that(status == 200 and report["ok"], "the cassette is recorded", report)
            recorded = cassette.with_suffix(".har").read_bytes()

            app = Following(host, folder)
            for number in range(options.rounds):
                title = f"round {number}"
                load = Load(host, known, folder, cassette, upstream, f"{options.seed}/{number}", checks)
                time.sleep(chance.uniform(0.01, 1.5))
                load.kill()
                host.start()
                slowest = max(slowest, host.seconds)
                look(host, known, checks, title, app)
                app.move(host, checks, title)
                checks.that(cassette.with_suffix(".har").read_bytes() == recorded, f"{title}: the replayed cassette is unchanged")

            caller = Caller(host)
            for identifier, environment in known.environments.items():
                status, report = caller.call("DELETE", f"/v1/environments/{identifier}")
                checks.that(status == 200, "an environment ends after all kills", (status, report))
                load.sealed(environment)
            app.end(host, checks)
            checks.that(not os.listdir(host.state / "contracts"), "no contract is left", os.listdir(host.state / "contracts"))
            for har in folder.glob("*.har"):
                check = support.diorama("cassette", "check", har)
                checks.that(check.returncode == 0, f"{har.name} is whole", check)
            checks.that(host.stop() == 0, "the daemon stops regularly", host.said()[-2000:])
        finally:
            if app:
                app.process.kill()
            if host.process.poll() is None:
                host.kill()
        checks.that(known.calls > 0, "some calls were made")
        (folder / "damaged").mkdir()
        damaged(checks, folder / "damaged")
        checks.say(f"{known.calls} calls acknowledged, {len(known.environments)} environments and {len(known.leases)} leases at the end, slowest start {slowest:.2f} s")
    checks.end()


main()
