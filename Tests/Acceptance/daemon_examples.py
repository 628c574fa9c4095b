"""Runs the documentation's examples for the daemon, for pytest (README) and the shell (article), unchanged: records them,
and replays them without the backend."""

import pathlib
import re
import subprocess
import sys

import support

README = support.ROOT / "README.md"
ARTICLE = support.ROOT / "Sources/DioramaTesting/DioramaTesting.docc/DaemonAndPorts.md"
BACKEND = "http://127.0.0.1:8080"  # the backend's name in the documents
LINES = 10  # the maximum length of an example in lines


def example(document, language, holding):
    """The document's only code block of a language that contains a text."""
    found = re.findall(rf"```{language}\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    blocks = [block for block in found if holding in block]
    if len(blocks) != 1:
        sys.exit(f"{document.name} has {len(blocks)} blocks of {language} with {holding}, not one")
    return blocks[0]


def code(block):
    """The lines of code, without comments and blank lines."""
    return [line for line in block.splitlines() if line.strip() and not line.startswith(("#!", "# "))]


def run(words, home, folder):
    """Runs a program with our command in PATH and its own state folder."""
    environment = support.environment()
    environment["DIORAMA_HOME"] = str(home)
    environment["PATH"] = f"{pathlib.Path(support.binary('diorama')).parent}:{environment['PATH']}"
    quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": support.PATIENCE}
    return subprocess.run(words, env=environment, cwd=folder, **quiet)


def answer(handler, body):
    """A backend whose answers are never equal."""
    handler.server.count = getattr(handler.server, "count", 0) + 1
    return 200, [("Content-Type", "application/json")], b'{"uuid": "answer %d"}' % handler.server.count


subprocess.run([support.ROOT / "Config/venv", "pytest"], check=True)
pytest = str(support.ROOT / ".build/pytest/bin/python")
checks = support.Checks("daemon examples")
with support.folder() as folder:
    home = folder / "state"
    blocks = {
        "test_api.py": example(README, "python", "pytest.fixture"), "check.sh": example(ARTICLE, "sh", "env create --shell"),
    }
    commands = {"test_api.py": [pytest, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_api.py"], "check.sh": ["sh", "-e", "check.sh"]}
    with support.Upstream(answer) as upstream:
        for name, block in blocks.items():
            checks.that(len(code(block)) <= LINES, f"{name} has at most {LINES} lines", len(code(block)))
            checks.that(BACKEND in block, f"{name} names the backend {BACKEND}", block)
            (folder / name).write_text(block.replace(BACKEND, upstream.url), encoding="utf-8")
        recorded = {name: run(words, home, folder) for name, words in commands.items()}
        for name, ended in recorded.items():
            checks.that(ended.returncode == 0, f"{name} passes as it stands", ended.stdout + ended.stderr)
    for name, words in commands.items():
        ended = run(words, home, folder)
        checks.that(ended.returncode == 0, f"{name} replays with the backend gone", ended.stdout + ended.stderr)
    first, again = recorded["check.sh"].stdout, run(commands["check.sh"], home, folder).stdout
    checks.that('"answer ' in first and first.splitlines()[0] == again.splitlines()[0], "the answers are the recorded ones", again)
    checks.that("record ok: 1 request" in first, "the shell reads the report of the recording", first)
    checks.that("replay ok: 1 request (1 replayed)" in again, "the shell reads the report of the replay", again)
    # A program that sends another request gets a report about it.
    for name, words in commands.items():
        path = folder / name
        path.write_text(path.read_text(encoding="utf-8").replace("/uuid", "/ip"), encoding="utf-8")
        ended = run(words, home, folder)
        checks.that(ended.returncode != 0, f"{name} fails when it asks for what is not recorded", ended.stdout)
        checks.that("/ip" in ended.stdout + ended.stderr, f"{name} reports what was not recorded", ended.stdout + ended.stderr)
    listed = run(["diorama", "env", "list"], home, folder)
    checks.that(listed.stdout == "no environments\n", "nothing stays behind", listed.stdout + listed.stderr)
    stopped = run(["diorama", "serve", "--stop"], home, folder)
    checks.that(stopped.returncode == 0, "the daemon that was started on demand stops on request", stopped.stderr)
checks.end()
