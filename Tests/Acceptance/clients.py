"""Tests of other languages in environments: pytest with xdist by the plugin's wheel, and node:test, vitest and Playwright by
the module for Node. pytest and node are the real runners. vitest and Playwright are stand-ins with the part of their
documented contract that the module uses, since neither can be installed here."""

import json
import os
import re
import shutil
import subprocess

import support

TEST = '''
import json, os, subprocess, sys, urllib.error, urllib.request
import pytest

pytestmark = pytest.mark.diorama(upstreams={"api": "BACKEND"}, toggles={"a": 1, "b": 1})
EXTRA = os.environ.get("EXTRA", "")


def get(url):
    try:
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url).read().decode()
    except urllib.error.HTTPError as error:
        return str(error.code)


@pytest.mark.parametrize("name", IDS, ids=IDS)
def test_names(diorama, name):
    assert get(diorama.url("api", f"/names/{IDS.index(name)}")).startswith("answer ")


def test_mismatch(diorama):
    get(diorama.url("api", "/mismatch?page=1" + EXTRA))


def test_own_failure(diorama):
    if "AROUND" not in os.environ:
        get(diorama.url("api", "/own?page=1" + EXTRA))
    assert "FAIL" not in os.environ, "the test's own failure"


def test_program(diorama):
    program = "import os, urllib.request; print(urllib.request.urlopen(os.environ['DIORAMA_ENDPOINT_API'] + '/program').read())"
    environ = {name: value for name, value in diorama.environ.items() if not name.lower().endswith("_proxy")}
    assert b"answer" in subprocess.run([sys.executable, "-c", program], env=environ, stdout=subprocess.PIPE).stdout


@pytest.fixture
def user(diorama):
    yield get(diorama.url("api", "/user"))
    assert get(diorama.url("api", "/user/delete")).startswith("answer ")


def test_fixture(user):
    assert user.startswith("answer ")


@pytest.mark.diorama(toggles={"b": 2}, ports=["web"])
class TestControls:
    @pytest.mark.diorama(clock={"kind": "manual", "start": "2018-10-08T09:00:00Z"}, values={"color": "red"})
    def test_controls(self, diorama):
        get(diorama.url("api", "/controls"))
        contract = json.loads(open(diorama.environ["DIORAMA_CONTRACT"].removeprefix("file:")).read())
        assert contract["toggles"] == {"a": 1, "b": 2} and diorama.values == {"color": "red"}
        assert diorama.ports["web"] > 1024 and str(diorama.ports["web"]) == diorama.environ["DIORAMA_PORT_WEB"]
        assert diorama.clock.advance(90).isoformat() == "2018-10-08T09:01:30+00:00"
        assert diorama.clock.set("2020-01-01T00:00:00.5Z") == diorama.clock.now
        assert diorama.clock.now.isoformat() == "2020-01-01T00:00:00.500000+00:00"
        print("string:", diorama.string("email", length=8), "seed:", diorama.seed)
        diorama.update(toggles={"a": None}, values={"color": "blue"})
        with pytest.raises(Exception, match="there is no upstream 'apu'; declared are"):
            diorama.url("apu")
        assert diorama.report()["requests"]["total"] == 1
'''

# Ids that are no file names, or would be that of another id.
IDS = [
    "../../x", "/etc/x", "..", ".", "", "a", "A", "a/b", "a-b", "a b", "a\\b", "con:", "x" * 300, "x" * 299 + "y", "nul\0", "tab\t",
    "\x1b[31m", "é", "e\u0301", "a.failed", "a.previous", "a.har", ".hidden", "-x", "~", "a~559aead08264", "*?", "ends. ",
]

MARKERS = '''
import pytest
@pytest.mark.diorama(togles={"a": 1})
def test_unknown(): pass
@pytest.mark.diorama("record")
def test_positional(): pass
@pytest.mark.diorama(upstreams={"api": "http://127.0.0.1:9"}, mode="proxy")
def test_unused(diorama): diorama.url("api")
@pytest.mark.diorama(upstreams={"api": "http://127.0.0.1:9"}, mode="proxy", policies={"allowNoRequests": True})
def test_permitted(diorama): diorama.url("api")
@pytest.mark.diorama(mode="mock")
def test_without_fixture(request): assert request.getfixturevalue("diorama").mode == "mock"
@pytest.mark.diorama(upstreams={"api": "http://127.0.0.1:9"}, mode="proxy")
def test_around(diorama): pass
@pytest.mark.diorama(upstreams={"api": "http://127.0.0.1:9"}, mode="proxy")
def test_clock(diorama): diorama.clock.now
@pytest.mark.diorama(upstreams={"api": "http://127.0.0.1:9"}, mode="proxy")
def test_marker(): pass
def test_plain(): pass
'''

# Tests that do not use their environment, or end with the process.
NODE_ENDS = '''
import { test } from "node:test";
import { environment } from "diorama";
const settings = { upstreams: { api: "BACKEND" }, mode: "record" };
test("around", async (t) => { await environment(t, settings); });
test("clock", async (t) => { await (await environment(t, settings)).clock.now(); });
test("ends", async (t) => {
  const { url } = await environment(t, settings);
  await (await fetch(url("api", process.env.END ?? "/whole"))).text();
  if (process.env.END) process.exit(1);
});
'''

KILLED = '''
import os, signal, urllib.request
import pytest
@pytest.mark.diorama(upstreams={"api": "BACKEND"}, mode="record")
def test_killed(diorama):
    urllib.request.urlopen(diorama.url("api", os.environ.get("KILL", "/whole"))).read()
    if "KILL" in os.environ: os.kill(os.getpid(), signal.SIGKILL)
'''

NODE = '''
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { environment } from "diorama";

const settings = { upstreams: { api: "BACKEND" }, toggles: { a: 1 } };
const get = async (url) => (await fetch(url)).text();
const extra = process.env.EXTRA ?? "";

test("reads a page", async (t) => {
  const { url } = await environment(t, settings);
  assert.match(await get(url("api", "/page")), /^answer /);
});
test("mismatch", async (t) => {
  const { url } = await environment(t, settings);
  await get(url("api", `/mismatch?page=1${extra}`));
});
test("own failure", async (t) => {
  const { url } = await environment(t, settings);
  await get(url("api", `/own?page=1${extra}`));
  assert.ok(!process.env.FAIL, "the test's own failure");
});
test("a body of its own", async (t) => {
  const result = await environment(t, settings, async ({ url }) => {
    await get(url("api", `/body?page=1${extra}`));
    assert.ok(!process.env.FAIL, "the body's own failure");
    return 7;
  });
  assert.equal(result, 7);
});
describe("suite", () => {
  for (const name of IDS) {
    it(name, async (t) => {
      const { url } = await environment(t, settings);
      assert.match(await get(url("api", "/names")), /^answer /);
    });
  }
});
test("controls", async (t) => {
  const own = await environment(t, { ...settings, ports: ["web"], values: { color: "red" },
    clock: { kind: "manual", start: "2018-10-08T09:00:00Z" } });
  await get(own.url("api", "/controls"));
  assert.deepEqual(own.values, { color: "red" });
  assert.equal(String(own.ports.web), own.environ.DIORAMA_PORT_WEB);
  assert.equal((await own.clock.advance(90)).toISOString(), "2018-10-08T09:01:30.000Z");
  await own.clock.set(new Date("2020-01-01T00:00:00Z"));
  assert.equal((await own.clock.now()).toISOString(), "2020-01-01T00:00:00.000Z");
  console.log("string:", await own.string("email", { length: 8 }), "seed:", own.seed);
  await own.update({ toggles: { a: null }, values: { color: "blue" } });
  assert.throws(() => own.url("apu"), /there is no upstream 'apu'; declared are api/);
  assert.equal((await own.report()).requests.total, 1);
});
'''

# What the module uses of the contracts of vitest (https://vitest.dev/guide/test-context) and Playwright
# (https://playwright.dev/docs/test-fixtures, …/api/class-testinfo, …/api/class-reporter).
STANDINS = '''
import assert from "node:assert/strict";
import Reporter, { environment, playwright, vitest, webServerEnv } from "diorama";

const settings = { upstreams: { api: "BACKEND" } };
const extra = process.env.EXTRA ?? "";
const file = import.meta.filename ?? process.argv[1];
// Both runners read the names of the first parameter's members in the source of a fixture.
assert.match(vitest().toString(), /^async \\(\\{ task \\}, use\\)/);
assert.match(playwright().toString(), /^async \\(\\{\\}, use, testInfo\\)/);

async function fixture(name, run) {
  try {
    await run();
    console.log(`${name}: passed`);
  } catch (error) {
    console.log(`${name}: failed: ${error.message}`);
  }
}
const call = async ({ url }, place) => void (await (await fetch(url("api", place + extra))).text());

// Node 18: a test's context does not say whether it has passed.
const old = { name: "old node", after() {}, diagnostic() {} };
await fixture("old node", () => environment(old, settings));
await fixture("old node, body", () => environment(old, settings, (own) => call(own, "/old?page=1")));

// vitest: the fixture's `use` returns once the test is over; the result of the task has its state by then.
for (const state of ["pass", "fail"]) {
  const top = { type: "suite", name: "a.test.mjs", filepath: file };
  const task = { name: `reads ${state}`, file: top, suite: { type: "suite", name: "users", file: top, suite: top } };
  await fixture(`vitest ${state}`, () => vitest(settings)({ task }, async (own) => {
    await call(own, `/vitest/${state}?page=1`);
    task.result = { state };
  }));
}
// Playwright: likewise, with the test's status.
for (const status of ["passed", "failed"]) {
  const testInfo = { file, line: 3, titlePath: ["a.spec.mjs", "users", `reads ${status}`], project: { name: "chromium" },
    expectedStatus: "passed" };
  await fixture(`playwright ${status}`, () => playwright(settings)({}, async (own) => {
    await call(own, `/playwright/${status}?page=1`);
    testInfo.status = status;
  }, testInfo));
}
// Its configuration is read in the runner and in each worker, which inherits the runner's variables.
const variables = webServerEnv(settings);
assert.deepEqual(webServerEnv(settings), variables);
await (await fetch(`${variables.DIORAMA_ENDPOINT_API}/server?page=1${extra}`)).text();
const verdict = await new Reporter().onEnd({ status: "passed" });
console.log(`web server: ${verdict?.status ?? "passed"}`);
'''


def answer(handler, body):
    """A backend whose answers are never equal."""
    handler.server.count = getattr(handler.server, "count", 0) + 1
    return 200, [("Content-Type", "text/plain")], b"answer %d" % handler.server.count


def cassettes(folder):
    """The cassettes below a folder, by their paths."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.har"))


def counts(ended):
    """`2 failed, 3 passed` of pytest's last line; the TAP counts of node."""
    last = re.findall(r"^=+ (.*) in [\d.]+s.*=+$", ended.stdout, re.MULTILINE)
    return last[-1] if last else ended.stdout[-800:]


def test_pytest(checks, clients, folder):
    project = folder / "project"
    tests = project / "tests"
    tests.mkdir(parents=True)
    (project / "pytest.ini").write_text("[pytest]\n")
    everything = len(IDS) + 5

    with support.Upstream(answer) as backend:
        text = TEST.replace("BACKEND", backend.url).replace("IDS)", "IDS)", 1)
        (tests / "test_api.py").write_text(text.replace("EXTRA =", f"IDS = {IDS!r}\nEXTRA =", 1), encoding="utf-8")
        # A first recording that fails is not replayed later.
        ended = clients.pytest(project, "-n", "3", FAIL="1")
        checks.that(counts(ended) == f"1 failed, {everything - 1} passed", "three workers record all tests but the one that fails", ended.stdout)
        checks.that(
            "Captured diorama teardown" in ended.stdout and "test_own_failure.failed.har" in ended.stdout,
            "the test that fails says where its recording is", ended.stdout)
        found = cassettes(project)
        checks.that("tests/Cassettes/test_api/test_own_failure.failed.har" in found, "its recording is kept aside", found)
        checks.that("tests/Cassettes/test_api/test_own_failure.har" not in found, "and not as the cassette", found)
        ended = clients.pytest(project)
        checks.that(counts(ended) == f"{everything} passed", "the corrected test records", ended.stdout)
        checks.that(len(re.findall("record ok", ended.stdout)) == 1, "only that one records, and the end says so", ended.stdout)
        ended = clients.pytest(project, "-k", "mismatch", "--diorama-mode", "record")
        checks.that("test_mismatch: record ok" in ended.stdout, "--diorama-mode records again", ended.stdout)
        port = backend.port

        # A test that is killed keeps its cassette.
        killed = project / "killed"
        killed.mkdir()
        (killed / "test_killed.py").write_text(KILLED.replace("BACKEND", backend.url))
        cassette = killed / "Cassettes" / "test_killed" / "test_killed"
        checks.that(counts(clients.pytest(project, "killed")) == "1 passed", "a test records")
        good = support.har(cassette)
        ended = clients.pytest(project, "killed", KILL="/part")
        clients.run([support.binary("diorama"), "serve", "--stop"], project)
        checks.that(ended.returncode == -9 and support.har(cassette) == good, "a test that is killed keeps its cassette", ended.stdout)
        failed = support.har(f"{cassette}.failed")
        checks.that(len(failed) == 1 and "/part" in json.dumps(failed), "and what it recorded is kept aside", failed)
        shutil.rmtree(killed)

    found = [path for path in cassettes(project) if not path.endswith(".failed.har")]
    checks.that(len({path.lower() for path in found}) == everything, "each test has a cassette, on any file system", found)
    checks.that(all(path.startswith("tests/Cassettes/test_api/") for path in found), "all are in the module's folder", found)
    checks.that(all(re.fullmatch(r"[\w~.-]+\.har", os.path.basename(path), re.ASCII) for path in found), "their names are safe", found)
    checks.that(all(len(os.path.basename(path)) < 200 for path in found), "and short", found)
    for path in ("test_names-a.har", "test_names-a-b.har", "test_program.har", "TestControls.test_controls.har"):
        checks.that(f"tests/Cassettes/test_api/{path}" in found, f"a plain name stays as it is: {path}", found)
    outside = [str(path) for path in folder.rglob("*.har") if "Cassettes" not in path.parts]
    checks.that(not outside, "nothing is written elsewhere", outside)

    with support.Watch(port) as watch:
        before = support.snapshot(tests)
        for words in (["-n", "3"], ["-s"]):
            ended = clients.pytest(project, *words, CI="1")
            checks.that(counts(ended) == f"{everything} passed", f"all replay with the backend stopped ({words[0]})", ended.stdout)
        one = re.search("string: .*", ended.stdout)[0]
        again = re.search("string: .*", clients.pytest(project, "-s", "-k", "controls").stdout)[0]
        checks.that(one == again, "random values are the recorded ones", one + again)

        ended = clients.pytest(project, "-n", "2", EXTRA="&more=1")
        checks.that(counts(ended) == f"2 failed, {everything - 2} passed", "a mismatch fails the test itself", ended.stdout)
        part = ended.stdout.split("test_mismatch ____")[-1].split("test_own_failure ____")[0]
        for said in (
            "replay failed: 1 request (1 unmatched)", "not recorded: GET ", "nearest: interaction 0",
            "query item `more`: not recorded, got `1`", "DIORAMA_MODE=extend pytest tests/test_api.py::test_mismatch",
        ):
            checks.that(said in part, f"its text says: {said}", part)
        checks.that(" line " not in part and ".py:" not in part.replace("test_api.py::", ""), "without a traceback", part)
        ended = clients.pytest(project, "-k", "own_failure", EXTRA="&more=1", FAIL="1")
        checks.that(
            counts(ended).startswith("1 failed") and "AssertionError: the test's own failure" in ended.stdout
            and "Captured diorama call" in ended.stdout and "query item `more`" in ended.stdout,
            "a failing test shows its own failure, with the report beside it", ended.stdout)
        checks.that(support.snapshot(tests) == before, "replays change no file")
        ended = clients.pytest(project, "-k", "own_failure", AROUND="1", FAIL="1")
        checks.that(
            "the test's own failure" in ended.stdout and "Captured diorama teardown" in ended.stdout
            and "no request reached the environment" in ended.stdout,
            "a failing test that does not use its environment gets the report", ended.stdout)
        checks.that(watch.count == 0, "no replay reaches the backend", watch.count)

        for cassette in tests.glob("Cassettes/*/test_program.*"):
            cassette.unlink()
        ended = clients.pytest(project, "-k", "program", CI="1")
        checks.that(
            ended.returncode == 1 and "there is no cassette" in ended.stdout and "DIORAMA_MODE=record pytest tests/test_api.py::test_program" in ended.stdout and "Traceback" not in ended.stdout,
            "where CI is set, a missing cassette is an error with what to do", ended.stdout)
        checks.that(watch.count == 0 and not list(tests.glob("Cassettes/*/test_program.*")), "and nothing is recorded", watch.count)

    (tests / "test_markers.py").write_text(MARKERS)
    ended = clients.pytest(project, "tests/test_markers.py")
    checks.that(counts(ended) == "7 passed, 4 errors", "wrong markers are errors, and so is a test that makes no request", ended.stdout)
    checks.that("ERROR tests/test_markers.py::test_around" in ended.stdout, "so is a test that does not use its environment", ended.stdout)
    checks.that("@pytest.mark.diorama: togles: unknown member; did you mean 'toggles'?" in ended.stdout, "the nearest member is named", ended.stdout)
    checks.that("takes settings by name" in ended.stdout, "settings have names", ended.stdout)
    checks.that(
        'permit that with @pytest.mark.diorama(policies={"allowNoRequests": True})' in ended.stdout and 'diorama.endpoints["api"]' in ended.stdout,
        "the error for a test without requests explains in Python how to make or permit them", ended.stdout)
    ended = clients.pytest(project, "tests/test_markers.py", "-k", "without_fixture", PATH="/usr/bin:/bin")
    checks.that("the command diorama is not in PATH" in ended.stdout, "a missing command is named", ended.stdout)

    # The project file's folder has the whole paths of modules.
    deeper = tests / "deep-er"
    deeper.mkdir()
    with support.Upstream(answer) as backend:
        settings = {"cassettes": "Recordings", "upstreams": {"api": backend.url}}
        (project / "diorama.json").write_text(json.dumps(settings))
        test = "import urllib.request\ndef test_x(diorama): urllib.request.urlopen(diorama.url('api', '/x'))\n"
        (deeper / "test_deep.py").write_text(test)
        (deeper / "test_named.py").write_text(
            "import pytest\npytestmark = [pytest.mark.diorama(cassette='Mine/one.har'), pytest.mark.parametrize('p', ['a', 'B'])]\n"
            + test.replace("(diorama)", "(diorama, p)"))
        ended = clients.pytest(project, "tests/deep-er")
    checks.that(counts(ended) == "3 passed", "a project file declares the upstreams", ended.stdout)
    found = cassettes(project)
    checks.that("Recordings/tests/deep-er/test_deep/test_x.har" in found, "and the folder of cassettes", found)
    named = [path for path in found if "/Mine/" in path]
    checks.that(
        len(named) == 2 and named[0].startswith("tests/deep-er/Mine/one/B~") and named[1] == "tests/deep-er/Mine/one/a.har",
        "a named cassette is a folder where a test has several cases", named)


def test_node(checks, clients, folder):
    project = folder / "node"
    project.mkdir()
    everything = len(IDS) + 5

    def passed(ended, count, failed=0):
        return f"# pass {count}\n" in ended.stdout and f"# fail {failed}\n" in ended.stdout

    def node(**variables):
        return clients.node(project, "--test", "--test-reporter=tap", "api.test.mjs", **variables)

    with support.Upstream(answer) as backend:
        text = NODE.replace("BACKEND", backend.url).replace("of IDS", f"of {json.dumps(IDS)}")
        (project / "api.test.mjs").write_text(text, encoding="utf-8")
        ended = node(FAIL="1")
        checks.that(passed(ended, everything - 2, 2), "node:test records all tests but those that fail", ended.stdout)
        checks.that("own-failure.failed.har, not in the cassette" in ended.stdout, "and says where their recordings are", ended.stdout)
        found = cassettes(project / "Cassettes")
        checks.that("api.test.mjs/own-failure.failed.har" in found and "api.test.mjs/own-failure.har" not in found, "a failed recording is kept aside", found)
        checks.that("api.test.mjs/a-body-of-its-own.failed.har" in found, "also that of a body", found)
        ended = node()
        checks.that(passed(ended, everything) and ended.stdout.count("record ok") == 2, "the corrected tests record", ended.stdout)
        port = backend.port

        ends = folder / "ends"
        ends.mkdir()
        (ends / "ends.test.mjs").write_text(NODE_ENDS.replace("BACKEND", backend.url))
        ended = clients.node(ends, "--test", "--test-reporter=tap", "ends.test.mjs")
        around = ended.stdout.split("# Subtest: clock")[0]
        checks.that(
            passed(ended, 2, 1) and "no request reached the environment" in around and "policies: { allowNoRequests: true }" in around,
            "a test that does not use its environment fails, one that uses its clock passes", ended.stdout)
        cassette = ends / "Cassettes" / "ends.test.mjs" / "ends"
        good = support.har(cassette)
        ended = clients.node(ends, "--test", "--test-reporter=tap", "--test-name-pattern=ends", "ends.test.mjs", END="/part")
        clients.run([support.binary("diorama"), "serve", "--stop"], ends)
        checks.that(ended.returncode == 1 and support.har(cassette) == good, "a test that ends the process keeps its cassette", ended.stdout)
        checks.that("/part" in json.dumps(support.har(f"{cassette}.failed")), "and what it recorded is kept aside")
    found = [path for path in cassettes(project) if not path.endswith(".failed.har")]
    checks.that(len({path.lower() for path in found}) == everything, "each test has a cassette, on any file system", found)
    checks.that(all(path.startswith("Cassettes/api.test.mjs/") for path in found), "all are in the file's folder", found)
    checks.that("Cassettes/api.test.mjs/suite/a-b.har" in found and "Cassettes/api.test.mjs/reads-a-page.har" in found, "plain names stay readable", found)

    with support.Watch(port) as watch:
        ended = node(CI="1")
        checks.that(passed(ended, everything), "all replay with the backend stopped", ended.stdout)
        one, again = (re.search("string: .*", run.stdout)[0] for run in (ended, node()))
        checks.that(one == again, "random values are the recorded ones", one + again)
        ended = node(EXTRA="&more=1")
        checks.that(passed(ended, everything - 3, 3), "a mismatch fails the test", ended.stdout)
        for said in (
            "not recorded: GET ", "nearest: interaction 0", "query item `more`: not recorded, got `1`",
            "DIORAMA_MODE=extend node --test --test-name-pattern='mismatch$' api.test.mjs",
        ):
            checks.that(said in ended.stdout, f"its text says: {said}", ended.stdout)
        checks.that("diorama.mjs:" not in ended.stdout, "without a traceback", ended.stdout)
        ended = node(EXTRA="&more=1", FAIL="1")
        own = ended.stdout.split("# Subtest: own failure")[1].split("# Subtest: a body")[0]
        checks.that("the test's own failure" in own and "not recorded: GET " in own, "a failing test shows its own failure and the report", own)
        (project / "other.test.mjs").write_text(text.replace("reads a page", "reads another"), encoding="utf-8")
        ended = clients.node(project, "--test", "--test-name-pattern=reads another", "other.test.mjs", CI="1")
        checks.that(
            ended.returncode == 1 and "there is no cassette" in ended.stdout and "DIORAMA_MODE=record node --test" in ended.stdout,
            "where CI is set, a missing cassette is an error with what to do", ended.stdout)
        (project / "wrong.test.mjs").write_text(text.replace("toggles:", "togles:"), encoding="utf-8")
        ended = clients.node(project, "--test", "--test-name-pattern=reads a page", "wrong.test.mjs")
        checks.that("togles: unknown member; did you mean 'toggles'?" in ended.stdout, "the nearest member is named", ended.stdout)
        checks.that(watch.count == 0, "no replay reaches the backend", watch.count)
        (project / "twins.test.mjs").write_text(text + 'test("reads a page", async (t) => { await environment(t, settings); });\n', encoding="utf-8")
        ended = clients.node(project, "--test", "--test-name-pattern=reads a page", "twins.test.mjs")
        checks.that(
            ended.returncode == 1 and "another test of twins.test.mjs is named 'reads a page', too" in ended.stdout,
            "two tests of one name do not share a cassette", ended.stdout)


def test_standins(checks, clients, folder):
    project = folder / "standins"
    project.mkdir()
    with support.Upstream(answer) as backend:
        (project / "run.mjs").write_text(STANDINS.replace("BACKEND", backend.url), encoding="utf-8")
        ended = clients.node(project, "run.mjs")
    states = ["old node, body", "vitest pass", "vitest fail", "playwright passed", "playwright failed", "web server"]
    checks.that(all(f"{state}: passed" in ended.stdout for state in states), "the contracts of vitest and Playwright are kept", ended.stdout)
    checks.that("old node: failed: this version of Node does not tell" in ended.stdout, "an old Node asks for the body", ended.stdout)
    found = cassettes(project / "Cassettes")
    expected = [
        "run.mjs/old-node.har", "run.mjs/users/reads-fail.failed.har", "run.mjs/users/reads-failed/chromium.failed.har", "run.mjs/users/reads-pass.har",
        "run.mjs/users/reads-passed/chromium.har", "web-server.har"]
    checks.that(found == expected, "recordings of tests that failed are kept aside", found)
    ended = clients.node(project, "run.mjs", EXTRA="&more=1", DIORAMA_MODE="replay")
    for state in ("vitest pass", "playwright passed"):
        checks.that(f"{state}: failed: replay failed: 1 request (1 unmatched)" in ended.stdout, f"a mismatch fails the test: {state}", ended.stdout)
    checks.that("web server: failed" in ended.stdout and "DIORAMA_MODE=extend playwright test" in ended.stdout, "and the run", ended.stdout)


ACCOUNT_PYTHON = '''
import pytest, urllib.request

@pytest.mark.diorama(upstreams={"api": "BACKEND"}, resources={"patient": {"pool": "patients", "where": {"plan": "premium"}}})
def test_account(diorama):
    patient = diorama.resources["patient"]
    assert diorama.environ["DIORAMA_RESOURCE_PATIENT"] == patient["name"] == "anna"
    print("account", patient["secrets"]["password"])
    data = patient["secrets"]["password"].encode()
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(diorama.url("api", "/in"), data).read()
'''

ACCOUNT_NODE = '''
import assert from "node:assert/strict";
import { test } from "node:test";
import { environment } from "diorama";
test("account", async (t) => {
  const { url, resources } = await environment(t, { upstreams: { api: "BACKEND" }, resources: { patient: "patients" } });
  assert.equal(resources.patient.attributes.plan, "premium");
  console.log("account", resources.patient.secrets.password);
  await (await fetch(url("api", "/in"), { method: "POST", body: resources.patient.secrets.password })).text();
});
'''


def test_accounts(checks, clients, folder):
    """Test accounts are leased while tests record, and replaced in a replay."""
    project = folder / "accounts"
    project.mkdir()
    (project / "p.csv").write_text("name,plan,secret:password\nanna,premium,s3cret-1\n")
    for words in (["create", "patients"], ["import", "patients", "p.csv"]):
        clients.run(["diorama", "pool", *words], project)
    with support.Upstream(answer) as backend:
        (project / "test_account.py").write_text(ACCOUNT_PYTHON.replace("BACKEND", backend.url))
        (project / "account.test.mjs").write_text(ACCOUNT_NODE.replace("BACKEND", backend.url))
        for cycle, secret in (("records", "s3cret-1"), ("replays", "diorama-patient-password")):
            ended = clients.pytest(project, "-s", "test_account.py")
            checks.that(ended.returncode == 0 and f"account {secret}" in ended.stdout, f"pytest {cycle} with an account", ended.stdout)
            ended = clients.node(project, "--test", "--test-reporter=tap", "account.test.mjs")
            checks.that("# pass 1\n" in ended.stdout and f"account {secret}" in ended.stdout, f"node {cycle} with an account", ended.stdout)
    recorded = [path for path in (project / "Cassettes").rglob("*.har")]
    checks.that(len(recorded) == 2 and not any("s3cret" in path.read_text() for path in recorded), "no recording has the secret", recorded)
    left = clients.run(["diorama", "lease", "list"], project)
    checks.that(left.stdout == "no leased resources\n", "no account stays leased", left.stdout)


def main():
    checks = support.Checks("clients")
    with support.folder() as folder:
        clients = support.Clients(folder)
        test_pytest(checks, clients, folder)
        test_node(checks, clients, folder)
        test_standins(checks, clients, folder)
        test_accounts(checks, clients, folder)
        listed = clients.run(["diorama", "env", "list"], folder)
        checks.that(listed.stdout == "no environments\n", "nothing stays behind", listed.stdout)
        clients.run(["diorama", "serve", "--stop"], folder)
    checks.end()


if __name__ == "__main__":
    main()
