"""Connects programs that are not written for Diorama: by their own variable, a fixed port, one port for all upstreams,
and as a proxy, with curl, Python's urllib and Node.

    connecting.py
"""

import json
import shutil
import socket
import sys

import support

GET = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"
NODE = """
const http = require("node:http");
http.get(process.env.API_URL + "/node", answer => answer.on("data", data => console.log(String(data))));
"""


def backend(name):
    def answer(handler, body):
        return 200, [("Content-Type", "application/json")], json.dumps({"from": name, "path": handler.path}).encode()

    return support.Upstream(answer)


def twice(checks, title, folder, upstreams, command, *options, expected):
    """Records and replays: both must print the same."""
    cassette = folder / title.replace(" ", "-")
    for mode, known in (("record", upstreams), ("replay", {})):
        run = support.Run(mode, cassette, command, known, options, cwd=folder)
        checks.that(run.status == 0 and run.report["ok"], f"{title}: {mode} succeeds", run)
        checks.that("".join(run.output.split()) == "".join("".join(expected).split()), f"{title}: {mode} answers", run.output)


def main():
    checks = support.Checks("connecting")
    with support.folder() as folder, backend("api") as api, backend("auth") as auth:
        both = {"api": api.url, "auth": auth.url}

        def said(name, path):
            return json.dumps({"from": name, "path": path}) + "\n"

        # The program's own variable.
        words = ["sh", "-c", 'curl -s "$API_URL/a"; curl -s "$AUTH_URL/b"']
        twice(checks, "own variables", folder, both, words, "--env", "API_URL=api", "--env", "AUTH_URL=auth",
              expected=[said("api", "/a"), said("auth", "/b")])
        node = shutil.which("node")
        if checks.that(node, "node is installed"):
            twice(checks, "node", folder, both, [node, "-e", NODE], "--env", "API_URL=api", expected=[said("api", "/node")])

        # A fixed port, which a program may have written into it.
        port = support.free_port()
        words = [sys.executable, "-c", GET, f"http://127.0.0.1:{port}/fixed"]
        twice(checks, "fixed port", folder, both, words, "--endpoint-port", f"api={port}", expected=[said("api", "/fixed")])
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", port))
            other.listen()
            run = support.Run("replay", folder / "fixed-port", words, (), ["--endpoint-port", f"api={port}"])
            checks.that(run.status not in (0, 3) and str(port) in run.words and run.words.count("\n") == 1,
                        "a port that is taken is named in one line", run)

        # The same from the project file.
        settings = {"upstreams": {"api": {"url": api.url, "variable": "API_URL", "port": port}}}
        (folder / "diorama.json").write_text(json.dumps(settings))
        words = ["sh", "-c", f'test "$API_URL" = http://127.0.0.1:{port} && curl -s "$API_URL/a"']
        twice(checks, "project file", folder, {}, words, expected=[said("api", "/a")])
        (folder / "diorama.json").unlink()

        # One port for all upstreams, by their names or by their hosts.
        host = auth.url.removeprefix("http://")
        words = ["sh", "-c", f'curl -s "$DIORAMA_MAIN/api/a?b=1"; curl -s "$DIORAMA_MAIN/auth"; curl -s "$DIORAMA_MAIN/{host}/c"']
        twice(checks, "main port", folder, both, words,
              expected=[said("api", "/a?b=1"), said("auth", "/"), said("auth", "/c")])

        # A proxy, as programs know it.
        words = ["sh", "-c", f'curl -s {api.url}/a; "{sys.executable}" -c "{GET}" {auth.url}/b']
        twice(checks, "proxy", folder, both, words, "--proxy", expected=[said("api", "/a"), said("auth", "/b")])
        twice(checks, "proxy variable", folder, both, ["sh", "-c", f'curl -s -x "$DIORAMA_PROXY" --noproxy "" {api.url}/x'],
              expected=[said("api", "/x")])
        run = support.Run("replay", folder / "proxy", ["curl", "-sS", "https://api.example.com/"], (), ["--proxy"])
        checks.that(run.status != 0 and run.report["unmatched"][0]["refusal"].startswith("CONNECT is not served")
                    and "--isolate" in run.report["unmatched"][0]["refusal"],
                    "https through the proxy is refused and named, with what serves it", run)

        # http and https of one host are different backends.
        named = {"plain": "http://shop.example.com", "secure": "https://shop.example.com"}
        words = ["sh", "-c", 'curl -s -x "$DIORAMA_PROXY" http://shop.example.com/a; echo; curl -s -H "Host: shop.example.com" --request-target https://shop.example.com/a "$DIORAMA_PROXY"']
        run = support.Run("mock", folder / "none", words, named)
        urls = [one["url"] for one in run.report["unmatched"]]
        checks.that(urls == ["http://shop.example.com/a", "https://shop.example.com/a"], "absolute URLs choose by scheme", urls)

        for options, words in (
            (["--env", "API_URL"], "--env"), (["--env", "1=api"], "is not the name of a variable"),
            (["--env", "DIORAMA_X=api"], "is set by Diorama itself"), (["--env", "API_URL=apu"], "there is no upstream 'apu'"),
            (["--env", "A=api", "--env", "B=api"], "already sets the variable A"),
            (["--env", "A=api", "--env", "A=auth"], "is already that of 'api'"),
            (["--endpoint-port", "api=x"], "--endpoint-port takes NAME=PORT"), (["--endpoint-port", "api=70000"], "1 to 65535"),
        ):
            run = support.Run("proxy", folder / "none", ["true"], both, options)
            checks.that(run.status == 64 and words in run.words, f"{' '.join(options)} is refused", run)
    checks.end()


if len(sys.argv) > 1:
    sys.exit("usage: connecting.py")
main()
