"""Uses a daemon from "another machine", which is another loopback address: by curl, by Python's TLS and by the command."""

import json
import os
import ssl
import subprocess
import urllib.error
import urllib.request

import daemon
import support

HOST = "127.0.0.2"


def curl(*words):
    """The output of curl, and its exit status."""
    done = subprocess.run(["curl", "-sS", *words], capture_output=True, text=True, timeout=support.PATIENCE)
    return done.stdout, done.returncode


class Client:
    """Calls a daemon by Python's TLS, which trusts only the daemon's certificate."""

    def __init__(self, remote, token):
        self.url, self.token = remote["url"], token
        self.context = ssl.create_default_context(cafile=remote["certificate"])

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=support.PATIENCE) as response:
                text = response.read()
                return response.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


def command(host, *words, **variables):
    """Runs the command on the daemon's machine, or elsewhere with the variables of another one."""
    environment = dict(host.variables, DIORAMA_HOME=str(host.state), **variables)
    return subprocess.run(
        [support.binary("diorama"), *words], env=environment, capture_output=True, text=True, timeout=support.PATIENCE)


def create(host, name):
    return command(host, "token", "create", name).stdout.strip()


def settings(checks, host):
    """Settings that cannot be meant are refused."""
    for address, options in (("0.0.0.0:0", []), ("nowhere:1", []), ("127.0.0.2", []), ("127.0.0.2:0", ["--tls-key", "/a"])):
        done = support.diorama("serve", "--listen", address, *options, "--state", host.folder / "other")
        checks.that(done.returncode == 64, f"--listen {address} {' '.join(options)} is refused", done)


def tokens(checks, host, remote):
    """A token is required, printed once, and refused at once when it is revoked."""
    token = create(host, "ci")
    checks.that(len(token) == 64, "token create prints the token alone", token)
    stored = (host.state / "tokens.json").read_text()
    checks.that(token not in stored, "only its digest is stored")
    for name in ("tokens.json", "tls.key"):
        checks.that((host.state / name).stat().st_mode & 0o777 == 0o600, f"{name} has mode 0600")
    client = Client(remote, token)
    checks.that(client.call("GET", "/v1/environments")[0] == 200, "the token is accepted")
    checks.that(Client(remote, None).call("GET", "/v1/health")[0] == 401, "even /v1/health needs a token")
    checks.that(Client(remote, host.token).call("GET", "/v1/environments")[0] == 401, "the local token is refused")
    for method, path in (("GET", "/v1/tokens"), ("DELETE", "/v1/tokens/ci"), ("GET", "/metrics")):
        checks.that(client.call(method, path)[0] == 403, f"{method} {path} is refused")
    listed = command(host, "token", "list", "--json").stdout
    checks.that(json.loads(listed)["tokens"][0].get("lastUsedAt"), "token list tells the last use", listed)
    status, made = client.call("POST", "/v1/environments", {"mode": "mock"})
    checks.that(status == 201, "an environment is made", made)
    checks.that(command(host, "token", "revoke", "ci").returncode == 0, "the token is revoked")
    checks.that(client.call("GET", "/v1/environments")[0] == 401, "it is refused at once")
    checks.that(command(host, "token", "revoke", "ci").returncode == 66, "it cannot be revoked again")
    left = json.loads(command(host, "env", "list", "--json").stdout)["environments"]
    mine = [one["state"] for one in left if one["id"] == made["id"]]
    checks.that(mine in ([], ["ending"]), "its environments end", left)
    statuses = {client.call("GET", "/v1/environments")[0] for _ in range(20)}
    checks.that(statuses == {401, 429}, "many wrong tokens are limited", statuses)
    said = host.said()
    checks.that('"peer":"127.0.0.1"' in said.replace(" ", ""), "wrong tokens are logged with the address", said[-500:])
    checks.that(token not in said, "the log does not have the token")


def encryption(checks, host, remote, token):
    """Nothing is served without TLS, and a client can check the certificate."""
    port = remote["url"].rsplit(":", 1)[1]
    bearer = ["-H", "Authorization: Bearer " + token]
    text, _ = curl(*bearer, f"http://{HOST}:{port}/v1/environments")
    checks.that("https://" in text and json.loads(text)["status"] == 400, "a request without TLS is refused", text)
    text, status = curl(*bearer, "--cacert", remote["certificate"], remote["url"] + "/v1/environments")
    checks.that(status == 0 and json.loads(text) == {"environments": []}, "curl trusts the certificate", text)
    text, status = curl(*bearer, "--http2", "--cacert", remote["certificate"], remote["url"] + "/v1/environments")
    checks.that(status == 0 and json.loads(text) == {"environments": []}, "so does curl with HTTP/2", text)
    _, status = curl(*bearer, remote["url"] + "/v1/environments")
    checks.that(status == 60, "curl does not trust it without that", status)


def environments(checks, host, remote, token, folder):
    """A client has its own environments, at the address for other machines, and none of the daemon's files."""
    client, other = Client(remote, token), Client(remote, create(host, "other"))
    stubs = {"mode": "mock", "upstreams": {"api": "https://api.example.com"}}
    status, made = client.call("POST", "/v1/environments", stubs)
    checks.that(status == 201, "an environment is made", made)
    local = host.call("POST", "/v1/environments", {"mode": "mock"}).json
    endpoint, main = made["endpoints"]["api"], made["contract"]["environment"]["DIORAMA_CONTROL"]
    checks.that(endpoint.startswith(f"http://{HOST}:") and main.startswith(f"http://{HOST}:"), "its URLs name the host", made)
    answer, _ = curl("-w", "%{http_code}", "-o", "/dev/null", endpoint + "/x")
    checks.that(answer == "501", "its endpoint answers there", answer)
    _, status = curl(endpoint.replace(HOST, "127.0.0.1") + "/x")
    checks.that(status == 7, "and not on 127.0.0.1", status)
    bearer = "Authorization: Bearer " + made["contract"]["environment"]["DIORAMA_TOKEN"]
    for words, wanted in ((["-H", bearer], "200"), ([], "401"), (["-H", bearer, "-H", "Host: evil.example"], "403")):
        answer, _ = curl("-w", "%{http_code}", "-o", "/dev/null", *words, main + "/state")
        checks.that(answer == wanted, f"its main port answers {wanted}", answer)
    contract = json.loads(made["contract"]["environment"]["DIORAMA_CONTRACT"])
    checks.that(contract["endpoints"]["api"] == endpoint, "its contract is not in a file of the daemon", contract)
    for one in (other, client):
        seen = [each["id"] for each in one.call("GET", "/v1/environments")[1]["environments"]]
        checks.that(seen == ([made["id"]] if one is client else []), "a client lists its own environments", seen)
    for path in ("", "/report", "/journal"):
        for one, id in ((other, made["id"]), (client, local["id"])):
            status, _ = one.call("GET", f"/v1/environments/{id}{path}")
            checks.that(status == 404, f"another's environment{path} is not found", status)
    checks.that(other.call("DELETE", "/v1/environments/" + made["id"])[0] == 404, "nor can it be ended")
    for body in ({"owner": {"pid": os.getpid()}}, {"mode": "replay", "cassette": str(folder / "secret")}):
        status, problem = client.call("POST", "/v1/environments", body)
        checks.that(status == 422, f"{list(body)[-1]} is refused", problem)
    status, leased = client.call("POST", "/v1/ports", {"count": 1})
    checks.that(status == 201, "a port is leased", leased)
    checks.that(other.call("DELETE", f"/v1/ports/{leased['ports'][0]['port']}")[0] == 404, "others cannot release it")
    # A kill: the environment comes back at the same address, and still belongs to its client.
    host.kill()
    host.start()
    checks.that(host.ready["remote"] == remote, "after a kill, URL and fingerprint are the same", host.ready)
    checks.that(client.call("GET", "/v1/environments/" + made["id"])[0] == 200, "the client finds its environment again")
    checks.that(other.call("GET", "/v1/environments/" + made["id"])[0] == 404, "and others do not")
    answer, _ = curl("-w", "%{http_code}", "-o", "/dev/null", endpoint + "/x")
    checks.that(answer == "501", "its endpoint answers again", answer)
    checks.that(client.call("DELETE", "/v1/environments/" + made["id"])[0] == 200, "it is ended")
    checks.that(client.call("GET", f"/v1/environments/{made['id']}/report")[0] == 200, "its report is kept for the client")


def commands(checks, host, remote, token, folder):
    """The command uses the daemon by DIORAMA_DAEMON."""
    file = folder / "token"
    file.write_text(token + "\n")
    own = {"DIORAMA_DAEMON": remote["url"], "DIORAMA_DAEMON_TOKEN_FILE": str(file), "DIORAMA_HOME": str(folder / "none")}
    pinned = dict(own, DIORAMA_DAEMON_FINGERPRINT=remote["fingerprint"])

    def run(*words, **variables):
        environment = dict(support.environment(), **variables)
        return subprocess.run(
            [support.binary("diorama"), *words], env=environment, capture_output=True, text=True, timeout=support.PATIENCE)

    made = run("env", "create", "--mode", "mock", "--upstream", "api=https://api.example.com", "--shell", **pinned)
    checks.that(made.returncode == 0 and f"http://{HOST}:" in made.stdout, "env create --shell", made)
    listed = run("env", "list", "--json", **dict(own, DIORAMA_DAEMON_CA=remote["certificate"]))
    found = json.loads(listed.stdout or "{}").get("environments", [])
    checks.that(len(found) == 1, "env list, with the certificate", listed)
    checks.that("/__diorama" in run("env", "show", found[0]["id"], **pinned).stdout, "env show")
    ended = run("env", "delete", found[0]["id"], **pinned)
    checks.that(ended.returncode == 0, "env delete", ended)
    port = run("port", **pinned)
    checks.that(port.returncode == 0 and port.stdout.strip().isdigit(), "port", port)
    checks.that(run("port", "release", port.stdout.strip(), **pinned).returncode == 0, "port release")
    owned = run("port", "--owner", "1", **pinned)
    checks.that(owned.returncode == 64 and "--ttl" in owned.stderr, "port --owner is refused", owned)
    for wrong, text in (
        (dict(own), "not trusted"),
        (dict(own, DIORAMA_DAEMON_FINGERPRINT="sha256:" + "0" * 64), "not trusted"),
        (dict(pinned, DIORAMA_DAEMON_TOKEN="wrong"), "token"),
        (dict(pinned, DIORAMA_DAEMON=remote["url"].replace("https", "http")), "https"),
        (dict(pinned, DIORAMA_DAEMON=f"https://{HOST}:1"), "cannot reach"),
    ):
        done = run("env", "list", **wrong)
        checks.that(done.returncode == 69 and text in done.stderr, f"a wrong setting is explained: {text}", done)
        checks.that(token not in done.stderr, "without the token")
    stopped = run("serve", "--stop", **pinned)
    checks.that(stopped.returncode == 69 and host.process.poll() is None, "serve --stop is for this machine", stopped)


def own_certificate(checks, folder):
    """A team's own certificate is used, and its name is advertised."""
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    words += ["-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem", "-out", folder / "own.pem"]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
    options = ["--listen", "127.0.0.1:0", "--advertise", "localhost", "--tls-certificate", folder / "own.pem"]
    place = folder / "own"
    place.mkdir()
    with daemon.Daemon(place, options=[*options, "--tls-key", folder / "key.pem"]) as host:
        remote = host.ready["remote"]
        checks.that(remote["url"].startswith("https://localhost:"), "the URL names the advertised host", remote)
        client = Client(remote, create(host, "ci"))
        status, made = client.call("POST", "/v1/environments", {"mode": "mock", "upstreams": {"api": "https://a.example"}})
        checks.that(status == 201 and made["endpoints"]["api"].startswith("http://localhost:"), "and so do endpoints", made)


checks = support.Checks("reach")
with support.folder() as folder:
    with daemon.Daemon(folder, options=["--listen", f"{HOST}:0"]) as host:
        remote = host.ready["remote"]
        # The port stays the same over restarts only if it is given.
        port = remote["url"].rsplit(":", 1)[1]
        host.words[host.words.index(f"{HOST}:0")] = f"{HOST}:{port}"
        settings(checks, host)
        token = create(host, "first")
        encryption(checks, host, remote, token)
        environments(checks, host, remote, token, folder)
        commands(checks, host, remote, token, folder)
        tokens(checks, host, remote)
    own_certificate(checks, folder)
checks.end()
