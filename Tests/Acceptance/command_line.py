"""The command line in a real system: output that cannot be written, progress on a terminal, odd file names, completion in
bash, zsh and fish, and the manual page."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time

import support

DIORAMA = support.binary("diorama")
COMMANDS = [
    "run", "verify", "env", "env create", "env list", "env show", "env update", "env enter", "env report", "env delete", "port", "port list",
    "port release", "cassette", "cassette show", "cassette check", "cassette diff", "cassette prune", "cassette import",
    "cassette export", "rules", "rules suggest", "contract", "contract show", "contract check", "serve", "strings", "doctor", "completion", "version", "help",
]


def entry(number, size=1):
    return {
        "startedDateTime": "2018-10-08T09:00:00Z",
        "time": 1,
        "request": {"method": "GET", "url": f"http://h.test/{number}", "headers": [{"name": "X-Number", "value": str(number)}]},
        "response": {"status": 200, "content": {"size": size, "mimeType": "text/plain", "text": "a" * size}},
    }


def write_har(path, entries):
    log = {"version": "1.2", "creator": {"name": "t", "version": "1"}, "entries": entries}
    path.write_text(json.dumps({"log": log}))


def run(words, folder, more=(), **options):
    """Runs diorama in a folder with a daemon of its own."""
    return subprocess.run(
        [DIORAMA, *words], cwd=folder, env=dict(support.environment(), DIORAMA_HOME=str(folder / "daemon"), **dict(more)),
        stdin=subprocess.DEVNULL, timeout=support.PATIENCE, **options,
    )


def full_output(checks, folder):
    """Every command that prints, into a full device."""
    write_har(folder / "c.har", [entry(1)])
    (folder / "contract.json").write_text('{"version": 1}')
    environment = run(["env", "create", "--mode", "mock", "--ttl", "600"], folder, capture_output=True, text=True)
    report = run(["run", "--mode", "replay", "--cassette", "c", "--allow-no-requests", "--report", "r.json", "--", "true"], folder, capture_output=True)
    checks.that(environment.returncode == 0 and report.returncode == 0, "an environment and a report are made", (environment, report))
    name = environment.stdout.strip()
    printing = [[*command.split(), "--help"] for command in COMMANDS] + [
        ["--help"], ["help"], ["help", "run"], ["help", "--man"], ["version"], ["completion", "bash"], ["completion", "zsh"],
        ["completion", "fish"], ["strings", "--seed", "s", "--key", "k"], ["cassette", "show", "c"],
        ["cassette", "show", "--json", "c"], ["cassette", "check", "c"], ["cassette", "check", "--json", "c"],
        ["cassette", "diff", "--json", "c", "c"], ["cassette", "prune", "c", "--report", "r.json", "--dry-run"],
        ["cassette", "import", "c.har", "--to", "imported"], ["cassette", "export", "c", "--to", "exported.har", "--as", "har"],
        ["contract", "show", "contract.json"], ["contract", "show", "--json", "contract.json"],
        ["contract", "check", "contract.json"], ["serve", "--status"], ["serve", "--status", "--json"], ["doctor"], ["doctor", "--json"], ["port"],
        ["port", "--json"], ["port", "list"], ["env", "create", "--mode", "mock"], ["env", "create", "--mode", "mock", "--shell"],
        ["env", "list"], ["env", "show", name], ["env", "update", name, "--toggle", "a=1", "--json"],
        ["env", "report", name], ["env", "delete", name, "--json"],
    ]
    for words in printing:
        with open("/dev/full", "wb") as full:
            ended = run(words, folder, stdout=full, stderr=subprocess.PIPE, text=True)
        said = "diorama: cannot write to standard output: No space left on device; redirect it to a writable file\n"
        checks.that(ended.returncode == 74 and ended.stderr == said, f"{' '.join(words)} >/dev/full is 74", (ended.returncode, ended.stderr))
    batch = subprocess.run(
        ["sh", "-c", f'echo \'{{"seed": "s", "key": "k"}}\' | "{DIORAMA}" strings --batch >/dev/full'], capture_output=True, text=True
    )
    checks.that(batch.returncode == 74, "strings --batch >/dev/full is 74", batch)
    # A reader that has seen enough is no error: the command ends by SIGPIPE, as head's user expects.
    write_har(folder / "long.har", [entry(number) for number in range(5000)])
    short = subprocess.run(["sh", "-c", f'"{DIORAMA}" cassette show long | head -n 1'], cwd=folder, capture_output=True, text=True)
    checks.that(short.stderr == "" and "5000 interactions" in short.stdout, "cassette show | head prints no error", short)
    with open("/dev/full", "wb") as full:
        served = run(["serve", "--state", "other"], folder, stdout=full, stderr=subprocess.PIPE, text=True)
    checks.that(served.returncode == 74 and "cannot write to standard output" in served.stderr, "serve >/dev/full is 74", served)
    left = run(["serve", "--status", "--state", "other"], folder, capture_output=True, text=True)
    checks.that(left.returncode == 69, "no daemon is left then", left)
    run(["serve", "--stop"], folder, capture_output=True)


def on_terminal(words, folder, columns=100):
    """What diorama writes to a terminal of this width, and its exit status."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe(DIORAMA, [DIORAMA, *words], dict(support.environment(), TERM="xterm"))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    output = b""
    with contextlib.suppress(OSError):  # EIO at the end of the child
        while piece := os.read(terminal, 65536):
            output += piece
    os.close(terminal)
    return output.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def progress(checks, folder):
    write_har(folder / "big.har", [entry(number, 20_000) for number in range(3000)])
    # Starts after a second, so what takes long is repeated until it does.
    files = ["big.har"] * 3
    output, status = on_terminal(["cassette", "import", *files, "--to", "imported-big"], folder)
    lines = re.findall(r"\r\x1b\[2K(importing 3 files [\d.]+ of [\d.]+ MB … \d+ s)", output)
    checks.that(status == 0 and len(lines) > 1, "an import shows megabytes on a line that is rewritten", output)
    counts = [float(line.split()[3]) for line in lines]
    checks.that(counts == sorted(counts) and counts[-1] > counts[0], "they grow", lines)
    checks.that(output.rstrip().endswith("upstream h.test = http://h.test") and "MB" not in output.split("\x1b[2K")[-1], "the line is erased at the end", output[-300:])

    def slow(handler, _):
        time.sleep(0.25)
        return 200, [("Content-Type", "text/plain")], handler.path.encode()

    app = [sys.executable, "-c", "import os, urllib.request\nfor n in range(12): urllib.request.urlopen(os.environ['DIORAMA_ENDPOINT_API'] + f'/{n}').read()"]
    with support.Upstream(slow) as upstream:
        recorded = support.Run("record", folder / "twelve", app, {"api": upstream.url})
        checks.that(recorded.status == 0, "twelve requests are recorded", recorded)
        output, status = on_terminal(["cassette", "check", "--live", "twelve"], folder)
        numbers = [int(number) for number in re.findall(r"\r\x1b\[2K[^\r]*: (\d+) of 12 … \d+ s", output)]
        checks.that(status == 0 and len(set(numbers)) > 3 and numbers == sorted(numbers), "a live check shows the request of 12", output)
        narrow, _ = on_terminal(["cassette", "check", "--live", "twelve"], folder, columns=40)
        widths = [len(line) for line in re.findall(r"\r\x1b\[2K([^\r\x1b]*… \d+ s)", narrow)]
        checks.that(widths and max(widths) < 40, "a narrow terminal shows the end of the line", narrow)
        plain = support.diorama("cassette", "check", "--live", folder / "twelve")
        checks.that(plain.stderr == "", "a pipe shows no progress", plain)


def odd_names(checks, folder):
    odd = b"b\xff"
    for words in (
        [b"run", b"--mode", b"record", b"--cassette", odd, b"--upstream", b"a=http://127.0.0.1:1", b"--", b"true"],
        [b"run", b"--mode", b"mock", b"--report", odd, b"--", b"true"], [b"cassette", b"show", odd],
        [b"cassette", b"import", b"c.har", b"--to", odd], [b"cassette", b"export", b"c", b"--as", b"har", b"--to=" + odd],
        [b"contract", b"show", odd], [b"serve", b"--state", odd], [b"env", b"show", odd],
    ):
        ended = subprocess.run([DIORAMA.encode(), *words], cwd=folder, capture_output=True, timeout=support.PATIENCE)
        checks.that(
            ended.returncode == 64 and b"is not UTF-8" in ended.stderr and ended.stderr.count(b"\n") == 1,
            f"{words} is refused", ended,
        )
    names = [name for name in os.listdir(os.fsencode(folder)) if name.startswith(b"b")]
    checks.that(set(names) <= {b"big.har"}, "no file of a similar name is made", names)
    os.mkfifo(folder / "pipe.har")
    os.symlink("loop", folder / "loop")
    os.symlink("self.har", folder / "self.har")
    upstream = ["--upstream", "a=http://127.0.0.1:1", "--", "true"]
    for cassette, status, reason in (
        ("pipe", 65, "is a pipe, not a HAR"), ("self", 65, "is a loop of symbolic links, not a HAR"),
        ("loop/c", 73, "Too many levels of symbolic links"), ("/dev/null", 64, "is a device, not a cassette"),
        ("folder/", 64, "is a folder"), (".", 64, "is a folder"), ("..", 64, "is a folder"),
    ):
        for mode in ("once", "record", "extend"):
            ended = run(["run", "--mode", mode, "--cassette", cassette, *upstream], folder, capture_output=True, text=True)
            checks.that(
                ended.returncode == status and reason in ended.stderr and ended.stderr.count("\n") == 1,
                f"--cassette {cassette} in mode {mode}", ended,
            )
    checks.that((folder / "self.har").is_symlink() and (folder / "pipe.har").is_fifo(), "they are unchanged")


def options_of(command):
    """The options in a command's help."""
    return set(re.findall(r"^  (--[a-z0-9-]+)", support.diorama(*command.split(), "--help").stdout, re.M))


def completion(checks, folder):
    for shell in ("bash", "zsh", "fish"):
        (folder / shell).mkdir()
        script = support.diorama("completion", shell)
        checks.that(script.returncode == 0, f"completion {shell} prints a script", script)
        (folder / shell / "_diorama").write_text(script.stdout)
        parsed = subprocess.run([shell, "-n", folder / shell / "_diorama"], capture_output=True, text=True)
        checks.that(parsed.returncode == 0 and not parsed.stderr, f"{shell} can parse it", parsed)
    (folder / "place").mkdir()
    (folder / "place" / "a b.har").write_text("")
    lines = {  # what is typed, and some of what completes its last word
        "run --mod": {"--mode"}, "run --mode re": {"record", "replay"}, "ru": {"run"}, "cassette ch": {"check"},
        "cassette import --from v": {"vinyl", "vcr", "vcrpy"}, "env create --unused ": {"warn", "fail"},
        "completion ": {"bash", "zsh", "fish"}, "port rel": {"release"}, "run --clock fr": {"frozen"},
        "help cas": {"cassette"}, "serve --log-level tr": {"trace"},
    }
    for line, expected in lines.items():
        for shell, complete in (("bash", bash), ("fish", fish)):
            found = complete(folder, line)
            checks.that(expected <= found, f"{shell} completes '{line}'", found)
    for command in COMMANDS:
        expected = options_of(command) | {"--help"}
        for shell, complete in (("bash", bash), ("fish", fish)):
            found = complete(folder, f"{command} --")
            checks.that(expected == {word for word in found if word.startswith("--")}, f"{shell} completes all options of {command}", expected ^ found)
    checks.that("basename" in bash(folder, "run --mode replay -- basen"), "bash completes the command after --")
    checks.that("basename" in fish(folder, "run --mode replay -- basen"), "fish completes the command after --")
    checks.that("a b.har" in bash(folder, "cassette show a"), "bash completes files with spaces", bash(folder, "cassette show a"))
    checks.that("a b.har" in fish(folder, "cassette show a"), "fish completes files with spaces", fish(folder, "cassette show a"))
    typed = {
        "run --mode rep": "run --mode replay ", "cassette exp": "cassette export ", "cassette check --opena": "cassette check --openapi=",
        "env create --clock tick": "env create --clock ticking ", "port rel": "port release ", "completion fi": "completion fish ",
        "run -- basenam": "run -- basename ", "cassette show a": "cassette show a\\ b.har ",
    }
    for line, expected in typed.items():
        seen = zsh(folder, line, f"diorama {expected}")
        checks.that(f"diorama {expected}" in seen, f"zsh completes '{line}'", seen)


def bash(folder, line):
    words = ["diorama", *line.split(" ")]
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _diorama; printf "%s\\n" "${COMPREPLY[@]}"'
    ended = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", str(folder / "bash/_diorama"), *words], cwd=folder / "place", capture_output=True, text=True
    )
    return set(ended.stdout.split("\n")) - {""}


def fish(folder, line):
    script = f"source {folder}/fish/_diorama; complete -C 'diorama {line}'"
    home = dict(os.environ, HOME=str(folder / "fish"), XDG_CONFIG_HOME=str(folder / "fish"))
    ended = subprocess.run(["fish", "--no-config", "-c", script], cwd=folder / "place", env=home, capture_output=True, text=True)
    return {line.split("\t")[0].replace("\\ ", " ") for line in ended.stdout.split("\n")} - {""}


def zsh(folder, line, expected):
    """What zsh shows when a line and a tab are typed, up to what is expected."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder / "place")
        home = {"TERM": "dumb", "HOME": str(folder / "zsh"), "ZDOTDIR": str(folder / "zsh"), "PATH": os.environ["PATH"]}
        os.execvpe("zsh", ["zsh", "-f", "-i"], home)

    def read(until, seconds):
        output, end = "", time.monotonic() + seconds
        while until not in output and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                with contextlib.suppress(OSError):
                    output += os.read(terminal, 65536).decode(errors="replace")
        return output

    setup = f"PROMPT=; fpath=({folder}/zsh $fpath); autoload -U compinit; compinit -D -u; echo RE''ADY\n"
    os.write(terminal, setup.encode())
    read("READY\r\n", 60)
    os.write(terminal, f"diorama {line}\t".encode())
    seen = read(expected, 20)
    os.close(terminal)
    os.waitpid(child, 0)
    return seen


def manual_page(checks, folder):
    page = folder / "diorama.1"
    page.write_text(support.diorama("help", "--man").stdout)
    shown = subprocess.run(["man", "-l", "--warnings", "-E", "ascii", page], env=dict(os.environ, MANWIDTH="100"), capture_output=True, text=True)
    checks.that(shown.returncode == 0 and not shown.stderr, "man shows the page without a warning", shown.stderr)
    lint = subprocess.run(["mandoc", "-T", "lint", page], capture_output=True, text=True)
    checks.that(lint.returncode == 0 and not lint.stdout and not lint.stderr, "mandoc finds nothing wrong", lint)
    sections = dict(zip(COMMANDS, [""] * len(COMMANDS)))
    name = None
    for line in shown.stdout.splitlines():
        title = re.fullmatch(r"   diorama ([a-z ]+)", line)
        name = title.group(1) if title else None if re.match(r"[A-Z]", line) else name
        if name in sections:
            sections[name] += line + "\n"
    for command, text in sections.items():
        missing = [option for option in options_of(command) if not re.search(rf"^       {option}( |\[|$)", text, re.M)]
        checks.that(text and not missing, f"the page has all options of {command}", missing)


def main():
    checks = support.Checks("command_line")
    missing = [program for program in ("bash", "zsh", "fish", "man", "mandoc") if not shutil.which(program)]
    if missing:
        sys.exit(f"missing: {', '.join(missing)}; run Config/bootstrap test first")
    with support.folder() as folder:
        folder = pathlib.Path(folder).resolve()
        full_output(checks, folder)
        odd_names(checks, folder)
        completion(checks, folder)
        manual_page(checks, folder)
        progress(checks, folder)
    checks.end()


main()
