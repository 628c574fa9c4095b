"""The app of large.py: uploads or downloads a large body in pieces, and prints the status and the digests of both ends.

    large_client.py up|up-text|down|text MEGABYTES URL

Uploaded text contains the endpoint's URL; its digest is computed with URL, the upstream's, instead.
"""

import hashlib
import http.client
import json
import os
import sys

BLOCK = hashlib.shake_128(b"a large body").digest(1 << 20)


def blocks(megabytes):
    """The blocks of a body in which no two megabytes are equal."""
    for number in range(megabytes):
        yield number.to_bytes(8, "big") + BLOCK[8:]


def digest_of(read):
    """The digest and length of what `read(most)` returns until it is empty."""
    digest, count = hashlib.sha256(), 0
    while piece := read(1 << 18):
        digest.update(piece)
        count += len(piece)
    return [digest.hexdigest(), count]


def main(way, megabytes, url):
    endpoint = os.environ["DIORAMA_ENDPOINT_STORE"]
    connection = http.client.HTTPConnection(endpoint.split("//")[1], timeout=100)
    if way in ("down", "text"):
        connection.request("GET", f"/{way}/{megabytes}")
        response = connection.getresponse()
        return [response.status, digest_of(response.read), response.getheader("X-Digest")]
    sent = hashlib.sha256()
    line, meant = (f"\n{text}/cb\n".encode() if way == "up-text" else b"" for text in (endpoint, url))

    def body():
        for block in blocks(megabytes):
            sent.update(block + meant)
            yield block + line

    headers = {
        "Content-Type": "text/plain" if way == "up-text" else "application/octet-stream",
        "Content-Length": str(megabytes * ((1 << 20) + len(line))),
    }
    connection.request("PUT", f"/{way}/{megabytes}", body(), headers)
    response = connection.getresponse()
    return [response.status, [sent.hexdigest(), megabytes * ((1 << 20) + len(meant))], response.read().decode()]


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
