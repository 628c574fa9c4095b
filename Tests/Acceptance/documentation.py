"""Runs the shell sessions of the README and of the articles, and compares what they print with what is shown there.

    documentation.py [--update] [--print] [PART…]   only the documents whose path contains a PART

A code block fenced as `console` is a session: a line that begins with `$ ` is a command, the lines below it are its output
(standard output and error together). A command continues on the next line after a `\\`. The sessions of a document run in
one shell, in order, in one empty folder. Blocks that cannot run here are fenced as `sh` or `text`, without a prompt.

- `…` stands for any text within a line, a line of `…` alone for any number of lines.
- Values that differ from run to run match any value of the same kind: ports of 127.0.0.1 (after the address, or at the
  start of a line), timestamps, HTTP dates, seconds (`0.09 s`), numbers of ten or more digits, JSON Web Tokens, UUIDs,
  and e-mail addresses of random characters. Ports at the start of a line, timestamps, UUIDs and e-mail addresses that are
  equal in the document must be equal in the run.
- `$ cat FILE` creates the file with the shown content, unless it exists; `.sh` and `.py` files are executable.
- The addresses in UPSTREAMS stand for servers that this script starts.

--update writes what was printed into the documents, but keeps lines that match; --print shows what was printed.
The script also checks the links between the documents, and whether the options, make targets, packages, source files,
types and tests that they name exist.
"""

import base64
import contextlib
import hmac
import http.server
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import threading
import time

import support

README = support.ROOT / "README.md"
ARTICLES = sorted(support.ROOT.glob("Sources/*/*.docc/*.md"))
THREATS = support.ROOT / "Sources/Daemon/THREATS.md"
ARCHITECTURE = support.ROOT / "Sources/DioramaTesting/DioramaTesting.docc/Architecture.md"
README_LINES = 200
# Generated reference pages, which their generators check.
GENERATED = {"ConfigurationReference.md"}

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Values that differ from run to run: a name, a pattern, and whether equal values must stay equal.
KINDS = [
    ("any", r"…", False),
    ("instant", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)", True),
    ("date", r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", False),
    ("uuid", r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", True),
    ("jwt", r"\beyJ[\w-]+\.[\w-]+\.[\w-]+", False),
    ("email", r"\b[a-z0-9]{8,12}@example\.com", True),
    ("port", r"(?<=127\.0\.0\.1:)(?!808\d\b)\d{4,5}", False),
    ("lease", r"^[23]\d{4}\b", True),
    ("seconds", r"\b\d+\.\d\d s\b", False),
    ("long", r"\b\d{10,}\b", False),
]
KIND = re.compile("|".join(f"(?P<{name}>{look})" for name, look, _ in KINDS))
LOOKS = {name: look for name, look, _ in KINDS}
BOUND = {name for name, _, bound in KINDS if bound}


class Board(http.server.BaseHTTPRequestHandler):
    """Departures as server-sent events, with pauses."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # the first event leaves with the head: no time passes between them

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for pause, text in [(0, "on time"), (1.5, "delayed"), (3, "departed")]:
            time.sleep(pause)
            event = f"data: {text}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


CHAT = """
from websockets.sync.server import serve
def talk(socket):
    for message in socket: socket.send(message.upper())
with serve(talk, "127.0.0.1", 0) as server:
    print(f"listening on {server.socket.getsockname()[1]}", flush=True)
    server.serve_forever()
"""


def slots(release):
    """A clinic: release 2 has no postcodes, other pages, and times as numbers."""

    def answer(handler, body):
        path, status = handler.path, 200
        if path == "/v1/clinics":
            found = [{"id": 1, "name": "Chelsea", "postcode": "SW3"}, {"id": 2, "name": "Hackney", "postcode": "E8"}]
            if release == 2:
                found = [{"id": 1, "name": "Chelsea"}, {"id": 2, "name": "Dalston"}]
            found = {"clinics": found}
        elif path == "/v1/clinics?page=9":
            found, status = ({"clinics": []}, 200) if release == 1 else ({"error": "no such page"}, 404)
        else:
            found = {"slots": [{"startsAt": "2018-10-09T10:00:00Z" if release == 1 else 1539079200}]}
        return status, [("Content-Type", "application/json")], json.dumps(found).encode()

    return answer


def session(handler, body):
    """Slots of 2018 and a login that lasts an hour, for recordings whose dates are moved."""
    encoded = [base64.urlsafe_b64encode(part).rstrip(b"=") for part in (b'{"alg":"HS256"}', b'{"sub":"ann","exp":1538992800}')]
    signature = hmac.digest(b"not-a-real-key", b".".join(encoded), "sha256")
    token = b".".join([*encoded, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()
    content = {
        "now": "2018-10-08T09:00:00+00:00", "next_slot": "2018-10-09T09:00:00+00:00", "expires_at": 1538992800,
        "born": "1980-05-04T00:00:00Z", "token": token,
    }
    expires = "Mon, 08 Oct 2018 10:00:00 GMT"
    headers = [("Content-Type", "application/json"), ("Set-Cookie", f"session=s; Path=/; Expires={expires}")]
    return 200, headers, json.dumps(content).encode()


@contextlib.contextmanager
def board():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Board)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


# The servers by their addresses in the documents. Each is started once, when a document first names it.
UPSTREAMS = {
    "127.0.0.1:8080": support.httpbin,
    "127.0.0.1:8081": lambda: support.Upstream(slots(1)),
    "127.0.0.1:8082": lambda: support.Upstream(slots(2)),
    "127.0.0.1:8083": lambda: support.Upstream(session),
    "127.0.0.1:8084": board,
    "127.0.0.1:8085": lambda: support.Program([support.python("websockets"), "-c", CHAT]),
}


def port(server):
    return server.server_address[1] if isinstance(server, http.server.HTTPServer) else server.port


class Command:
    """One command of a session, with the output that is shown."""

    def __init__(self, text):
        self.text, self.shown = text, []


def commands(block):
    """The commands of a session."""
    found, goes_on = [], False
    for line in block.splitlines():
        if goes_on:
            found[-1].text += "\n" + line
        elif line.startswith("$ "):
            found.append(Command(line[2:]))
        elif found:
            found[-1].shown.append(line)
            continue
        else:
            raise ValueError(f"a session begins with a command, not with {line!r}")
        goes_on = line.endswith("\\")
    return found


def script(all_commands, mark):
    """A shell script that runs the commands and marks the end of each."""
    lines = []
    for number, command in enumerate(all_commands):
        made = re.fullmatch(r"cat (\S+)", command.text)
        if made and command.shown:
            name, content = shlex.quote(made[1]), "\n".join(command.shown)
            lines.append(f"if ! [ -e {name} ]; then mkdir -p \"$(dirname {name})\"; cat > {name} <<'{mark}'\n{content}\n{mark}\n")
            lines.append(f"case {name} in *.sh|*.py) chmod +x {name};; esac; fi")
        lines += [command.text, f"__status=$?; printf '%s\\n' '{mark} {number}'; (exit $__status)"]
    return "\n".join(lines) + "\n"


def run(all_commands, folder, home, real):
    """The output lines of each command; `real` has the actual addresses of UPSTREAMS."""
    mark = "END-OF-COMMAND"
    text = script(all_commands, mark)
    for shown, address in real.items():
        text = text.replace(shown, address)
    environment = support.environment()
    tools = folder.parent / "tools"
    tools.mkdir(exist_ok=True)
    if not (tools / "diorama").exists():
        (tools / "diorama").symlink_to(support.binary("diorama"))
        # Not a link, because Python finds its virtual environment by the interpreter's path.
        (tools / "python").write_text(f'#!/bin/sh\nexec {support.python("websockets")} "$@"\n')
        (tools / "python").chmod(0o755)
    environment.update(
        PATH=f"{tools}:{environment['PATH']}", DIORAMA_HOME=str(home), TZ="Etc/UTC", LANG="en_GB.UTF-8", LC_ALL="C.UTF-8")
    script_file, output = folder.parent / "session.sh", folder.parent / "output"
    script_file.write_text(text, encoding="utf-8")
    # Into a file, because background processes of a session would keep a pipe open.
    with output.open("wb") as file:
        shell = subprocess.Popen(
            ["bash", str(script_file)], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=file,
            stderr=subprocess.STDOUT, start_new_session=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            shell.wait(support.PATIENCE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    printed = output.read_bytes().decode(errors="replace").replace(str(folder), "…")
    for shown, address in real.items():
        printed = printed.replace(address, shown)
    outputs = [[]]
    for line in printed.splitlines():
        # A command's last line may lack a line break.
        before, found, number = line.partition(f"{mark} ")
        if before or not found:
            outputs[-1].append(before)
        if found:
            outputs.append([])
    return outputs[:-1] if len(outputs) > 1 else outputs


class Comparison:
    """Compares lines, and remembers which value in the document each value of the run corresponds to."""

    def __init__(self):
        self.bound = {}

    def line(self, shown, printed):
        """Whether a line of the document matches a printed one."""
        pattern, values, end = "", [], 0
        for found in KIND.finditer(shown):
            pattern += re.escape(shown[end : found.start()])
            end = found.end()
            if found.lastgroup == "any":
                pattern += ".*"
            else:
                pattern += f"({LOOKS[found.lastgroup]})"
                values.append((found.lastgroup, found[0]))
        match = re.fullmatch(pattern + re.escape(shown[end:]), printed)
        if not match:
            return False
        pairs = [((kind, value), match[place]) for place, (kind, value) in enumerate(values, 1) if kind in BOUND]
        if any(self.bound.get(key, value) != value for key, value in pairs):
            return False
        self.bound.update(pairs)
        return True

    def lines(self, shown, printed):
        """Whether the lines of the document match the printed ones."""
        if not shown:
            return not printed
        if shown[0].strip() == "…":
            return any(self.lines(shown[1:], printed[count:]) for count in range(len(printed) + 1))
        return bool(printed) and self.line(shown[0], printed[0]) and self.lines(shown[1:], printed[1:])


def updated(shown, printed):
    """The updated lines of a document: the printed ones, except where its abbreviations still match."""
    lines, rest = [], list(printed)
    for place, line in enumerate(shown):
        if line.strip() == "…":
            # Skips the omitted lines, up to the next one that is shown.
            later = shown[place + 1] if place + 1 < len(shown) else None
            lines.append(line)
            while rest and (later is None or not Comparison().line(later, rest[0])):
                rest.pop(0)
        elif rest and "…" in line and Comparison().line(line, rest[0]):
            lines.append(line)
            rest.pop(0)
        elif rest:
            lines.append(rest.pop(0))
    return lines + rest


class Document:
    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(support.ROOT))
        self.text = path.read_text(encoding="utf-8")
        self.blocks = [found for found in FENCE.finditer(self.text) if found[1] == "console"]

    def check(self, checks, servers, folder, arguments):
        """Runs the document's sessions, and rewrites it with --update."""
        sessions = [commands(block[2]) for block in self.blocks]
        all_commands = [command for one in sessions for command in one]
        if not all_commands:
            return 0
        named = [address for address in UPSTREAMS if any(address in block[2] for block in self.blocks)]
        real = {address: f"127.0.0.1:{port(servers(address))}" for address in named}
        # A short path, since it is the beginning of the daemon's socket path.
        place = folder / self.path.stem[:20] / "session"
        place.mkdir(parents=True)
        home = place.parent / "state"
        outputs = run(all_commands, place, home, real)
        support.diorama("serve", "--stop", "--state", home)
        checks.that(len(outputs) == len(all_commands), f"{self.name}: its sessions run to their end", outputs[-1])
        comparison = Comparison()
        matched = True
        for command, printed in zip(all_commands, outputs):
            if "--print" in arguments:
                print(f"$ {command.text}\n" + "\n".join(printed))
            held = comparison.lines(command.shown, printed)
            matched = matched and held
            if "--update" in arguments:
                continue
            seen = "\n".join(["", *printed, "    shown:", *command.shown])
            checks.that(held, f"{self.name}: prints what it shows: $ {command.text}", seen)
        if "--update" in arguments and not matched:
            self.update(sessions, iter(outputs))
        return len(all_commands)

    def update(self, sessions, outputs):
        text, end = "", 0
        for block, one in zip(self.blocks, sessions):
            lines = []
            for command in one:
                lines += [f"$ {command.text}", *updated(command.shown, next(outputs, command.shown))]
            text += self.text[end : block.start(2)] + "\n".join(lines) + "\n"
            end = block.end(2)
        self.path.write_text(text + self.text[end:], encoding="utf-8")
        print(f"  updated {self.name}", flush=True)

    def check_text(self, checks, options, targets):
        """Checks links, options and make targets, and that each session is run."""
        for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", self.text)):
            path, _, anchor = target.partition("#")
            if "://" in target or pathlib.Path(path).name in GENERATED:
                continue
            file = (self.path.parent / path).resolve() if path else self.path
            if checks.that(file.exists(), f"{self.name}: the link to {target} leads somewhere") and anchor:
                anchors = headings(file.read_text(encoding="utf-8"))
                checks.that(anchor in anchors, f"{self.name}: the link to {target} leads to a heading", anchors)
        for kind, body in FENCE.findall(self.text):
            checks.that(kind != "", f"{self.name}: each code block says its language", body[:80])
            prompt = kind != "console" and re.search(r"^\$ ", body, re.MULTILINE)
            checks.that(not prompt, f"{self.name}: what has a prompt is run", body[:80])
        for option in re.findall(r"`(--[a-z][a-z-]*)", FENCE.sub("", self.text)):
            checks.that(option in options, f"{self.name}: {option} is an option")
        for target in re.findall(r"(?:`|^)make ([a-z][a-z-]*)", self.text, re.MULTILINE):
            checks.that(target in targets, f"{self.name}: make {target} is a target")


def check_tests(checks, document):
    """Checks that the tests in a document's tables exist, such as `Suite`, `Suite.function` or `script.py: function`."""
    rows = re.findall(r"^\|.*\|$", document.text, re.MULTILINE)
    for name in {name for row in rows for name in re.findall(r"`(\w+Tests(?:\.\w+)?|\w+\.py(?:: \w+)?)`", row)}:
        place, _, function = name.replace(": ", ".", 1).replace(".py", "", 1).partition(".")
        kind = "py" if ".py" in name else "swift"
        files = [file for file in support.ROOT.glob("Tests/**/*." + kind) if kind == "swift" or file.stem == place]
        texts = [file.read_text(encoding="utf-8") for file in files]
        found = [text for text in texts if kind == "py" or re.search(rf"(?:struct|class|extension|enum) {place}\b", text)]
        if function:
            found = [text for text in found if re.search(rf"(?:func|def) {function}\b", text)]
        checks.that(found, f"{document.name}: {name} is a test")


def headings(text):
    """The anchors of a document's headings, as on GitHub."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def check_architecture(checks):
    """Checks that the paths in the architecture article exist and contain the types beside them."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    rows = re.findall(r"`(\w[\w.]*)`\s\(`(\w[^`]*)`\)", text)
    checks.that(len(rows) > 10, "the article on the architecture names types and their files", rows)
    sources = "\n".join(file.read_text(encoding="utf-8") for file in support.ROOT.glob("Sources/**/*.swift"))
    package = (support.ROOT / "Package.swift").read_text(encoding="utf-8")
    targets = re.findall(r"\.(?:executableT|t)arget\(\s*name: \"(\w+)\"", package)
    folders = {name: support.ROOT / "Sources" / name for name in targets}
    for name in sorted(name for name, at in folders.items() if at.exists() and not (at / "module.modulemap").exists()):
        checks.that(f"`{name}`" in text, f"the article on the architecture has the module {name}")
    drawing = re.search(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    for name in sorted(set(re.findall(r"\b[A-Z][a-z]+[A-Z]\w+", drawing)) - {"URLs"}):
        found = re.search(rf"(?:struct|class|enum|actor|protocol) {name}\b", sources)
        checks.that(found, f"{name} in the drawing of the architecture is a type")
    for name, path in rows:
        file = support.ROOT / "Sources" / path
        found = file.exists() and re.search(rf"\b{re.escape(name.split('.')[-1])}\b", file.read_text(encoding="utf-8"))
        checks.that(found, f"{name} is in Sources/{path}")


def check_packages(checks, readme):
    """Checks that the README lists the packages in Config/system-packages."""
    listed = (support.ROOT / "Config/system-packages").read_text(encoding="utf-8")
    needed = set(re.findall(r"^apt: *(\S+)", listed, re.MULTILINE))
    command = re.search(r"apt-get install ((?:[^\n]*\\\n)*[^\n]*)", readme)
    named = set(command[1].replace("\\", " ").split()) if command else set()
    checks.that(named == needed, "the README lists the packages of Config/system-packages", named ^ needed)


def known_options():
    """The options in the help of all commands, and of this script."""
    words = ["run", "serve", "env", "port", "cassette", "rules", "contract", "strings", "mock", "features", "doctor",
             "verify", "pool", "lease", "fleet", "token"]
    deeper = {
        "env": ["list", "show", "create", "update", "report", "delete"], "port": ["list", "release"],
        "cassette": ["show", "check", "diff", "prune", "import", "export"], "contract": ["show", "check"], "rules": ["suggest"],
        "features": ["check", "list", "format", "steps", "report"], "fleet": ["list", "show", "tail", "stats"],
        "pool": ["create", "import", "list", "show", "retire", "restore", "delete"], "lease": ["list", "release"],
        "token": ["create", "list", "revoke"],
    }
    texts = [support.diorama("--help").stdout]
    for word in words:
        texts += [support.diorama(word, "--help").stdout]
        texts += [support.diorama(word, more, "--help").stdout for more in deeper.get(word, [])]
    return set(re.findall(r"--[a-z][a-z-]*", " ".join(texts))) | {"--help", "--update", "--diorama-mode"}


def main():
    arguments = [word for word in sys.argv[1:] if word.startswith("--")]
    parts = [word for word in sys.argv[1:] if not word.startswith("--")]
    if set(arguments) - {"--update", "--print"}:
        sys.exit("usage: documentation.py [--update] [--print] [PART…]")
    checks = support.Checks("documentation")
    documents = [Document(path) for path in [README, *ARTICLES]]
    documents = [one for one in documents if not parts or any(part in one.name for part in parts)]
    subprocess.run([support.ROOT / "Config/venv", "httpbin", "websockets"], check=True)
    count = 0
    with support.folder() as folder, contextlib.ExitStack() as stack:
        started = {}

        def servers(address):
            if address not in started:
                started[address] = stack.enter_context(UPSTREAMS[address]())
            return started[address]

        for document in documents:
            count += document.check(checks, servers, folder, arguments)
    options = known_options()
    targets = set(re.findall(r"^([a-z-]+):", (support.ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in documents:
        document.check_text(checks, options, targets)
        check_tests(checks, document)
        if document.path == README:
            lines = len(document.text.splitlines())
            checks.that(lines <= README_LINES, f"the README has at most {README_LINES} lines", lines)
            check_packages(checks, document.text)
        if document.path == ARCHITECTURE:
            check_architecture(checks)
    check_tests(checks, Document(THREATS))
    checks.say(f"{len(documents)} documents, {count} commands")
    checks.end()


main()
