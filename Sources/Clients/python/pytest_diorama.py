"""Gives each test an environment of Diorama: recorded network traffic, a fixed clock, random values, free ports.

    def test_users(diorama):
        users = requests.get(diorama.url("api", "/users")).json()

The settings are those of `diorama.json`; `@pytest.mark.diorama(upstreams={"api": "https://api.example.com"})` adds to them.
"""

import datetime
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

__all__ = ["Clock", "Diorama", "DioramaError"]

_environment = pytest.StashKey()


def pytest_addoption(parser):
    group = parser.getgroup("diorama", "environments of Diorama")
    group.addoption(
        "--diorama-mode", metavar="MODE",
        help="once, replay, record, extend, proxy or mock, instead of what the tests say (default: the variable DIORAMA_MODE)")


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "diorama(upstreams={}, toggles={}, clock={}, cassette=PATH, mode=MODE, ...): settings of the test's environment, as in "
        "diorama.json; those of a test go before those of its class and module")


class DioramaError(Exception):
    """A command of Diorama failed. The message says what happened and what to do."""


class Clock:
    """The clock that the programs in an environment see."""

    def __init__(self, environment):
        self._environment = environment

    @property
    def now(self):
        """What the clock shows, as an aware `datetime`."""
        self._environment._uses_others = True
        return _datetime(self._environment.report()["clock"]["now"])

    def advance(self, seconds, sleepers=None):
        """Moves the clock forward, and returns what it shows once every program of the environment has applied that.

        `seconds` may be a `timedelta`. With `sleepers`, the call waits first until that many tasks of the app sleep.
        """
        seconds = seconds.total_seconds() if isinstance(seconds, datetime.timedelta) else seconds
        return self._move(["--advance", repr(float(seconds))], sleepers)

    def set(self, instant, sleepers=None):
        """Sets the clock to an aware `datetime`, or a time such as `2018-10-08T09:00:00Z`."""
        return self._move(["--set", _text(instant)], sleepers)

    def _move(self, words, sleepers):
        self._environment._uses_others = True
        words += ["--sleepers", str(sleepers)] if sleepers is not None else []
        return _datetime(json.loads(_run(["env", "update", self._environment.id, *words, "--json"]))["now"])


class Diorama:
    """The environment of a test."""

    def __init__(self, answer):
        contract = answer["contract"]
        self.id = answer["id"]  #: The environment's id, for the command `diorama env`.
        self.name = answer["name"]  #: The test's name in reports.
        self.mode = answer["mode"]  #: `record`, `replay`, `extend`, `proxy` or `mock`.
        self.cassette = answer.get("cassette")  #: The path of the recording, or None.
        self.clock = Clock(self)  #: The environment's clock.
        self._endpoints = answer["endpoints"]
        self._ports = answer["ports"]
        self._resources = answer.get("resources", {})
        self._document = contract["document"]
        self._variables = contract["environment"]
        # Whether the test has used the endpoints, and whether it has used anything else of its environment.
        self._uses_network = self._uses_others = False
        self._has_passed = self._is_reported = False

    @property
    def ports(self):
        """Free ports by name, for programs that listen themselves."""
        self._uses_others = True
        return self._ports

    @property
    def resources(self):
        """Leased resources by name, such as test accounts: dictionaries with `name`, `attributes` and `secrets`."""
        self._uses_others = True
        return self._resources

    @property
    def seed(self):
        """The seed of the random values."""
        self._uses_others = True
        return self._document["seed"]

    @property
    def values(self):
        """The values for the app's own keys."""
        self._uses_others = True
        return self._document["values"]

    @property
    def endpoints(self):
        """The local URLs of the upstreams, by name."""
        self._uses_network = True
        return dict(self._endpoints)

    def url(self, upstream, path=""):
        """The local URL of an upstream, with a path such as `/users?page=1`."""
        endpoints = self.endpoints
        if upstream not in endpoints:
            raise DioramaError(f"there is no upstream {upstream!r}; declared are {sorted(endpoints)}")
        return endpoints[upstream] + path

    @property
    def environ(self):
        """Variables for a program: this process's, and those by which it finds the environment."""
        self._uses_network = True
        variables = {**os.environ, **self._variables}
        if any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in variables):
            # The endpoints are on this machine.
            for name in ("no_proxy", "NO_PROXY"):
                variables[name] = ",".join(filter(None, [variables.get(name), "127.0.0.1", "localhost"]))
        return variables

    def string(self, key, length=12, alphabet=None):
        """A random string that is recorded, and the same in replay."""
        self._uses_others = True
        body = {"key": key, "length": length, **({"alphabet": alphabet} if alphabet else {})}
        request = urllib.request.Request(
            self._variables["DIORAMA_CONTROL"] + "/strings", data=json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + self._variables["DIORAMA_TOKEN"], "Content-Type": "application/json"})
        try:
            # Without the proxies of this process's variables.
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise DioramaError(json.load(error).get("detail", str(error))) from None

    def update(self, toggles=None, values=None, mode=None):
        """Changes toggles and values (None removes one) or the mode; returns once every program has applied that."""
        self._uses_others = True
        words = [word for name, value in (toggles or {}).items() for word in ("--toggle", f"{name}={_json(value)}")]
        words += [word for name, value in (values or {}).items() for word in ("--value", f"{name}={_json(value)}")]
        _run(["env", "update", self.id, *words, *(["--mode", mode] if mode else [])])

    def report(self):
        """What has happened so far, as a dictionary."""
        return json.loads(_run(["env", "report", self.id, "--json"], accepting=(0, 3)))

    def _early_failure(self):
        """The report's text if the environment has failed already; what is only unused may still be requested."""
        report = self.report()
        if report["ok"] or not (report["unmatched"] or report["strings"]["missing"] or report.get("upstreamFailures")):
            return None
        self._is_reported = True
        return _run(["env", "report", self.id], accepting=(0, 3)).rstrip("\n")

    def _end(self):
        """Ends the environment. Returns whether it held, and the report's text."""
        words = [] if self._has_passed else ["--failed"]
        words += ["--expect-requests"] if self._uses_network or not self._uses_others else []
        statuses = []
        text = _run(["env", "delete", self.id, *words], accepting=(0, 3), statuses=statuses)
        return statuses == [0], text.rstrip("\n")


@pytest.fixture
def diorama(request):
    """The test's environment of Diorama: endpoints, ports, clock, random values."""
    environment = request.node.stash[_environment] = _create(request.node)
    yield environment
    try:
        held, text = environment._end()
    except DioramaError as error:
        held, text = False, f"diorama: {error}"
    if held and environment.mode in ("record", "extend") and environment._has_passed:
        request.node.user_properties.append(("diorama", text.splitlines()[0]))
    elif not environment._has_passed:
        # Where the recording of the failed test is, and what has not been reported beside its own failure.
        is_news = environment.mode in ("record", "extend") or not held and not environment._is_reported
        if is_news:
            request.node.add_report_section("teardown", "diorama", text)
    # A test that failed itself shows its own failure, with the report so far beside it.
    if not held and environment._has_passed and not environment._is_reported:
        pytest.fail(text, pytrace=False)


@pytest.fixture(autouse=True)
def _diorama_of_marker(request):
    """Gives a test with the marker its environment even if it does not ask for the fixture."""
    if request.node.get_closest_marker("diorama"):
        request.getfixturevalue("diorama")
        # A test that does not ask for the fixture may need no requests.
        if (environment := request.node.stash.get(_environment, None)) and "diorama" not in request.node.fixturenames:
            environment._uses_others = True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    environment = item.stash.get(_environment, None)
    if environment is None:
        return (yield)
    try:
        result = yield
    except pytest.skip.Exception:
        raise
    except BaseException:
        try:
            if text := environment._early_failure():
                item.add_report_section("call", "diorama", text)
        except DioramaError as error:
            item.add_report_section("call", "diorama", str(error))
        raise
    # Fixtures that use the environment are still to be torn down, so it ends later. What is wrong by now fails the test
    # itself rather than its teardown.
    try:
        text = environment._early_failure()
    except DioramaError as error:
        text = f"diorama: {error}"
    environment._has_passed = True
    if text:
        pytest.fail(text, pytrace=False)
    return result


def pytest_terminal_summary(terminalreporter):
    recorded = [
        (report.nodeid, text) for report in terminalreporter.getreports("") if report.when == "teardown"
        for name, text in report.user_properties if name == "diorama"]
    if recorded:
        terminalreporter.section("recorded by diorama")
        for nodeid, text in recorded:
            terminalreporter.line(f"{nodeid}: {text}")


def _create(item):
    """Creates the environment of a test: in the daemon, which the command starts on demand."""
    # From the module's to the test's own.
    markers = [dict(marker.kwargs) for marker in reversed(list(item.iter_markers("diorama")))]
    if any(marker.args for marker in item.iter_markers("diorama")):
        pytest.fail("@pytest.mark.diorama takes settings by name, such as mode=\"record\"", pytrace=False)
    project = _project(item.path.parent, item.config.rootpath)
    named = [marker["cassette"] for marker in markers if "cassette" in marker]
    own = {
        "caller": "pytest",
        "name": re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", item.nodeid)[:200],
        "command": "pytest " + shlex.quote(item.config.cwd_relative_nodeid(item.nodeid)),
        "cassette": _cassette(item, project, named[-1] if named else None),
    }
    words = ["env", "create", "--json", "--settings", "-", "--owner", str(os.getpid())]
    words += ["--config", str(project)] if project else ["--no-config"]
    try:
        answer = _run(
            words, input=_json([*markers, own]), folder=item.path.parent, mode=item.config.getoption("--diorama-mode"))
        return Diorama(json.loads(answer))
    except DioramaError as error:
        text = re.sub(r"^--settings: \[\d+\]\.?", "@pytest.mark.diorama: ", str(error))
    # Outside of the handler, whose exception would be shown, too.
    pytest.fail("diorama: " + re.sub(r"; see diorama env create --help$", "", text), pytrace=False)


def _run(words, input="", folder=None, mode=None, accepting=(0,), statuses=None):
    """Runs the command diorama, and returns what it prints."""
    program = shutil.which("diorama")
    if program is None:
        raise DioramaError("the command diorama is not in PATH; install it with `make install` in Diorama's sources")
    variables = {**os.environ, **({"DIORAMA_MODE": mode} if mode else {})}
    ended = subprocess.run(
        [program, *words], input=input.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=variables)
    if ended.returncode not in accepting:
        lines = ended.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {ended.returncode}"]
        raise DioramaError(re.sub("^diorama: ", "", lines[-1]))
    if statuses is not None:
        statuses.append(ended.returncode)
    return ended.stdout.decode(errors="replace")


def _project(folder, root):
    """The nearest diorama.json, up to pytest's root folder or the repository's; None without one."""
    for place in (folder, *folder.parents):
        file = place / "diorama.json"
        if file.is_file():
            is_ours = place == folder or place == root or root in place.parents
            return file if is_ours or any((above / ".git").exists() for above in (place, *place.parents)) else None
        if (place / ".git").exists():
            return None
    return None


def _cassette(item, project, named):
    """The absolute path of a test's recording, without extension.

    By default, it is `Cassettes/<module>/<class>.<test>-<parameters>` beside the test's file. A project file that names a
    folder gets the module's whole path there. Two tests never have the same path, on any file system.
    """
    case = _safe(item.callspec.id) if hasattr(item, "callspec") else None
    folder = item.path.parent
    if isinstance(named, str) and named:
        path = os.path.normpath(folder / re.sub(r"\.har$", "", named))
        return path if case is None else os.path.join(path, case)
    module = [_identifier(item.path.stem, [path.stem for path in folder.iterdir()])]
    cassettes = folder / "Cassettes"
    if project and (shared := _cassettes(project)):
        relative = os.path.relpath(folder, project.parent)
        if not relative.startswith(os.pardir):
            cassettes = project.parent / shared
            places = [project.parent / relative, *(project.parent / relative).parents]
            above = [place for place in places if project.parent in place.parents]
            module = [_identifier(place.name, os.listdir(place.parent)) for place in reversed(above)] + module
    classes = [node for node in item.listchain() if isinstance(node, pytest.Class)]
    names = [_identifier(node.name, dir(node.parent.obj)) for node in classes]
    siblings = dir(item.parent.obj) if hasattr(item.parent, "obj") else []
    names.append(_identifier(getattr(item, "originalname", None) or item.name, siblings))
    name = ".".join(names) + ("" if case is None else f"-{case}")
    if len(name) > 150:
        name = f"{name[:130]}~{_digest(name)}"
    return os.path.normpath(cassettes.joinpath(*module, name))


def _cassettes(project):
    """The folder of cassettes that a project file names. The command reports a file that is broken."""
    try:
        return json.loads(project.read_bytes()).get("cassettes")
    except (OSError, ValueError, AttributeError):
        return None


def _identifier(text, siblings):
    """A name of code as part of a path: as it is, unless a sibling differs from it only in case."""
    has_twin = any(other != text and other.lower() == text.lower() for other in siblings)
    return text if re.fullmatch(r"[A-Za-z0-9_]{1,100}", text) and not has_twin else _safe(text)


def _safe(text):
    """Any text as part of a file name: without separators, dots at its ends, control characters; short.

    Where the result could also be that of another text, or on some file system its file, a digest of the text follows. No
    other name contains its `~`.
    """
    if re.fullmatch(r"[a-z0-9_][a-z0-9_-]{0,59}", text):
        return text
    readable = re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip(".-")[:40]
    return f"{readable}~{_digest(text)}"


def _digest(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _json(value):
    def other(value):
        if isinstance(value, (datetime.datetime, os.PathLike)):
            return _text(value)
        raise DioramaError(f"a setting is {value!r}, which JSON cannot express")

    return json.dumps(value, default=other)


def _text(value):
    """A time or a path as text."""
    if not isinstance(value, datetime.datetime):
        return os.fspath(value)
    if value.tzinfo is None:
        raise DioramaError(f"{value!r} has no time zone; pass datetime(…, tzinfo=timezone.utc)")
    return value.isoformat()


def _datetime(text):
    """The `datetime` of a time in RFC 3339."""
    whole, fraction = re.fullmatch(r"([^.Z]*)(?:\.(\d+))?Z", text).groups()
    return datetime.datetime.fromisoformat(f"{whole}.{(fraction or '0')[:6]:0<6}+00:00")
