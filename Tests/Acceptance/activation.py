"""Tests the systemd units: checks them with systemd-analyze, and starts `diorama serve` by systemd-socket-activate as the
units do: on the first call, after a stop, and after a kill."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

import daemon
import support

TOOLS = ["systemd-analyze", "systemd-socket-activate"]


def verify(checks, folder):
    """Checks the units in Config, with the command's path replaced."""
    place = folder / "units"
    place.mkdir(mode=0o700)
    for name in ("diorama.service", "diorama.socket"):
        text = (support.ROOT / "Config" / name).read_text()
        (place / name).write_text(text.replace("/usr/local/bin/diorama", support.binary("diorama")))
    variables = dict(support.environment(), XDG_RUNTIME_DIR=str(place), HOME=str(place))
    words = ["systemd-analyze", "verify", "--user", "--man=no", place / "diorama.socket", place / "diorama.service"]
    said = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=support.PATIENCE)
    checks.that(said.returncode == 0 and not said.stderr.strip(), "systemd-analyze accepts the units", said.stderr)


def command():
    """The command line of the unit."""
    service = (support.ROOT / "Config/diorama.service").read_text()
    return re.search(r"^ExecStart=\S+ (.*)$", service, re.M).group(1).split()


class Activator:
    """Holds the daemon's sockets, and executes the daemon on the first connection."""

    def __init__(self, state, ports, tcp=None):
        words = ["systemd-socket-activate", "-l", str(state / "control.sock")]
        if tcp:
            words += ["-l", f"127.0.0.1:{tcp}"]
        words += ["-E", "LD_LIBRARY_PATH", support.binary("diorama")]
        words += [word.replace("%t/diorama", str(state)) for word in command()]
        words += ["--portserver-address", "", "--ports", "{}-{}".format(*ports)]
        variables = dict(support.environment(), LD_LIBRARY_PATH=os.environ.get("LD_LIBRARY_PATH", ""))
        self.process = subprocess.Popen(
            words, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if self.said.count("Listening on") == (2 if tcp else 1):
                break
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.said += line

    def wait(self):
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()


def call(state, *words):
    return support.diorama(*words, "--state", state)


def lives(checks, folder, tcp):
    title = "with a TCP socket" if tcp else "as in the units"
    state = folder / ("both" if tcp else "state")
    state.mkdir(mode=0o700)
    ports = daemon.own_ports(200)
    control = lambda: json.loads((state / "control.json").read_text())
    with Activator(state, ports, tcp) as activator:
        made = call(state, "env", "create", "--mode", "mock", "--json")
        if not checks.that(made.returncode == 0, f"{title}: the first call starts the daemon and is answered", made.stderr + activator.said):
            return
        environment = json.loads(made.stdout)
        status = json.loads(call(state, "serve", "--status", "--json").stdout)
        checks.that(status["pid"] == activator.process.pid, f"{title}: the answering daemon is the started one", status)
        if tcp:
            checks.that(control()["control"] == f"http://127.0.0.1:{tcp}", "the control port is the inherited one", control()["control"])
        # Simulates a crash: the next call starts the daemon again, with its state.
        activator.process.kill()
        activator.wait()
    with Activator(state, ports, tcp) as activator:
        shown = call(state, "env", "show", environment["id"], "--json")
        checks.that(shown.returncode == 0 and json.loads(shown.stdout)["port"] == environment["port"], f"{title}: after a kill, the daemon starts again with its state", shown.stderr)
        before = control()
        stopped = call(state, "serve", "--stop")
        checks.that(stopped.returncode == 0 and activator.wait() == 0, f"{title}: the daemon stops regularly", stopped.stderr + activator.said[-1000:])
    checks.that(control() == before, f"{title}: the control file stays")
    checks.that((state / "control.sock").is_socket(), f"{title}: the inherited socket stays")
    nobody = call(state, "port", "list")
    checks.that(nobody.returncode == 69 and len(nobody.stderr.splitlines()) == 1, f"{title}: a socket without a daemon is reported in one line", nobody.stderr)
    with Activator(state, ports, tcp) as activator:
        listed = call(state, "port", "list", "--json")
        checks.that(listed.returncode == 0 and json.loads(listed.stdout) == {"ports": []}, f"{title}: a client of the control file starts the daemon and is answered", listed.stderr + activator.said)
        checks.that(control()["token"] == before["token"] and control()["pid"] == activator.process.pid, f"{title}: the token is still valid")
        activator.process.send_signal(signal.SIGTERM)
        checks.that(activator.wait() == 0, f"{title}: SIGTERM stops it regularly", activator.said[-1000:])


def main():
    checks = support.Checks("activation")
    if not sys.platform.startswith("linux"):
        checks.that(True, "systemd requires Linux")
        checks.say("not Linux: systemd was not tested")
        checks.end()
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if not checks.that(not missing, f"{' and '.join(missing)} installed: run Config/bootstrap test"):
        checks.end()
    with support.folder() as folder:
        verify(checks, pathlib.Path(folder))
        lives(checks, pathlib.Path(folder), None)
        lives(checks, pathlib.Path(folder), daemon.own_ports(1)[0])
    checks.end()


main()
