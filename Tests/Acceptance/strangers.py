"""Access is refused to web pages, wrong host names, clients without a token, and other users. The secret of an environment
is in no file after its end, and before that only in files of mode 0600 in the state folder.

    strangers.py
"""

import base64
import http.client
import json
import os
import pathlib
import secrets
import socket
import stat
import sys
import traceback
import urllib.parse

import daemon
import support

CALLS = [
    ("GET", "/v1/health"), ("GET", "/openapi.json"), ("GET", "/metrics"), ("GET", "/v1/environments"),
    ("POST", "/v1/environments"), ("GET", "/v1/environments/none"), ("PATCH", "/v1/environments/none"),
    ("DELETE", "/v1/environments/none"), ("GET", "/v1/environments/none/journal"), ("POST", "/v1/ports"),
    ("GET", "/v1/ports"), ("DELETE", "/v1/ports/20000"), ("OPTIONS", "/v1/ports"), ("GET", "/"),
]
OPEN = {"/v1/health", "/openapi.json"}


def over_tcp(checks, host):
    for method, target in CALLS:
        body = {} if method in ("POST", "PATCH") else None
        title = f"{method} {target}"
        for origin in ("https://evil.example", "null", f"http://127.0.0.1:{host.port + 1}"):
            answer = host.call(method, target, body, {"Origin": origin})
            checks.that(answer.status == 403, f"{title}: a page of {origin} is refused", answer)
            allowed = [name for name in answer.headers if name.lower().startswith("access-control")]
            checks.that(not allowed, f"{title}: no page is allowed", allowed)
        for name in ("evil.example", f"evil.example:{host.port}", "127.0.0.1", f"127.0.0.2:{host.port}"):
            answer = host.call(method, target, body, {"Host": name})
            checks.that(answer.status == 403, f"{title}: Host {name} is refused", answer)
        if target in OPEN:
            continue
        for value in (None, "Bearer", "Bearer wrong", f"Bearer {host.token}x", f"Basic {host.token}"):
            answer = host.call(method, target, body, {"Authorization": value}, token=False)
            refused = answer.status == 401 and answer.headers.get("WWW-Authenticate")
            checks.that(refused, f"{title}: Authorization {value and value[:12]} is refused", answer)
    answer = host.call("POST", "/v1/ports", "{}", {"Content-Type": "text/plain"})
    checks.that(answer.status == 415, "a body that a page can send without preflight is refused", answer)
    checks.that(host.call("GET", "/v1/ports").json == {"ports": []}, "no refused call has leased a port")


def listening(checks, host):
    """The daemon is not reachable from other machines."""
    sockets = {os.readlink(f"/proc/{host.process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{host.process.pid}/fd")}
    found = 0
    for table, loopback in (("tcp", "0100007F"), ("tcp6", "0" * 24 + "01000000")):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found += 1
                checks.that(fields[1].startswith(loopback), "the daemon listens on loopback addresses only", fields[1])
    checks.that(found >= 1, "its listening sockets were found")


def as_nobody(path):
    """What a child process of another user gets at the socket: a status, or the name of an error."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            try:
                connection = daemon.UnixConnection(path, timeout=20)
                connection.request("GET", "/v1/health")
                said = str(connection.getresponse().status)
            except OSError as error:
                said = type(error).__name__
            os.write(write, said.encode())
        except BaseException:
            os.write(write, traceback.format_exc().encode()[-300:])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def over_unix(checks, host):
    path = host.ready["socket"]
    own = host.call("GET", "/v1/environments", connection=host.unix())
    checks.that(own.status == 200, "a program of the same user needs no token at the Unix socket", own)
    wrong = host.call("GET", "/v1/environments", headers={"Authorization": "Bearer wrong"}, connection=host.unix())
    checks.that(wrong.status == 401, "a wrong token is refused at the Unix socket, too", wrong)
    if os.geteuid() != 0:
        checks.say("not root: the Unix socket was not tested with another user")
        return
    checks.that(as_nobody(path) == "PermissionError", "another user cannot reach the Unix socket", as_nobody(path))
    # Makes the folders and the socket accessible: the peer's user is checked anyway.
    opened = [pathlib.Path(path), *pathlib.Path(path).parents][:-1]
    before = [(place, stat.S_IMODE(place.stat().st_mode)) for place in opened]
    try:
        for place, mode in before:
            place.chmod(mode | (0o666 if place == pathlib.Path(path) else 0o011))
        said = as_nobody(path)
        checks.that(said == "403", "another user who reaches the Unix socket is refused", said)
    finally:
        for place, mode in before:
            place.chmod(mode)


def modes(checks, host):
    for place in [host.state, *host.state.rglob("*")]:
        mode = stat.S_IMODE(place.lstat().st_mode)
        wanted = 0o700 if place.is_dir() else 0o600
        checks.that(mode == wanted, f"{place.relative_to(host.folder)} has mode {wanted:o}", f"{mode:o}")


def forms(secret):
    """The forms in which a secret may appear in a file."""
    text = secret.encode()
    return {
        "plain": text, "base64": base64.b64encode(text).rstrip(b"="), "base64 in base64": base64.b64encode(base64.b64encode(text))[:24],
        "percent-encoded": urllib.parse.quote(secret, safe="").encode(), "as a form": urllib.parse.quote_plus(secret).encode(),
        "in JSON": json.dumps(secret)[1:-1].encode(), "hexadecimal": text.hex().encode(),
    }


def found(places, secret):
    """The files that contain the secret, and its form."""
    hits = []
    for place in places:
        for file in [place] if place.is_file() else sorted(place.rglob("*")):
            if file.is_file() and not file.is_symlink():
                content = file.read_bytes()
                hits += [(file, form) for form, bytes in forms(secret).items() if bytes in content]
    return hits


def keeps_secrets(checks, folder):
    secret = f"{secrets.token_urlsafe(24)}+/=&\"é"
    temporary = folder / "temporary"
    temporary.mkdir()

    def answer(handler, body):
        said = {"echo": handler.path, "body": body.decode(), "authorization": handler.headers.get("Authorization")}
        return 200, [("Content-Type", "application/json")], json.dumps(said).encode()

    with support.Upstream(answer) as upstream, daemon.Daemon(folder, variables={"TMPDIR": str(temporary)}) as host:
        made = host.call("POST", "/v1/environments", {
            "name": "secrets", "mode": "proxy", "upstreams": {"api": upstream.url},
            "credentials": [{"service": "shop", "account": "ann", "text": secret}],
        })
        if not checks.that(made.status == 201, "an environment with a credential is provisioned", made):
            return
        told = made.body + host.call("GET", f"/v1/environments/{made.json['id']}").body
        checks.that(not any(form in told for form in forms(secret).values()), "no response contains the secret")
        contract = made.json["contract"]["environment"]["DIORAMA_CONTRACT"]
        document = json.loads(pathlib.Path(contract.removeprefix("file:")).read_text())
        given = base64.b64decode(document["credentials"]["items"][0]["secret"]).decode()
        checks.that(given == secret, "the app finds the secret through its contract", contract)
        for file, form in found([folder], secret):
            mode = stat.S_IMODE(file.stat().st_mode)
            inside = host.state in file.parents
            checks.that(inside and mode == 0o600, f"{file} contains it {form}: only 0600 files in the state folder may", f"{mode:o}")

        # The app uses the secret in all parts of requests.
        connection = http.client.HTTPConnection(made.json["endpoints"]["api"].split("//")[1], timeout=support.PATIENCE)
        ascii = secret.replace("é", "")
        for target, body, fields in (
            ("/a", None, {"Authorization": f"Bearer {ascii}"}), (f"/b?token={urllib.parse.quote(secret, safe='')}", None, {}),
            ("/c", json.dumps({"token": secret}), {"Content-Type": "application/json"}),
            ("/d", urllib.parse.urlencode({"token": secret}), {"Content-Type": "application/x-www-form-urlencoded"}),
        ):
            connection.request("POST" if body else "GET", target, body, fields)
            got = connection.getresponse()
            checks.that(got.read() and got.status == 200, f"{target[:2]} reaches the upstream", got.status)
        connection.close()
        journal = host.call("GET", f"/v1/environments/{made.json['id']}/journal").body
        report = host.end(made.json["id"])
        checks.that(report.status == 200 and report.json["requests"]["forwarded"] == 4, "four requests are forwarded", report)
        for what, said in (("the journal", journal), ("the report", report.body)):
            checks.that(not any(form in said for form in forms(secret).values()), f"{what} does not show the secret", said)
        places = [folder]
        checks.that(not found(places, secret), "no file contains the secret once the environment has ended", found(places, secret))
    checks.that(not found([folder], secret), "no file contains the secret once the daemon has stopped", found([folder], secret))


def main():
    checks = support.Checks("strangers")
    with support.folder() as folder:
        (folder / "a").mkdir()
        (folder / "b").mkdir()
        with daemon.Daemon(folder / "a") as host:
            modes(checks, host)
            listening(checks, host)
            over_tcp(checks, host)
            over_unix(checks, host)
            checks.that(host.token not in host.said(), "the token is in no log")
            arguments = pathlib.Path(f"/proc/{host.process.pid}/cmdline").read_text()
            checks.that(host.token not in arguments, "the token is on no command line")
        keeps_secrets(checks, folder / "b")
    checks.end()


if len(sys.argv) > 1:
    sys.exit("usage: strangers.py")
main()
