"""A full disk under the daemon's state folder: changes are refused with an explanation, acknowledged changes are kept, and
everything works again once there is space."""

import base64
import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import time

import daemon
import support

SECRET = "hush-hush-of-the-full-disk"
FORMS = [SECRET.encode(), base64.b64encode(SECRET.encode())]


class SmallDisk:
    """A 1 MiB file system, if mounting is allowed."""

    name = "a full disk"

    def __init__(self, place):
        self.place = place

    def fill(self, _):
        with open(self.place / "ballast", "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))

    def make_room(self, _):
        (self.place / "ballast").unlink()


class SmallFiles:
    """A daemon with a limit on file sizes: writes fail with EFBIG instead of ENOSPC."""

    name = "a limit on file sizes"

    def __init__(self, place):
        self.place = place
        # A child inherits the ignored signal.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill(self, pid):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))

    def make_room(self, pid):
        # The limit of a killed daemon is gone with it.
        if pid:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextlib.contextmanager
def disks(folder):
    """All available ways to make the disk full."""
    place = folder / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    mounted = os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0
    (folder / "limited").mkdir()
    try:
        yield ([SmallDisk(place)] if mounted else []) + [SmallFiles(folder / "limited")]
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)


def refused(checks, disk, what, answer):
    checks.that(answer.status == 507, f"{disk.name}: {what} is answered 507", answer)
    checks.that(
        answer.headers.get_content_type() == "application/problem+json" and str(disk.place) in (answer.json or {}).get("detail", ""),
        f"{disk.name}: {what}: the problem document names the folder", answer,
    )


class Trial:
    """Compares the acknowledged state with the stored state."""

    def __init__(self, checks, disk, host):
        self.checks, self.disk, self.host = checks, disk, host
        self.clock = {"kind": "frozen", "start": "2026-01-02T03:04:05Z"}
        secret = [{"service": "s", "account": "a", "text": SECRET}]
        made = host.provision(clock=self.clock, toggles={"a": 1}, credentials=secret)
        checks.that(made.status == 201, f"{disk.name}: an environment is provisioned", made)
        self.id, self.path = made.json["id"], f"/v1/environments/{made.json['id']}"
        self.known, self.port = {"a": 1}, made.json["port"]
        self.leased = {host.call("POST", "/v1/ports", {}).json["ports"][0]["port"]}

    def refused(self, what, answer):
        """Small changes may still fit on a full disk; then they are acknowledged."""
        if isinstance(self.disk, SmallDisk) and answer.status in (200, 201, 204):
            return False
        refused(self.checks, self.disk, what, answer)
        return True

    def change(self, name):
        if not self.refused("a change", self.host.call("PATCH", self.path, {"toggles": {name: 1}})):
            self.known[name] = 1

    def lease(self):
        answer = self.host.call("POST", "/v1/ports", {})
        if not self.refused("a lease", answer):
            self.leased.add(answer.json["ports"][0]["port"])

    def release(self):
        port = min(self.leased)
        if not self.refused("a release", self.host.call("DELETE", f"/v1/ports/{port}")):
            self.leased.remove(port)

    def work(self):
        for number in range(5):
            self.change(f"t{number}")
            self.lease()
            self.release()
        large = self.host.call("PATCH", self.path, {"values": {"large": "x" * 400_000}})
        refused(self.checks, self.disk, "a change that doesn't fit", large)

    def holds(self, when):
        shown = self.host.call("GET", self.path).json
        toggles = shown["contract"]["document"]["toggles"]
        held = {lease["port"] for lease in self.host.call("GET", "/v1/ports").json["ports"]}
        self.checks.that(toggles == self.known, f"{self.disk.name}: {when} the toggles are exactly the acknowledged ones", (toggles, self.known))
        self.checks.that(held == self.leased | {self.port}, f"{self.disk.name}: {when} the leased ports are exactly the acknowledged ones", (held, self.leased))


def trial(checks, disk):
    with daemon.Daemon(disk.place, ports=100) as host:
        kept = lambda: [file.name for file in host.state.iterdir() if file.is_file() and any(form in file.read_bytes() for form in FORMS)]
        trial = Trial(checks, disk, host)
        answer = host.call("PATCH", trial.path, {"toggles": {"before": 1}})
        checks.that(answer.status == 200, f"{disk.name}: a change is acknowledged while there is space", answer)
        trial.known["before"] = 1
        disk.fill(host.process.pid)
        trial.work()
        trial.holds("while it is full")
        host.kill()
        disk.make_room(None)
        host.start()
        trial.holds("after a kill")
        disk.fill(host.process.pid)
        checks.that(kept(), f"{disk.name}: the store contains the secret of a running environment")
        checks.that(host.end(trial.id).status == 200, f"{disk.name}: an environment can be ended")
        disk.make_room(host.process.pid)
        moved = host.provision(clock=trial.clock)
        answer = host.call("POST", f"/v1/environments/{moved.json['id']}/clock", {"advance": 90})
        checks.that(answer.status == 200 and answer.json["now"] == "2026-01-02T03:05:35Z", f"{disk.name}: with space, changes are acknowledged again", answer)
        # The heartbeat retries the removal.
        until = time.monotonic() + 30
        while kept() and time.monotonic() < until:
            time.sleep(0.1)
        checks.that(not kept(), f"{disk.name}: the store contains no secret of an ended environment", kept())
        host.kill()
        host.start()
        listed = [each["id"] for each in host.call("GET", "/v1/environments").json["environments"]]
        checks.that(listed == [moved.json["id"]], f"{disk.name}: an ended environment is not restored", (trial.id, moved.json["id"], listed))
        checks.that(host.stop() == 0, f"{disk.name}: the daemon stops regularly", host.said()[-1000:])


def main():
    checks = support.Checks("daemon_disk")
    with support.folder() as folder, disks(pathlib.Path(folder)) as all_disks:
        for disk in all_disks:
            trial(checks, disk)
        if not any(isinstance(disk, SmallDisk) for disk in all_disks):
            checks.say("cannot mount a file system: tested only with a limit on file sizes")
    checks.end()


main()
