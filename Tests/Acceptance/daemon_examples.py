"""Runs the documentation's examples for the daemon, for pytest and Node (README) and the shell (article), unchanged: records them,
and replays them without the backend."""

import re
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


def answer(handler, body):
    """A backend whose answers are never equal."""
    handler.server.count = getattr(handler.server, "count", 0) + 1
    return 200, [("Content-Type", "application/json")], b'{"uuid": "answer %d"}' % handler.server.count


checks = support.Checks("daemon examples")
with support.folder() as folder:
    clients = support.Clients(folder)
    project = folder / "project"
    project.mkdir()
    blocks = {
        "test_api.py": example(README, "python", "mark.diorama"), "api.test.mjs": example(README, "js", "node:test"),
        "check.sh": example(ARTICLE, "sh", "env create --shell"),
    }

    def run(name):
        if name.endswith(".py"):
            return clients.pytest(project, "-q", name)
        return clients.node(project, "--test", name) if name.endswith(".mjs") else clients.run(["sh", "-e", name], project)

    with support.Upstream(answer) as upstream:
        for name, block in blocks.items():
            checks.that(len(code(block)) <= LINES, f"{name} has at most {LINES} lines", len(code(block)))
            checks.that(BACKEND in block, f"{name} names the backend {BACKEND}", block)
            (project / name).write_text(block.replace(BACKEND, upstream.url), encoding="utf-8")
        recorded = {name: run(name) for name in blocks}
        for name, ended in recorded.items():
            checks.that(ended.returncode == 0, f"{name} passes as it stands", ended.stdout)
    for name in blocks:
        ended = run(name)
        checks.that(ended.returncode == 0, f"{name} replays with the backend gone", ended.stdout)
    first, again = recorded["check.sh"].stdout, run("check.sh").stdout
    checks.that('"answer ' in first and first.splitlines()[0] == again.splitlines()[0], "the answers are the recorded ones", again)
    checks.that("record ok: 1 request" in first, "the shell reads the report of the recording", first)
    checks.that("replay ok: 1 request (1 replayed)" in again, "the shell reads the report of the replay", again)
    # A program that sends another request gets a report about it.
    for name in blocks:
        path = project / name
        path.write_text(path.read_text(encoding="utf-8").replace("/uuid", "/ip"), encoding="utf-8")
        ended = run(name)
        checks.that(ended.returncode != 0, f"{name} fails when it asks for what is not recorded", ended.stdout)
        checks.that("/ip" in ended.stdout, f"{name} reports what was not recorded", ended.stdout)
    listed = clients.run(["diorama", "env", "list"], folder)
    checks.that(listed.stdout == "no environments\n", "nothing stays behind", listed.stdout)
    stopped = clients.run(["diorama", "serve", "--stop"], folder)
    checks.that(stopped.returncode == 0, "the daemon that was started on demand stops on request", stopped.stdout)
checks.end()
