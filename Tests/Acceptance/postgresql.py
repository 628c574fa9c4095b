"""PostgreSQL and pgbouncer of the acceptance scripts' own, in a temporary folder, without root."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import support


def programs():
    versions = [path for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    if not versions:
        sys.exit("PostgreSQL is missing; install it with: apt-get install postgresql")
    return max(versions, key=lambda path: int(path.parent.name))


def unprivileged():
    """Words before a command that refuses to run as root."""
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []


def run(words, **more):
    done = subprocess.run(
        [str(word) for word in words], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=support.PATIENCE, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stdout[-1000:]}")
    return done.stdout


class Server:
    """A PostgreSQL server, by default on a Unix socket alone. As a context manager, it is removed at the end."""

    def __init__(self, address=None):
        # A Unix socket's path has at most 107 bytes.
        self.folder = tempfile.mkdtemp(prefix="diorama-pg-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        if os.geteuid() == 0:
            run(["chown", "nobody", self.folder])
        self.data, self.bin = f"{self.folder}/data", programs()
        self.address = address or ""
        self.user = unprivileged()
        run([*self.user, self.bin / "initdb", "-D", self.data, "-A", "trust", "-U", "diorama", "--no-sync", "-E", "UTF8",
             "--locale", "C"])
        with open(f"{self.data}/pg_hba.conf", "a") as file:
            file.write("host all all 10.0.0.0/8 trust\n")
        self.start()
        run([self.bin / "createdb", "-h", self.folder, "-U", "diorama", "fleet"])

    def start(self):
        options = f"-k {self.folder} -c listen_addresses={self.address} -c unix_socket_permissions=0777 -c max_connections=300"
        # What the server inherits stays open: no pipes.
        done = subprocess.run(
            [*self.user, self.bin / "pg_ctl", "-D", self.data, "-w", "-t", "120", "-l", f"{self.folder}/log", "-o", options,
             "start"], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode:
            raise SystemExit("PostgreSQL did not start: " + pathlib.Path(f"{self.folder}/log").read_text()[-1000:])

    def stop(self, mode="fast"):
        """`immediate` is what a crash does."""
        subprocess.run([*self.user, self.bin / "pg_ctl", "-D", self.data, "-w", "-m", mode, "stop"], cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        """Kills the server's main process with SIGKILL."""
        pid = int(pathlib.Path(f"{self.data}/postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        while pathlib.Path(f"/proc/{pid}").exists():
            time.sleep(0.01)

    def url(self, database="fleet"):
        return f"host={self.folder} user=diorama dbname={database}"

    def query(self, text, database="fleet"):
        """The rows as lists of texts."""
        done = subprocess.run(
            [self.bin / "psql", "-h", self.folder, "-U", "diorama", "-d", database, "-AtX", "-F", "\t", "-c", text],
            capture_output=True, text=True, timeout=support.PATIENCE)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)


class Pooler:
    """pgbouncer in transaction mode before a server."""

    def __init__(self, server):
        if not shutil.which("pgbouncer"):
            sys.exit("pgbouncer is missing; install it with: apt-get install pgbouncer")
        self.folder = tempfile.mkdtemp(prefix="diorama-pb-", dir="/tmp")
        os.chmod(self.folder, 0o777)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        pathlib.Path(f"{self.folder}/users.txt").write_text('"diorama" ""\n')
        pathlib.Path(f"{self.folder}/pgbouncer.ini").write_text(
            f"[databases]\n* = host={server.folder} user=diorama\n[pgbouncer]\npool_mode = transaction\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = any\n"
            f"auth_file = {self.folder}/users.txt\nmax_client_conn = 500\ndefault_pool_size = 4\n"
            f"server_login_retry = 1\nlogfile = {self.folder}/log\npidfile = {self.folder}/pid\n")
        self.words = [*unprivileged(), "pgbouncer", "-q", f"{self.folder}/pgbouncer.ini"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise SystemExit("pgbouncer did not start")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def url(self, database="fleet"):
        return f"host=127.0.0.1 port={self.port} user=diorama dbname={database}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


if __name__ == "__main__":
    # For the benchmarks: a server until standard input ends.
    with Server() as own:
        print("store", own.url(), flush=True)
        sys.stdin.read()
