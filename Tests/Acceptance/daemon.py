"""Runs `diorama serve` for an acceptance script, with its own state folder and ports."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import resource
import signal
import socket
import subprocess
import time

import support


class Answer:
    """A response: status, headers, body, and the decoded body if it is JSON."""

    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()
        kind = response.headers.get_content_type()
        self.json = json.loads(self.body) if self.body and kind.endswith("json") else None

    def __str__(self):
        return f"{self.status} {self.body[:500].decode(errors='replace')}"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=support.PATIENCE):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def raise_limit():
    """Raises the descriptor limit to the maximum; children inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def own_ports(count, low=15_000, high=20_000):
    """The first and last of `count` ports that no other run of these scripts uses until this process ends. Other programs
    may use single ports. The unit tests use lower ports (OwnPorts.swift)."""
    # Aligned, so that two of the largest ranges fit; at random, since old connections linger for a minute.
    starts = list(range(low, high - count + 1, -(-count // 100) * 100))
    for start in random.SystemRandom().sample(starts, len(starts)):
        # An abstract socket name stands for each hundred ports: one process can bind it, and the kernel releases it.
        names = [(socket.socket(socket.AF_UNIX), f"\0diorama-test-ports-{port}") for port in range(start, start + count, 100)]
        try:
            for name, address in names:
                name.bind(address)
        except OSError:
            for name, _ in names:
                name.close()
        else:
            own_ports.names += names
            return start, start + count - 1
    raise SystemExit(f"other runs of these scripts use all ports of {low}-{high - 1}; stop some")


own_ports.names = []


class Daemon:
    """Runs `diorama serve` in a folder. As a context manager, it stops the daemon at the end."""

    def __init__(self, folder, ports=500, configuration=None, options=(), variables=None, portserver=""):
        self.folder = pathlib.Path(folder)
        self.state = self.folder / "state"
        self.low, self.high = own_ports(ports) if isinstance(ports, int) else ports
        self.words = [support.binary("diorama"), "serve", "--state", self.state, "--portserver-address", portserver]
        self.words += ["--ports", f"{self.low}-{self.high}", *options]
        if configuration is not None:
            (self.folder / "config.json").write_text(json.dumps(configuration))
            self.words += ["--config", self.folder / "config.json"]
        self.variables = dict(support.environment(), **(variables or {}))
        self.log = self.folder / "serve.log"
        self.start()

    def start(self):
        started = time.monotonic()
        self.process = subprocess.Popen(
            [str(word) for word in self.words], env=self.variables, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=open(self.log, "ab"), text=True,
        )
        line = self.process.stdout.readline()
        self.seconds = time.monotonic() - started
        if not line:
            self.process.wait(support.PATIENCE)
            raise SystemExit(f"diorama serve did not start: {self.said()[-2000:]}")
        self.ready = json.loads(line)
        self.token = json.loads(pathlib.Path(self.ready["tokenFile"]).read_text())["token"]
        self.port = int(self.ready["control"].rsplit(":", 1)[1])

    def said(self):
        return self.log.read_text(errors="replace")

    def stop(self):
        """Stops the daemon with SIGTERM; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process.stdout.close()
        return self.process.returncode

    def kill(self):
        """Kills the daemon with SIGKILL; `start` starts it again."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # Calls

    def connection(self, timeout=support.PATIENCE):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def unix(self, timeout=support.PATIENCE):
        return UnixConnection(self.ready["socket"], timeout)

    def call(self, method, target, body=None, headers=None, connection=None, token=True):
        """Makes one call; by default, on a new connection."""
        own = connection is None
        connection = connection or self.connection()
        fields = dict(headers or {})
        if token and not isinstance(connection, UnixConnection):
            fields.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            fields.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, target, body, {k: v for k, v in fields.items() if v is not None})
            return Answer(connection.getresponse())
        finally:
            if own:
                connection.close()

    def provision(self, connection=None, **members):
        """Provisions an environment, by default in mode mock."""
        return self.call("POST", "/v1/environments", dict({"mode": "mock"}, **members), connection=connection)

    def end(self, id, connection=None):
        return self.call("DELETE", f"/v1/environments/{id}", connection=connection)

    # Resources

    def figures(self):
        """Anonymous memory in bytes, open descriptors, threads."""
        folder = pathlib.Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        return {
            "memory": int(status["RssAnon"].split()[0]) * 1024,
            "descriptors": len(os.listdir(folder / "fd")),
            "threads": int(status["Threads"]),
        }

    def descriptors(self):
        """The open descriptors, for messages: paths of files and states of sockets."""
        states = {}
        for table in ("tcp", "unix"):
            for line in pathlib.Path(f"/proc/{self.process.pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                states[fields[9] if table == "tcp" else fields[6]] = f"{table} {' '.join(fields[1:4]) if table == 'tcp' else fields[7:]}"
        seen = []
        for number in sorted(os.listdir(f"/proc/{self.process.pid}/fd"), key=int):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{self.process.pid}/fd/{number}")
                seen.append(f"{number} {states.get(target[8:-1], target)}")
        return seen


def settled(read, patience=20):
    """Returns the value of `read` once it has stopped changing."""
    seen, since, until = read(), time.monotonic(), time.monotonic() + patience
    while time.monotonic() < until and time.monotonic() - since < 1:
        time.sleep(0.1)
        now = read()
        if now != seen:
            seen, since = now, time.monotonic()
    return seen
