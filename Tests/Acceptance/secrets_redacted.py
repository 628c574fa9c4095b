"""An app signs in by OAuth and uploads with a presigned URL, without any setting: no secret reaches a file, the report
names each place once, and the app works in replay with other secrets.

    secrets_redacted.py
"""

import base64
import json
import sys
import urllib.parse

import support

# Signs in with a password, gets tokens for a code, reads the token's claims, calls the API, and uploads. Prints what it learned.
APP = """
import base64, http.client, json, os, sys, urllib.parse
secret = sys.argv[1]
origin = os.environ["DIORAMA_ENDPOINT_API"]
connection = http.client.HTTPConnection(urllib.parse.urlsplit(origin).netloc, timeout=60)
def call(method, target, body=None, headers={}):
    connection.request(method, target, body, headers)
    response = connection.getresponse()
    content = response.read()
    if response.status >= 400: sys.exit(f"{method} {target}: {response.status} {content[:300]}")
    return response, content
form = {"Content-Type": "application/x-www-form-urlencoded"}
_, content = call("POST", "/login", json.dumps({"user": "ann", "password": secret}), {"Content-Type": "application/json"})
user = json.loads(content)
grant = {"grant_type": "authorization_code", "code": secret, "code_verifier": secret, "client_id": "app", "client_secret": secret}
_, content = call("POST", "/token", urllib.parse.urlencode(grant), form)
tokens = json.loads(content)
claims = tokens["id_token"].split(".")[1]
subject = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"]
response, _ = call("GET", "/authorize?response_type=token")
location = response.getheader("Location")
_, content = call("GET", "/me?api_key=" + secret, headers={"Authorization": "Bearer " + tokens["access_token"]})
call("PUT", f"/bucket/file?X-Amz-Date=1&X-Amz-Signature={secret}", "content", {"Content-Type": "text/plain"})
print(json.dumps([user, subject, sorted(tokens), location.split("=")[0], json.loads(content)]))
"""

SECRET = "hunter-2-s3cr3t"


def encoded(text):
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


TOKEN = f'{encoded(json.dumps({"alg": "HS256"}))}.{encoded(json.dumps({"sub": "ann", "exp": 1}))}.{encoded("signature-s3cr3t")}'


def backend():
    def answer(handler, body):
        kind = [("Content-Type", "application/json")]
        path = urllib.parse.urlsplit(handler.path).path
        if path == "/login":
            return 200, [*kind, ("Set-Cookie", f"session={SECRET}; Path=/")], b'{"user": "ann", "passwordAge": 12}'
        if path == "/token":
            tokens = {"access_token": SECRET, "refresh_token": SECRET, "id_token": TOKEN, "expires_in": 60}
            return 200, kind, json.dumps(tokens).encode()
        if path == "/authorize":
            return 302, [("Location", f"https://app.example.com/callback#access_token={SECRET}&state=1")], b""
        return 200, kind, json.dumps({"path": path, "schema": {"password": {"type": "string"}}}).encode()

    return support.Upstream(answer)


def main():
    checks = support.Checks("secrets_redacted")
    with support.folder() as folder:
        def app(secret):
            return [sys.executable, "-c", APP, secret]

        with backend() as upstream:
            run = support.Run("record", folder / "c", app(SECRET), {"api": upstream.url})
            checks.that(run.status == 0, "the app is recorded", run)
            first = run.output
            checks.that(json.loads(first)[1] == "ann", "the app gets the real token", first)
            text = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
            for secret in (SECRET, TOKEN.rsplit(".", 1)[1]):
                checks.that(secret not in text, "no secret is in a file", secret)
            places = [
                "request body: client_secret", "request body: code", "request body: code_verifier", "request body: password",
                "request header Authorization", "request URL: X-Amz-Signature", "request URL: api_key",
                "response body: access_token", "response body: id_token", "response body: refresh_token",
                "response header Location", "response header Set-Cookie"]
            checks.that(sorted(run.report["redacted"]) == sorted(places), "the report names each place once", run.report["redacted"])
            checks.that("  redacted: " in run.words, "the command lists them", run.words)
            # What was redacted can be kept.
            (folder / "diorama.json").write_text(json.dumps({"redaction": {"keep": {"fields": ["password", "accessToken"]}}}))
            kept = support.Run("record", folder / "kept", app(SECRET), {"api": upstream.url}, cwd=folder)
            recorded = (folder / "kept.har").read_text()
            checks.that(kept.status == 0 and f'\\"password\\": \\"{SECRET}' in recorded, "a field that is to be kept is recorded", kept)
            checks.that("request body: password" not in kept.report["redacted"], "and not listed", kept.report["redacted"])
            checks.that('\\"refresh_token\\": \\"<redacted>' in recorded, "the others are redacted")
            (folder / "diorama.json").unlink()
        for secret in (SECRET, "another-one"):
            run = support.Run("replay", folder / "c", app(secret))
            checks.that(run.status == 0 and run.report["ok"] and run.report["unused"] == [], "the app works in replay", run)
            checks.that(run.output == first, "and learns the same", run.output)
        # A cassette with secrets, such as one of an earlier version, is still matched.
        run = support.Run("replay", folder / "kept", app("another-one"))
        checks.that(run.status == 0 and run.report["ok"], "a cassette with secrets replays with others", run)
    checks.end()


if len(sys.argv) > 1:
    sys.exit("usage: secrets_redacted.py")
main()
