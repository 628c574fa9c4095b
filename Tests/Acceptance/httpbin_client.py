"""An app that calls httpbin in many ways and writes down the responses. It knows nothing of Diorama except the variable
with its endpoint.

    DIORAMA_ENDPOINT_HTTPBIN=URL httpbin_client.py FILE
"""

import base64
import concurrent.futures
import gzip
import http.client
import json
import os
import random
import sys
import urllib.parse
import zlib

import brotlicffi

ENDPOINT = os.environ["DIORAMA_ENDPOINT_HTTPBIN"].rstrip("/")
HOST = ENDPOINT.split("//", 1)[1]
BINARY = random.Random(1).randbytes(100 * 1024)
LONG = "".join(f"line {number}: naïve café 🙂\n" for number in range(10_000)).encode()  # over 256 KiB
observations = []


def inflate(data):
    """`deflate` means zlib, but many servers send raw deflate."""
    try:
        return zlib.decompress(data)
    except zlib.error:
        return zlib.decompress(data, -zlib.MAX_WBITS)


DECODERS = {"gzip": gzip.decompress, "deflate": inflate, "br": brotlicffi.decompress}


def ask(connection, name, method, target, headers=(), body=None, chunked=False, volatile=False):
    """Makes a call and records the response with all headers."""
    connection.putrequest(method, target, skip_accept_encoding=True)
    given = {key.lower() for key, _ in headers}
    if "user-agent" not in given:
        connection.putheader("User-Agent", "client/1")
    for key, value in headers:
        connection.putheader(key, value)
    if chunked:
        connection.putheader("Transfer-Encoding", "chunked")
    elif body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    if chunked:
        for start in range(0, len(body), 7000):
            part = body[start : start + 7000]
            connection.send(b"%x\r\n%s\r\n" % (len(part), part))
        connection.send(b"0\r\n\r\n")
    elif body is not None:
        connection.send(body)
    response = connection.getresponse()
    raw = response.read()
    coding = response.getheader("Content-Encoding")
    decoded = DECODERS[coding](raw) if coding and raw else raw
    seen = {
        "name": name,
        "call": f"{method} {target}",
        "status": response.status,
        "reason": response.reason,
        "headers": response.getheaders(),
        "body": base64.b64encode(decoded).decode(),
        "volatile": volatile,
    }
    observations.append(seen)
    return response, decoded


def once(name, method, target, headers=(), body=None, **more):
    """Makes a call on a new connection."""
    connection = http.client.HTTPConnection(HOST, timeout=60)
    try:
        return ask(connection, name, method, target, headers, body, **more)
    finally:
        connection.close()


def follow(connection, name, target):
    """Follows redirects like a browser, and requires that they lead back to the endpoint."""
    url = ENDPOINT + target
    for hop in range(10):
        parts = urllib.parse.urlsplit(url)
        path = urllib.parse.urlunsplit(("", "", parts.path, parts.query, ""))
        response, _ = ask(connection, f"{name}, hop {hop}", "GET", path)
        if response.status not in (301, 302, 303, 307, 308):
            return
        url = urllib.parse.urljoin(url, response.getheader("Location"))
        if urllib.parse.urlsplit(url).netloc != HOST:
            sys.exit(f"{name}: the redirect leads away from {ENDPOINT} to {url}")
    sys.exit(f"{name}: too many redirects")


def credentials(user, password):
    return ("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())


def everything(keep):
    """All calls; `keep` is a persistent connection."""

    def call(name, method, target, headers=(), body=None, **more):
        return ask(keep, name, method, target, headers, body, **more)

    # Methods and their bodies.
    form = ("Content-Type", "application/x-www-form-urlencoded")
    as_json = ("Content-Type", "application/json")
    call("get", "GET", "/get?a=1&a=2&b=%20%2Bx+y&empty=&flag&%C3%BC=%C3%BC")
    call("post form", "POST", "/post", [form], b"a=1&a=2&name=na%C3%AFve+caf%C3%A9&empty=")
    value = {"naïve": "🙂", "nested": {"list": [1, 2.50, None, True]}, "big": 12345678901234567890}
    call("post json", "POST", "/post", [as_json], json.dumps(value, ensure_ascii=False).encode())
    call("post text", "POST", "/post", [("Content-Type", "text/plain; charset=utf-8")], "grüße".encode())
    parts = (
        '--frontier\r\nContent-Disposition: form-data; name="field"\r\n\r\nvalue\r\n'
        '--frontier\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
        "Content-Type: text/plain\r\n\r\nline one\r\nline two\r\n--frontier--\r\n"
    )
    call("post multipart", "POST", "/post", [("Content-Type", "multipart/form-data; boundary=frontier")], parts.encode())
    call("post nothing", "POST", "/post", [], b"")
    call("put", "PUT", "/put", [as_json], b'{"slot": 7}')
    call("patch", "PATCH", "/patch", [as_json], b'{"slot": 8}')
    call("delete", "DELETE", "/delete")
    call("delete with a body", "DELETE", "/delete", [as_json], b'{"slot": 7}')
    call("head", "HEAD", "/get")
    call("options", "OPTIONS", "/get")
    call("preflight", "OPTIONS", "/post", [("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "X-Token")])
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        call(f"anything by {method}", method, "/anything/some%2Fpath/%7Euser?q=1", [], None if method == "GET" else b"x")
    call("not allowed", "POST", "/get", [], b"")

    # Bodies of some size.
    binary = ("Content-Type", "application/octet-stream")
    call("upload of 100 KB", "POST", "/anything", [binary], BINARY)
    call("upload in chunks", "POST", "/anything/chunked", [binary], BINARY, chunked=True)
    call("upload over 256 KiB", "PUT", "/anything", [("Content-Type", "text/plain; charset=utf-8")], LONG)
    call("download of 100 KB", "GET", "/bytes/102400?seed=42")
    call("download of another 100 KB", "GET", "/bytes/102400?seed=43")
    call("download in chunks", "GET", "/stream-bytes/102400?seed=7&chunk_size=5000")
    call("no bytes", "GET", "/bytes/0")

    # Status codes with several methods.
    for status in (200, 201, 202, 204, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 406, 409, 410, 418, 429, 500, 502, 503):
        call(f"status {status}", "GET", f"/status/{status}")
    for method, status in (("POST", 201), ("PUT", 204), ("PATCH", 500), ("DELETE", 404), ("HEAD", 404), ("OPTIONS", 200)):
        call(f"{method} status {status}", method, f"/status/{status}", [], b"" if method in ("POST", "PUT", "PATCH") else None)
    call("one status of two", "GET", "/status/200:0.5,404:0.5", volatile=True)

    # Redirects: not followed, then followed.
    own = urllib.parse.quote(ENDPOINT + "/get?back=1", safe="")
    for target in ("/redirect/3", "/relative-redirect/2", "/absolute-redirect/2", "/redirect-to?url=%2Fget&status_code=307"):
        call(f"redirect {target}", "GET", target)
    call("redirect to ourselves", "GET", f"/redirect-to?url={own}")
    call("redirect of a POST", "POST", f"/redirect-to?url={own}&status_code=307", [form], b"a=1")
    call("redirect to another host", "GET", "/redirect-to?url=http%3A%2F%2Fexample.com%2Felsewhere")
    for target in ("/redirect/3", "/relative-redirect/2", "/absolute-redirect/2", f"/redirect-to?url={own}"):
        follow(keep, f"follow {target.split('?')[0]}", target)

    # Cookies.
    call("set two cookies", "GET", "/cookies/set?flavour=oat&size=9")
    call("set a cookie", "GET", "/cookies/set/flavour/rye")
    call("read cookies", "GET", "/cookies", [("Cookie", "flavour=oat; size=9")])
    call("delete a cookie", "GET", "/cookies/delete?flavour=", [("Cookie", "flavour=oat")])

    # Codings.
    every = ("Accept-Encoding", "gzip, deflate, br")
    for coding in ("gzip", "deflate", "brotli"):
        call(coding, "GET", f"/{coding}", [every])

    # Formats.
    for kind in ("png", "jpeg", "webp", "svg"):
        call(f"image {kind}", "GET", f"/image/{kind}")
    call("image by Accept", "GET", "/image", [("Accept", "image/webp")])
    for target in ("/encoding/utf8", "/html", "/xml", "/json", "/robots.txt", "/deny", "/forms/post", "/"):
        call(f"page {target}", "GET", target)
    call("base64", "GET", "/base64/RGlvcmFtYSDwn5mC")
    call("links", "GET", "/links/5/2")
    call("links, redirected", "GET", "/links/5")

    # Streams and delays.
    call("stream", "GET", "/stream/20")
    call("drip", "GET", "/drip?duration=1&numbytes=20&delay=0")
    call("drip with a status", "GET", "/drip?duration=0.2&numbytes=3&code=201&delay=0")
    call("delay", "GET", "/delay/1")
    call("delayed POST", "POST", "/delay/0.2", [form], b"a=1")

    # Ranges: these requests differ only in the header, so their order decides.
    call("range, whole", "GET", "/range/1024")
    for part in ("bytes=100-199", "bytes=1000-", "bytes=-24", "bytes=5000-6000"):
        call(f"range {part}", "GET", "/range/1024", [("Range", part)])
    call("range in chunks", "GET", "/range/2048?chunk_size=100&duration=0.2")

    # Caches.
    call("etag", "GET", "/etag/one")
    call("etag, unchanged", "GET", "/etag/one", [("If-None-Match", '"one"')])
    call("etag, other", "GET", "/etag/one", [("If-Match", '"two"')])
    call("cache", "GET", "/cache", volatile=True)
    call("cache, unchanged", "GET", "/cache", [("If-Modified-Since", "Mon, 08 Oct 2018 09:00:00 GMT")])
    call("cache for a minute", "GET", "/cache/60", volatile=True)

    # Authentication.
    call("no credentials", "GET", "/basic-auth/user/secret")
    call("credentials", "GET", "/basic-auth/user/secret", [credentials("user", "secret")])
    call("hidden", "GET", "/hidden-basic-auth/user/secret")
    call("hidden, with credentials", "GET", "/hidden-basic-auth/user/secret", [credentials("user", "secret")])
    call("no token", "GET", "/bearer")
    call("token", "GET", "/bearer", [("Authorization", "Bearer abc")])
    call("digest challenge", "GET", "/digest-auth/auth/user/secret", volatile=True)
    call("user agent", "GET", "/user-agent", [("User-Agent", "client/2 (naïve)".encode("utf-8").decode("latin-1"))])
    call("headers", "GET", "/headers", [("X-One", "1"), ("X-Empty", ""), ("Accept", "text/html;q=0.8, */*")])
    call("address", "GET", "/ip")

    # Response headers, and the endpoint's own address in requests.
    call("repeated headers", "GET", "/response-headers?X-Many=one&X-Many=two&X-Other=a%2Cb&Link=%3C%2Fget%3E%3B%20rel%3Dnext")
    call("own address in a body", "POST", "/anything", [as_json], json.dumps({"callback": ENDPOINT + "/get"}).encode())
    call("own address in headers", "GET", "/anything/referred", [("Referer", ENDPOINT + "/page?x=1"), ("Origin", ENDPOINT)])

    # The same request repeatedly: different responses in order, with other requests in between.
    for number in range(3):
        call(f"uuid {number}", "GET", "/uuid", volatile=True)
        call(f"get again {number}", "GET", "/get?again=1")

    # New connections, sequential and concurrent.
    once("fresh", "GET", "/get?fresh=1")
    once("asked to close", "GET", "/get?close=1", [("Connection", "close")], volatile=True)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(once, f"parallel {n}", "GET", f"/anything/parallel/{n}") for n in range(24)]:
            done.result()


connection = http.client.HTTPConnection(HOST, timeout=60)
everything(connection)
connection.close()
observations.sort(key=lambda seen: seen["name"])
with open(sys.argv[1], "w") as file:
    json.dump({"endpoint": HOST, "observations": observations}, file, indent=1)
