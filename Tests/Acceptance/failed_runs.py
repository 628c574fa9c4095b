"""Runs that failed and must not report success: an ignored endpoint, a backend that is down, an undeclared host, a command
that fails or is interrupted while recording. The backend is httpbin, the client curl."""

import json
import signal
import subprocess

import support


def curl(path):
    return ["sh", "-c", f'curl -sf "$DIORAMA_ENDPOINT_API{path}"']


def main():
    checks = support.Checks("failed_runs")
    with support.folder() as folder, support.httpbin() as backend:
        api = {"api": backend.url}

        # The program has the address of the live backend built in.
        ignoring = ["curl", "-s", f"{backend.url}/uuid"]
        for _ in range(2):
            run = support.Run("once", folder / "ignored", ignoring, api)
            checks.that(run.status == 3 and not run.report["ok"], "an ignored endpoint fails the run", run)
            checks.that(
                "no request reached the environment" in run.words and "DIORAMA_ENDPOINT_API" in run.words,
                "the message says what to check", run.words)
            checks.that(support.snapshot(folder) == {}, "no cassette is written for a recording without interactions")
        run = support.Run("once", folder / "ignored", ignoring, api, ["--allow-no-requests"])
        checks.that(run.status == 0 and run.report["ok"], "--allow-no-requests permits it", run)

        # A good cassette, for all that follows.
        good = folder / "good"
        run = support.Run("record", good, curl("/uuid"), api)
        checks.that(run.status == 0, "the recording succeeds", run)
        files = support.snapshot(folder)

        run = support.Run("replay", good, ["true"])
        checks.that(run.status == 3, "a replay without a request fails, too", run)

        # The backend is down for one of two requests.
        down = {**api, "down": "http://127.0.0.1:1"}
        both = ["sh", "-c", 'curl -s "$DIORAMA_ENDPOINT_API/uuid"; curl -s "$DIORAMA_ENDPOINT_DOWN/x"; curl -s "$DIORAMA_ENDPOINT_DOWN/x"; true']
        run = support.Run("record", good, both, down)
        failures = run.report["upstreamFailures"]
        checks.that(run.status == 3 and not run.report["ok"], "an upstream that fails fails the recording", run)
        checks.that(
            len(failures) == 1 and failures[0]["url"] == "http://127.0.0.1:1/x" and failures[0]["count"] == 2 and "refused" in failures[0]["cause"],
            "the report names URL, cause, and count", failures)
        checks.that("failed upstream: GET http://127.0.0.1:1/x: " in run.words, "so does the text", run.words)
        kept = {name: data for name, data in support.snapshot(folder).items() if name in files}
        checks.that(kept == files, "the good cassette stays as it was")
        run = support.Run("record", folder / "allowed", both, down, ["--allow-upstream-failures"])
        checks.that(run.status == 0 and (folder / "allowed.har").exists(), "--allow-upstream-failures permits it", run)

        # A host that is not declared, through the main port.
        undeclared = ["sh", "-c", 'curl -s "$DIORAMA_ENDPOINT_API/uuid"; curl -s -x "${DIORAMA_CONTROL%/__diorama}" http://other.test/x; true']
        run = support.Run("record", folder / "undeclared", undeclared, api)
        checks.that(
            run.status == 3 and "http://other.test/x" in run.words and not (folder / "undeclared.har").exists(),
            "a host that is not declared fails the recording", run)

        # A command that fails, and one that is interrupted.
        failing = ["sh", "-c", 'curl -s "$DIORAMA_ENDPOINT_API/anything/half"; exit 1']
        run = support.Run("record", good, failing, api)
        checks.that(run.status == 1, "the status is the command's", run)
        recover = f"diorama cassette check --recover {good}"
        checks.that(run.words.rstrip().endswith(recover), "the last line has the command that takes the recording", run.words)
        kept = {name: data for name, data in support.snapshot(folder).items() if name in files}
        checks.that(kept == files, "a failed command leaves the cassette as it was")
        checks.that(len(support.har(folder / "good.failed")) == 1, "its recording is beside the cassette")

        words = support.arguments("record", good, ["sh", "-c", 'curl -s "$DIORAMA_ENDPOINT_API/anything/interrupted"; echo; echo ready; exec sleep 60'], api)
        with subprocess.Popen(words, env=support.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:  # it may be ignored here
            # Not before curl has ended: a shell whose command ends normally continues after SIGINT.
            while process.stdout.readline().strip() != "ready":
                pass
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=support.PATIENCE)
        checks.that(process.returncode == 130 and recover in said, "an interrupted recording is kept beside the cassette", said)
        kept = {name: data for name, data in support.snapshot(folder).items() if name in files}
        checks.that(kept == files, "an interrupted recording leaves the cassette as it was")
        checks.that("/anything/interrupted" in json.dumps(support.har(folder / "good.failed")), "it replaces that of the run before")

        taken = support.diorama("cassette", "check", "--recover", good)
        checks.that(taken.returncode == 0 and "/anything/interrupted" in json.dumps(support.har(good)), "--recover makes it the cassette", taken.stderr)
        checks.that((folder / "good.previous.har").exists() and not (folder / "good.failed.har").exists(), "and keeps the old one")

        # A first recording that failed is not replayed by the corrected command.
        support.Run("once", folder / "first", failing, api)
        run = support.Run("once", folder / "first", curl("/anything/right"), api)
        checks.that(run.status == 0 and run.report["requests"]["recorded"] == 1, "the corrected command records", run)
    checks.end()


if __name__ == "__main__":
    main()
