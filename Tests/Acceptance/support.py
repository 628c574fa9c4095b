"""Shared by the acceptance scripts: the command, servers to record from, and a list of checks."""

import base64
import contextlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A background job of a shell ignores them, and so would all programs that it starts.
for number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 120  # seconds after which a command counts as hanging


def binary(name):
    """The path of a built command: DIORAMA_BIN names diorama; the clinic's commands are beside it."""
    diorama = pathlib.Path(os.environ.get("DIORAMA_BIN", ROOT / ".build/debug/diorama")).absolute()
    path = diorama if name == "diorama" else diorama.parent / name
    if not os.access(path, os.X_OK):
        sys.exit(f"{path} is missing; run `swift build` first, or set DIORAMA_BIN")
    return str(path)


def python(name):
    """The Python of a virtual environment in .build."""
    path = ROOT / ".build" / name / "bin/python"
    if not os.access(path, os.X_OK):
        sys.exit(f"{path} is missing; run `Config/venv {name}` first")
    return str(path)


def environment():
    """This process's variables, except those that would affect tests: proxies, contracts, CI."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy") and not name.startswith("DIORAMA_") and name != "CI"
    }


def arguments(mode, cassette, command, upstreams=(), options=()):
    """The command line of a `diorama run`."""
    words = [binary("diorama"), "run", "--mode", mode, "--cassette", str(cassette)]
    for name, url in dict(upstreams).items():
        words += ["--upstream", f"{name}={url}"]
    return words + [str(option) for option in options] + ["--"] + [str(word) for word in command]


def diorama(*words, **more):
    """Runs `diorama WORDS…` to its end. The result has its stdout and stderr."""
    return finish([binary("diorama"), *map(str, words)], **more)


def finish(words, **more):
    return subprocess.run(
        words, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, **more
    )


class Run:
    """A completed `diorama run` with its report."""

    def __init__(self, mode, cassette, command, upstreams=(), options=(), prefix=(), **more):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report.json"
            started = time.monotonic()
            words = arguments(mode, cassette, command, upstreams, [*options, "--report", report])
            ended = finish([*prefix, *words], **more)
            self.seconds = time.monotonic() - started
            self.status, self.output, self.words = ended.returncode, ended.stdout, ended.stderr
            self.report = json.loads(report.read_text()) if report.exists() else None

    def __str__(self):
        missed = [f"{miss['method']} {miss['url']}" for miss in (self.report or {}).get("unmatched", [])]
        return f"status {self.status}, unmatched: {missed[:5]}; it said: {self.output.strip()} {self.words.strip()}"


class Checks:
    """Counts checks, prints failures, and ends the script with the result."""

    def __init__(self, title):
        self.title, self.held, self.broken, self.started = title, 0, 0, time.monotonic()

    def that(self, holds, what, seen=""):
        """Checks a condition. `what` describes it; `seen` is printed if it fails."""
        if holds:
            self.held += 1
        else:
            self.broken += 1
            seen = str(seen)
            print(f"  BROKEN: {what}" + (f"\n    seen: {seen[:1500]}" if seen else ""), flush=True)
        return bool(holds)

    def say(self, line):
        print(f"  {line}", flush=True)

    def end(self):
        seconds = time.monotonic() - self.started
        verdict = "all held" if not self.broken else f"{self.broken} BROKEN"
        print(f"{self.title}: {self.held + self.broken} checks, {verdict}, {seconds:.0f} s", flush=True)
        sys.exit(1 if self.broken or not self.held else 0)


@contextlib.contextmanager
def folder():
    """A temporary folder. SIGTERM counts as a regular end, so that the folder is removed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="diorama-acceptance-") as path:
        yield pathlib.Path(path)


class Program:
    """A server program that prints `listening on URL`."""

    def __init__(self, words, says="listening on "):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            words, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        self.url = None
        for line in self.process.stdout:
            if says in line:
                self.url = self.address(line, says)
                break
        if self.url is None:
            self.stop()
            self.log.seek(0)
            sys.exit(f"{words[0]} did not start: {self.log.read().decode(errors='replace')}")
        if "://" not in self.url:  # an address, or a port alone
            self.url = f"http://127.0.0.1:{self.url.rsplit(':', 1)[-1]}"
        # Drains the output, since a full pipe would block the server.
        threading.Thread(target=lambda: [None for _ in self.process.stdout], daemon=True).start()
        self.host, self.port = self.url.rsplit("/", 1)[1].split(":")
        self.port = int(self.port)

    def address(self, line, says):
        """The URL, address or port in the line that reports it."""
        return line.split(says, 1)[1].split()[0].rstrip("/.,")

    def stop(self):
        """Stops the server and waits for its end."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Mock(Program):
    """A `diorama mock` on a free port."""

    def __init__(self, root, *options):
        super().__init__([binary("diorama"), "mock", "--port", "0", "--allowed-host", "*", "--root-dir", str(root), *map(str, options)], says='"port":')

    def address(self, line, says):
        return json.loads(line)["url"]


def wiremock_jar():
    """WireMock's standalone server, from the Python package."""
    return next(pathlib.Path(python("importers")).parents[1].rglob("wiremock*.jar"))


def free_port():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        return other.getsockname()[1]


def httpbin():
    return Program([str(ROOT / "Config/httpbin"), "serve"])


class Clients:
    """The runners of tests in other languages, with our packages installed below a folder, and our command in PATH."""

    def __init__(self, folder):
        self.home, self.site, wheels = folder / "state", folder / "site", folder / "wheels"
        subprocess.run([ROOT / "Config/venv", "pytest"], check=True)
        # A copy, because setuptools builds in the sources.
        shutil.copytree(ROOT / "Sources/Clients/python", folder / "python")
        build = ["-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, folder / "python"]
        install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", self.site]
        for words in (build, [*install, "--find-links", wheels, "pytest-diorama"]):
            ended = finish([python("pytest"), *map(str, words)])
            if ended.returncode != 0:
                sys.exit(f"pytest-diorama is not installed: {ended.stdout}{ended.stderr}")

    def run(self, words, folder, **variables):
        """Runs a program in a folder; variables go to its environment."""
        path = f"{pathlib.Path(binary('diorama')).parent}:{os.environ['PATH']}"
        all_variables = {**environment(), "DIORAMA_HOME": str(self.home), "PYTHONPATH": str(self.site), "PATH": path, **variables}
        return subprocess.run(
            [str(word) for word in words], env=all_variables, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", timeout=PATIENCE)

    def pytest(self, folder, *words, **variables):
        # pyc files hold absolute paths, and would be files of the project.
        words = [python("pytest"), "-B", "-m", "pytest", "-p", "no:cacheprovider", "--color=no", *words]
        return self.run(words, folder, **variables)

    def node(self, folder, *words, **variables):
        """Runs node; `import … from "diorama"` finds our package."""
        modules = folder / "node_modules"
        modules.mkdir(exist_ok=True)
        if not (modules / "diorama").exists():
            (modules / "diorama").symlink_to(ROOT / "Sources/Clients/node")
        return self.run(["node", *words], folder, **variables)


class Upstream:
    """An in-process server: `answer(handler, body)` returns status, headers and body."""

    def __init__(self, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, headers, content = answer(self, body)
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                chunked = ("Transfer-Encoding", "chunked") in headers
                if not chunked:
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                for start in range(0, len(content), 5000) if chunked else ():
                    part = content[start : start + 5000]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.write(b"0\r\n\r\n" if chunked else content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # a killed app leaves connections behind

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Watch:
    """Listens on an upstream's former port and counts connections."""

    def __init__(self, port):
        self.count = 0
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", port))
        self.socket.listen(128)
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            first = connection.recv(7)
            connection.close()
            if first == b"the end":
                return
            self.count += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Connects last: all earlier connections have been counted.
        with socket.create_connection(self.socket.getsockname()) as last:
            last.sendall(b"the end")
            self.thread.join()
        self.socket.close()


def har(cassette):
    """The entries of a cassette, given by its path without the extension. The format is public, so they are read directly.
    """
    return json.loads(pathlib.Path(f"{cassette}.har").read_text(encoding="utf-8"))["log"]["entries"]


def content(cassette, entry):
    """The bytes of a recorded response body."""
    body = entry["response"]["content"]
    if "_file" in body:
        name = pathlib.PurePath(body["_file"]).name
        return pathlib.Path(f"{cassette}.bodies", name).read_bytes()
    text = body.get("text", "")
    return base64.b64decode(text) if body.get("encoding") == "base64" else text.encode()


def snapshot(path):
    """The bytes of all files below a folder, to detect changes."""
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("*")) if f.is_file()}
