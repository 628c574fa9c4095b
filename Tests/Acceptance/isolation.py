"""`diorama run --isolate` with real programs, whose URLs cannot be changed: recorded from servers of this script under
their usual https names, and replayed without them. What leaves the network of a command is watched from outside.

    isolation.py [--soak] [SECTION…]     --soak runs everything, and prints figures; SECTIONs: these alone

Where the kernel does not permit namespaces, the clients that use a proxy are tested with --isolate=proxy. The section
`supervision` tests --isolate=seccomp, which needs no namespaces.
"""

import argparse
import base64
import concurrent.futures
import contextlib
import copy
import errno
import gzip
import hashlib
import http.server
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import urllib.request
import zipfile

import support

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PYTHON = shutil.which("python3", path=PATH) or sys.executable
UNPRIVILEGED = 65534
HERE = pathlib.Path(__file__).parent / "IsolationClients"
API = "https://api.example.com"
# The variable by which this run's processes are found.
MARK = ("ISOLATION_TEST", str(os.getpid()))


# The servers


class Server(http.server.ThreadingHTTPServer):
    """An HTTP server in this process. `answer(handler, body)` returns status, headers and body, or None if it has answered."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer, address="127.0.0.1", port=0):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                self.server.count += 1
                if self.headers.get("Transfer-Encoding") == "chunked":
                    body = b""
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                reply = answer(self, body)
                if reply is None:
                    return
                status, headers, content = reply
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                if status not in (204, 304):
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_HEAD = handle_any

            def log_message(self, *_):
                pass

        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), Handler)
        self.count, self.port = 0, self.server_address[1]
        self.url = f"http://[{address}]:{self.port}" if ":" in address else f"http://{address}:{self.port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def answer(handler, body):
    """The usual answers. Each has the number of its request, so that no two are equal."""
    path, number = handler.path.partition("?")[0], handler.server.count
    if path == "/page":
        return 200, [("Content-Type", "text/html")], b"<link rel=icon href=data:,><title>Page</title><script src=/script></script>"
    if path == "/script":
        return 200, [("Content-Type", "text/javascript")], b"document.title = 'Script %d'" % number
    if path == "/redirect":
        return 302, [("Location", f"{API}/redirected")], b""
    if path == "/gzip":
        return 200, [("Content-Encoding", "gzip"), ("Content-Type", "text/plain")], gzip.compress(b"compressed %d\n" % number)
    if path in ("/204", "/304"):
        return int(path[1:]), [("ETag", '"1"')], b""
    if path == "/large":
        handler.send_response(200)
        handler.send_header("Content-Length", str(100 << 20))
        handler.end_headers()
        for part in range(100):
            handler.wfile.write(bytes([part]) * (1 << 20))
        return None
    content = {"path": handler.path, "host": handler.headers.get("Host"), "number": number, "sent": hashlib.sha1(body).hexdigest()}
    return 200, [("Content-Type", "application/json")], json.dumps(content).encode() + b"\n"


def git_backend(folder):
    """Answers with the repositories of a folder, by git's own program (git-http-backend(1))."""

    def answer(handler, body):
        path, _, query = handler.path.partition("?")
        # github.com's paths.
        path = path.replace("/example/", "/", 1)
        variables = {
            "PATH": PATH, "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": handler.command, "PATH_INFO": path,
            "QUERY_STRING": query, "CONTENT_TYPE": handler.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
        }
        ended = subprocess.run(["git", "http-backend"], env=variables, input=body, capture_output=True)
        head, _, content = ended.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n")]
        status = int(dict(headers).get("Status", "200").split()[0])
        return status, [each for each in headers if each[0] != "Status"], content

    return answer


def repository(folder):
    git = lambda *words: subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words], cwd=folder, check=True,
        env={"PATH": PATH, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"})
    git("init", "-q", "work")
    (folder / "work/file").write_text("of the repository\n" * 100)
    git("-C", "work", "add", "file")
    git("-C", "work", "commit", "-q", "-m", "One")
    git("clone", "-q", "--bare", "work", "repository.git")


def python_index(folder):
    """A package index (PEP 503) with one wheel."""
    name = "tiny_example-1.0-py3-none-any.whl"
    files = {
        "tiny_example.py": "WORD = 'from the wheel'\n",
        "tiny_example-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-example\nVersion: 1.0\n",
        "tiny_example-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files["tiny_example-1.0.dist-info/RECORD"] = "".join(f"{each},,\n" for each in [*files, "tiny_example-1.0.dist-info/RECORD"])
    with zipfile.ZipFile(folder / name, "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    wheel = (folder / name).read_bytes()

    def answer(handler, _):
        if handler.path == "/simple/tiny-example/":
            link = f'<!DOCTYPE html><a href="/files/{name}#sha256={hashlib.sha256(wheel).hexdigest()}">{name}</a>'
            return 200, [("Content-Type", "text/html")], link.encode()
        if handler.path == f"/files/{name}":
            return 200, [("Content-Type", "application/zip")], wheel
        return 404, [], b""

    return answer


def node_registry(folder):
    """A package registry with one package, as npm's clients ask it."""
    (folder / "package").mkdir()
    (folder / "package/package.json").write_text('{"name": "tiny-example", "version": "1.0.0", "main": "index.js"}')
    (folder / "package/index.js").write_text('module.exports = "from the package";\n')
    with tarfile.open(folder / "tiny-example-1.0.0.tgz", "w:gz") as archive:
        archive.add(folder / "package", "package")
    archive = (folder / "tiny-example-1.0.0.tgz").read_bytes()
    dist = {
        "tarball": "https://registry.npmjs.org/tiny-example/-/tiny-example-1.0.0.tgz", "shasum": hashlib.sha1(archive).hexdigest(),
        "integrity": "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode(),
    }
    version = {"name": "tiny-example", "version": "1.0.0", "main": "index.js", "dist": dist}
    document = json.dumps({"name": "tiny-example", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}).encode()

    def answer(handler, _):
        if handler.path == "/tiny-example":
            return 200, [("Content-Type", "application/json")], document
        if handler.path.endswith(".tgz"):
            return 200, [("Content-Type", "application/octet-stream")], archive
        return 404, [], b"{}"

    return answer


class Words(socket.socket):
    """A TCP server that is not HTTP: sends a line, then what it receives, and counts connections."""

    def __init__(self, address, banner):
        super().__init__()
        self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.bind((address, 0))
        self.listen()
        self.port, self.count, self.banner = self.getsockname()[1], 0, banner
        threading.Thread(target=self.accept_all, daemon=True).start()

    def accept_all(self):
        with contextlib.suppress(OSError):
            while True:
                other, _ = self.accept()
                self.count += 1
                with other:
                    other.sendall(self.banner)
                    while part := other.recv(100):
                        other.sendall(part)


def host_address():
    """An address of this machine that is not of the loopback interface; None without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        try:
            # Sends nothing: it chooses the address from which it would send.
            other.connect(("192.0.2.1", 9))
            return other.getsockname()[0]
        except OSError:
            return None


# Isolated runs


class Ended:
    """A completed `diorama run`."""

    def __init__(self, status, output, words, report, seconds):
        self.status, self.output, self.words, self.report, self.seconds = status, output, words, report, seconds

    @property
    def misses(self):
        return len(self.report["unmatched"]) if self.report else None

    @property
    def failures(self):
        return "\n".join(self.report["failures"]) if self.report else ""

    def __str__(self):
        return f"status {self.status}, misses {self.misses}, report: {self.report and self.report['failures']}; it said: {self.output} {self.words}"


class User:
    """Runs diorama as a user, in folders of its own."""

    def __init__(self, folder, diorama, site, number=None, kind="namespaces"):
        self.name = "root" if os.geteuid() == 0 and number is None else f"user {os.geteuid() if number is None else number}"
        self.folder, self.diorama, self.kind, self.number = folder / self.name.replace(" ", "-"), diorama, kind, number
        self.home, self.temporary = self.folder / "home", self.folder / "tmp"
        for path in (self.folder, self.home, self.temporary):
            path.mkdir()
            if number is not None:
                os.chown(path, number, number)
        self.is_supervisable = False
        self.options = {} if number is None else {"user": number, "group": number, "extra_groups": []}
        self.variables = {
            "PATH": PATH, "HOME": str(self.home), "TMPDIR": str(self.temporary), "PYTHONPATH": str(site), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_SYSTEM": "/dev/null", MARK[0]: MARK[1],
        }

    def words(self, mode, cassette, command, options, kind=None):
        words = [self.diorama, "run", "--no-config", "--mode", mode, "--cassette", self.folder / cassette, f"--isolate={kind or self.kind}", *options, "--", *command]
        return [str(word) for word in words]

    def start(self, words, variables={}, **more):
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": self.folder, "text": True, **self.options, **more}
        return subprocess.Popen([str(word) for word in words], env={**self.variables, **variables}, **more)

    def run(self, mode, cassette, command, *options, kind=None, prefix=(), variables={}, copy=0, input=None):
        report = self.folder / f"{cassette}.{copy}.{mode}.report.json"
        report.unlink(missing_ok=True)
        if isinstance(command, str):
            command = ["sh", "-c", command]
        began = time.monotonic()
        process = self.start([*prefix, *self.words(mode, cassette, command, ["--report", report, *options], kind)], variables)
        try:
            output, words = process.communicate(timeout=support.PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            output, words = process.communicate()
            words += f"\nkilled by the script after {support.PATIENCE} s"
        content = json.loads(report.read_text()) if report.exists() else None
        return Ended(process.returncode, output, words, content, time.monotonic() - began)


def marked():
    """This run's processes other than the script, with their command lines."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(path.name) != os.getpid() and "=".join(MARK).encode() in (path / "environ").read_bytes().split(b"\0"):
                found[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    return found


def inside(namespaces):
    """The processes in any of these namespaces, with their start times."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            start = (path / "stat").read_text().rpartition(")")[2].split()[19]
            if {str(os.stat(path / "ns" / kind).st_ino) for kind in ("net", "mnt", "pid")} & set(namespaces):
                found.add((path.name, start))
    return found


def soon(condition, seconds=20):
    """Whether a condition that no event reports holds in time."""
    deadline = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return result


def nothing_left(checks, user, title, namespaces=(), before=frozenset()):
    """Processes, mounts, links and temporary files. `before` is what was in the namespaces, whose numbers the kernel reuses."""
    soon(lambda: not marked(), 10)
    checks.that(not marked(), f"{title}: no process is left", marked())
    if namespaces:
        left = inside(namespaces) & before
        checks.that(not left, f"{title}: no process is in its namespaces", left)
    mounts = pathlib.Path("/proc/self/mountinfo").read_text()
    checks.that(str(user.folder) not in mounts, f"{title}: no mount is left", mounts)
    links = [line for line in pathlib.Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("dio")]
    checks.that(not links, f"{title}: no network link is left", links)
    left = os.listdir(user.temporary)
    checks.that(not left, f"{title}: no file is left in the temporary folder", left)
    for name in left:
        shutil.rmtree(user.temporary / name, ignore_errors=True)


# The real clients


def build_clients(folder):
    """Compiles the clients that need it. Returns the commands by their names."""
    clients = {}
    go = support.environment() | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}
    subprocess.run(["go", "build", "-o", folder / "go-client", HERE / "client.go"], env=go, check=True)
    clients["static Go"] = [folder / "go-client", API]
    subprocess.run(["javac", "-d", folder / "java", HERE / "Client.java"], check=True)
    # Without its file /tmp/hsperfdata_USER/PID: process IDs are the same in all isolated runs.
    clients["Java"] = ["java", "-XX:-UsePerfData", "-cp", folder / "java", "-XX:TieredStopAtLevel=1", "Client", API]
    if swift := shutil.which("swiftc"):
        subprocess.run([swift, "-O", "-o", folder / "swift-client", HERE / "client.swift"], check=True)
        clients["Swift's URLSession"] = [folder / "swift-client", API]
    return clients


def clients(checks, bench, user):
    get_and_post = "{0} '%s/get?client={1}' && {0} {2} '%s/post'" % (API, API)
    commands = {
        "curl": get_and_post.format("curl -sS", "curl", "-d a=b"),
        "wget": get_and_post.format("wget -q -O -", "wget", "--post-data a=b"),
        "git": 'clone=$(mktemp -d) && git clone -q https://github.com/example/repository.git "$clone/r" && cat "$clone/r/file" && rm -rf "$clone"',
        **{name: [PYTHON, bench.folder / "clients/client.py", name, API] for name in ("urllib", "requests", "httpx", "aiohttp")},
        "Node": ["node", bench.folder / "clients/client.mjs", API],
        "Ruby": ["ruby", bench.folder / "clients/client.rb", API],
    }
    copies = 8 if bench.soak else 2
    if not bench.soak:
        commands = {name: commands[name] for name in ("curl", "git", "urllib", "requests", "Node")}
    else:
        commands |= bench.built
        sandbox = "" if user.name != "root" else "--no-sandbox"
        commands["Chromium"] = (
            f'profile=$(mktemp -d) && chromium --headless=new {sandbox} --disable-gpu --no-first-run --disable-background-networking '
            f'--disable-component-update --disable-sync --user-data-dir="$profile" --dump-dom {API}/page; '
            'status=$?; rm -rf "$profile"; exit $status')
    if user.kind == "seccomp":
        # Nothing is mounted, so these do not trust the certificate.
        commands = {name: command for name, command in commands.items() if name not in ("wget", "Swift's URLSession", "Chromium")}
    if user.kind == "proxy":
        # The others ignore the variables, or do not trust the certificate.
        commands = {name: command for name, command in commands.items() if name in ("curl", "git", "urllib", "requests", "httpx")}
    with Server(answer) as api, Server(git_backend(bench.folder)) as git:
        options = ["--map", f"{API}={api.url}", "--map", f"https://github.com={git.url}"]
        # Chromium looks for updates and accounts.
        options += ["--deny", "*.googleapis.com", "--deny", "*.google.com"]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            recorded = dict(zip(commands, pool.map(lambda name: user.run("record", name, commands[name], *options), commands)))
        for name, run in recorded.items():
            title = f"{user.name}, {user.kind}: {name}"
            entries = len(support.har(user.folder / name)) if run.status == 0 else 0
            good = run.status == 0 and run.output.strip() and entries >= 2 and run.report["isolation"]["kind"] == user.kind
            checks.that(good, f"{title} is recorded", run)
        asked = api.count, git.count
    for name, command in commands.items():
        run, title = recorded[name], f"{user.name}, {user.kind}: {name}"
        with concurrent.futures.ThreadPoolExecutor(copies) as pool:
            replays = list(pool.map(lambda copy: user.run("replay", name, command, *options, copy=copy), range(copies)))
        for replay in replays:
            good = replay.status == 0 and replay.misses == 0 and replay.output == run.output
            if not checks.that(good, f"{title} is replayed, {copies} at once, with the same output", f"{replay}\n recorded: {run.output}"):
                break
        seconds = sorted(replay.seconds for replay in replays)
        checks.say(f"{title}: recorded in {run.seconds:.2f} s, {copies} replays at once in {seconds[-1]:.2f} s")
    checks.that((api.count, git.count) == asked, f"{user.name}: no replay reaches a server")
    nothing_left(checks, user, f"{user.name}, {user.kind}: clients")


# Programs that print the seconds since 1970 for each line that they read.
CLOCKS = {
    "date": ["sh", "-c", "while read -r _; do date +%s; done"],
    "Python": [PYTHON, "-c", "import sys, time\nfor _ in sys.stdin: print(int(time.time()), flush=True)"],
    "Node": ["node", "-e", "require('readline').createInterface({input: process.stdin}).on('line', () => console.log(Math.floor(Date.now() / 1000)))"],
    "Ruby": ["ruby", "-e", "$stdout.sync = true; STDIN.each_line { puts Time.now.to_i }"],
}


def build_clocks(folder):
    """Compiles those of the programs that need it. Returns their commands."""
    go = support.environment() | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}
    subprocess.run(["go", "build", "-o", folder / "go-clock", HERE / "clock.go"], env=go, check=True)
    subprocess.run(["javac", "-d", folder / "java", HERE / "Clock.java"], check=True)
    found = {"static Go": [folder / "go-clock"], "Java": ["java", "-XX:-UsePerfData", "-cp", folder / "java", "Clock"]}
    if swift := shutil.which("swiftc"):
        subprocess.run([swift, "-O", "-o", folder / "swift-clock", HERE / "clock.swift"], check=True)
        found["Swift"] = [folder / "swift-clock"]
    return found


class Clocked:
    """A running program of CLOCKS, with the clock of its replay."""

    def __init__(self, user, command, kind):
        self.report = user.folder / "clock.report.json"
        self.report.unlink(missing_ok=True)
        words = ["sh", "-c", 'echo "$DIORAMA_CONTROL $DIORAMA_TOKEN"; exec "$@"', "sh", *command]
        options = ["--clock", kind, "--start", "2018-10-08T09:00:00Z", "--allow-no-requests", "--report", self.report]
        self.began = time.monotonic()
        self.process = user.start(user.words("replay", "clock", words, options), stdin=subprocess.PIPE)
        self.limit = threading.Timer(support.PATIENCE, self.process.kill)
        self.limit.start()
        self.control, _, self.token = self.process.stdout.readline().strip().partition(" ")

    def now(self):
        """The time that the program prints; None if it has ended."""
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            return int(self.process.stdout.readline() or 0) or None
        except BrokenPipeError:
            return None

    def advance(self, seconds):
        request = urllib.request.Request(f"{self.control}/clock", json.dumps({"advance": seconds}).encode(), {"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=support.PATIENCE) as answer:
            return json.load(answer)

    def end(self):
        """Returns what failed, if anything did."""
        _, words = self.process.communicate()
        self.limit.cancel()
        missing = json.loads(self.report.read_text()).get("isolation", {}).get("missing") if self.report.exists() else "no report"
        return "" if self.process.returncode == 0 and not missing else f"status {self.process.returncode}, {missing}\n{words}"


def clocks(checks, bench, user):
    """The clock of programs that do not use the library: frozen, running from another date, and moved while they run."""
    start, day = 1538989200, 86_400
    with Server(answer) as api:
        user.run("record", "clock", f"curl -sS {API}/get", "--map", f"{API}={api.url}")
    commands = {**CLOCKS, **build_clocks(bench.folder)} if bench.soak else {name: CLOCKS[name] for name in ("date", "Python")}
    for name, command in commands.items():
        for kind in ("frozen", "ticking"):
            program = Clocked(user, command, kind)
            try:
                first, moved, second = program.now(), program.advance(day), program.now()
            except (OSError, ValueError) as error:
                first = second = moved = error
            failure = program.end()
            latest = 0 if kind == "frozen" else time.monotonic() - program.began + 1
            good = not failure and all(isinstance(each, int) and at <= each <= at + latest for each, at in ((first, start), (second, start + day)))
            checks.that(good, f"{user.name}: {name} has the {kind} clock of 2018, and follows its move by a day", (first, moved, second, failure))
    nothing_left(checks, user, f"{user.name}: clocks")


def installs(checks, bench, user):
    """Package managers, each into an empty folder."""
    pip = f'{PYTHON} -m pip --disable-pip-version-check --no-input install --quiet --no-cache-dir --index-url https://pypi.example.org/simple/ --target "$t" tiny-example'
    commands = {
        "pip install": f't=$(mktemp -d) && PIP_CONFIG_FILE=/dev/null {pip} && PYTHONPATH=$t {PYTHON} -c "import tiny_example; print(tiny_example.WORD)" && rm -rf "$t"',
        "npm install": 't=$(mktemp -d) && cd "$t" && npm install --silent --no-audit --no-fund --no-update-notifier --cache "$t/cache" tiny-example >&2 && node -p \'require("tiny-example")\' && rm -rf "$t"',
    }
    with Server(python_index(bench.scratch("pip"))) as pypi, Server(node_registry(bench.scratch("npm"))) as npm:
        options = ["--map", f"https://pypi.example.org={pypi.url}", "--map", f"https://registry.npmjs.org={npm.url}"]
        recorded = {name: user.run("record", name, command, *options) for name, command in commands.items()}
    for name, run in recorded.items():
        checks.that(run.status == 0 and run.output.startswith("from the "), f"{user.name}: {name} is recorded", run)
        replay = user.run("replay", name, commands[name], *options)
        checks.that(replay.status == 0 and replay.misses == 0 and replay.output == run.output, f"{user.name}: {name} is replayed", replay)
    nothing_left(checks, user, f"{user.name}: installs")


# What leaves


class Outside:
    """Listens on ports of all addresses of this machine, and, for root, sees all packets to a network for documentation."""

    def __init__(self, ports):
        self.seen, self.sockets = [], []
        for port in ports:
            for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    try:
                        other = socket.socket(family, kind)
                        self.sockets.append(other)
                        if family == socket.AF_INET6:
                            other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                        if kind == socket.SOCK_STREAM:
                            # Connections of an earlier run may wait for their end (TIME_WAIT).
                            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                        other.bind((address, port))
                    except OSError:
                        continue  # in use, or no IPv6; the packet socket sees it
                    if kind == socket.SOCK_STREAM:
                        other.listen(128)
                    threading.Thread(target=self.watch, args=(other, kind, port), daemon=True).start()
        if os.geteuid() == 0:
            other = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))  # ETH_P_ALL
            self.sockets.append(other)
            threading.Thread(target=self.packets, args=(other,), daemon=True).start()

    def watch(self, listener, kind, port):
        with contextlib.suppress(OSError):
            while True:
                if kind == socket.SOCK_STREAM:
                    other, peer = listener.accept()
                    with other:
                        other.settimeout(5)
                        with contextlib.suppress(OSError):
                            self.seen.append((other.recv(100).decode(errors="replace").strip(), "TCP", port, peer[0]))
                else:
                    content, peer = listener.recvfrom(1000)
                    if peer is None:
                        return  # shut down
                    self.seen.append((content.decode(errors="replace").strip(), "UDP", port, peer[0]))

    def packets(self, other):
        # Destination addresses in IPv4 and IPv6 headers.
        marks = {socket.inet_aton("192.0.2.77"): 16, socket.inet_pton(socket.AF_INET6, "2001:db8::77"): 24}
        with contextlib.suppress(OSError):
            while True:
                packet, source = other.recvfrom(2000)
                # What is on the loopback device does not leave the machine.
                if source[0] == "lo":
                    continue
                for address, at in marks.items():
                    if packet[at : at + len(address)] == address:
                        self.seen.append(("isolated", "packet", packet[:60].hex(), None))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for other in self.sockets:
            with contextlib.suppress(OSError):
                other.shutdown(socket.SHUT_RDWR)
            other.close()


def confinement(checks, bench, user):
    ports = [53, 443, 9999] if os.geteuid() == 0 else [5353, 8443, 9999]
    addresses = ["127.0.0.1", "::1", "192.0.2.77", "2001:db8::77"] + ([bench.address] if bench.address else [])
    program = lambda word, addresses: [PYTHON, bench.folder / "clients/escape.py", word, *ports, "--", *addresses]
    with Outside(ports) as outside:
        # Not isolated: the watch sees everything. Only addresses of this machine, which answer at once.
        here = [address for address in addresses if address in ("127.0.0.1", "::1", bench.address)]
        control = user.start(program("outside", here))
        output, errors = control.communicate(timeout=support.PATIENCE)
        kinds = {kind for word, kind, *_ in outside.seen if word == "outside"}
        checks.that("all tried" in output and kinds >= {"TCP", "UDP"}, f"{user.name}: without isolation, the probe reaches this machine", f"{output}{errors}{outside.seen}")
        for line in output.splitlines():
            if line.startswith("io_uring"):
                checks.say(f"{user.name}: {line}")
                break
        for mode in ("replay", "mock") if bench.soak else ("replay",):
            cassette = f"empty-{mode}"
            if mode == "replay":
                with Server(answer) as api:
                    user.run("record", cassette, f"curl -sS {API}/get", "--map", f"{API}={api.url}")
            run = user.run(mode, cassette, program("isolated", addresses))
            checks.that("all tried" in run.output, f"{user.name}: all ways are tried in {mode}", run)
            escaped = [each for each in outside.seen if "isolated" in each]
            checks.that(not escaped, f"{user.name}: nothing arrives outside in {mode}", (escaped[:5], run.output))
            if mode == "replay" and bench.address:
                named = f"{bench.address}:9999"
                checks.that(run.status == 3 and named in run.failures and "192.0.2.77:443" in run.failures, f"{user.name}: the report names refused destinations", run)
        # socket(2) of AF_VSOCK, to which network namespaces do not apply, with the real clock and with another one.
        for options in (("--clock", "system"), ()):
            run = user.run("mock", "machine", [PYTHON, "-c", "import socket; socket.socket(40, socket.SOCK_STREAM)"], "--allow-no-requests", *options)
            checks.that("Address family not supported" in run.words, f"{user.name}: sockets of virtual machines are refused", run)
        # A known limit: path-based Unix sockets do lead out.
        path = user.folder / "outside.socket"
        with socket.socket(socket.AF_UNIX) as unix:
            # This section runs for each kind of isolation.
            path.unlink(missing_ok=True)
            unix.bind(str(path))
            path.chmod(0o777)
            unix.listen()
            threading.Thread(target=lambda: unix.accept()[0].sendall(b"outside"), daemon=True).start()
            run = user.run("replay", "empty-replay", [PYTHON, "-c", f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); print(s.recv(10))"], "--allow-no-requests")
            checks.say(f"{user.name}: a known limit: a path-based Unix socket of this machine {'is' if 'outside' in run.output else 'is not'} reached")
    nothing_left(checks, user, f"{user.name}: confinement")


# Each way in which a datagram or a connection can have a destination, by libc's functions with pointers of our own.
DESTINATIONS = """
import ctypes, os, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
word = b"isolated\\n"
def attempt(name, call):
    try: print(name, call())
    except OSError as error: print(name, error)
for address, port in [(address, int(port)) for address in sys.argv[2:] for port in sys.argv[1].split(",")]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    def datagram(): return socket.socket(family, socket.SOCK_DGRAM)
    attempt("sendmsg", lambda: datagram().sendmsg([word], [], 0, (address, port)))
    attempt("fast open", lambda: socket.socket(family).sendto(word, socket.MSG_FASTOPEN, (address, port)))
    def fast_connect():
        with socket.socket(family) as other:
            other.settimeout(1)
            other.setsockopt(socket.IPPROTO_TCP, 30, 1)
            other.connect((address, port))
            return other.send(word)
    attempt("fast open by connect", fast_connect)
    def many():
        packed = struct.pack("=H", family) + struct.pack("!H", port) + (bytes(4) + socket.inet_pton(family, address) + bytes(4) if ":" in address else socket.inet_aton(address) + bytes(8))
        name, text = ctypes.create_string_buffer(packed, len(packed)), ctypes.create_string_buffer(word, len(word))
        part = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(text), len(word)), 16)
        header = struct.pack("QI4xQQQQi4xI4x", ctypes.addressof(name), len(packed), ctypes.addressof(part), 1, 0, 0, 0, 0)
        with datagram() as other:
            if libc.sendmmsg(other.fileno(), header * 2, 2, 0) < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            return "sent"
    attempt("sendmmsg", many)
print("all tried", flush=True)
"""

# A thread changes the address while the call is judged. That of an own server is allowed.
CHANGES = """
import ctypes, socket, struct, sys, threading
libc, word = ctypes.CDLL(None, use_errno=True), b"isolated\\n"
server = socket.create_server(("127.0.0.1", 0), backlog=1000)
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(server.getsockname())
packed = lambda address, port: struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(address) + bytes(8)
here, there = packed(*server.getsockname()), packed("192.0.2.77", 9999)
name, is_done = ctypes.create_string_buffer(here, 16), False
def change():
    while not is_done:
        name[0:16] = there
        name[0:16] = here
thread = threading.Thread(target=change)
thread.start()
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for _ in range(300):
        with socket.socket(socket.AF_INET, kind) as other:
            other.setblocking(False)
            libc.connect(other.fileno(), name, 16)
            try: other.send(word)
            except OSError: pass
            libc.sendto(other.fileno(), word, len(word), socket.MSG_DONTWAIT, name, 16)
is_done = True
thread.join()
print("all tried", flush=True)
"""

# Connects twice by one socket, which fails the second time. Prints the error and the port of Diorama's listener; ends with its
# standard input.
TWICE = """
import socket, sys
client = socket.create_connection(("192.0.2.9", 80))
error = client.connect_ex(("192.0.2.9", 80))
port = f":{client.getsockname()[1]:04X}"
lines = [line.split() for line in open("/proc/net/tcp")]
print(error, *[int(words[2].partition(":")[2], 16) for words in lines if words[1].endswith(port)], flush=True)
sys.stdin.read()
"""


def strangers(checks, user, title):
    """Connections of this script are not served as those of the command, whose numbers they have."""
    process = user.start(user.words("mock", "strangers", [PYTHON, "-c", TWICE], ["--allow-no-requests"]), stdin=subprocess.PIPE)
    error, _, port = process.stdout.readline().partition(" ")
    answers = []
    for number in range(1, 6) if port else ():
        with socket.create_connection((f"127.64.0.{number}", int(port)), timeout=support.PATIENCE) as stranger:
            with contextlib.suppress(ConnectionError):
                stranger.sendall(b"GET / HTTP/1.1\r\nHost: stranger.example.com\r\nConnection: close\r\n\r\n")
                answers.append(stranger.recv(100))
    output, errors = process.communicate(timeout=support.PATIENCE)
    checks.that(error == str(errno.EISCONN) and port and not any(answers) and "stranger" not in errors, f"{title}: connections of others are not served", (error, port, answers, output, errors))


# A network of two devices. Runs a program in it, and prints what leaves by the first one. Behind that, 10.99.0.2 seems to be
# another machine. A server of this machine greets at 127.0.0.1:5432.
NETWORK = """
import socket, subprocess, sys, threading
def ip(words): subprocess.run(["ip", *words.split()], check=True)
for words in ("link set lo up", "link add v0 type veth peer name v1", "addr add 10.99.0.1/24 brd + dev v0", "link set v0 up", "link set v1 up",
    "neigh replace 10.99.0.2 lladdr 02:00:00:00:00:02 dev v0", "-6 addr add fe80::99/64 dev v0 nodad"):
    ip(words)
server = socket.create_server(("127.0.0.1", 5432))
def greet():
    while True:
        with server.accept()[0] as other: other.sendall(b"greeting")
threading.Thread(target=greet, daemon=True).start()
watch = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
watch.bind(("v0", 0))
plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
plain.sendto(b"isolated: not", ("10.99.0.2", 9753))
status = subprocess.run(sys.argv[1:]).returncode
watch.settimeout(0.5)
try:
    while True:
        packet = watch.recv(2000)
        if b"isolated" in packet: print("left:", packet[packet.index(b"isolated"):].decode(), flush=True)
except TimeoutError: pass
sys.exit(status)
"""

# Ways to send by another device than that of the socket: ip(7), ipv6(7), network_namespaces(7). Prints the results.
DEVICES = """
import ctypes, mmap, os, platform, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
outside = socket.if_nametoindex("v0")
information = [(socket.IPPROTO_IP, 8, struct.pack("=I4s4s", outside, socket.inet_aton("10.99.0.1"), bytes(4)))]  # IP_PKTINFO
def attempt(name, call):
    try: print(name, call())
    except OSError as error: print(name, os.strerror(error.errno) if error.errno else error)
def checked(result):
    if result < 0: raise OSError(ctypes.get_errno(), "")
    return result
def datagram(family=socket.AF_INET): return socket.socket(family, socket.SOCK_DGRAM)
def device(other): return other.getsockopt(socket.SOL_SOCKET, 25, 16).rstrip(bytes(1)).decode()
def packed(address, port): return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(address) + bytes(8)
own = datagram()
own.bind(("0.0.0.0", 9753))
own.settimeout(5)
# To another machine, and to all machines of a network that a server of ours would receive, too.
attempt("information", lambda: datagram().sendmsg([b"isolated: information"], information, 0, ("10.99.0.2", 9753)))
def to_all(more):
    other = datagram()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    return other.sendmsg([b"isolated: broadcast"], more, 0, ("10.99.0.255", 9753))
attempt("broadcast", lambda: to_all([]))
attempt("broadcast, information", lambda: to_all(information))
# Arrives at our server, by the loopback device.
def here(connects, more):
    other = datagram()
    other.bind(("10.99.0.1", 0))
    if connects: other.connect(("10.99.0.1", 9753))
    other.sendmsg([b"isolated: ", b"here"], more, 0, *([] if connects else [("10.99.0.1", 9753)]))
    return own.recv(100)
for connects in (False, True):
    attempt("here", lambda: here(connects, []))
    attempt("here, information", lambda: here(connects, information))
own6 = datagram(socket.AF_INET6)
own6.bind(("::1", 9754))
own6.settimeout(5)
def here6():
    datagram(socket.AF_INET6).sendmsg([b"isolated: here6"], [(socket.IPPROTO_IPV6, 67, struct.pack("=i", 32))], 0, ("::1", 9754))
    return own6.recv(100)
attempt("IPv6", here6)
mapped = [(socket.IPPROTO_IPV6, 50, bytes(10) + bytes([255, 255]) + socket.inet_aton("10.99.0.1") + struct.pack("=I", outside))]
def here_mapped():
    datagram(socket.AF_INET6).sendmsg([b"isolated: mapped"], mapped, 0, ("::ffff:10.99.0.1", 9753))
    return own.recv(100)
attempt("mapped", here_mapped)
# connect(2) with AF_UNSPEC, bind(2) of an address with a scope, and options.
for family in (socket.AF_INET, socket.AF_INET6):
    other = datagram(family)
    if family == socket.AF_INET: other.connect(("127.0.0.1", 9753))
    attempt("disconnect", lambda: checked(libc.connect(other.fileno(), bytes(16), 16)))
    print("device", device(other))
    attempt("is connected", other.getpeername)
    attempt("option", lambda: other.setsockopt(socket.SOL_SOCKET, 25, b"v0"))
    attempt("option", lambda: other.setsockopt(socket.SOL_SOCKET, 62, outside))
    print("device", device(other))
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET6, kind) as other:
        attempt("scope", lambda: other.bind(("fe80::99", 9755, 0, outside)))
        print("device", device(other))
        attempt("bind", lambda: other.bind(("::1", 9755)))
# A number that was our own sign for a message that is not judged.
def raw(other, sign):
    name, text = ctypes.create_string_buffer(packed("10.99.0.2", 9753), 16), ctypes.create_string_buffer(b"isolated: sign")
    part = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(text), 14), 16)
    control = ctypes.create_string_buffer(struct.pack("=QiiI4s4s", 28, 0, 8, outside, socket.inet_aton("10.99.0.1"), bytes(4)) + bytes(4), 32)
    header = struct.pack("QI4xQQQQi4x", ctypes.addressof(name), 16, ctypes.addressof(part), 1, ctypes.addressof(control), 32, 0)
    number = {"x86_64": 46, "aarch64": 211}[platform.machine()]
    return checked(libc.syscall(ctypes.c_long(number), other.fileno(), header, 0, 0, 0, ctypes.c_long(sign)))
attempt("sign", lambda: raw(datagram(), 0x64696F72))
# A network of its own, with sockets from before. Those that are made there work.
old, stream = datagram(), socket.socket()
server = socket.create_server(("127.0.0.1", 0))
caller = socket.create_connection(server.getsockname())
accepted = server.accept()[0]
def enters():
    if child := os.fork(): return os.waitpid(child, 0)[1]
    attempt("unshare", lambda: checked(libc.unshare(0x50000000)))  # CLONE_NEWUSER | CLONE_NEWNET
    attempt("old, information", lambda: old.sendmsg([b"isolated: old"], information, 0, ("10.99.0.2", 9753)))
    def greeting(other):
        other.connect(("127.0.0.1", 5432))
        return other.recv(100)
    attempt("old stream", lambda: greeting(stream))
    checked(libc.connect(accepted.fileno(), bytes(16), 16))
    attempt("accepted stream", lambda: greeting(accepted))
    attempt("new stream", lambda: greeting(socket.socket()))
    sys.stdout.flush()
    os._exit(0)
sys.stdout.flush()
attempt("enters", enters)
# 32-bit calls of a 64-bit program. The code and the arguments have to be in the first 4 GiB.
if platform.machine() == "x86_64":
    memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, 7)  # MAP_32BIT
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    def small(number, *arguments):
        registers = b"".join(struct.pack("=BI", code, value) for code, value in zip((0xBB, 0xB9, 0xBA), arguments))
        memory[:64] = (bytes([0x53, 0xB8]) + struct.pack("=I", number) + registers + bytes([0xCD, 0x80, 0x5B, 0xC3])).ljust(64, bytes([0x90]))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(base)()
        if result < 0: raise OSError(-result, "")
        return result
    memory[256:272] = packed("127.0.0.1", 5432)
    attempt("small connect", lambda: small(362, stream.fileno(), base + 256, 16))
    memory[256:272] = packed("10.99.0.2", 9753)
    memory[512:527] = b"isolated: small"
    memory[640:648] = struct.pack("=II", base + 512, 15)
    memory[704:728] = struct.pack("=IiiI4s4s", 24, 0, 8, outside, socket.inet_aton("10.99.0.1"), bytes(4))
    memory[768:796] = struct.pack("=7I", base + 256, 16, base + 640, 1, base + 704, 24, 0)
    memory[832:864] = memory[768:796] + bytes(4)
    attempt("small sendmsg", lambda: small(370, own.fileno(), base + 768, 0))
    attempt("small sendmmsg", lambda: small(345, own.fileno(), base + 832, 1))
# Another thread changes the destination and the device of a message, and the family of an address.
name, text = ctypes.create_string_buffer(packed("127.0.0.1", 9753), 16), ctypes.create_string_buffer(b"isolated: changed")
part = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(text), 17), 16)
control = ctypes.create_string_buffer(struct.pack("=QiiI4s4s", 28, 0, 8, 0, bytes(4), bytes(4)) + bytes(4), 32)
header = struct.pack("QI4xQQQQi4x", ctypes.addressof(name), 16, ctypes.addressof(part), 1, ctypes.addressof(control), 32, 0)
is_done = False
here, there, lasting = name.raw, packed("10.99.0.2", 9753), ctypes.create_string_buffer(packed("127.0.0.1", 9753), 16)
def change():
    while not is_done:
        name[0:16], control[16:20] = there, struct.pack("=I", outside)
        lasting[0:1] = bytes([0])
        name[0:16], control[16:20] = here, bytes(4)
        lasting[0:1] = bytes([socket.AF_UNIX])
        lasting[0:1] = bytes([socket.AF_INET])
thread = threading.Thread(target=change)
thread.start()
devices = set()
for _ in range(0 if sys.argv[1:] else 300):
    with datagram() as other:
        libc.sendmsg(other.fileno(), header, 0)
        libc.connect(other.fileno(), lasting, 16)
        devices.add(device(other))
is_done = True
thread.join()
print("changed", *devices, flush=True)
"""

# What DEVICES prints.
KEPT = """information Network is unreachable
broadcast Network is unreachable
broadcast, information Network is unreachable
here b'isolated: here'
here, information b'isolated: here'
here b'isolated: here'
here, information b'isolated: here'
IPv6 b'isolated: here6'
mapped b'isolated: mapped'
disconnect 0
device lo
is connected Transport endpoint is not connected
option Operation not permitted
option Operation not permitted
device lo
disconnect 0
device lo
is connected Transport endpoint is not connected
option Operation not permitted
option Operation not permitted
device lo
scope Cannot assign requested address
device lo
bind None
scope Cannot assign requested address
device lo
bind None
sign Network is unreachable
unshare 0
old, information Network is unreachable
old stream Connection refused
accepted stream Connection refused
new stream Network is unreachable
enters 0
""" + ("""small connect Operation not permitted
small sendmsg Operation not permitted
small sendmmsg Operation not permitted
""" if platform.machine() == "x86_64" else "") + "changed lo\n"


def devices(checks, user, title):
    """No socket of the command sends by another device than the loopback one, for root only: it needs a second device."""
    tools = ["ip", "setpriv", "unshare"]
    if os.geteuid() != 0 or not all(shutil.which(tool) for tool in tools):
        checks.say(f"{title}: other devices are not tested: that needs root, and {', '.join(tools)}")
        return
    words = user.words("mock", "devices", [PYTHON, "-c", DEVICES], ["--allow-no-requests"])
    if user.number is not None:
        words = [shutil.which("setpriv"), f"--reuid={user.number}", f"--regid={user.number}", "--clear-groups", *words]
    for name, prefix in {"": [], ", without pidfd_getfd": [PYTHON, "-c", FILTERED, "438"]}.items():
        # Without pidfd_getfd, some calls happen as usual, so that their arguments can change: a known limit.
        more = ["steady"] if name else []
        process = user.start(["unshare", "-n", PYTHON, "-c", NETWORK, *prefix, *words, *more], user=None, group=None, extra_groups=None)
        output, errors = process.communicate(timeout=support.PATIENCE)
        lines = output.splitlines(keepends=True)
        left = [line for line in lines if line.startswith("left:")]
        checks.that(left == ["left: isolated: not\n"], f"{title}: nothing is sent by another device{name}", (left, output, errors))
        if not name:
            checks.that("".join(line for line in lines if line not in left) == KEPT, f"{title}: sockets stay at the loopback device", (output, errors))


# Threads, a daemon, vfork and a static program, each with a connection.
PROCESSES = """
import http.client, os, subprocess, sys, threading, urllib.request
def ask(name):
    with urllib.request.urlopen("http://api.example.com/" + name) as response:
        response.read()
        print(name, response.status, flush=True)
threads = [threading.Thread(target=ask, args=("thread",)) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ask("daemon")
        os.write(writer, b"x")
    os._exit(0)
os.wait()
os.read(reader, 1)
# subprocess uses vfork(2).
for program in sys.argv[1:]:
    subprocess.run([program, "http://api.example.com/program"], check=True)
"""


def supervision(checks, bench, user):
    """--isolate=seccomp: the clients, what leaves the machine, own servers, and what of the helper is killed."""
    if not user.is_supervisable:
        checks.say(f"{user.name}: --isolate=seccomp is not tested, because it does not work here")
        return
    user = copy.copy(user)
    user.kind = "seccomp"
    title = f"{user.name}, seccomp"
    clients(checks, bench, user)
    confinement(checks, bench, user)
    with Outside([9999]) as outside:
        addresses = ["192.0.2.77", "2001:db8::77"] + ([bench.address] if bench.address else [])
        run = user.run("replay", "empty-replay", [PYTHON, "-c", DESTINATIONS, "53,443,9999", *addresses], "--allow-no-requests")
        checks.that("all tried" in run.output and not outside.seen, f"{title}: no call with a destination leaves the machine", (outside.seen[:5], run))

    strangers(checks, user, title)
    devices(checks, user, title)

    # What it reaches are sockets of this machine, by the loopback device.
    with Outside([]) as outside:
        run = user.run("replay", "empty-replay", [PYTHON, "-c", CHANGES], "--allow-no-requests")
        checks.that("all tried" in run.output and not outside.seen, f"{title}: no call whose arguments change leaves the machine", (outside.seen[:5], run))

    with Server(answer) as api, Server(answer) as here:
        options = ["--map", f"http://api.example.com={api.url}", "--map", f"{API}={api.url}"]
        static = [bench.folder / "go-client"] if bench.built else []
        run = user.run("record", "processes", [PYTHON, "-c", PROCESSES, shutil.which("curl", path=PATH)], *options)
        good = run.status == 0 and run.output.count("thread 200") == 8 and "daemon 200" in run.output and '"/program"' in run.output
        checks.that(good, f"{title}: threads, daemons and programs are recorded", run)
        if static:
            run = user.run("record", "static", ["sh", "-c", f"{static[0]} {API} & wait $!"], *options)
            checks.that(run.status == 0 and run.output.strip(), f"{title}: a static program is recorded", run)
        if compiler := shutil.which("musl-gcc", path=PATH):
            source = bench.scratch("musl") / "names.c"
            source.write_text('#include <netdb.h>\n#include <stdio.h>\nint main(void) { struct addrinfo *a; int e = getaddrinfo("api.example.com", "80", 0, &a); return puts(e ? gai_strerror(e) : "found") < 0; }\n')
            subprocess.run([compiler, "-static", "-o", source.with_suffix(""), source], check=True)
            run = user.run("replay", "processes", [source.with_suffix("")], "--allow-no-requests")
            checks.that(run.output == "found\n", f"{title}: a program with musl resolves names", run)

        command = f"curl -sS {here.url}/get; echo status $?"
        run = user.run("replay", "processes", command, "--host-port", here.port, "--allow-no-requests")
        checks.that("status 0" in run.output and here.count == 1, f"{title}: a port of this machine is reached with --host-port", run)
        run = user.run("replay", "processes", command, "--allow-no-requests")
        checks.that("status 7" in run.output and here.count == 1, f"{title}: it is not reached without", run)

        # As in containers: the socket is replaced.
        if number := {"x86_64": "438", "aarch64": "438"}.get(platform.machine()):
            prefix = [PYTHON, "-c", FILTERED, number]
            for name, command in {"curl": f"curl -sS {API}/get", "Python": [PYTHON, bench.folder / "clients/client.py", "urllib", API], "Node": ["node", bench.folder / "clients/client.mjs", API]}.items():
                run = user.run("record", f"container {name}", command, *options, prefix=prefix)
                checks.that(run.status == 0 and run.output.strip(), f"{title}: without pidfd_getfd: {name} is recorded", run)
                replay = user.run("replay", f"container {name}", command, *options, prefix=prefix)
                checks.that(replay.status == 0 and replay.misses == 0 and replay.output == run.output, f"{title}: without pidfd_getfd: {name} is replayed", replay)

    clock = user.run("mock", "clock", ["date", "-u", "+%F %T"], "--allow-no-requests", "--start", "2018-10-08T09:00:00Z")
    checks.that(clock.output == "2018-10-08 09:00:00\n", f"{title}: the clock is the environment's", clock)
    random = [user.run("mock", "random", [PYTHON, "-c", "import secrets; print(secrets.token_hex())"], "--allow-no-requests", "--random", "--seed", "a") for _ in range(2)]
    checks.that(random[0].status == 0 and random[0].output == random[1].output, f"{title}: random values follow the seed", random[0])

    for number in (signal.SIGTERM, signal.SIGKILL):
        process = user.start(user.words("replay", "processes", [PYTHON, "-c", STAYING], []), start_new_session=True)
        process.stdout.readline()
        started = process.stdout.readline().strip()
        process.send_signal(number)
        process.communicate(timeout=support.PATIENCE)
        checks.that(started == "started", f"{title}: {number.name} ends the run", started)
        soon(lambda: not os.listdir(user.temporary))
        nothing_left(checks, user, f"{title}: {number.name}")


# What a command may reach, and how its connections are served


def policies(checks, bench, user):
    """--allow, --deny, --publish, --host-port, and a server of the command's own."""
    title = user.name
    with Server(answer) as api, Server(answer) as other:
        maps = ["--map", f"{API}={api.url}", "--map", f"https://other.example={other.url}", "--map", f"https://backend.example:8080={other.url}"]
        code = "curl -sS -o /dev/null -w '%{http_code}\\n' "
        both = f"{code} {API}/get; {code} https://other.example/get"
        run = user.run("record", "allow", both, *maps, "--allow", "api.example.com")
        good = run.status == 3 and run.output == "200\n501\n" and "other.example" in f"{run.report['unmatched']}{run.failures}" and other.count == 0
        checks.that(good, f"{title}: a host that is not allowed is answered with 501 and fails the run", run)
        run = user.run("record", "deny", both, *maps, "--deny", "other.example")
        checks.that(run.status == 0 and run.output == "200\n403\n" and other.count == 0, f"{title}: a denied host is answered with 403", run)
        run = user.run("replay", "deny", both, *maps, "--deny", "other.example")
        checks.that(run.status == 0 and run.output == "200\n403\n" and run.misses == 0, f"{title}: a denied host is answered with 403 in replay", run)

        # A server inside, on the port that a backend outside has, too.
        own = f"""
import http.server, sys, threading, urllib.request
class Own(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"own")
        if self.path == "/end": threading.Thread(target=server.shutdown).start()
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Own)
threading.Thread(target=server.serve_forever).start()
print(urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1] + "/").read().decode(), urllib.request.urlopen("https://backend.example:8080/get").read().decode(), flush=True)
if sys.argv[2] == "end": server.shutdown()
"""
        run = user.run("record", "own", [PYTHON, "-c", own, "8080", "end"], *maps)
        checks.that(run.status == 0 and run.output.startswith("own {"), f"{title}: an own server on 8080 beside a backend's port 8080", run)
    replay = user.run("replay", "own", [PYTHON, "-c", own, "8080", "end"], *maps)
    checks.that(replay.status == 0 and replay.output == run.output, f"{title}: the same in replay", replay)
    port = support.free_port()
    process = user.start(user.words("replay", "own", [PYTHON, "-c", own, port, "stay"], ["--publish", port]))
    line = process.stdout.readline()
    try:
        with socket.create_connection(("127.0.0.1", port), 10) as client:
            client.sendall(b"GET /end HTTP/1.0\r\n\r\n")
            content = b"".join(iter(lambda: client.recv(100), b""))
    except OSError as error:
        content = repr(error).encode()
    output, words = process.communicate(timeout=support.PATIENCE)
    checks.that(line.startswith("own ") and content.endswith(b"own") and process.returncode == 0, f"{title}: a published port is reached", (line, content, process.returncode, words))

    with Server(answer) as here:
        command = f"curl -sS {here.url}/get; echo status $?"
        run = user.run("replay", "own", command, "--host-port", here.port, "--allow-no-requests")
        checks.that("status 0" in run.output and here.count == 1, f"{title}: a port of this machine is reached with --host-port", run)
        run = user.run("replay", "own", command, "--allow-no-requests")
        checks.that("status 7" in run.output and here.count == 1, f"{title}: it is not reached without", run)
    nothing_left(checks, user, f"{title}: policies")


def certificate(folder, name):
    """A certificate authority of no use."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", f"/CN={name}", "-keyout",
         folder / f"{name}.key", "-out", folder / f"{name}.pem"], check=True, capture_output=True)
    return folder / f"{name}.pem"


WEB_SOCKET = """
import asyncio, sys, websockets
async def main():
    async with websockets.connect("wss://socket.example.com/chat") as client:
        for word in ("one", "two", b"three"):
            await client.send(word)
            print(await client.recv())
asyncio.run(main())
"""

# Listens on a free port, and prints it.
WEB_SOCKET_SERVER = """
import asyncio, os, websockets
async def echo(connection):
    async for message in connection:
        await connection.send(message if isinstance(message, bytes) else message + " from " + str(os.getpid()))
async def main():
    async with websockets.serve(echo, "127.0.0.1", 0) as server:
        print("listening on", server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()
asyncio.run(main())
"""

# Requests with details that curl's defaults do not have. Each prints its response's status and body.
KEEP_ALIVE = """
import http.client, ssl
connection = http.client.HTTPSConnection("api.example.com")
for number in range(20):
    connection.request("GET", f"/kept/{number}")
    body = connection.getresponse().read().decode()
    socket = connection.sock if number == 0 else socket
    print(body, connection.sock is socket)
"""
OLD = """
import socket, ssl
with ssl.create_default_context().wrap_socket(socket.create_connection(("api.example.com", 443)), server_hostname="api.example.com") as client:
    client.sendall(b"GET /old HTTP/1.0\\r\\nHost: api.example.com\\r\\n\\r\\n")
    print(b"".join(iter(lambda: client.recv(1000), b"")).partition(b"\\r\\n\\r\\n")[2].decode())
"""
RAW = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 20) as client:
    client.settimeout(float(sys.argv[4]))
    if sys.argv[3] == "echo":
        client.sendall(b"\\x01raw words\\n")
    try: print(client.recv(100))
    except OSError as error: print(error)
"""


def protocols(checks, bench, user):
    """HTTP's variants, WebSockets, programs that do not trust the certificate, and what is not HTTP."""
    title = user.name
    plain = "http://api.example.com"
    with Server(answer) as api, Server(answer, "::1") if socket.has_ipv6 else contextlib.nullcontext() as six:
        commands = {
            "keep-alive": [PYTHON, "-c", KEEP_ALIVE],
            "HTTP/1.0": [PYTHON, "-c", OLD],
            "HTTP/1.0 of curl": f"curl -sS --http1.0 {API}/get",
            "a redirect from http to https": f"curl -sS -L {plain}/redirect",
            "a chunked upload": f"head -c 300000 /dev/zero | curl -sS -H 'Transfer-Encoding: chunked' -H 'Expect:' --data-binary @- {API}/post",
            "Expect: 100-continue": f"head -c 300000 /dev/zero | curl -sSv --http1.1 -H 'Expect: 100-continue' --data-binary @- {API}/post 2>&1 | grep -o '^{{.path.*\\|HTTP/1.1 100 Continue'",
            "an IPv6 address": "curl -sS -g 'http://[2001:db8::5]:8081/get'",
            "an IPv4 address": "curl -sS http://192.0.2.5/get",
            "a port": "curl -sS https://port.example.com:8443/get",
            "two names of one address": f"curl -sS --resolve one.example.com:443:192.0.2.8 --resolve two.example.com:443:192.0.2.8 https://one.example.com/get https://two.example.com/get",
            "HEAD": f"curl -sS -I {API}/get | tr -d '\\r' | grep -i '^HTTP\\|^content-length'",
            "204 and 304": f"curl -sS -w '%{{http_code}}\\n' {API}/204 {API}/304 {API}/get",
            "gzip": f"curl -sS --compressed {API}/gzip",
        }
        names = [API, plain, "https://port.example.com:8443", "https://one.example.com", "https://two.example.com", "http://192.0.2.5"]
        options = [word for name in names for word in ("--map", f"{name}={api.url}")]
        options += ["--map", f"http://[2001:db8::5]:8081={six.url if six else api.url}"]
        if not bench.soak:
            commands = {name: commands[name] for name in ("keep-alive", "HTTP/1.0", "a redirect from http to https", "two names of one address", "HEAD")}
        run = lambda mode: lambda name: user.run(mode, f"variant {name.replace('/', ' ')}", commands[name], *options)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            recorded = dict(zip(commands, pool.map(run("record"), commands)))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        replays = list(pool.map(run("replay"), commands))
    for (name, run), replay in zip(recorded.items(), replays):
        checks.that(run.status == 0 and run.output.strip(), f"{title}: {name} is recorded", run)
        checks.that(replay.status == 0 and replay.misses == 0 and replay.output == run.output, f"{title}: {name} is replayed", f"{replay}\n recorded: {run.output}")
    checks.that(recorded["keep-alive"].output.count("True") == 20, f"{title}: a connection is kept", recorded["keep-alive"].output)
    urls = [entry["request"]["url"] for entry in support.har(user.folder / "variant two names of one address")]
    checks.that(urls == ["https://one.example.com/get", "https://two.example.com/get"], f"{title}: names of one address are two upstreams", urls)

    with WebSocketServer(bench) as server:
        options = ["--map", f"https://socket.example.com={server.url}"]
        run = user.run("record", "socket", [PYTHON, "-c", WEB_SOCKET], *options)
    checks.that(run.status == 0 and run.output.startswith("one from "), f"{title}: WebSockets over TLS are recorded", run)
    replay = user.run("replay", "socket", [PYTHON, "-c", WEB_SOCKET], *options)
    checks.that(replay.status == 0 and replay.misses == 0 and replay.output == run.output, f"{title}: WebSockets over TLS are replayed", replay)

    other = certificate(bench.scratch("authority"), "other")
    with Server(answer) as api:
        run = user.run("record", "pinned", f"curl -sS {API}/get; curl -sS --cacert {other} --capath {other.parent} {API}/get; true", "--map", f"{API}={api.url}")
        checks.that(run.status == 3 and "seems not to trust" in run.failures and "api.example.com" in run.failures, f"{title}: a program with its own authorities is named", run)
        run = user.run("record", "pinned", f"curl -sS {API}/get; curl -sS --cacert {other} --capath {other.parent} https://pinned.example.com/; true", "--map", f"{API}={api.url}", "--deny", "pinned.example.com")
        checks.that(run.status == 0, f"{title}: it is not, where its host is denied", run)

    if not bench.address:
        checks.say("no address of this machine but that of the loopback interface: other protocols are not tested")
    for kind, banner, seen in (("echo", b"", b"\x01raw words\n"), ("banner", b"SSH-2.0-Example\r\n", b"SSH-2.0-Example\r\n")):
        if not bench.address:
            break
        words = Words(bench.address, banner)
        # One usual request, so that there is a recording.
        command = ["sh", "-c", f'curl -sS {API}/get; exec "$@"', "sh", PYTHON, "-c", RAW, bench.address, words.port, kind, 20]
        with words, Server(answer) as api:
            run = user.run("record", kind, command, "--map", f"{API}={api.url}")
            relayed = str(run.report and run.report["isolation"]["relayed"])
            good = run.status == 0 and str(seen) in run.output and f"{bench.address}:{words.port}" in relayed
            checks.that(good, f"{title}: {kind}: another protocol is relayed and named", f"{run} {relayed}")
            count = words.count
            # Where the server sends first, the program waits for it.
            command[-1] = 2
            replay = user.run("replay", kind, command)
            named = f"{bench.address}:{words.port}" in replay.failures
            checks.that(replay.status == 3 and named and words.count == count, f"{title}: {kind}: it is refused and named in replay", f"{replay} {words.count}")
            replay = user.run("replay", kind, command, "--deny", bench.address)
            checks.that(replay.status == 0 and words.count == count, f"{title}: {kind}: it is refused silently where it is denied", replay)

    if bench.soak:
        with Server(answer) as api:
            command = f"curl -sS {API}/large | sha256sum"
            peaks = {}
            for name, words, mode in (("small", f"curl -sS {API}/get", "record"), ("large", command, "record"), ("large", command, "replay")):
                process = user.start(user.words(mode, name, ["sh", "-c", words], ["--map", f"{API}={api.url}"]))
                peak, output = 0, []
                reader = threading.Thread(target=lambda: output.append(process.communicate()))
                reader.start()
                # A process that has ended has no peak any more.
                while reader.is_alive():
                    with contextlib.suppress(OSError, TypeError):
                        peak = max(peak, int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1]))
                    reader.join(0.02)
                peaks[name, mode] = peak, output[0][0]
                checks.that(process.returncode == 0, f"{title}: a {name} response in {mode}", output)
        least = peaks["small", "record"][0]
        for mode in ("record", "replay"):
            peak, output = peaks["large", mode]
            checks.say(f"{title}: a response of 100 MiB in {mode}: {peak / 1024:.0f} MiB of memory at most; {least / 1024:.0f} MiB for a small one")
            checks.that(peak - least < 40 << 10, f"{title}: memory does not grow with the response in {mode}", peaks)
        checks.that(peaks["large", "record"][1] == peaks["large", "replay"][1], f"{title}: a large response is the same in replay", peaks)
    nothing_left(checks, user, f"{title}: protocols")


class WebSocketServer:
    """Echoes messages, in a process of its own."""

    def __init__(self, bench):
        variables = {"PATH": PATH, "PYTHONPATH": str(bench.site)}
        self.process = subprocess.Popen([PYTHON, "-c", WEB_SOCKET_SERVER], env=variables, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().split()[-1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


# How runs end


# Prints its namespaces, and stays with a child in another session.
STAYING = """
import os, subprocess, sys, time
print(*[os.stat("/proc/self/ns/" + kind).st_ino for kind in ("net", "mnt", "pid")], flush=True)
subprocess.Popen(["setsid", "sleep", "1000"])
print("started", flush=True)
time.sleep(1000)
"""


def endings(checks, bench, user):
    """Exit status, signals, a time limit, and many at once. Nothing is left of any."""
    title = user.name
    with Server(answer) as api:
        options = ["--map", f"{API}={api.url}"]
        first = user.run("record", "ending", f"curl -sS {API}/get", *options)
        run = user.run("record", "status", f"curl -sS {API}/get; exit 7", *options)
        checks.that(run.status == 7, f"{title}: the status of the command is that of the run", run)
    run = user.run("replay", "ending", f"curl -sS {API}/get; kill -TERM $$")
    checks.that(run.status == 128 + signal.SIGTERM, f"{title}: a command that a signal ends has status 143", run)
    run = user.run("replay", "ending", "no-such-program")
    checks.that(run.status == 127, f"{title}: status 127 in a shell", run)
    run = user.run("replay", "ending", ["no-such-program"])
    checks.that(run.status == 127 and "no-such-program" in run.words, f"{title}: a program that does not exist has status 127", run)
    run = user.run("replay", "ending", f"curl -sS {API}/unrecorded >&2; true")
    checks.that(run.status == 3 and run.misses == 1, f"{title}: a miss has status 3", run)
    run = user.run("replay", "ending", ["sleep", "1000"], "--timeout", "1", "--allow-no-requests")
    checks.that(run.status not in (0, 3) and "after 1" in run.failures and run.seconds < 60, f"{title}: --timeout ends the command", run)
    nothing_left(checks, user, f"{title}: after these")

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process = user.start(user.words("replay", "ending", [PYTHON, "-c", STAYING], []), start_new_session=True)
        spaces = process.stdout.readline().split()
        started = process.stdout.readline().strip()
        before = inside(spaces)
        checks.that(before or os.geteuid() != 0, f"{title}: the processes of the command are found", spaces)
        process.send_signal(number)
        output, words = process.communicate(timeout=support.PATIENCE)
        expected = -number if number == signal.SIGKILL else 128 + number
        checks.that(started == "started" and process.returncode in (expected, -number), f"{title}: {number.name} ends the run", (process.returncode, output, words))
        # The temporary folder is removed by a process that waits for the end of diorama.
        soon(lambda: not os.listdir(user.temporary))
        nothing_left(checks, user, f"{title}: {number.name}", spaces, before)

    count = 64 if bench.soak else 16
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        crowd = list(pool.map(lambda copy: user.run("replay", "ending", f"curl -sS {API}/get", copy=copy), range(count)))
    bad = [run for run in crowd if run.status != 0 or run.output != first.output]
    checks.that(not bad, f"{title}: {count} isolated runs at once", bad[0] if bad else "")
    checks.say(f"{title}: {count} isolated runs at once took {max(run.seconds for run in crowd):.1f} s")
    nothing_left(checks, user, f"{title}: {count} at once")


def entering(checks, bench, user):
    """`env enter`: several commands in an environment of a daemon, at once and one after another."""
    title = f"{user.name}: env enter"
    state = user.folder / "state"
    variables = {"DIORAMA_HOME": str(state)}

    def ask(*words, status=0, more={}):
        process = user.start([user.diorama, *words], {**variables, **more})
        output, errors = process.communicate(timeout=support.PATIENCE)
        checks.that(process.returncode == status, f"{title}: {' '.join(map(str, words[:3]))} exits with {status}", (process.returncode, output, errors))
        return output, errors

    def create(mode, *options, kind="auto"):
        words = ["env", "create", "--no-config", "--mode", mode, "--cassette", user.folder / "entered", f"--isolate={kind}", "--ttl", "600", *options]
        return ask(*words)[0].strip()

    def delete(environment, *options):
        output, _ = ask("env", "delete", "--json", *options, environment)
        return json.loads(output)

    daemon = user.start([user.diorama, "serve", "--state", state], stderr=subprocess.DEVNULL)
    script = f"curl -sS '{API}/get?a=1' && {PYTHON} {bench.folder}/clients/client.py urllib {API}"
    try:
        checks.that(soon(lambda: (state / "control.json").exists()), f"{title}: the daemon starts")
        with Server(answer) as api:
            environment = create("record", "--map", f"{API}={api.url}")
            recorded = [ask("env", "enter", environment, "--", "sh", "-c", script)[0]]
            recorded.append(ask("env", "enter", environment, "--", "curl", "-sS", f"{API}/other")[0])
            report = delete(environment)
            good = report["ok"] and report["isolation"]["kind"] == "namespaces" and report["requests"]["recorded"] >= 4
            checks.that(good and all(recorded), f"{title}: two commands are recorded into one cassette", (report, recorded))
            asked = api.count
        environment = create("replay", "--start", "2018-10-08T09:00:00Z")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            entered = list(pool.map(lambda _: ask("env", "enter", environment, "--", "curl", "-sS", f"{API}/other")[0], range(4)))
        checks.that(set(entered) == {recorded[1]}, f"{title}: 4 commands at once get what was recorded", entered)
        again = ask("env", "enter", environment, "--", "sh", "-c", script)[0]
        checks.that(again == recorded[0], f"{title}: then another one does", again)
        year = ask("env", "enter", environment, "--", "date", "+%Y")[0].strip()
        checks.that(year == "2018", f"{title}: the clock is that of the environment", year)
        waiting = user.start([user.diorama, "env", "enter", environment, "--", "sh", "-c", "date +%Y; read line; date +%Y"], variables, stdin=subprocess.PIPE)
        first = waiting.stdout.readline().strip()
        ask("env", "update", environment, "--set", "2021-01-01T00:00:00Z")
        second, _ = waiting.communicate("\n", timeout=support.PATIENCE)
        checks.that((first, second.strip()) == ("2018", "2021"), f"{title}: the clock moves while a command runs", (first, second))
        ask("env", "enter", environment, "--", "sh", "-c", "exit 7", status=7)
        ask("env", "enter", environment, "--", "sh", "-c", "kill -KILL $$", status=128 + signal.SIGKILL)
        if user.number is None and os.geteuid() == 0:
            # Another user finds neither the daemon nor the token.
            other = subprocess.run(
                [user.diorama, "env", "enter", environment, "--", "true"], env={**user.variables, **variables, "HOME": "/nonexistent"}, user=UNPRIVILEGED,
                group=UNPRIVILEGED, extra_groups=[], capture_output=True, text=True, timeout=support.PATIENCE)
            checks.that(other.returncode not in (0, 127), f"{title}: another user is refused", other)
        # A shell that has the environment's variables needs neither its ID nor the daemon's state folder.
        shell = f'export DIORAMA_HOME={user.folder}/none; "$0" env enter -- curl -sS {API}/other'
        exported, _ = ask("env", "create", "--no-config", "--mode", "replay", "--cassette", user.folder / "entered", "--isolate", "--ttl", "600", "--shell")
        inner = user.start(["sh", "-c", f"{exported}\n{shell}", user.diorama], variables)
        output, errors = inner.communicate(timeout=support.PATIENCE)
        checks.that(output == recorded[1], f"{title}: works by the variables alone", (output, errors))

        for kind in ("namespaces", "seccomp", "proxy"):
            other = create("replay", kind=kind)
            version = ask("env", "enter", other, "--", "curl", "-sS", "-w", " %{http_version}", f"{API}/other")[0]
            report = delete(other)
            good = version == f"{recorded[1]} 2" and report["ok"] and report["isolation"]["kind"] == kind and not report["isolation"]["relayed"]
            checks.that(good, f"{title}: HTTP/2, by {kind}", (version, report))

        port = support.free_port()
        publishing = create("replay", "--publish", str(port), kind="namespaces")
        first = user.start([user.diorama, "env", "enter", publishing, "--", "sh", "-c", f"echo started; read line; curl -sS {API}/other"], variables, stdin=subprocess.PIPE)
        first.stdout.readline()
        _, errors = ask("env", "enter", publishing, "--", "true", status=74)
        checks.that("cannot publish port" in errors and "such as another isolated command" in errors, f"{title}: a port is published once", errors)
        output, errors = first.communicate("\n", timeout=support.PATIENCE)
        checks.that((first.returncode, output) == (0, recorded[1]), f"{title}: the first command that publishes it is not affected", (output, errors))
        delete(publishing)

        # The environment ends while commands run: one ends by SIGTERM, the other one ignores it.
        loop = "trap '' TERM; echo started; while :; do sleep 1; done"
        commands = [["sh", "-c", "echo started; exec sleep 1000"], ["sh", "-c", loop]]
        running = [user.start([user.diorama, "env", "enter", environment, "--", *command], variables) for command in commands]
        for process in running:
            process.stdout.readline()
        report = delete(environment)
        checks.that(report["ok"] and report["requests"]["replayed"] >= 7, f"{title}: all requests are in the report", report)
        ended = report["isolation"].get("interrupted", [])
        checks.that(len(ended) == 2 and any("sleep 1000" in line for line in ended), f"{title}: the report lists the commands that were ended", report)
        for process, expected in zip(running, (signal.SIGTERM, signal.SIGKILL)):
            _, errors = process.communicate(timeout=support.PATIENCE)
            good = process.returncode == 128 + expected and f"environment {environment} has ended, so the command was ended" in errors
            checks.that(good, f"{title}: the end of the environment ends a command by {expected.name}", (process.returncode, errors))
        _, errors = ask("env", "enter", environment, "--", "true", status=66)
        _, errors = ask("env", "enter", "no-such-environment", "--", "true", status=66)
        checks.that("no-such-environment" in errors, f"{title}: names an unknown environment", errors)

        environment = create("replay", "--start", "2018-10-08T09:00:00Z")
        process = user.start([user.diorama, "env", "enter", environment, "--", "sh", "-c", "echo started; exec sleep 1000"], variables)
        process.stdout.readline()
        daemon.kill()
        daemon.wait()
        _, errors = process.communicate(timeout=support.PATIENCE)
        good = process.returncode == 128 + signal.SIGTERM and "does not respond any more" in errors
        checks.that(good, f"{title}: the end of the daemon ends a command", (process.returncode, errors))
        checks.that(api.count == asked, f"{title}: no replay reaches the server")
        ask("env", "enter", environment, "--", "true", status=69)
    finally:
        daemon.kill()
        daemon.wait()
    nothing_left(checks, user, title)


# seccomp(2): refuses unshare(2), as container engines do.
FILTERED = """
import ctypes, os, struct, sys
code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, int(sys.argv[1]), 0x06, 0, 0, 0x00050001, 0x06, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxQ", 4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


def places(checks, bench, user):
    """Where diorama runs: inside another isolated run, without a temporary folder, and where namespaces are refused."""
    title = user.name
    clients = {
        "curl": f"curl -sS {API}/get", "Python": [PYTHON, bench.folder / "clients/client.py", "urllib", API],
        "git": 'clone=$(mktemp -d) && git clone -q https://github.com/example/repository.git "$clone/r" && cat "$clone/r/file" && rm -rf "$clone"',
    }
    refused = {}
    if bench.soak or platform.machine() != "x86_64":
        refused["a helper that fails"] = (), {"DIORAMA_ISOLATE_HELPER": "/bin/false"}
    if number := {"x86_64": "272", "aarch64": "97"}.get(platform.machine()):
        refused["unshare refused by seccomp"] = ([PYTHON, "-c", FILTERED, number], {})
    if bench.soak and user.kind == "namespaces":
        for kind in ("user", "net"):
            # In a user namespace around it, so that the machine's limit stays.
            script = f'echo 0 >/proc/sys/user/max_{kind}_namespaces && exec "$@"'
            refused[f"user.max_{kind}_namespaces 0"] = (["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"], {})
    for place, (prefix, variables) in refused.items():
        if place == "user.max_user_namespaces 0":
            # Root needs no user namespace, so this one must not be root inside.
            prefix = [*prefix, "setpriv", "--bounding-set=-all", "--inh-caps=-all"]
        if user.kind == "namespaces":
            with Server(answer) as api:
                run = user.run("record", "refused", "true", "--map", f"{API}={api.url}", kind="namespaces", prefix=prefix, variables=variables)
            checks.that(run.status == 69 and ("namespace" in run.words or variables and "diorama-isolate" in run.words) and not run.output, f"{title}: {place}: --isolate=namespaces fails with the reason", run)
            checks.say(f"{title}: {place}: {run.words.strip().splitlines()[0] if run.words.strip() else ''}")
        with Server(answer) as api, Server(git_backend(bench.folder)) as git:
            options = ["--map", f"{API}={api.url}", "--map", f"https://github.com={git.url}"]
            recorded = {name: user.run("record", f"{place} {name}".replace(".", " "), command, *options, kind="auto", prefix=prefix, variables=variables) for name, command in clients.items()}
        for name, command in clients.items():
            run = recorded[name]
            isolation = run.report["isolation"] if run.report else {}
            fallback = "seccomp" if user.is_supervisable and "DIORAMA_ISOLATE_HELPER" not in variables else "proxy"
            good = run.status == 0 and run.output and isolation.get("kind") == fallback and isolation.get("reason")
            checks.that(good, f"{title}: {place}: auto falls back to {fallback} and says why: {name}", f"{run} {isolation}")
            replay = user.run("replay", f"{place} {name}".replace(".", " "), command, *options, kind="auto", prefix=prefix, variables=variables)
            checks.that(replay.status == 0 and replay.misses == 0 and replay.output == run.output, f"{title}: {place}: {name} is replayed", replay)
        checks.say(f"{title}: {place}: {isolation.get('reason')}")
    nothing_left(checks, user, f"{title}: fallbacks")

    run = user.run("record", "read-only", "true", "--allow-no-requests", variables={"TMPDIR": "/sys"})
    if os.access("/dev/shm", os.W_OK):
        checks.that(run.status == 0, f"{title}: a temporary folder that cannot be written is not needed", run)
    else:
        checks.that(run.status in (73, 74) and len(run.words.strip().splitlines()) == 1 and "/sys" in run.words, f"{title}: a temporary folder that cannot be written is one clear error", run)
    if user.kind == "proxy":
        return
    with Server(answer) as api:
        options = ["--map", f"{API}={api.url}"]
        inner = lambda mode: [word for word in user.words(mode, "inner", ["curl", "-sS", f"{API}/get"], [])]
        run = user.run("record", "outer", inner("record"), *options)
        checks.that(run.status == 0 and run.output.startswith("{") and api.count == 1, f"{title}: isolated inside an isolated run, recorded", run)
    for mode in ("record", "replay"):
        again = user.run("replay", "outer", inner(mode), "--allow-no-requests")
        checks.that(again.status == 0 and again.output == run.output, f"{title}: the outer one replayed, the inner one in mode {mode}", again)
    nothing_left(checks, user, f"{title}: nested")


# Figures


EXECUTIONS = """
import os, time
began = time.monotonic()
for _ in range(500):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
print((time.monotonic() - began) / 500 * 1000)
"""


def figures(checks, bench, user):
    """Prints times and rates. They are not asserted, since other programs of the machine change them."""
    title = user.name

    def median(isolated):
        words = user.words("replay", "figures", ["true"], ["--allow-no-requests"])
        if not isolated:
            words = [word for word in words if not word.startswith("--isolate")]
        times = []
        for _ in range(15):
            began = time.monotonic()
            process = user.start(words)
            process.communicate()
            times.append((time.monotonic() - began) * 1000)
        return sorted(times)[7]

    with Server(answer) as api:
        maps = ["--map", f"{API}={api.url}", "--map", f"http://api.example.com={api.url}"]
        user.run("record", "figures", f"curl -sS {API}/get http://api.example.com/get", *maps)
    checks.say(f"{title}: `true` takes {median(True):.0f} ms isolated, {median(False):.0f} ms not isolated (medians)")

    # The same cassette by endpoints, without isolation.
    words = ["--upstream", f"plain=http://api.example.com", "--upstream", f"tls={API}"]
    if shutil.which("wrk"):
        for connections in (1, 8, 32):
            load = f"wrk -t1 -c{connections} -d2s "
            rates = {}
            for name, url in (("plain", "http://api.example.com/get"), ("TLS", f"{API}/get")):
                # The load generator ends by the real clock.
                run = user.run("replay", "figures", f"{load} {url}", "--clock", "system")
                rates[name] = float((re.search(r"Requests/sec:\s+([\d.]+)", run.output) or [0, 0])[1]), "Non-2xx" in run.output or run.status
            direct = user.start([word for word in user.words("replay", "figures", ["sh", "-c", f"{load} $DIORAMA_ENDPOINT_PLAIN/get"], words) if not word.startswith("--isolate")])
            output, errors = direct.communicate()
            rate = float((re.search(r"Requests/sec:\s+([\d.]+)", output) or [0, 0])[1])
            line = ", ".join(f"{name} {each:.0f} ({each / rate:.2f}){'' if not bad else ' with failures'}" for name, (each, bad) in rates.items()) if rate else f"{output}{errors}"
            checks.say(f"{title}: requests a second at {connections} connections: {line}, direct {rate:.0f}")
    times = []
    for isolated in (True, False):
        all_words = user.words("replay", "figures", [PYTHON, "-c", EXECUTIONS], ["--allow-no-requests"])
        process = user.start([word for word in all_words if isolated or not word.startswith("--isolate")])
        times.append(float(process.communicate()[0]))
    checks.say(f"{title}: an exec takes {times[0]:.2f} ms inside, {times[1]:.2f} ms outside")


class Bench:
    """What the sections share."""

    def __init__(self, folder, soak):
        self.folder, self.soak, self.address, self.built = folder, soak, host_address(), {}
        self.made = 0
        # Copies, since the unprivileged user may not be allowed to read the folder of the build.
        (folder / "bin").mkdir()
        for name in ("diorama", "diorama-isolate"):
            shutil.copy(support.binary(name), folder / "bin")
        self.diorama = folder / "bin/diorama"
        shutil.copytree(HERE, folder / "clients", ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run([support.ROOT / "Config/venv", "isolation"], check=True, env={**support.environment(), "PATH": PATH})
        packages = next((support.ROOT / ".build/isolation/lib").glob("python3*/site-packages"))
        self.site = shutil.copytree(packages, folder / "site")
        repository(folder)

    def scratch(self, name):
        """A new folder."""
        self.made += 1
        path = self.folder / f"{name}-{self.made}"
        path.mkdir()
        return path

    def users(self, checks):
        """The users that run diorama, with the kind of isolation that the kernel permits them."""
        numbers = [UNPRIVILEGED, None] if os.geteuid() == 0 else [None]
        users = []
        for number in numbers:
            user = User(self.folder, self.diorama, self.site, number)
            ended = user.start([self.diorama.parent / "diorama-isolate", "--probe"])
            output, errors = ended.communicate(timeout=support.PATIENCE)
            if ended.returncode not in (0, 1):
                checks.say(f"{user.name}: not tested, because it cannot run diorama-isolate: {errors.strip()}")
                continue
            if ended.returncode == 1:
                user.kind = "proxy"
                for line in output.splitlines():
                    if ": failed: " in line:
                        checks.say(f"{user.name}: no namespaces here, so --isolate=proxy is tested: {line}")
            supervised = user.start([self.diorama.parent / "diorama-isolate", "--probe", "seccomp"])
            supervised.communicate(timeout=support.PATIENCE)
            user.is_supervisable = supervised.returncode == 0
            users.append(user)
        return users


SECTIONS = {
    "clients": clients, "clocks": clocks, "installs": installs, "confinement": confinement, "supervision": supervision,
    "policies": policies, "protocols": protocols, "endings": endings,
    "entering": entering, "places": places, "figures": figures,
}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--soak", action="store_true")
    options.add_argument("sections", nargs="*", metavar="SECTION")
    options = options.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        sys.exit(f"isolation.py: no such section: {', '.join(sorted(unknown))}")
    chosen = options.sections or list(SECTIONS)
    checks = support.Checks("isolation")
    if not sys.platform.startswith("linux"):
        checks.that(True, "namespaces require Linux")
        checks.say("not Linux: isolation was not tested")
        checks.end()
    tools = ["curl", "wget", "git", "node", "ruby", "openssl"] + (["go", "javac", "chromium"] if options.soak else [])
    missing = [tool for tool in tools if not shutil.which(tool, path=PATH)]
    if not checks.that(not missing, f"{' and '.join(missing)} installed: run Config/bootstrap test"):
        checks.end()
    with support.folder() as folder:
        folder.chmod(0o755)
        bench = Bench(folder, options.soak)
        if bench.soak and "clients" in chosen:
            bench.built = build_clients(folder)
        users = bench.users(checks)
        for user in users if bench.soak else users[:1]:
            for name in chosen:
                if name in ("figures", "installs") and not (bench.soak or options.sections) or user.kind == "proxy" and name not in ("clients", "places", "supervision"):
                    continue
                began = time.monotonic()
                SECTIONS[name](checks, bench, user)
                checks.say(f"{user.name}: {name} took {time.monotonic() - began:.1f} s")
    checks.that(not marked(), "no process is left", marked())
    checks.end()


if __name__ == "__main__":
    main()
