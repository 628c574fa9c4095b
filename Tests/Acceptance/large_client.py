"""The app of large.py: sends a large body or fetches one, never whole in memory, and prints the status and the digests of
both ends.

    large_client.py up|up-text|down|text MEGABYTES URL

What goes up as text names the endpoint; its digest is that of the same with URL, the upstream's.
"""

import hashlib
import http.client
import json
import os
import sys

BLOCK = hashlib.shake_128(b"a large body").digest(1 << 20)


def blocks(megabytes):
    """A body of which no two megabytes are the same, one by one."""
    for number in range(megabytes):
        yield number.to_bytes(8, "big") + BLOCK[8:]


def digest_of(read):
    """The digest and the length of what `read(most)` gives until it gives nothing."""
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
