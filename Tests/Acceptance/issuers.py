"""Signs in with OpenID Connect through an endpoint: the client, Authlib, discovers the provider there and checks the issuer
of a signed token against what it discovered, while the traffic is forwarded, recorded, and replayed without the provider.

    issuers.py
"""

import json

import support

# A provider with two issuers, the second with a path and chunked answers. Its tokens are signed with RS256.
PROVIDER = """
import http.server, json, time, urllib.parse
from joserfc import jwk, jwt
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), None)
url = f"http://127.0.0.1:{server.server_port}"
key = jwk.RSAKey.generate_key(2048, {"kid": url + "/keys/1", "use": "sig", "alg": "RS256"})
secret = jwk.OctKey.import_key("a secret of the client, long enough")

class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body):
        target = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(target.query))
        form = dict(urllib.parse.parse_qsl(body.decode()))
        realm = "/realms/one" if "/realms/one" in target.path else ""
        issuer, path = url + realm, target.path.replace(realm, "", 1)
        if path in ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"):
            return 200, {
                "issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token",
                "jwks_uri": issuer + "/jwks", "userinfo_endpoint": issuer + "/userinfo",
                "introspection_endpoint": issuer + "/introspect", "id_token_signing_alg_values_supported": ["RS256"],
                "authorization_response_iss_parameter_supported": True}
        if path == "/authorize":
            back = {"code": query["nonce"], "state": query["state"], "iss": issuer}
            return 302, query["redirect_uri"] + "?" + urllib.parse.urlencode(back)
        if path == "/token":
            assertion = jwt.decode(form["client_assertion"], secret, algorithms=["HS256"]).claims
            if assertion["aud"] != issuer:
                return 401, {"error": "invalid_client", "error_description": f"{assertion['aud']} is not {issuer}"}
            now = int(time.time())
            claims = {"iss": issuer, "sub": "ann", "aud": "me", "iat": now, "exp": now + 3600, "nonce": form["code"]}
            token = jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)
            return 200, {"token_type": "Bearer", "access_token": "opaque", "expires_in": 3600, "id_token": token}
        if path == "/jwks":
            return 200, {"keys": [key.as_dict(private=False)]}
        if path == "/introspect":
            return 200, {"active": True, "iss": issuer, "sub": "ann"}
        return 404, {}

    def handle_any(self):
        status, content = self.answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", content)
            content = {}
        text = json.dumps(content, indent=1).encode()
        self.send_header("Content-Type", "application/json")
        if "/realms/" not in self.path:
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            return self.wfile.write(text)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(text), 7):
            part = text[start : start + 7]
            self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(part), part))
        self.wfile.write(b"0\\r\\n\\r\\n")

    do_GET = do_POST = handle_any
    def log_message(self, *_): pass

server.RequestHandlerClass = Provider
print("listening on", url, flush=True)
server.serve_forever()
"""

# The client. It takes the discovery document's URL relative to the endpoint, and says what it has seen.
CLIENT = """
import json, os, sys, time, urllib.parse
import requests
from authlib.integrations.base_client import BaseApp, FrameworkIntegration, OAuth2Mixin, OpenIDMixin
from authlib.integrations.requests_client import OAuth2Session
from joserfc import jwk, jwt

class App(OAuth2Mixin, OpenIDMixin, BaseApp):
    client_cls = OAuth2Session

base = os.environ[sys.argv[1]] + sys.argv[2]
app = App(
    FrameworkIntegration("idp"), "idp", client_id="me", server_metadata_url=base + sys.argv[3],
    client_kwargs={"scope": "openid", "token_endpoint_auth_method": "none"})
metadata = app.load_server_metadata()
issuer = metadata["issuer"]
asked = app.create_authorization_url("http://localhost:9/callback", state="s", nonce="n")
location = requests.get(asked["url"], allow_redirects=False).headers["Location"]
back = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(location).query))
secret = jwk.OctKey.import_key("a secret of the client, long enough")
assertion = jwt.encode({"alg": "HS256"}, {"iss": "me", "sub": "me", "aud": issuer, "exp": int(time.time()) + 60}, secret)
token = app.fetch_access_token(
    "http://localhost:9/callback", code=back["code"], state=back["state"], client_assertion=assertion,
    client_assertion_type="urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
user = app.parse_id_token(token, nonce="n")
answer = requests.post(metadata["introspection_endpoint"], {"token": token["access_token"]}).json()
addresses = [value for name, value in metadata.items() if name.endswith(("_endpoint", "_uri"))]
print(json.dumps({
    "issuer": issuer, "user": [user["iss"], user["sub"]], "response": back["iss"], "introspection": answer["iss"],
    "endpoints": all(value.startswith(os.environ[sys.argv[1]] + "/") for value in addresses)}))
"""


def main():
    checks = support.Checks("issuers")
    python = support.python("issuers")
    oidc, oauth = "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"
    # The variable with the base URL, the path of the issuer, and the path of its document.
    ways = [
        ("DIORAMA_ENDPOINT_IDP", "", oidc), ("DIORAMA_ENDPOINT_IDP", "/realms/one", oidc),
        ("DIORAMA_ENDPOINT_IDP", "", oauth), ("DIORAMA_MAIN", "/idp", oidc),
    ]
    with support.folder() as folder:
        # A recorded token can only be validated with its signature.
        settings = {"redaction": {"keep": {"fields": ["id_token"]}, "form": ["token"]}, "rewriting": {"keep": ["$.iss"]}}
        (folder / "diorama.json").write_text(json.dumps(settings))

        def sign_in(mode, number, **more):
            run = support.Run(mode, folder / f"c{number}", [python, "-c", CLIENT, *ways[number]], cwd=folder, **more)
            return run, json.loads(run.output) if run.output.strip() else {}

        with support.Program([python, "-c", PROVIDER]) as provider:
            upstreams = {"idp": provider.url}
            for number, (_, path, _) in enumerate(ways):
                issuer = provider.url + path.replace("/idp", "")
                for mode in ("proxy", "record"):
                    run, seen = sign_in(mode, number, upstreams=upstreams)
                    checks.that(run.status == 0 and run.report["ok"], f"{mode}: the client accepts the token", run)
                    checks.that(seen.get("issuer") == issuer, f"{mode}: the issuer is the provider's", seen)
                    checks.that(seen.get("user") == [issuer, "ann"], f"{mode}: so is the token's", seen)
                    checks.that(seen.get("response") == issuer, f"{mode}: so is the authorization response's", seen)
                    checks.that(seen.get("introspection") == issuer, f"{mode}: so is what the setting names", seen)
                    checks.that(seen.get("endpoints"), f"{mode}: all other URLs are the endpoint's", seen)
            (folder / "diorama.json").write_text(json.dumps({"redaction": settings["redaction"]}))
            run, seen = sign_in("proxy", 0, upstreams=upstreams)
            checks.that(seen.get("introspection", provider.url) != provider.url, "without the setting it is rewritten", run)
            (folder / "diorama.json").write_text(json.dumps({"rewriting": {"keep": ["query:iss"]}}))
            run, _ = sign_in("proxy", 0, upstreams=upstreams)
            checks.that(run.status == 65 and "rewriting.keep[0]: 'query:iss'" in run.words, "a wrong place is an error", run)
            (folder / "diorama.json").write_text(json.dumps(settings))
        for number, (_, path, _) in enumerate(ways):
            issuer = provider.url + path.replace("/idp", "")
            run, seen = sign_in("replay", number)
            wanted = {"issuer": issuer, "user": [issuer, "ann"], "response": issuer, "introspection": issuer, "endpoints": True}
            checks.that(run.status == 0 and seen == wanted, "replay: the client accepts the token without the provider", run)
    checks.end()


if __name__ == "__main__":
    main()
