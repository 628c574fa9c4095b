"""gRPC with grpcio, in all four kinds of calls, and etcd's watch: recorded under --isolate with their usual names, and with
endpoints, and replayed by several copies at once without the servers.

    grpc_calls.py [SECTION…]
"""

import argparse
import json
import concurrent.futures
import contextlib
import pathlib
import subprocess
import tempfile

import support

COPIES = 8
API = "https://api.example"
CLEAR = "http://clear.example"
ETCD = "http://etcd.example:2379"

# Reads what was written before it began, then what is written while it runs. Prints it.
ETCD_CLIENT = """
import subprocess, sys
etcdctl = ["etcdctl", "--endpoints", sys.argv[1]]
def put(key, value):
    subprocess.run([*etcdctl, "put", key, value], check=True)
put("k/1", "one"); put("k/2", "two")
watch = subprocess.Popen([*etcdctl, "watch", "--rev=1", "--prefix", "k/"], stdout=subprocess.PIPE, text=True)
lines = [watch.stdout.readline() for _ in range(6)]
put("k/3", "three")
subprocess.run([*etcdctl, "del", "k/1"], check=True)
lines += [watch.stdout.readline() for _ in range(6)]
watch.terminate()
watch.wait()
print("".join(lines), end="", flush=True)
subprocess.run([*etcdctl, "get", "--prefix", "k/", "-w", "json"], check=True)
"""


# A unary call, a client stream and a call in both directions, with a number that differs in every run.
FIELDS_CLIENT = """
import os, sys
sys.path.insert(0, sys.argv[1])
import grpc
from grpc_service import pet
number = int.from_bytes(os.urandom(3), "big") + 1
channel = grpc.insecure_channel(os.environ["DIORAMA_ENDPOINT_API"].split("//")[1], [("grpc.enable_http_proxy", 0)])
with channel:
    print(channel.unary_unary("/pets.Store/Find")(pet(sys.argv[2], number), timeout=60).hex())
    print(channel.unary_unary("/pets.Store/Find")(pet("Max" * 500, number), compression=grpc.Compression.Gzip, timeout=60).hex())
    print(channel.stream_unary("/pets.Store/Count")(iter([pet("a", number), pet("b", number + 1)]), timeout=60).hex())
    for answer in channel.stream_stream("/pets.Store/Chat")(iter([pet("c", number), pet("d")]), timeout=60):
        print(answer.hex())
"""


class Ended:
    """A completed run with its report."""

    def __init__(self, mode, cassette, command, options, variables):
        with tempfile.TemporaryDirectory(prefix="diorama-acceptance-") as folder:
            report = pathlib.Path(folder, "report.json")
            settings = [] if "--config" in options else ["--no-config"]
            words = support.arguments(mode, cassette, command, options=[*settings, "--report", report, *options])
            ended = subprocess.run(
                words, env={**support.environment(), **variables}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=support.PATIENCE * 2)
            self.report = report.read_text() if report.exists() else ""
        self.status, self.output, self.words = ended.returncode, ended.stdout, ended.stderr

    def __str__(self):
        return f"status {self.status}; it said: {self.output[:400]} {self.words}; report: {self.report[:400]}"


def check(checks, title, folder, command, options, upstream, variables={}, replayed=()):
    """Records while `upstream` runs, and replays in several copies after it has ended."""
    cassette = folder / title.replace(" ", "-")
    with upstream:
        recorded = Ended("record", cassette, command, options, variables)
    good = recorded.status == 0 and recorded.output.strip()
    if not checks.that(good, f"{title}: recorded", recorded):
        return cassette, recorded
    with concurrent.futures.ThreadPoolExecutor(COPIES) as pool:
        runs = list(pool.map(lambda _: Ended("replay", cassette, command, replayed, {}), range(COPIES)))
    for run in runs:
        good = run.status == 0 and run.output == recorded.output
        if not checks.that(good, f"{title}: replayed, {COPIES} at once, with the same output", difference(recorded, run)):
            break
    return cassette, recorded


def difference(recorded, run):
    for was, now in zip(recorded.output.splitlines(), run.output.splitlines()):
        if was != now:
            return f"recorded: {was[:300]}\n    replayed: {now[:300]}\n{run.words[:600]}"
    return run


class Service(support.Program):
    """grpc_service.py."""

    def __init__(self, *certificate):
        super().__init__([support.python("http2"), str(support.HERE / "grpc_service.py"), *map(str, certificate)])


class Etcd:
    """etcd with a data folder of its own."""

    def __init__(self, folder):
        self.port, peers = support.free_port(), support.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        peer = f"http://127.0.0.1:{peers}"
        self.words = [
            "etcd", "--data-dir", str(folder), "--listen-client-urls", self.url, "--advertise-client-urls", self.url, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}", "--log-level", "error"]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=support.environment())
        # It answers when the server has elected itself.
        subprocess.run(
            ["etcdctl", "--endpoints", self.url, "--dial-timeout", "60s", "--command-timeout", "60s", "get", "none"], check=True,
            env=support.environment(), timeout=support.PATIENCE)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


def client(*urls):
    return [support.python("http2"), str(support.HERE / "grpc_client.py"), *urls]


def checked_directly(checks, folder):
    """Service and client without Diorama, so that a failure below is Diorama's."""
    with Service() as service:
        ended = support.finish(client(service.url))
        checks.that(ended.returncode == 0 and "StatusCode.DATA_LOSS" in ended.stdout, "grpcio: the client reaches its service directly", ended)
        checks.that("StatusCode.DEADLINE_EXCEEDED" in ended.stdout, "grpcio: a deadline passes", ended.stdout)
    with Etcd(folder / "direct") as etcd:
        ended = support.finish(["python3", "-c", ETCD_CLIENT, etcd.url])
        checks.that("three" in ended.stdout and "DELETE" in ended.stdout, "etcd: the client reaches its server directly", ended)


def isolated(checks, folder):
    """With names, over TLS and in the clear, to a service in the clear."""
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(Service())
        maps = ["--map", f"{API}={service.url}", "--map", f"{CLEAR}={service.url}"]
        check(
            checks, "grpcio isolated", folder, client(API, CLEAR), ["--isolate", *maps], stack.pop_all(), replayed=["--isolate"])


def entered(checks, folder):
    """As the isolated ones, by `env enter` into environments of a daemon."""
    variables = {**support.environment(), "DIORAMA_HOME": str(folder / "state")}

    def ask(*words):
        return subprocess.run(
            [support.binary("diorama"), *map(str, words)], env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=support.PATIENCE * 2)

    def run(mode, kind, *options):
        created = ask(
            "env", "create", "--no-config", "--mode", mode, "--cassette", folder / "entered", f"--isolate={kind}", "--ttl", 600, *options)
        command = ask("env", "enter", created.stdout.strip(), "--", *client(API, CLEAR))
        deleted = ask("env", "delete", created.stdout.strip())
        return command, deleted, created

    daemon = subprocess.Popen([support.binary("diorama"), "serve"], env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with Service() as service:
            recorded, *rest = run("record", "auto", "--map", f"{API}={service.url}", "--map", f"{CLEAR}={service.url}")
        good = recorded.returncode == 0 and recorded.stdout.strip() and rest[0].returncode == 0
        checks.that(good, "grpcio in an environment of a daemon: recorded", (recorded, rest))
        for kind in ("namespaces", "seccomp"):
            replayed, *rest = run("replay", kind)
            good = replayed.returncode == 0 and replayed.stdout == recorded.stdout and rest[0].returncode == 0
            checks.that(good, f"grpcio in an environment of a daemon: replayed, by {kind}", (replayed, rest))
    finally:
        daemon.kill()
        daemon.wait()


def secure(checks, folder):
    """To a service over TLS."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    service = Service(key, certificate)
    check(
        checks, "grpcio to TLS", folder, client(API), ["--isolate", "--map", f"{API}=https://localhost:{service.port}"], service,
        {"CURL_CA_BUNDLE": str(certificate)}, ["--isolate"])


def endpoints(checks, folder):
    """By an endpoint's URL, with prior knowledge."""
    service = Service()
    check(
        checks, "grpcio with an endpoint", folder, client("DIORAMA_ENDPOINT_API"), ["--upstream", f"api=http://127.0.0.1:{service.port}"], service)


def schema(checks, folder):
    """With a .proto file, the cassette has the messages as JSON, too."""
    service = Service()
    options = ["--upstream", f"api=http://127.0.0.1:{service.port}", "--proto", support.HERE / "grpc_service.proto"]
    cassette, recorded = check(checks, "grpcio with a schema", folder, client("DIORAMA_ENDPOINT_API"), options, service)
    if recorded.status == 0:
        text = json.dumps(support.har(cassette), separators=(",", ":"))
        for part in ('{"name":"Rex"}', '{"name":"watched 299","number":'):
            checks.that(part in text, f"the cassette has {part}", text[:600])


def fields(checks, folder):
    """Rules and redaction for the fields of messages."""

    def settings(name, document):
        path = folder / name / "diorama.json"
        path.parent.mkdir()
        path.write_text(json.dumps(document))
        return ["--config", path]

    def words(name):
        return [support.python("http2"), "-c", FIELDS_CLIENT, str(support.HERE), name]

    proto = ["--proto", support.HERE / "grpc_service.proto"]
    ignoring = settings("ignoring", {"matching": {"rules": [{"path": "/pets.Store/*", "ignore": {"json": ["$.number"]}}]}})
    service = Service()
    upstream = ["--upstream", f"api=http://127.0.0.1:{service.port}"]
    cassette, _ = check(
        checks, "grpcio with a rule", folder, words("Rex"), [*upstream, *proto, *ignoring], service, replayed=[*proto, *ignoring])
    ended = Ended("replay", cassette, words("Bello"), [*proto, *ignoring], {})
    checks.that('body $.name: recorded "Rex", got "Bello"' in ended.words, "a miss names the field", ended)

    secret = settings("secret", {
        "matching": {"rules": [{"ignore": {"json": ["$.number"]}}]}, "redaction": {"json": ["$.name"]}})
    service = Service()
    upstream = ["--upstream", f"api=http://127.0.0.1:{service.port}"]
    cassette = folder / "redacted"
    with service:
        recorded = Ended("record", cassette, words("Rexford"), [*upstream, *proto, *secret], {})
    checks.that(recorded.status == 0, "grpcio with redaction: recorded", recorded)
    text = json.dumps(support.har(cassette), separators=(",", ":"))
    bodies = [entry["response"]["content"] for entry in support.har(cassette)]
    contents = b"".join(support.content(cassette, entry) for entry in support.har(cassette))
    checks.that(b"Rexford" not in contents and "Rexford" not in text and "UmV4Zm9yZ" not in text, "the secret is in no form in it", text[:600])
    checks.that('{"name":"<redacted>"' in text and b"<redacted>" in contents, "the mark is in the JSON and the bytes", bodies)
    ended = Ended("replay", cassette, words("Rexford"), [*proto, *secret], {})
    checks.that(ended.status == 0 and b"<redacted>".hex() in ended.output, "grpcio with redaction: replayed", ended)

    ended = support.diorama("run", "--no-config", "--upstream", "api=http://127.0.0.1:1", "--proto", "none.proto", "--cassette", folder / "none", "--", "true")
    checks.that(ended.returncode != 0 and "none.proto: No such file or directory; correct the path in --proto FILE" in ended.stderr, "a missing .proto file is an error", ended)


def etcd(checks, folder):
    """etcd's own client: a watch, and calls beside it."""
    server = Etcd(folder / "etcd")
    command = ["python3", "-c", ETCD_CLIENT, ETCD]
    check(checks, "etcd isolated", folder, command, ["--isolate", "--map", f"{ETCD}={server.url}"], server, replayed=["--isolate"])


SECTIONS = {"direct": checked_directly, "isolated": isolated, "entered": entered, "secure": secure, "endpoints": endpoints, "schema": schema, "fields": fields, "etcd": etcd}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], metavar="SECTION")
    sections = parser.parse_args().sections or SECTIONS
    checks = support.Checks("grpc calls")
    with support.folder() as folder:
        for name in sections:
            SECTIONS[name](checks, folder)
    checks.end()


main()
