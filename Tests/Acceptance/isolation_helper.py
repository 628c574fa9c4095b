"""Drives diorama-isolate by its protocol, without Diorama: as this user, in a user namespace, and, for root, as an
unprivileged user. Real clients inside must reach the listener with their original destination, whatever the name,
address and port; and nothing of a command may be left when it, the helper, or the helper's parent has ended. All of this
holds with a clock and random values of its own, too, which real programs must follow.

    isolation_helper.py [--starts N]
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import http.server
import json
import mmap
import os
import pathlib
import platform
import pty
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import support

STEPS = 17  # lines of --probe
TOOLS = ["curl", "wget", "git", "unshare", "setsid"]
PATH = "/usr/local/bin:/usr/bin:/bin"
PYTHON = shutil.which("python3", path=PATH) or sys.executable
UNPRIVILEGED = 65534
# The variable by which this run's processes are found.
MARK = "DIORAMA_ISOLATION_TEST=" + os.environ.get("DIORAMA_ISOLATION_TEST", str(os.getpid()))


# 2018-01-01 and 2100-01-01, UTC, in nanoseconds.
SECOND = 10**9
PAST, FUTURE = 1514764800 * SECOND, 4102444800 * SECOND


class Failed(Exception):
    """A `failed` packet."""

    def __init__(self, fields):
        self.step, self.call, self.error, self.message, self.advice = fields
        super().__init__(f"{self.step}: {self.call}: {self.message} ({self.error}); {self.advice}")


class Isolated:
    """A command inside. The helper is ready, and the command is started by `start`."""

    helper = None  # the helper's path, readable for every user

    def __init__(self, *command, identity=(), binds=(), cwd="/", variables=(), prefix=(), extra=(), version="1", takes_terminal=False, clock=None, seed=None, wish="required", **popen):
        self.files, self.unavailable, self.reports = [], [], []
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(support.PATIENCE)
        if "supervised" in identity:
            clock, seed = clock or Clock(), "1" if seed is None else seed
        self.clock = clock
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen}
        if "unprivileged" in identity:
            popen.update(user=UNPRIVILEGED, group=UNPRIVILEGED, extra_groups=[])
        name, _, value = MARK.partition("=")

        def own_group():
            os.setpgrp()
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
            if takes_terminal:
                os.tcsetpgrp(0, os.getpgrp())

        began = time.monotonic()
        with theirs:
            self.process = subprocess.Popen(
                [*prefix, self.helper, "--socket", str(theirs.fileno())], env={**support.environment(), name: value},
                pass_fds=[theirs.fileno(), *popen.pop("pass_fds", [])], cwd="/", preexec_fn=own_group, **popen)
        try:
            for packet in extra:
                self.send(*packet)
            if "user namespace" in identity:
                self.send("users", "new")
            if clock:
                socket.send_fds(self.control, [f"clock\0{wish}".encode()], [clock.page])
            if seed is not None:
                self.send("random", wish, seed)
            for source, target in binds:
                self.send("bind", source, target)
            self.send("setup", version)
            _, files = self.receive("ready", 3)
            self.seconds = time.monotonic() - began
            self.files = [socket.socket(fileno=file) for file in files]
            self.listener, *self.dns = self.files
            for variable in [f"PATH={PATH}", MARK, *variables]:
                self.send("env", variable)
            self.send("cwd", str(cwd))
            for word in command:
                self.send("arg", str(word))
        except BaseException:
            self.close()
            raise

    def send(self, *fields):
        with contextlib.suppress(BrokenPipeError):
            self.control.send(b"\0".join(os.fsencode(field) for field in fields))

    def receive(self, keyword, count=0):
        """The other fields of the next packet, and its descriptors."""
        content, files, _, _ = socket.recv_fds(self.control, 8192, 8)
        fields = os.fsdecode(content).split("\0")
        if fields[0] == "failed":
            raise Failed(fields[1:])
        if fields[0] == "report" or fields[1:2] == ["unavailable"]:
            (self.reports if fields[0] == "report" else self.unavailable).append(fields)
            return self.receive(keyword, count)
        if fields[0] not in keyword.split("|") or len(files) != count:
            raise AssertionError(f"{fields} with {len(files)} descriptors, expected {keyword} with {count}")
        return fields, files

    def start(self):
        self.send("start")
        return self

    def socket(self, kind):
        self.send("socket", kind)
        return socket.socket(fileno=self.receive("socket", 1)[1][0])

    def finish(self, content=None):
        """The end of the command: its status, standard output and error, and the last packet."""
        output, errors = self.process.communicate(content, timeout=support.PATIENCE)
        return self.process.returncode, output, errors, self.receive("exited|signaled")[0]

    def close(self):
        self.control.close()
        if self.clock:
            self.clock.close()
        for file in self.files:
            file.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.communicate(timeout=support.PATIENCE)
        if self.process.returncode is None:
            self.process.kill()
            self.process.communicate()
            raise AssertionError("the helper did not end with its socket")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Clock:
    """A page that the programs of isolated commands map. The functions are those of ClockSupervision."""

    REAL, FROZEN, OFFSET, SCALED = range(4)

    library = None

    @classmethod
    def build(cls):
        folder = pathlib.Path(Isolated.helper).parent
        sources = support.ROOT / "Sources/ClockSupervision"
        # In `--hold` and `--terminal` it is there.
        if not (folder / "page.so").exists():
            subprocess.run(["cc", "-shared", "-fPIC", "-I", sources / "include", sources / "page.c", "-o", folder / "page.so"], check=True)
        cls.library = ctypes.CDLL(folder / "page.so")
        cls.library.diorama_clock_page_map.restype = ctypes.c_void_p
        cls.library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        cls.library.diorama_clock_move.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_double]

    def __init__(self, mode=FROZEN, shown=PAST):
        if not self.library:
            self.build()
        error = ctypes.create_string_buffer(256)
        self.page = self.library.diorama_clock_page_create(error)
        self.mapped = self.library.diorama_clock_page_map(self.page, error)
        self.move(mode, shown)

    def close(self):
        self.library.munmap(self.mapped, mmap.PAGESIZE)
        os.close(self.page)

    def move(self, mode, shown, rate=1.0):
        self.library.diorama_clock_move(self.mapped, mode, time.time_ns(), shown, rate)


class Backend:
    """Answers the names and connections of an isolated command: with the destination as JSON, or with a folder's files."""

    def __init__(self, isolated, folder=None):
        self.isolated, self.folder, self.names, self.asked = isolated, folder, {}, []
        self.awake, self.wake = socket.socketpair()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def address(self, name):
        return self.names.setdefault(name, f"198.18.{len(self.names) // 250}.{len(self.names) % 250 + 1}")

    def run(self):
        listener, dns4, dns6 = self.isolated.files
        threads = []
        while True:
            for file in select.select([listener, dns4, dns6, self.awake], [], [])[0]:
                if file is self.awake:
                    for thread in threads:
                        thread.join()
                    return
                if file is listener:
                    threads.append(threading.Thread(target=self.serve, args=(listener.accept()[0],)))
                    threads[-1].start()
                else:
                    self.answer(file, file is dns6)

    def serve(self, connection):
        address, port = connection.getsockname()[:2]
        destination = [address.removeprefix("::ffff:"), port]
        folder = self.folder

        class Handler(http.server.SimpleHTTPRequestHandler):
            timeout = 20

            def do_GET(self):
                if self.path.startswith("/repository.git/"):
                    return super().do_GET()
                body = json.dumps({"to": destination, "host": self.headers.get("Host"), "path": self.path}).encode() + b"\n"
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        with connection, contextlib.suppress(OSError):
            Handler(connection, destination, None, directory=folder)

    def answer(self, file, is_v6):
        """Answers a query, from the address that was asked (RFC 1035, section 4.1)."""
        query, control, _, client = file.recvmsg(4096, 256)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode())
            at += 1 + query[at]
        name, kind = ".".join(labels), struct.unpack("!H", query[at + 1 : at + 3])[0]
        self.asked.append((name, kind))
        data = b""
        if kind == 1 and not name.startswith("six."):
            data = socket.inet_aton(self.address(name))
        elif kind == 28 and name.startswith("six."):
            data = socket.inet_pton(socket.AF_INET6, "2001:db8::6")
        head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if data else 0, 0, 0)
        record = b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data if data else b""
        (_, option, info), = control
        # ip(7): ipi_spec_dst is the source address of the answer; ipv6(7): ipi6_addr.
        info = info[:16] + bytes(4) if is_v6 else bytes(4) + info[8:12] + bytes(4)
        level = socket.IPPROTO_IPV6 if is_v6 else socket.IPPROTO_IP
        file.sendmsg([head + query[12 : at + 5] + record], [(level, option, info)], 0, client)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wake.close()
        self.thread.join()
        self.awake.close()


def resolver(folder):
    """The files by which names resolve to Diorama."""
    (folder / "resolv.conf").write_text("nameserver 198.19.255.1\nnameserver fd64:696f::1\n")
    (folder / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n")
    return [(folder / name, f"/etc/{name}") for name in ("resolv.conf", "nsswitch.conf") if os.path.exists(f"/etc/{name}")]


CLIENTS = """
curl -sS http://api.example.com/curl
curl -sS http://other.example:8443/port
curl -sS http://192.0.2.9:65535/address
curl -sS -g 'http://[2001:db8::7]:81/v6'
curl -sS http://six.example:8080/name6
wget -q -O - http://wget.example/wget
wget -q -O - 'http://[2001:db8:1::1]/wget6'
"$PYTHON" -c 'import urllib.request; print(urllib.request.urlopen("http://python.example:8000/python").read().decode(), end="")'
git clone -q http://git.example/repository.git "$FOLDER/clone" && cat "$FOLDER/clone/file"
cat /proc/net/if_inet6 > "$FOLDER/addresses"
"""


def clients(checks, folder, identity, title):
    work = folder / f"clients-{title.replace(' ', '-')}"
    work.mkdir()
    work.chmod(0o777)
    variables = [f"FOLDER={work}", f"HOME={work}", f"PYTHON={PYTHON}"]
    command = ["sh", "-c", CLIENTS]
    with Isolated(*command, identity=identity, binds=resolver(folder), variables=variables) as isolated:
        with Backend(isolated, folder) as backend:
            status, output, errors, last = isolated.start().finish()
    checks.that(status == 0 and last == ["exited", "0"], f"{title}: all clients succeed", (status, errors.decode()))
    *lines, file = output.decode().splitlines() or [""]
    seen = {(line := json.loads(text))["path"]: (*line["to"], line["host"]) for text in lines}
    names = backend.names.get
    expected = {
        "/curl": (names("api.example.com"), 80, "api.example.com"),
        "/port": (names("other.example"), 8443, "other.example:8443"),
        "/address": ("192.0.2.9", 65535, "192.0.2.9:65535"),
        "/v6": ("2001:db8::7", 81, "[2001:db8::7]:81"),
        "/name6": ("2001:db8::6", 8080, "six.example:8080"),
        "/wget": (names("wget.example"), 80, "wget.example"),
        "/wget6": ("2001:db8:1::1", 80, "[2001:db8:1::1]"),
        "/python": (names("python.example"), 8000, "python.example:8000"),
    }
    for path, answer in expected.items():
        checks.that(seen.get(path) == answer, f"{title}: {path} arrives with its destination {answer}", seen.get(path))
    # A link-local address would appear late, as a change of the network.
    addresses = [line.split()[0] for line in (work / "addresses").read_text().splitlines()]
    checks.that(sorted(addresses) == [f"{1:032x}", "fd64696f" + f"{2:024x}"], f"{title}: the addresses are those of the start", addresses)
    checks.that(file == "of the repository", f"{title}: git clones from the backend", file)
    checks.that(backend.asked and all(kind in (1, 28) for _, kind in backend.asked), f"{title}: names are asked by DNS", backend.asked)


OWN_SERVER = r"""
import http.server, socket, threading, urllib.request, sys
class Own(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"own")
    def log_message(self, *_): pass
for address, port in (("127.0.0.1", 8080), ("0.0.0.0", 80)):
    server = http.server.ThreadingHTTPServer((address, port), Own)
    threading.Thread(target=server.serve_forever, daemon=True).start()
print("listening", flush=True)
for url in ("http://127.0.0.1:8080/", "http://localhost:8080/", "http://127.0.0.1/", "http://backend.example:8080/", "http://[::ffff:192.0.2.1]/"):
    print(urllib.request.urlopen(url).read().decode().strip())
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(20)
udp.connect(("192.0.2.1", 443))
udp.send(b"quic")
try: print(udp.recv(10))
except ConnectionRefusedError: print("refused")
# A connected socket receives only answers from the address that it asked.
for family, address in ((socket.AF_INET, "192.0.2.53"), (socket.AF_INET6, "2001:db8::53")):
    dns = socket.socket(family, socket.SOCK_DGRAM)
    dns.settimeout(20)
    dns.connect((address, 53))
    dns.send(b"\0\1\1\0\0\1" + bytes(6) + b"\5named\0\0\1\0\1")
    print(socket.inet_ntoa(dns.recv(512)[-4:]), flush=True)
print(open("/proc/sys/net/ipv4/tcp_tw_reuse").read().strip(), flush=True)
sys.stdin.read()
"""


def own_servers(checks, folder, identity, title):
    with Isolated(PYTHON, "-c", OWN_SERVER, identity=identity, binds=resolver(folder), stdin=subprocess.PIPE) as isolated:
        with Backend(isolated) as backend:
            isolated.start()
            line = lambda: isolated.process.stdout.readline().decode().strip()
            if not checks.that(line() == "listening", f"{title}: an own server listens on ports 8080 and 80"):
                return
            checks.that([line(), line(), line()] == ["own"] * 3, f"{title}: the own servers answer locally")
            answer = json.loads(line() or "{}")
            checks.that(answer.get("to") == [backend.names.get("backend.example"), 8080], f"{title}: a backend's port 8080 is another", answer)
            answer = json.loads(line() or "{}")
            checks.that(answer.get("to") == ["192.0.2.1", 80], f"{title}: a backend's port 80 is another, also as a mapped address", answer)
            checks.that(line() == "refused", f"{title}: UDP is refused at once")
            answers = [line(), line()]
            checks.that(answers == [backend.names.get("named")] * 2, f"{title}: any DNS server is answered, IPv4 and IPv6", answers)
            checks.that(line() == "1", f"{title}: the port of a closed connection can be used again soon")
            # As `--publish` does.
            for address in (("127.0.0.1", 8080), ("198.19.255.2", 80)):
                with isolated.socket("tcp4") as outer:
                    outer.settimeout(20)
                    outer.connect(address)
                    outer.sendall(b"GET / HTTP/1.0\r\n\r\n")
                    content = b"".join(iter(lambda: outer.recv(4096), b""))
                checks.that(content.endswith(b"own"), f"{title}: {address} is reached from outside", content)
            status, _, errors, _ = isolated.finish(b"")
            checks.that(status == 0, f"{title}: the command succeeds", errors.decode())


def host_ports(checks, identity, title):
    answer = lambda handler, _: (200, [], b"host")
    with support.Upstream(answer) as allowed, support.Upstream(answer) as other:
        script = f"curl -sS http://127.0.0.1:{allowed.port}/; echo; curl -s http://127.0.0.1:{other.port}/; echo $?; curl -s -g http://[::1]:{other.port}/; echo $?"
        with Isolated("sh", "-c", script, identity=identity) as isolated, isolated.socket("tcp4") as listener:
            listener.bind(("127.0.0.1", allowed.port))
            listener.listen()

            def relay():
                inner, _ = listener.accept()
                with inner, socket.create_connection(("127.0.0.1", allowed.port)) as outer:
                    outer.sendall(inner.recv(65536))
                    outer.shutdown(socket.SHUT_WR)
                    while content := outer.recv(65536):
                        inner.sendall(content)

            thread = threading.Thread(target=relay)
            thread.start()
            status, output, errors, _ = isolated.start().finish()
            thread.join(support.PATIENCE)
        checks.that(status == 0 and output.split() == [b"host", b"7", b"7"], f"{title}: one port of the host is reached, another refused", (output, errors))


def streams(checks, folder, identity, title):
    """Standard input and output, other descriptors, variables, and the working directory."""
    content = os.urandom(3_000_000)
    variables = [f"BIG{each}={'x' * 100_000}" for each in range(10)]
    with Isolated("cat", identity=identity, variables=variables, stdin=subprocess.PIPE) as isolated:
        status, output, errors, _ = isolated.start().finish(content)
    checks.that((status, output, errors) == (0, content, b""), f"{title}: standard input and output pass unchanged", (status, len(output), errors))
    with Isolated("grep", "SigBlk", "/proc/self/status", identity=identity) as isolated:
        output = isolated.start().finish()[1]
    checks.that(int(output.split()[1], 16) == 1 << (signal.SIGUSR2 - 1), f"{title}: the signal mask passes unchanged", output)
    read, write = os.pipe()
    script = f'pwd; env | sort; echo $$; cut -d " " -f 1 /proc/self/stat >/dev/null; ls /proc/$$/exe >/dev/null && echo other >&{write}; echo error >&2; ls /proc/self/fd | wc -l'
    place = folder / "place"
    place.mkdir(exist_ok=True)
    variables = ["EMPTY=", "LINES=one\ntwo", "BYTES=\udcff"]
    with Isolated("bash", "-c", script, identity=identity, cwd=place, variables=variables, pass_fds=[write]) as isolated:
        os.close(write)
        status, output, errors, _ = isolated.start().finish()
    with open(read, "rb") as file:
        other = file.read()
    lines = output.decode(errors="surrogateescape").splitlines()
    checks.that(lines[0] == str(place), f"{title}: the working directory is as requested", lines[0])
    wanted = {MARK, *variables[:1], "LINES=one", "two", "BYTES=\udcff", f"PATH={PATH}"}
    unset = {line for line in lines[1:-2] if line.split("=")[0] not in ("PWD", "SHLVL", "_")}
    if "supervised" in identity:
        wanted |= {line for line in unset if line.startswith(("PYTHONHASHSEED=", "PERL_HASH_SEED="))}
    checks.that(unset == wanted, f"{title}: exactly the given variables are set", unset ^ wanted)
    checks.that(lines[-2] == "2", f"{title}: process IDs start with 2", lines[-2])
    checks.that((other, errors) == (b"other\n", b"error\n"), f"{title}: other descriptors are inherited; /proc shows the PIDs inside", (other, errors))
    # 0, 1, 2, the pipe, and the one of ls itself.
    checks.that(lines[-1] == "5", f"{title}: no descriptor of the helper reaches the command", lines[-1])


def binds(checks, folder, identity, title):
    place = folder / f"binds-{title.replace(' ', '-')}"
    for name in ("outside", "inside"):
        (place / name).mkdir(parents=True)
        (place / name / "file").write_text(name)
    (place / "link").symlink_to("outside/file")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "socket"))
        server.listen()
        pairs = [(place / "inside/file", place / "link"), ("/dev/null", place / "socket"), (place / "inside", "/etc/ssl"), *resolver(folder)]
        script = 'cat outside/file /etc/ssl/file; cat /etc/resolv.conf; "$1" -c "import socket; socket.socket(socket.AF_UNIX).connect(\'socket\')"'
        with Isolated("sh", "-c", script, "sh", PYTHON, identity=identity, binds=pairs, cwd=place) as isolated:
            status, output, errors, _ = isolated.start().finish()
    text = output.decode()
    checks.that(text.startswith("insideinside") and "198.19.255.1" in text, f"{title}: bound files and folders are seen inside, through links", text)
    checks.that(status == 1 and b"ConnectionRefusedError" in errors, f"{title}: a socket can be closed by /dev/null", errors)
    checks.that((place / "outside/file").read_text() == "outside" and not os.path.exists("/etc/ssl/file"), f"{title}: outside they are not seen")


def propagation(checks):
    """Where the mounts outside are shared, as systemd sets them up, those of the helper do not appear there."""
    script = 'before=$(cat /proc/self/mountinfo); "$@"; test "$before" = "$(cat /proc/self/mountinfo)" || echo appeared outside'
    prefix = ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "shared", "sh", "-c", script, "sh"]
    for identity in ([], ["user namespace"]):
        with Isolated("wc", "-c", "/etc/hosts", identity=identity, binds=[("/dev/null", "/etc/hosts")], prefix=prefix) as isolated:
            _, output, errors, _ = isolated.start().finish()
        checks.that(output.startswith(b"0 ") and b"outside" not in output, "mounts do not appear outside, if they are shared there", (output, errors))


COUNTER = """
import signal, sys
signals = {signal.SIGRTMIN + 1, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
count = 0
while (got := signal.sigwait(signals)) != signal.SIGUSR1:
    count += 1
    print(got, flush=True)
sys.exit(count)
"""


def signals(checks, identity, title):
    for script, expected, last in (("exit 7", 7, ["exited", "7"]), ("kill -KILL $$", 137, ["signaled", "9"]), ("kill -SEGV $$", 139, ["signaled", "11"])):
        with Isolated("sh", "-c", script, identity=identity) as isolated:
            status, *_, packet = isolated.start().finish()
        checks.that((status, packet) == (expected, last), f"{title}: '{script}' is reported", (status, packet))
    with Isolated("sleep", "1000", identity=identity) as isolated:
        isolated.start().process.send_signal(signal.SIGTERM)
        status, *_, packet = isolated.finish()
        checks.that((status, packet) == (143, ["signaled", "15"]), f"{title}: SIGTERM ends the command", (status, packet))
    with Isolated(PYTHON, "-c", COUNTER, identity=identity) as isolated:
        pid = isolated.start().process.pid
        isolated.process.stdout.readline()
        # Signals from SIGRTMIN on are queued, so that each is counted.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGRTMIN + 1):
            for send in (os.kill, os.killpg):
                send(pid, number)
                line = isolated.process.stdout.readline().decode().strip()
                checks.that(line == str(int(number)), f"{title}: signal {number} by {send.__name__} reaches the command", line)
        os.kill(pid, signal.SIGUSR1)
        status = isolated.finish()[0]
        checks.that(status == 6, f"{title}: each signal reaches the command once", status)
    with Isolated("sh", "-c", "echo ready; read line; exit 3", identity=identity, stdin=subprocess.PIPE) as isolated:
        pid = isolated.start().process.pid
        isolated.process.stdout.readline()
        for number in (signal.SIGTSTP, signal.SIGTTIN):
            os.killpg(pid, number)
            _, status = os.waitpid(pid, os.WUNTRACED)
            checks.that(os.WIFSTOPPED(status) and os.WSTOPSIG(status) == number, f"{title}: signal {number} stops the command and the helper", status)
            os.killpg(pid, signal.SIGCONT)
            _, status = os.waitpid(pid, os.WCONTINUED)
            checks.that(os.WIFCONTINUED(status), f"{title}: SIGCONT continues them", status)
        status = isolated.finish(b"\n")[0]
        checks.that(status == 3, f"{title}: the command ends after it was stopped", status)
    # The command ends; what it left in the background, in a session of its own, ends with it.
    with Isolated("sh", "-c", "setsid sleep 1000 & setsid sleep 1000 & exit 4", identity=identity) as isolated:
        status = isolated.start().finish()[0]
        checks.that(status == 4 and not ours(isolated.process.pid), f"{title}: processes in the background end with the command", (status, ours()))


def ours(*except_):
    """The processes of this run, apart from this one's other children."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        pid = int(path.parent.name)
        with contextlib.suppress(OSError):
            if MARK.encode() in path.read_bytes().split(b"\0") and pid not in except_:
                found.append(pid)
    return found


def all_end(pids):
    """Whether these processes end, given as pidfds."""
    poll = select.poll()
    for file in pids:
        poll.register(file, select.POLLIN)
    left, end = len(pids), time.monotonic() + 30
    while left and time.monotonic() < end:
        for file, _ in poll.poll(1000 * (end - time.monotonic())):
            poll.unregister(file)
            left -= 1
    for file in pids:
        os.close(file)
    return left == 0


# Four processes, three of them with a session of their own and without a living parent; each prints a line.
FAMILY = """
import os, signal
for each in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        break
else:
    for each in range(3):
        os.wait()
print("ready", flush=True)
signal.pause()
"""


def start_family(isolated):
    isolated.start()
    for _ in range(4):
        isolated.process.stdout.readline()


def kills(checks, identity, title):
    """SIGKILL of the helper, and of its parent, at work and during the setup."""
    with Isolated(PYTHON, "-c", FAMILY, identity=identity) as isolated:
        start_family(isolated)
        pids = ours()
        checks.that(len(pids) == 6, f"{title}: helper, its process 1, and four processes of the command run", pids)
        files = [os.pidfd_open(pid) for pid in pids]
        isolated.process.kill()
        checks.that(all_end(files), f"{title}: all processes end after SIGKILL of the helper", ours())
    with Isolated(PYTHON, "-c", FAMILY, identity=identity) as isolated:
        start_family(isolated)
        files = [os.pidfd_open(pid) for pid in ours()]
        isolated.control.close()
        checks.that(all_end(files), f"{title}: all processes end after the socket was closed", ours())
    for each in range(20):
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        name, _, value = MARK.partition("=")
        with control, theirs:
            words = [Isolated.helper, "--socket", str(theirs.fileno())]
            process = subprocess.Popen(words, env={name: value}, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
            for packet in (b"users\0new", b"setup\0" + b"1"):
                control.send(packet)
            # Another moment of the setup each time.
            select.select([], [], [], each / 4000)
            process.kill()
            process.wait()
            theirs.close()
            control.settimeout(30)
            with contextlib.suppress(ConnectionResetError):
                # The socket ends with the last process.
                while control.recv(100):
                    pass
    checks.that(not ours(), f"{title}: all processes end after SIGKILL during the setup", ours())
    for when in ("started", "ready"):
        name, _, value = MARK.partition("=")
        words = [sys.executable, __file__, "--hold", when, "--helper", Isolated.helper, *identity]
        with subprocess.Popen(words, stdout=subprocess.PIPE, env={**os.environ, name: value}) as parent:
            line = parent.stdout.readline()
            pids = ours()
            checks.that(line and len(pids) == (7 if when == "started" else 3), f"{title}: a parent with a command that is {when}", (line, pids))
            files = [os.pidfd_open(pid) for pid in pids]
            parent.kill()
            checks.that(all_end(files), f"{title}: all processes end after SIGKILL of the parent, {when}", ours())


def hold(when, identity):
    """A parent that is to be killed."""
    with Isolated(PYTHON, "-c", FAMILY, identity=identity) as isolated:
        if when == "started":
            start_family(isolated)
        print("ready", flush=True)
        signal.pause()


# A driver in a terminal does what `diorama run` does: a group of its own for the helper, which gets the terminal.
IN_TERMINAL = """
read -r _ _ _ _ group _ _ owner _ </proc/$$/stat; test $group = $owner && echo "at the start: owner"
trap 'echo "interrupted"' INT
printf 'name: '; read name; echo "hello $name"; read rest; echo "read $rest"; exit 5
"""


def terminal_driver(identity):
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    files = {"stdin": None, "stdout": None, "stderr": None}
    with Isolated("bash", "-c", IN_TERMINAL, identity=identity, takes_terminal=True, **files) as isolated:
        pid = isolated.start().process.pid
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED)
            owner = os.tcgetpgrp(0)
            if not os.WIFSTOPPED(status):
                break
            print(f"stopped by {os.WSTOPSIG(status)}, terminal at the helper: {owner == pid}", flush=True)
            os.tcsetpgrp(0, pid)
            os.killpg(pid, signal.SIGCONT)
        isolated.process.returncode = os.waitstatus_to_exitcode(status)
        os.tcsetpgrp(0, os.getpgrp())
        print(f"status {isolated.process.returncode}, terminal at the helper: {owner == pid}", flush=True)


def terminal(checks, identity, title):
    master, slave = pty.openpty()
    words = [sys.executable, __file__, "--terminal", "--helper", Isolated.helper, *identity]
    # setsid --ctty: the terminal is the controlling one of the session.
    process = subprocess.Popen(["setsid", "--ctty", "--wait", *words], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""

    def expect(*texts):
        """Waits for texts, in any order."""
        nonlocal seen
        end = time.monotonic() + 30
        while not all(text in seen for text in texts) and select.select([master], [], [], max(0, end - time.monotonic()))[0]:
            try:
                seen += os.read(master, 4096)
            except OSError:  # The other side is closed.
                break
        for text in texts:
            before, found, rest = seen.partition(text)
            if checks.that(found, f"{title}: the terminal shows {text.decode()}", seen):
                seen = before + rest

    expect(b"at the start: owner")
    expect(b"name: ")
    os.write(master, b"you\n")
    expect(b"hello you")
    os.write(master, b"\x1a")
    expect(f"stopped by {signal.SIGTSTP:d}, terminal at the helper: True".encode())
    # A signal that arrives just before Bash calls read(2) is handled after the line was read.
    os.write(master, b"\x03")
    os.write(master, b"all\n")
    expect(b"interrupted", b"read all")
    expect(b"status 5, terminal at the helper: True")
    os.close(master)
    checks.that(b"interrupted" not in seen, f"{title}: a key sends its signal once", seen)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def failure(*command, **more):
    """What the helper reports, and its exit status."""
    isolated = None
    try:
        with Isolated(*command, **more) as isolated:
            isolated.start().receive("exited|signaled")
        return None, isolated.process.returncode
    except Failed as failed:
        return failed, isolated.process.returncode if isolated else None


def errors(checks, folder, identity, title):
    (folder / "plain").write_text("no program")
    for words, more, status, step, call in (
        (["no-such-program"], {}, 127, "command", "execve no-such-program"),
        ([folder / "plain"], {}, 126, "command", "execve"),
        (["true"], {"cwd": "/no/such/folder"}, 126, "working directory", "chdir /no/such/folder"),
    ):
        found, code = failure(*words, identity=identity, **more)
        checks.that(
            found and found.step == step and found.call.startswith(call) and code == status and found.advice,
            f"{title}: {words[0]} {more} is reported as {step} with status {status}", (found, code))
    found, _ = failure("true", identity=identity, binds=[("/no/such/file", "/etc/hosts")])
    good = found and (found.step, found.call, found.error) == ("bound files", "mount /no/such/file over /etc/hosts", "2")
    checks.that(good and "both" in found.advice, f"{title}: a file that cannot be bound is reported", found)
    found, _ = failure(*[], identity=identity)
    checks.that(found and found.step == "request" and "no command" in found.message, f"{title}: a request without a command is refused", found)
    for packet, text in (
        (("colour", "red"), "unknown keyword 'colour'"), (("env", "NAME"), "without '='"), (("bind", "a", "/b"), "absolute path: 'a'"),
        (("bind", "/a"), "number of fields"), (("bind", "/a", "/b", "/c"), "too many fields"), (("cwd", "here"), "absolute path: 'here'"),
        (("users", "old"), "'users' is 'new'"), (("start",), "wrong time"), (("socket", "tcp4"), "wrong time"), (("\udcff" * 5000,), "unknown keyword"),
    ):
        found, _ = failure("true", identity=identity, extra=[packet])
        checks.that(found and found.step == "request" and text in found.message and found.error == "0", f"{title}: {str(packet)[:60]} is refused", found)
    found, _ = failure("true", identity=identity, version="2")
    checks.that(found and "version" in found.message and "same version" in found.advice, f"{title}: another protocol version is refused", found)
    with Isolated("sleep", "1000", identity=identity) as isolated:
        isolated.start()
        isolated.send("socket", "sctp")
        try:
            isolated.receive("socket", 1)
            found = None
        except Failed as failed:
            found = failed
        checks.that(found and found.step == "request" and "sctp" in found.message, f"{title}: an unknown socket is refused", found)


# seccomp(2): a filter that refuses unshare(2), as container engines do.
FILTERED = """
import ctypes, os, struct, sys
number = int(sys.argv[1])
code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 0x06, 0, 0, 0x00050001, 0x06, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxQ", 4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


def failing_steps(checks):
    """A limit of the kernel for each kind of namespace, in a user namespace around the helper; and a filter."""
    cases = []
    for kind, step, call in (
        ("user", "user namespace", "clone(CLONE_NEWUSER)"), ("pid", "PID namespace", "clone(CLONE_NEWPID)"),
        ("mnt", "mount namespace", "unshare(CLONE_NEWNS)"), ("net", "network namespaces", "unshare(CLONE_NEWNET)"),
    ):
        script = f'echo 0 >/proc/sys/user/max_{kind}_namespaces && exec "$@"'
        cases.append((["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"], step, call, "28", f"user.max_{kind}_namespaces"))
    number = {"x86_64": "272", "aarch64": "97"}.get(platform.machine())
    if checks.that(number, "the number of unshare(2) is known for this processor", platform.machine()):
        cases.append(([PYTHON, "-c", FILTERED, number], "mount namespace", "unshare(CLONE_NEWNS)", "1", "seccomp=unconfined"))
    if os.geteuid() == 0 and shutil.which("setpriv"):
        # user_namespaces(7): since Linux 5.12, only a process with CAP_SETFCAP maps root.
        prefix = ["setpriv", "--bounding-set=-setfcap,-sys_admin"]
        cases.append((prefix, "user and group IDs", "write '0 0 1' to /proc/self/uid_map", "1", "--cap-add SETFCAP"))
    script = 'mount -t tmpfs none /proc && exec "$@"'
    prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    cases.append((prefix, "user and group IDs", "open /proc/self/setgroups for writing", "2", "mount /proc"))
    for prefix, step, call, error, advice in cases:
        # With all capabilities, the helper needs no user namespace.
        only_new = prefix[0] == "unshare" and step in ("user namespace", "user and group IDs")
        for identity in (["user namespace"],) if only_new else (["user namespace"], []):
            found, _ = failure("true", identity=identity, prefix=prefix)
            good = found and (found.step, found.call, found.error) == (step, call, error) and advice in found.advice
            checks.that(good, f"{step} is reported, with {advice}", found)
        probe = support.finish([*prefix, Isolated.helper, "--probe"])
        lines = probe.stdout.splitlines()
        if only_new:
            checks.that(probe.returncode == 0, f"the probe of root does not need the step {step}", probe.stdout)
        else:
            failed = [line for line in lines if line.startswith(f"{step}: failed: {call}") and advice in line]
            untried = [line for line in lines if f": not tried, because it needs: {step}" in line]
            checks.that(probe.returncode == 1 and failed and untried and len(lines) == STEPS, f"the probe shows that {step} fails", probe.stdout)


GO = """package main
import ("crypto/rand"; "fmt"; "time")
func main() { bytes := make([]byte, 16); rand.Read(bytes); fmt.Printf("%d %x\\n", time.Now().UnixNano(), bytes) }
"""
JAVA = """import java.security.SecureRandom; import java.time.Instant; import java.util.*;
public class Values {
  public static void main(String[] words) {
    byte[] bytes = new byte[16];
    new SecureRandom().nextBytes(bytes);
    Instant now = Instant.now();
    System.out.println((now.getEpochSecond() * 1000000000L + now.getNano()) + " " + UUID.randomUUID() + HexFormat.of().formatHex(bytes));
  }
}
"""
PYTHON_VALUES = """import os, random, secrets, sys, time, uuid
print(time.time_ns(), random.random(), secrets.token_hex(8), uuid.uuid1(), uuid.uuid4(), hash("a"), {"a", "b", "c", "d"}, os.urandom(8), flush=True)
for _ in sys.stdin: print(time.time_ns(), flush=True)
"""
NODE_VALUES = "const c = require('crypto'); console.log(`${Date.now()}000000`, Math.random(), c.randomBytes(8).toString('hex'), c.randomUUID())"
RUBY_VALUES = "require 'securerandom'; puts [Process.clock_gettime(0, :nanosecond), rand, SecureRandom.hex(8), 'a'.hash, [1, 2, 3, 4, 5].shuffle].join(' ')"
PERL_VALUES = "%h = map { $_ => 1 } 1 .. 9; print time, '000000000 ', rand, keys %h"
SWIFT = """var generator = SystemRandomNumberGenerator()
print("0", generator.next() as UInt64, Double.random(in: 0..<1), Set(["a", "b", "c", "d"]))"""


def values(checks, folder):
    """Programs that print the time in nanoseconds, if not 0, and random values."""
    found = {
        "date": ["sh", "-c", "echo $(date +%s%N) $(openssl rand -hex 16)"],
        "Python": [PYTHON, "-c", PYTHON_VALUES],
        "node": ["node", "-e", NODE_VALUES],
        "static Go": [folder / "go"],
        "Java": ["java", "-cp", folder, "Values"],
        "Ruby": ["ruby", "-e", RUBY_VALUES],
        "perl": ["perl", "-e", PERL_VALUES],
        "bash": ["bash", "-c", "echo 0 $SRANDOM $$"],
        "devices": ["sh", "-c", "echo 0 $(head -c 1000000 /dev/urandom | cksum) $(head -c 1000000 /dev/random | cksum)"],
        "curl": ["sh", "-c", "echo 0 $(curl -s -m 0.3 --trace-ascii - -F a=b http://192.0.2.1/ | grep -A 1 boundary=)"],
        "mktemp": ["sh", "-c", "echo 0 $(mktemp -u) $(shuf -i 1-1000 -n 4) $(openssl genpkey -algorithm ed25519)"],
        "children": ["sh", "-c", "echo 0 $(seq 40 | xargs -P 8 -I{} sh -c 'echo {} $(openssl rand -hex 8)' | sort)"],
        "threads": [PYTHON, "-c", "import os, threading\nr = []\nt = [threading.Thread(target=lambda: r.append(os.urandom(4).hex())) for _ in range(200)]\nfor e in t: e.start()\nfor e in t: e.join()\nprint(0, *sorted(r))"],
        "calls": [folder / "random", "calls"],
    }
    (folder / "values.go").write_text(GO)
    (folder / "Values.java").write_text(JAVA)
    (folder / "values.swift").write_text(SWIFT)
    if shutil.which("go"):
        variables = {**support.environment(), "CGO_ENABLED": "0", "GOCACHE": str(folder / "cache"), "GOTOOLCHAIN": "local", "GOFLAGS": ""}
        subprocess.run(["go", "build", "-o", folder / "go", folder / "values.go"], check=True, env=variables, cwd=folder)
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", folder, folder / "Values.java"], check=True)
    if shutil.which("swiftc") and subprocess.run(["swiftc", "-static-stdlib", "-o", folder / "swift", folder / "values.swift"], cwd=folder).returncode == 0:
        found["Swift"] = [folder / "swift"]
    for name in ("random", "programs"):
        source = support.HERE / f"IsolationClock/{name}.c"
        words = ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread", "-I", support.ROOT / "Sources/ClockSupervision", source, "-ldl", "-lrt", "-o", folder / name]
        subprocess.run(words, check=True)
    vectors = support.finish([folder / "random", "vectors"])
    checks.that(vectors.returncode == 0, "ChaCha20 gives the blocks of RFC 8439", vectors.stdout)
    for name, words in found.items():
        if not shutil.which(words[0], path=PATH):
            checks.say(f"not checked, since it is not installed: {name}")
    return {name: words for name, words in found.items() if shutil.which(words[0], path=PATH)}


def supervised(checks, folder, found, identity, title):
    """The clock and random values of real programs."""
    for name, words in found.items():
        outputs = []
        for seed in ("one", "one", "two"):
            with Isolated(*words, identity=identity, clock=Clock(), seed=seed) as isolated:
                status, output, errors, _ = isolated.start().finish()
            outputs.append(output.decode(errors="replace"))
            checks.that(status == 0 and outputs[-1] and not isolated.reports, f"{title}: {name}: succeeds", (status, errors, isolated.reports))
        first, again, other = outputs
        checks.that(first.startswith(("0 ", str(PAST), "AT_RANDOM")), f"{title}: {name}: shows the frozen time", first)
        checks.that(first == again, f"{title}: {name}: the same seed gives the same values", (first, again))
        checks.that(first != other, f"{title}: {name}: another seed gives others", first)
        if name == "calls":
            checks.that("fault 14\nflags 22\nnothing 0\n" in first, f"{title}: wrong calls fail as before", first)
            checks.that("question -38" in first or "no function" in first, f"{title}: the vDSO makes system calls", first)
        if name == "threads":
            checks.that(len(set(first.split())) == 201, f"{title}: no value comes twice", first)
    with Isolated(PYTHON, "-c", PYTHON_VALUES, identity=identity, clock=(clock := Clock()), stdin=subprocess.PIPE) as isolated:
        isolated.start().process.stdout.readline()
        for mode, shown in ((Clock.FROZEN, FUTURE), (Clock.OFFSET, PAST), (Clock.REAL, 0), (Clock.FROZEN, PAST)):
            clock.move(mode, shown)
            before = time.time_ns()
            isolated.process.stdin.write(b"\n")
            isolated.process.stdin.flush()
            seen = int(isolated.process.stdout.readline())
            least = shown if mode != Clock.REAL else before
            checks.that(least <= seen <= least + (mode != Clock.FROZEN) * 60 * SECOND, f"{title}: a running program follows its clock to {shown} with mode {mode}", seen)
        checks.that(isolated.finish(b"")[0] == 0, f"{title}: and ends")
    library = folder / "libdiorama-clock.so"
    script = "import ctypes, os, time; c = ctypes.CDLL(None); s = ctypes.create_string_buffer(64); c.sem_init(s, 0, 0); b = time.monotonic(); c.sem_timedwait(s, (ctypes.c_long * 2)(int(time.time()) + 1, 0)); print(os.environ['LD_PRELOAD'], time.monotonic() - b)"
    for variables, wanted in (((), str(library)), (("LD_PRELOAD=libc.so.6",), f"{library}:libc.so.6")):
        with Isolated(PYTHON, "-c", script, identity=identity, clock=Clock(), extra=[("preload", library)], variables=variables) as isolated:
            _, output, errors, _ = isolated.start().finish()
        seen = output.decode().split()
        checks.that(len(seen) == 2 and seen[0] == wanted and 0.9 < float(seen[1]) < 30, f"{title}: the library converts deadlines, and other ones stay", (output, errors))
    for what, words in (
        ("1,000 programs in a row", ["bash", "-c", "for i in {1..1000}; do /bin/true || exit 1; done; date +%s"]),
        ("1,000 processes in a row", ["bash", "-c", "for i in {1..1000}; do (exit 0) || exit 1; done; date +%s"]),
        ("200 threads", [PYTHON, "-c", "import threading, time\nt = [threading.Thread(target=time.sleep, args=(.2,)) for _ in range(200)]\nfor e in t: e.start()\nfor e in t: e.join()\nprint(int(time.time()))"]),
    ):
        with Isolated(*words, identity=identity, clock=Clock(), seed="") as isolated:
            status, output, errors, _ = isolated.start().finish()
        checks.that((status, output.strip()) == (0, str(PAST // SECOND).encode()), f"{title}: {what}", (status, output, errors))
    costs = []
    for values in ({}, {"clock": Clock()}, {"clock": Clock(), "seed": "1"}):
        with Isolated(folder / "programs", "spawn", "200", "/bin/true", identity=identity, **values) as isolated:
            costs.append(isolated.start().finish()[1].split())
    checks.that(all(failed == b"0" for failed, _ in costs), f"{title}: 200 programs in a row", costs)
    checks.say(f"{title}: a program takes " + " µs, ".join(took.decode() for _, took in costs) + " µs: as it is, with a clock, with a seed, too")
    with Isolated(Isolated.helper, "--probe", identity=[*identity, "supervised"]) as isolated:
        output = isolated.start().finish()[1].decode()
    checks.that("vDSO: failed" in output and "cannot isolate another one" in output and "bound files: ok" in output, f"{title}: a second supervisor inside is refused, with a reason", output)
    with Isolated("date", "+%s", identity=identity, seed="1") as isolated:
        output = isolated.start().finish()[1]
    checks.that(abs(int(output) - time.time()) < 60, f"{title}: random values alone leave the clock real", output)
    for packet, text in (
        (("clock", "required"), "without a descriptor"), (("clock", "perhaps"), "'clock' is 'required' or 'optional'"),
        (("random", "perhaps", "1"), "'random' is"), (("random", "required"), "number of fields"), (("preload", "a.so"), "absolute path"),
        (("preload", "/a b.so"), "absolute path"),
    ):
        error, _ = failure("true", identity=identity, extra=[packet])
        checks.that(error and error.step == "request" and text in error.message, f"{title}: {packet} is refused", error)


def unsupervised(checks, identity, title):
    """What is unavailable is reported; the command runs without it only if that is allowed."""
    machine = platform.machine()
    seccomp, persona = {"x86_64": ("317", "135"), "aarch64": ("277", "92")}.get(machine, ("", ""))
    if not checks.that(seccomp, "the number of seccomp(2) is known for this processor", machine):
        return
    more = {"identity": identity, "prefix": [PYTHON, "-c", FILTERED, seccomp]}
    with Isolated("sh", "-c", "date +%s; head -c 8 /dev/urandom | wc -c; echo $$", clock=Clock(), seed="1", wish="optional", **more) as isolated:
        status, output, errors, _ = isolated.start().finish()
    fields = ["unavailable", "seccomp notification", "seccomp(SECCOMP_FILTER_FLAG_NEW_LISTENER)", "1", "Operation not permitted"]
    seen = [(packet[0], packet[1:6] == fields, "seccomp=unconfined" in packet[6]) for packet in isolated.unavailable]
    checks.that(seen == [("random", True, True), ("clock", True, True)], f"{title}: an unavailable clock is reported", isolated.unavailable)
    now, count, pid = output.split()
    checks.that(status == 0 and abs(int(now) - time.time()) < 60 and (count, pid) == (b"8", b"2"), f"{title}: the command runs without it", (output, errors))
    for values in ({"clock": Clock()}, {"seed": "1"}):
        error, status = failure("true", **values, **more)
        checks.that(error and error.step == "seccomp notification" and status in (None, 69), f"{title}: a required clock that is unavailable is a failure", (error, status))
    probe = support.finish([*more["prefix"], Isolated.helper, "--probe"])
    checks.that(probe.returncode == 0 and "seccomp notification: failed: " in probe.stdout and "bound files: ok" in probe.stdout, f"{title}: the probe shows it", probe.stdout)
    # In a user namespace, where it may be the first time that the filter stops it.
    more["prefix"][3] = persona
    with Isolated("sh", "-c", "date +%s", clock=Clock(), seed="1", **more) as isolated:
        status, output, *_ = isolated.start().finish()
        checks.that(status == 0 and int(output) == PAST // SECOND, f"{title}: addresses that stay random are no failure", output)
    checks.that(len(isolated.reports) == 1 and "addresses stay random: personality" in isolated.reports[0][1], f"{title}: but reported", isolated.reports)


def many(checks, identity, title, starts):
    """Nothing is left after many starts, one after another and 64 at once. Prints the time of the setup."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text()
    files = len(os.listdir("/proc/self/fd"))

    def start(_):
        with Isolated("true", identity=identity) as isolated:
            return isolated.seconds * 1000, isolated.start().finish()[0]

    alone = [start(each) for each in range(max(1, starts - 64))]
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        crowd = list(pool.map(start, range(min(64, starts))))
    checks.that({status for _, status in alone + crowd} == {0}, f"{title}: {len(alone + crowd)} starts succeed", crowd)
    times, crowded = sorted(milliseconds for milliseconds, _ in alone), sorted(milliseconds for milliseconds, _ in crowd)
    checks.say(f"{title}: setup {times[len(times) // 2]:.0f} ms (median), {times[-1]:.0f} ms at most; {crowded[len(crowded) // 2]:.0f} ms among {len(crowded)} at once")
    checks.that(not ours(), f"{title}: no process is left", ours())
    checks.that(len(os.listdir("/proc/self/fd")) == files, f"{title}: no descriptor is left", files)
    # The mounts of other programs on this machine may change meanwhile; those of the helper carry these names.
    left = set(pathlib.Path("/proc/self/mountinfo").read_text().splitlines()) - set(mounts.splitlines())
    checks.that(not [line for line in left if "diorama-acceptance" in line], f"{title}: no mount is left", left)
    links = [line for line in pathlib.Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("dio")]
    checks.that(not links, f"{title}: no network link is outside", links)


def repository(folder):
    """A repository that a plain file server can serve (git-update-server-info(1))."""
    variables = {**support.environment(), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    git = lambda *words: subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words], cwd=folder, env=variables, check=True)
    git("init", "-q", "work")
    (folder / "work/file").write_text("of the repository\n")
    git("-C", "work", "add", "file")
    git("-C", "work", "commit", "-q", "-m", "One")
    git("clone", "-q", "--bare", "work", "repository.git")
    git("-C", "repository.git", "update-server-info")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--starts", type=int, default=100)
    options.add_argument("--helper", help=argparse.SUPPRESS)
    options.add_argument("--hold", help=argparse.SUPPRESS)
    options.add_argument("--terminal", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("identity", nargs="*", help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.hold or options.terminal:
        Isolated.helper = options.helper
        return hold(options.hold, options.identity) if options.hold else terminal_driver(options.identity)

    checks = support.Checks("isolation_helper")
    if not sys.platform.startswith("linux"):
        checks.that(True, "namespaces require Linux")
        checks.say("not Linux: the helper was not tested")
        checks.end()
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if not checks.that(not missing, f"{' and '.join(missing)} installed: run Config/bootstrap test"):
        checks.end()
    with support.folder() as folder:
        folder.chmod(0o755)
        # A copy, since the unprivileged user may not be allowed to read the folder of the build.
        Isolated.helper = shutil.copy(support.binary("diorama-isolate"), folder / "diorama-isolate")
        subprocess.run([support.ROOT / "Config/clock-library", folder / "libdiorama-clock.so"], check=True)
        found = values(checks, folder)
        identities = {"as this user": [], "in a user namespace": ["user namespace"]}
        if os.geteuid() == 0:
            identities["as an unprivileged user"] = ["unprivileged"]
        else:
            checks.say("not root: not tested without a user namespace")
        repository(folder)
        for title, identity in identities.items():
            more = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []} if "unprivileged" in identity else {}
            probe = support.finish([Isolated.helper, "--probe"], **more)
            lines = probe.stdout.splitlines()
            works = probe.returncode == 0 and len(lines) == STEPS and all(line.endswith(": ok") for line in lines)
            if not checks.that(works, f"{title}: each step of the isolation works here", probe.stdout + probe.stderr):
                continue
            with Isolated(Isolated.helper, "--probe", identity=identity) as isolated:
                status, output, *_ = isolated.start().finish()
                checks.that(status == 0 and output.decode() == probe.stdout, f"{title}: each step works also inside", output)
            clients(checks, folder, identity, title)
            own_servers(checks, folder, identity, title)
            host_ports(checks, identity, title)
            streams(checks, folder, identity, title)
            binds(checks, folder, identity, title)
            signals(checks, identity, title)
            kills(checks, identity, title)
            terminal(checks, identity, title)
            errors(checks, folder, identity, title)
            many(checks, identity, title, options.starts)
            supervised(checks, folder, found, identity, title)
            unsupervised(checks, identity, title)
            identity, title = [*identity, "supervised"], f"{title}, with a clock and a seed"
            streams(checks, folder, identity, title)
            signals(checks, identity, title)
            kills(checks, identity, title)
            terminal(checks, identity, title)
            errors(checks, folder, identity, title)
            many(checks, identity, title, min(options.starts, 100))
        propagation(checks)
        failing_steps(checks)
    checks.that(not ours(), "no process is left", ours())
    checks.end()


main()
