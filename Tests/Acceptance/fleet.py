"""Two daemons share pools of test accounts in PostgreSQL: by the command, over a network of their own, with outages."""

import base64
import json
import os
import pathlib
import select
import subprocess
import threading
import time

import daemon
import postgresql
import support


def command(host, *words, **variables):
    """Runs the command on the machine of a daemon."""
    return subprocess.run(
        [support.binary("diorama"), *map(str, words)],
        env=dict(host.variables, DIORAMA_HOME=str(host.state), **variables), capture_output=True, text=True,
        timeout=support.PATIENCE)


def start(folder, name, url, key, *options, variables=None):
    path = folder / name
    path.mkdir()
    words = ["--store", url, *(["--store-key", f"file:{key}"] if key else []), *options]
    return daemon.Daemon(path, ports=100, options=words, variables=variables)


def settings(checks, server, folder, key):
    """Stores that cannot be meant or reached are refused, in one line."""
    def serve(*words, **variables):
        return subprocess.run(
            [support.binary("diorama"), "serve", "--state", folder / "other", *words],
            env=dict(support.environment(), **variables), capture_output=True, text=True, timeout=support.PATIENCE)
    for words, status, text, variables in (
        (["--store", "postgresql://diorama:secret@localhost/fleet"], 64, "password", {}),
        (["--store", "nonsense"], 64, "is not the address of a database", {}),
        (["--store", "env:NOWHERE"], 64, "NOWHERE", {}),
        (["--store-optional"], 64, "--store", {}),
        (["--store", "host=/nowhere dbname=a"], 69, "--store-optional", {}),
        (["--store", server.url(), "--store-key", "file:/nowhere"], 64, "head -c 32 /dev/urandom", {}),
        (["--store", server.url(), "--store-key", "env:KEY"], 64, "not 32", {"KEY": "c2hvcnQ="}),
    ):
        done = serve(*words, **variables)
        checks.that(
            done.returncode == status and text in done.stderr and done.stderr.count("\n") == 1,
            f"serve {' '.join(map(str, words))} ends with {status}", done)
        checks.that("secret" not in done.stderr, "no password is printed", done.stderr)


def pools(checks, one, two, folder):
    """Pools made on one host are used on another; both see all leases."""
    (folder / "p.csv").write_text("name,plan,secret:password\nanna,premium,s3cret-1\nben,premium,s3cret-2\ncleo,free,s3cret-3\n")
    checks.that(command(one, "pool", "create", "patients").returncode == 0, "a pool is made")
    done = command(one, "pool", "import", "patients", folder / "p.csv")
    checks.that(done.stdout == "added 3, replaced 0; attributes: plan; secrets: password\n", "accounts are imported", done)
    done = command(two, "pool", "import", "patients", folder / "p.csv")
    checks.that(done.stdout == "added 0, replaced 3; attributes: plan; secrets: password\n", "and replaced from another host", done)
    lease = command(one, "lease", "--pool", "patients", "--where", "plan=free", "--owner", str(os.getpid()), "--json")
    lease = json.loads(lease.stdout)
    account = lease["resources"]["patients"]
    checks.that(account["name"] == "cleo" and account["secrets"] == {"password": "s3cret-3"}, "one is leased", lease)
    # A request on the other host is served as soon as it returns.
    words = ["lease", "--pool", "patients", "--where", "plan=free", "--ttl", "60", "--json"]
    waiting = subprocess.Popen(
        [support.binary("diorama"), *words], env=dict(two.variables, DIORAMA_HOME=str(two.state)),
        stdout=subprocess.PIPE, text=True)
    while len(listed(one)) < 2:
        time.sleep(0.02)
    checks.that([one["state"] for one in listed(two)] == ["held", "waiting"], "each host lists both", listed(two))
    started = time.monotonic()
    checks.that(command(one, "lease", "release", lease["id"]).returncode == 0, "it is returned")
    second = json.loads(waiting.communicate(timeout=support.PATIENCE)[0])
    checks.say(f"another host got it {time.monotonic() - started:.2f} s after its return was begun")
    checks.that(second["resources"]["patients"]["fence"] == account["fence"] + 1, "its fence grows", second)
    checks.that(command(one, "lease", "release", second["id"]).returncode == 0, "a host can end a lease of another")
    done = command(one, "lease", "--pool", "patients", "--where", "plan=gold")
    checks.that(done.returncode == 66 and "no resource with plan=gold" in done.stderr, "an impossible request ends at once", done)
    done = command(one, "lease", "--pool", "doctors")
    checks.that(done.returncode == 66 and "diorama pool create doctors" in done.stderr, "so does one for no pool", done)
    done = command(two, "pool", "retire", "patients", "ben", "nina")
    checks.that(done.returncode == 66 and "nina" in done.stderr, "one of two retires", done)
    shown = json.loads(command(one, "pool", "show", "patients", "--json").stdout)["resources"]
    checks.that([one["state"] for one in shown] == ["free", "retired", "free"], "the other host shows it", shown)
    checks.that(command(one, "pool", "restore", "patients", "ben").returncode == 0, "and it comes back")


def listed(host):
    return json.loads(command(host, "lease", "list", "--json").stdout)["leases"]


def secrets(checks, server, one, key, folder):
    """Secrets are nowhere but with who leases; another key cannot read them."""
    dump = subprocess.run(
        [server.bin / "pg_dump", "-h", server.folder, "-U", "diorama", "fleet"], capture_output=True, timeout=support.PATIENCE)
    checks.that(b"anna" in dump.stdout and b"s3cret" not in dump.stdout, "the database has no secret")
    for words in (["pool", "show", "patients", "--json"], ["lease", "list", "--json"], ["env", "list", "--json"]):
        done = command(one, *words)
        checks.that("s3cret" not in done.stdout, f"{' '.join(words)} has no secret", done.stdout)
    checks.that("s3cret" not in one.said(), "the log has no secret")
    other = folder / "other.key"
    other.write_text(base64.b64encode(os.urandom(32)).decode())
    done = support.diorama("serve", "--state", folder / "wrong", "--store", server.url(), "--store-key", f"file:{other}")
    checks.that(done.returncode == 64 and "another key" in done.stderr, "a host with another key does not start", done)
    with start(folder, "without", server.url(), None) as without:
        done = command(without, "pool", "import", "patients", folder / "p.csv")
        checks.that(done.returncode == 64 and "--store-key" in done.stderr, "a host without a key takes no secrets", done)


def runs(checks, one, two, folder):
    """A recording leases an account, which another host cannot get meanwhile; a replay leases none."""
    script = folder / "sign-in.sh"
    script.write_text(
        '#!/bin/sh -e\ncurl -s -d "$DIORAMA_RESOURCE_PATIENT $DIORAMA_RESOURCE_PATIENT_PASSWORD" "$DIORAMA_ENDPOINT_API/in"\n'
        'test ! -e "$1" || cp "$1" "$1.read"\n"$2" lease list --json\n')
    script.chmod(0o755)
    with support.Upstream(lambda _, body: (200, [], body + b"\n")) as echo:
        words = ["run", "--resource", "patient=patients,plan=free", "--cassette", folder / "c/in", "--upstream",
                 f"api={echo.url}", "--report", folder / "r.json", "--", script, "/nowhere", support.binary("diorama")]
        done = command(one, *words)
        checks.that(done.returncode == 0 and "cleo s3cret-3" in done.stdout, "a run is recorded with an account", done)
        checks.that("leased: patient = patients/cleo, fence " in done.stderr, "which the report names", done)
        seen = json.loads(done.stdout[done.stdout.index('{\n  "leases"'):])["leases"]
        checks.that([lease["state"] for lease in seen] == ["held"], "which it holds", seen)
        checks.that(listed(two) == [], "and returns", listed(two))
    har = (folder / "c/in.har").read_text()
    checks.that("s3cret" not in har and json.loads(har)["log"]["_diorama"]["resources"]["patient"]["name"] == "cleo",
                "the recording has its name and no secret", har[:2000])
    done = command(two, *words[:-3], script, "/nowhere", support.binary("diorama"))
    checks.that(done.returncode == 0 and "cleo <redacted:patient/password>" in done.stdout, "it is replayed", done)
    checks.that("leased:" not in done.stderr, "its report names none", done)
    checks.that(json.loads(done.stdout[done.stdout.index('{\n  "leases"'):])["leases"] == [], "without a lease", done)
    lease = command(one, "lease", "--pool", "patients", "--where", "plan=free", "--ttl", "60", "--json")
    done = command(two, *words[:2], "patient=patients,plan=free", "--resource-wait", "0.1", "--mode", "record", *words[3:])
    checks.that(done.returncode == 75 and "1 leased" in done.stderr, "a recording fails if no account is free", done)
    command(one, "lease", "release", json.loads(lease.stdout)["id"])


def tail(checks, server, one, two):
    """`fleet tail` prints each run of any host once, also one whose end is written late."""
    with subprocess.Popen(
        [support.binary("diorama"), "fleet", "tail", "--json"], env=dict(two.variables, DIORAMA_HOME=str(two.state)),
        stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(support.PATIENCE, process.kill)
        timer.start()
        # It follows once it prints a run.
        ended = []
        while not select.select([process.stdout], [], [], 0.2)[0]:
            ended.append(one.provision().json["id"])
            one.end(ended[-1])
        seen = [json.loads(process.stdout.readline())]
        ended = ended[ended.index(seen[0]["id"]):]
        server.query(f"""
            INSERT INTO diorama_runs (id, day, host, host_name, name, mode, started_at, ended_at, ok, detail)
            SELECT 'late', day, host, host_name, name, mode, started_at, ended_at - 1, ok, detail FROM diorama_runs
            WHERE id = '{seen[0]["id"]}'""")
        last = two.provision().json["id"]
        two.end(last)
        ended += ["late", last]
        while not set(ended) <= {run["id"] for run in seen} and (line := process.stdout.readline()):
            seen.append(json.loads(line))
        timer.cancel()
        process.terminate()
        seen += map(json.loads, process.stdout)
    ids = [run["id"] for run in seen]
    checks.that(sorted(ids) == sorted(ended), "fleet tail prints each run once, also one that is written late", (ids, ended))


def kills(checks, one, two):
    """A daemon that is killed keeps its leases for owners that live, and its environments keep their accounts."""
    body = {"mode": "proxy", "upstreams": {"api": "http://127.0.0.1:9"}, "owner": {"pid": os.getpid()},
            "resources": {"patient": {"pool": "patients", "where": {"plan": "free"}}}}
    made = one.provision(**body).json
    done = command(one, "lease", "release", made["id"])
    checks.that(done.returncode == 69 and "belongs to environment" in done.stderr, "its lease ends with the environment", done)
    one.kill()
    checks.that([lease["environment"] for lease in listed(two)] == [made["id"]], "it stays held without its daemon")
    one.start()
    again = one.call("GET", f"/v1/environments/{made['id']}").json
    checks.that(again["resources"] == made["resources"], "the environment has its account again", again)
    one.end(made["id"])
    checks.that(listed(two) == [], "and returns it", listed(two))


def outage(checks, server, one, folder, key):
    """Without the database environments work, leases stay, and new requests wait or say why."""
    lease = json.loads(command(one, "lease", "--pool", "patients", "--ttl", "600", "--json").stdout)
    store = json.loads(command(one, "doctor", "--json").stdout)["store"]
    checks.that(store["ok"] and store["message"].endswith("/fleet"), "doctor names the store", store)
    server.stop("immediate")
    done = command(one, "lease", "--pool", "patients", "--wait", "1")
    checks.that(done.returncode == 69 and "timed out waiting for a resource" in done.stderr, "a request says why it ends", done)
    made = one.provision()
    checks.that(made.status == 201 and one.end(made.json["id"]).status == 200, "environments work", made)
    done = command(one, "lease", "list", "--json")
    held = json.loads(done.stdout)
    checks.that([one["id"] for one in held["leases"]] == [lease["id"]] and held["store"]["away"], "the lease stays held", done)
    checks.that("unreachable" in command(one, "serve", "--status").stdout, "serve --status says that it is away")
    store = json.loads(command(one, "doctor", "--json").stdout)["store"]
    checks.that(not store["ok"] and "cannot be used" in store["message"], "and so does doctor", store)
    with start(folder, "optional", server.url(), key, "--store-optional") as optional:
        checks.that(optional.provision().status == 201, "a daemon starts without the database if it may")
        waiting = subprocess.Popen(
            [support.binary("diorama"), "lease", "--pool", "patients", "--ttl", "60", "--wait", "100", "--json"],
            env=dict(optional.variables, DIORAMA_HOME=str(optional.state)), stdout=subprocess.PIPE, text=True)
        server.start()
        text = waiting.communicate(timeout=support.PATIENCE)[0]
        checks.that(waiting.returncode == 0 and "secrets" in text, "its request is served once the database is back", text)
        command(optional, "lease", "release", json.loads(text)["id"])
    checks.that(command(one, "lease", "release", lease["id"]).returncode == 0, "the lease is returned")
    checks.that('"the fleet\'s database is back"' in one.said(), "the log tells it", one.said()[-500:])


def newer(checks, server, folder, key):
    """Tables of a newer version are refused and not changed."""
    server.query("UPDATE diorama_schema SET version = 99")
    done = support.diorama("serve", "--state", folder / "newer", "--store", server.url(), "--store-key", f"file:{key}")
    checks.that(done.returncode == 65 and "schema version 99" in done.stderr, "a newer schema is refused", done)


def main():
    checks = support.Checks("fleet")
    with support.folder() as folder, postgresql.Server() as server:
        key = folder / "key"
        key.write_text(base64.b64encode(os.urandom(32)).decode() + "\n")
        settings(checks, server, folder, key)
        variables = {"FLEET": f"postgresql://diorama:unused@/fleet?host={server.folder}"}
        with start(folder, "one", "env:FLEET", key, variables=variables) as one, start(folder, "two", server.url(), key) as two:
            pools(checks, one, two, folder)
            secrets(checks, server, one, key, folder)
            runs(checks, one, two, folder)
            tail(checks, server, one, two)
            kills(checks, one, two)
            outage(checks, server, one, folder, key)
        newer(checks, server, folder, key)
    checks.end()


if __name__ == "__main__":
    main()
