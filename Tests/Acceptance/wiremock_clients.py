"""Runs WireMock's own clients, unchanged, against `diorama mock`, an environment's main port, and WireMock's server: the
Python package with its whole resource API, and the Java client from WireMock's jar.

    wiremock_clients.py
"""

import contextlib
import json
import shutil
import sys
import urllib.request

import support

LOADED = {"request": {"method": "GET", "url": "/loaded"}, "response": {"body": "loaded"}}


@contextlib.contextmanager
def mock(folder):
    """A command of its own, which the clients' last request ends."""
    with support.Mock(folder) as program:
        yield program.port
        answer = urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{program.port}/__admin/shutdown", method="POST"))
        if answer.status != 200 or program.process.wait(60) != 0:
            sys.exit(f"wiremock_clients.py: a shutdown is answered with {answer.status} and ends with {program.process.returncode}")


@contextlib.contextmanager
def environment(folder):
    """An environment in a daemon of its own, which ends with it."""
    state = folder / "state"
    words = ["env", "create", "--mode", "mock", "--clock", "system", "--stubs", folder, "--state", state, "--ttl", 600, "--json"]
    made = support.diorama(*words)
    if made.returncode != 0:
        sys.exit(f"wiremock_clients.py: there is no environment: {made.stderr}")
    answer = json.loads(made.stdout)
    try:
        yield answer["port"]
    finally:
        support.diorama("env", "delete", answer["id"], "--state", state)
        support.diorama("serve", "--stop", "--state", state)


@contextlib.contextmanager
def wiremock(folder):
    """WireMock itself, which proves that the clients' checks are right."""
    words = ["java", "-jar", support.wiremock_jar(), "--port", "0", "--bind-address", "127.0.0.1", "--root-dir", folder]
    with support.Program([str(word) for word in words] + ["--local-response-templating"], says="port:") as program:
        yield program.port


def python_client(checks, title, port, folder):
    # Isolated, or the package would be hidden by wiremock.py in this folder.
    words = [support.python("importers"), "-I", "-B", str(support.HERE / "wiremock_client.py"), f"http://127.0.0.1:{port}"]
    ended = support.finish(words, cwd=folder)
    for line in ended.stdout.splitlines():
        holds, what, seen = json.loads(line)
        checks.that(holds, f"{title}, Python client: {what}", seen)
    checks.that(ended.returncode == 0, f"{title}, Python client: it runs to its end", ended.stderr)


def java_client(checks, title, port, folder, *options):
    loaded = folder / "loaded"
    loaded.mkdir()
    (loaded / "mappings").mkdir()
    (loaded / "mappings/loaded.json").write_text(json.dumps(LOADED))
    words = ["java", "-cp", support.wiremock_jar(), support.HERE / "WireMockClient.java", port, loaded, *options]
    ended = support.finish([str(word) for word in words], cwd=folder)
    for line in ended.stdout.splitlines():
        result, what, *seen = line.split("\t")
        checks.that(result == "held", f"{title}, Java client: {what}", seen)
    checks.that(ended.returncode == 0 and ended.stdout, f"{title}, Java client: it runs to its end", ended.stderr)


def main():
    checks = support.Checks("wiremock_clients")
    java = shutil.which("java") and "jdk.compiler" in support.finish(["java", "--list-modules"]).stdout
    checks.that(java, "java and its compiler are installed (openjdk-17-jdk-headless)")
    with support.folder() as folder:
        for title, server in (("diorama mock", mock), ("an environment", environment), ("WireMock", wiremock)):
            if server is wiremock and not java:
                continue
            root = folder / server.__name__
            for name in ("mappings", "__files"):
                (root / name).mkdir(parents=True)
            with server(root) as port:
                python_client(checks, title, port, root)
                if java:
                    java_client(checks, title, port, root, *(["shutdown is refused"] if server is environment else []))
            state = support.diorama("serve", "--status", "--state", root / "state") if server is environment else None
            checks.that(state is None or state.returncode != 0, f"{title}: nothing is left running", state)
    checks.end()


if len(sys.argv) > 1:
    sys.exit("usage: wiremock_clients.py")
main()
