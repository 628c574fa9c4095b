"""A daemon under mixed load: no errors, no leaked descriptors, constant memory; and ended environments leave no memory
behind.

    daemon_soak.py [--minutes M] [--environments N] [--soak] [--seed N]
"""

import argparse
import collections
import contextlib
import http.client
import json
import pathlib
import random
import statistics
import subprocess
import threading
import time

import daemon
import support

HAR = {
    "log": {
        "version": "1.2", "creator": {"name": "soak", "version": "1"},
        "entries": [
            {
                "startedDateTime": "2018-10-08T09:00:00Z", "time": 1, "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0},
                "request": {"method": "GET", "url": f"https://api.example.com/slots/{number}", "httpVersion": "HTTP/1.1",
                            "headers": [], "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0},
                "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
                             "content": {"size": 13, "mimeType": "application/json", "text": json.dumps({"slot": number})},
                             "redirectURL": "", "headersSize": -1, "bodySize": 13},
            }
            for number in range(20)
        ],
    }
}


class Load:
    """Typical work in several threads; counts what was done and collects errors."""

    def __init__(self, host, folder, seed):
        self.host, self.folder, self.seed = host, folder, seed
        self.done, self.wrong, self.lock = collections.Counter(), [], threading.Lock()
        self.going = threading.Event()
        self.going.set()

    def expect(self, what, answer, status=200):
        with self.lock:
            self.done[what] += 1
            if answer.status != status and len(self.wrong) < 20:
                self.wrong.append(f"{what}: {answer}")
        return answer.status == status

    def run(self, number):
        chance = random.Random(f"{self.seed} {number}")
        connection = self.host.unix() if number % 2 else self.host.connection()
        while self.going.is_set():
            try:
                chance.choice([self.replay, self.record, self.ports, self.events, self.mistakes])(connection, chance)
            except Exception as error:
                with self.lock:
                    self.wrong.append(f"{type(error).__name__}: {error}")
                connection.close()
                time.sleep(0.1)
        connection.close()

    def warm_up(self):
        """Does each kind of work once, so that lazily created resources exist."""
        connection, chance = self.host.connection(), random.Random(self.seed)
        with contextlib.closing(connection):
            for work in (self.replay, self.record, self.ports, self.events, self.mistakes):
                work(connection, chance)
            self.pass_on(connection)

    def pass_on(self, connection):
        """Sends requests on each of the daemon's threads, which have separate upstream connections; concurrent connections
        are distributed among threads."""
        with contextlib.ExitStack() as stack:
            made = stack.enter_context(self.environment(connection, mode="proxy", upstreams={"api": self.upstream.url}))
            if not made:
                return
            port = int(made["endpoints"]["api"].rsplit(":", 1)[1])
            apps = [http.client.HTTPConnection("127.0.0.1", port, timeout=support.PATIENCE) for _ in range(8)]
            for app in apps:
                stack.enter_context(contextlib.closing(app))
                app.connect()
            for app in apps:
                app.request("GET", "/")
                self.expect("proxied", daemon.Answer(app.getresponse()))

    def provide(self, count):
        """Provisions environments of all kinds, this many in total. Returns when all have ended."""
        until = self.done["provision"] + count
        works = [self.replay, self.record, self.events, self.stream, self.crowd, self.owned, self.mistakes]

        def run(number):
            chance = random.Random(f"{self.seed} {until} {number}")
            with contextlib.closing(self.host.connection()) as connection:
                while self.done["provision"] < until and not self.wrong:
                    chance.choice(works)(connection, chance)

        threads = [threading.Thread(target=run, args=[number]) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        daemon.settled(lambda: len(self.host.call("GET", "/v1/environments").json["environments"]))

    @contextlib.contextmanager
    def environment(self, connection, **members):
        made = self.host.call("POST", "/v1/environments", members, connection=connection)
        if not self.expect("provision", made, 201):
            yield None
            return
        yield made.json
        self.expect("end", self.host.end(made.json["id"], connection=connection))

    def requests(self, port, targets, what):
        app = http.client.HTTPConnection("127.0.0.1", port, timeout=support.PATIENCE)
        with contextlib.closing(app):
            for target in targets:
                app.request("GET", target)
                self.expect(what, daemon.Answer(app.getresponse()))

    def replay(self, connection, chance):
        with self.environment(
            connection, mode="replay", cassette=str(self.folder / "slots"), upstreams={"api": "https://api.example.com"},
            toggles={"fast": True}, credentials=[{"service": "s", "account": "a", "text": "secret"}],
        ) as made:
            if not made:
                return
            path = f"/v1/environments/{made['id']}"
            port = int(made["endpoints"]["api"].rsplit(":", 1)[1])
            self.requests(port, [f"/slots/{chance.randrange(20)}" for _ in range(50)], "replayed")
            call = lambda *words: self.host.call(*words, connection=connection)
            self.expect("patch", call("PATCH", path, {"toggles": {"fast": None, "slow": chance.random()}}))
            self.expect("clock", call("POST", f"{path}/clock", {"advance": chance.randrange(1000)}))
            page = call("GET", f"{path}/journal?limit=1000")
            self.expect("journal", page)
            if page.status == 200 and sum(entry["kind"] == "replayed" for entry in page.json["entries"]) != 50:
                with self.lock:
                    self.wrong.append(f"the journal doesn't have 50 replays: {page}")
            self.expect("report", call("GET", f"{path}/report"))

    def record(self, connection, chance):
        cassette = self.folder / f"recording-{chance.randrange(1 << 60):x}"
        with self.environment(
            connection, mode="record", cassette=str(cassette), upstreams={"api": self.upstream.url}
        ) as made:
            if made:
                self.requests(int(made["endpoints"]["api"].rsplit(":", 1)[1]), ["/a", "/b?c=d"], "recorded")
                path = f"/v1/environments/{made['id']}/strings"
                self.expect("string", self.host.call("POST", path, {"key": "email"}, connection=connection))
        for file in self.folder.glob(f"{cassette.name}.*"):
            file.unlink()

    def ports(self, connection, chance):
        body = {"names": [f"p{number}" for number in range(chance.randrange(1, 6))], "ttlSeconds": 60}
        answer = self.host.call("POST", "/v1/ports", body, connection=connection)
        if self.expect("lease", answer, 201):
            for lease in answer.json["ports"]:
                target = f"/v1/ports/{lease['port']}"
                self.expect("release", self.host.call("DELETE", target, connection=connection), 204)

    def events(self, connection, chance):
        with self.environment(connection, mode="mock") as made:
            if not made:
                return
            stream = self.host.connection()
            with contextlib.closing(stream):
                stream.request("GET", f"/v1/environments/{made['id']}/journal", headers={
                    "Accept": "text/event-stream", "Authorization": f"Bearer {self.host.token}"})
                response = stream.getresponse()
                app = http.client.HTTPConnection("127.0.0.1", made["port"], timeout=support.PATIENCE)
                with contextlib.closing(app):
                    app.request("GET", "/nowhere.example/x")
                    app.getresponse().read()
                while line := response.readline():
                    if line.startswith(b"event: entry"):
                        break
                with self.lock:
                    self.done["event"] += 1
                    if not line:
                        self.wrong.append("an event stream ended before its event")

    def stream(self, connection, chance):
        """An app waits for the next part of a stream that was recorded without an end."""
        with self.environment(
            connection, mode="replay", cassette=str(self.folder / "stream"), upstreams={"api": self.upstream.url}
        ) as made:
            if made:
                app = http.client.HTTPConnection("127.0.0.1", int(made["endpoints"]["api"].rsplit(":", 1)[1]), timeout=support.PATIENCE)
                app.request("GET", "/stream")
                with contextlib.closing(app), app.getresponse() as response:
                    if response.readline() != b"data: 1\n":
                        self.wrong.append("a stream doesn't start as recorded")

    def crowd(self, connection, chance):
        """Provisions many environments at a time, whose memory must be released."""
        with contextlib.ExitStack() as stack:
            for _ in range(20):
                made = stack.enter_context(self.environment(
                    connection, mode="replay", cassette=str(self.folder / "slots"), upstreams={"api": "https://api.example.com"}))
                if made:
                    port = int(made["endpoints"]["api"].rsplit(":", 1)[1])
                    self.requests(port, [f"/slots/{chance.randrange(20)}" for _ in range(5)], "replayed")

    def owned(self, connection, chance):
        """An environment that ends with its owner."""
        with subprocess.Popen(["sleep", "60"]) as owner:
            self.expect("provision", self.host.provision(owner={"pid": owner.pid}, connection=connection), 201)
            owner.kill()

    def mistakes(self, connection, chance):
        call = lambda *words: self.host.call(*words, connection=connection)
        self.expect("refusal", call("POST", "/v1/environments", {"togles": {}}), 400)
        self.expect("refusal", call("POST", "/v1/environments", {"mode": "replay", "cassette": "/none/there"}), 422)
        self.expect("refusal", call("GET", "/v1/environments/none"), 404)


def figures(host, upstream):
    """The daemon's open resources, except for idle upstream connections."""
    kept = [each for each in host.descriptors() if f":{upstream.port:04X} 01" in each]
    seen = host.figures()
    return {"descriptors": seen["descriptors"] - len(kept), "threads": seen["threads"]}


def record_stream(host, folder, upstream):
    """Records the cassette `stream` with a stream that is still open at the end."""
    made = host.provision(mode="record", cassette=str(folder / "stream"), upstreams={"api": upstream.url}).json
    app = http.client.HTTPConnection("127.0.0.1", int(made["endpoints"]["api"].rsplit(":", 1)[1]), timeout=support.PATIENCE)
    with contextlib.closing(app):
        app.request("GET", "/stream")
        with app.getresponse() as response:
            response.readline()
            host.end(made["id"])


def churn(checks, environments, seed):
    """Checks that memory doesn't grow with the number of ended environments."""
    first = min(2_000, environments // 2)
    is_over = threading.Event()

    def answer(handler, body):
        if handler.path != "/stream":
            return 200, [("Content-Type", "application/json")], b'{"ok": true}'
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"9\r\ndata: 1\n\n\r\n")
        handler.wfile.flush()
        is_over.wait(support.PATIENCE)
        raise ConnectionAbortedError

    with support.folder() as folder, support.Upstream(answer) as upstream, daemon.Daemon(folder) as host:
        (folder / "slots.har").write_text(json.dumps(HAR))
        load = Load(host, folder, seed)
        load.upstream = upstream
        record_stream(host, folder, upstream)
        is_over.set()
        figures = []
        for count in (first, environments - first):
            load.provide(count)
            figures.append(daemon.settled(lambda: host.figures()["memory"]))
        checks.that(not load.wrong, "many environments cause no errors", "\n".join(load.wrong[:10]))
        checks.that(host.call("GET", "/v1/environments").json == {"environments": []}, "no environment is left after many")
        checks.say(f"anonymous memory: {figures[0] / 1e6:.1f} MB after {first} environments, {figures[1] / 1e6:.1f} MB after {environments}")
        checks.that(figures[1] - figures[0] < 2e6, "ended environments leave no memory behind", figures)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--minutes", type=float)
    options.add_argument("--environments", type=int)
    options.add_argument("--soak", action="store_true")
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = options.parse_args()
    seconds = 60 * (options.minutes or (60 if options.soak else 0.3))
    checks = support.Checks("daemon_soak")
    checks.say(f"{seconds / 60:g} minutes, --seed {options.seed}")
    answer = lambda handler, body: (200, [("Content-Type", "application/json")], b'{"ok": true}')
    with support.folder() as folder, support.Upstream(answer) as upstream, daemon.Daemon(folder) as host:
        (folder / "slots.har").write_text(json.dumps(HAR))
        load = Load(host, folder, options.seed)
        load.upstream = upstream
        load.warm_up()
        idle = daemon.settled(lambda: figures(host, upstream))
        threads = [threading.Thread(target=load.run, args=[number]) for number in range(6)]
        for thread in threads:
            thread.start()
        samples, ends = [], time.monotonic() + seconds
        while time.monotonic() < ends and host.process.poll() is None:
            time.sleep(min(1, seconds / 60))
            samples.append(host.figures())
        load.going.clear()
        for thread in threads:
            thread.join()
        checks.that(host.process.poll() is None, "the daemon is still running", host.said()[-1000:])
        checks.that(not load.wrong, "the load causes no errors", "\n".join(load.wrong[:10]))
        checks.say(", ".join(f"{count} {what}" for what, count in sorted(load.done.items())))
        for what in ("provision", "replayed", "recorded", "lease", "event", "end"):
            checks.that(load.done[what], f"the load includes: {what}")
        checks.that(host.call("GET", "/v1/environments").json == {"environments": []}, "no environment is left")
        checks.that(host.call("GET", "/v1/ports").json == {"ports": []}, "no lease is left")

        after = daemon.settled(lambda: figures(host, upstream))
        checks.that(after["descriptors"] <= idle["descriptors"], "no descriptor leaks", (idle, after, host.descriptors()))
        checks.that(after["threads"] <= idle["threads"] + 16, "no thread leaks", (idle, after))
        # The first third is a warm-up: connection and thread pools, and the store's cache.
        third = len(samples) // 3
        early, late = (statistics.median(s["memory"] for s in part) for part in (samples[third:2 * third], samples[2 * third:]))
        checks.say(f"anonymous memory: {early / 1e6:.1f} MB in the second third, {late / 1e6:.1f} MB in the last")
        checks.that(late - early < max(4e6, early * 0.1), "memory is constant", (early, late))
        errors = [line for line in host.said().splitlines() if " error" in line.lower() or '"error"' in line]
        checks.that(not errors, "the log contains no error", "\n".join(errors[:5]))
        checks.that(host.stop() == 0, "the daemon stops regularly", host.said()[-500:])
    churn(checks, options.environments or (20_000 if options.soak else 1_500), options.seed)
    checks.end()


main()
