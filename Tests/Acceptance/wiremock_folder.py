"""The cases of `wiremock.py --root-dir DIR`: for each mapping of a folder, requests that should match it, and requests that
each lack one of its conditions."""

import dataclasses
import itertools
import json
import re
import shutil
import sys
import urllib.parse
from re import _constants as kinds
from re import _parser as regex

from wiremock_cases import Case, request

# The server that all requests name, so that templates print the same host and port.
HOST = "stubs.example:8282"
BOUNDARY = "parts"
def sample(pattern, most):
    """A text that fits a regular expression; repetitions have at most `most` elements, unless they need more."""

    def text(parsed):
        return "".join(piece(kind, value) for kind, value in parsed)

    def piece(kind, value):
        if kind is kinds.LITERAL:
            return chr(value)
        if kind is kinds.ANY:
            return "x"
        if kind is kinds.IN:
            return one_of(value)
        if kind is kinds.NOT_LITERAL:
            return one_of([(kinds.NEGATE, None), (kinds.LITERAL, value)])
        if kind is kinds.BRANCH:
            return text(value[1][min(most, len(value[1])) - 1])
        if kind is kinds.SUBPATTERN:
            return text(value[3])
        if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
            return text(value[2]) * max(value[0], min(value[1], most))
        return ""

    def one_of(members):
        expression = re.compile("".join(["[", "^" * (members[0][0] is kinds.NEGATE), *map(member, members), "]"]))
        return next(char for char in "x1X-/ =&_.:,;\"'" + "".join(map(chr, range(33, 127))) if expression.match(char))

    def member(item):
        kind, value = item
        if kind is kinds.LITERAL:
            return re.escape(chr(value))
        if kind is kinds.RANGE:
            return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        classes = {kinds.CATEGORY_DIGIT: r"\d", kinds.CATEGORY_SPACE: r"\s", kinds.CATEGORY_WORD: r"\w",
                   kinds.CATEGORY_NOT_DIGIT: r"\D", kinds.CATEGORY_NOT_SPACE: r"\S", kinds.CATEGORY_NOT_WORD: r"\W"}
        return classes[value] if kind is kinds.CATEGORY else ""

    return text(regex.parse(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern)))


def value(matcher, most):
    """A text that fulfils a condition; None if that is no value."""
    if "equalTo" in matcher or "contains" in matcher:
        return str(matcher.get("equalTo", matcher.get("contains")))
    if "matches" in matcher:
        return sample(matcher["matches"], most)
    if "equalToJson" in matcher:
        given = matcher["equalToJson"]
        return json.dumps(filled(json.loads(given) if isinstance(given, str) else given, most))
    if "equalToXml" in matcher:
        return re.sub(r"\$\{xmlunit\.[^}]*\}", "1", matcher["equalToXml"])
    for name in ("and", "or"):
        if name in matcher:
            return value(matcher[name][0], most)
    return None if matcher.get("absent") else "x"


def filled(document, most):
    """A JSON document with values in place of JSONUnit's placeholders."""
    if isinstance(document, dict):
        return {name: filled(one, most) for name, one in document.items()}
    if isinstance(document, list):
        return [filled(one, most) for one in document]
    found = re.fullmatch(r"\$\{json-unit\.([a-z-]+)\}(.*)", document, re.DOTALL) if isinstance(document, str) else None
    if not found:
        return document
    return sample(found[2], most) if found[1] == "regex" else {"any-number": 1, "any-boolean": True}.get(found[1], "x")


def values(matcher, most):
    """The values of a header or query parameter."""
    several = matcher.get("hasExactly") or matcher.get("includes")
    return [text for text in (value(one, most) for one in several or [matcher]) if text is not None]


def joined(matchers, most):
    """A text that fulfils several conditions: what fulfils each, in the first order that suits all."""

    def suits(text):
        return all(
            one.get("contains", "") in text and ("matches" not in one or re.fullmatch(one["matches"], text, re.DOTALL))
            for one in matchers
        )

    texts = [text for text in (value(one, most) for one in matchers) if text is not None]
    orders = ["".join(order) for order in itertools.islice(itertools.permutations(texts), 720)]
    return next(filter(suits, orders), orders[0] if texts else None)


def part(pattern, most):
    """A part of a multipart body."""
    headers = {name: joined_values(matcher, most) for name, matcher in pattern.get("headers", {}).items()}
    disposition = headers.pop("Content-Disposition", f'name="{pattern.get("name", "part")}"')
    headers = {"Content-Disposition": f"form-data; {disposition.removeprefix('form-data; ')}", **headers}
    lines = [f"--{BOUNDARY}", *(f"{name}: {text}" for name, text in headers.items())]
    return "\r\n".join([*lines, "", joined(pattern.get("bodyPatterns", []), most) or "x", ""])


def joined_values(matcher, most):
    return ", ".join(values(matcher, most))


def matching(pattern, most, left_out=None):
    """A request that fulfils a pattern but for the condition `left_out`: the name of a member and of the field in it."""

    def fields(member):
        return {name: one for name, one in (pattern.get(member) or {}).items() if (member, name) != left_out}

    method = pattern.get("method", "ANY").replace("ANY", "GET")
    url = pattern.get("url") or pattern.get("urlPath") or pattern.get("urlPathTemplate")
    url = url or sample(pattern.get("urlPattern") or pattern.get("urlPathPattern") or "/", most)
    url = url if url.startswith("/") else "/" + url
    query = [(name, text) for name, one in fields("queryParameters").items() for text in values(one, most)]
    if query:
        url += ("&" if "?" in url else "?") + urllib.parse.urlencode(query, quote_via=urllib.parse.quote)
    headers = [(name, text) for name, one in fields("headers").items() for text in values(one, most)]
    cookies = [f"{name}={text}" for name, one in fields("cookies").items() for text in values(one, most)]
    if cookies:
        headers.append(("Cookie", "; ".join(cookies)))
    body = None
    if left_out != ("body", ""):
        if parts := pattern.get("multipartPatterns"):
            body = "".join(part(one, most) for one in parts) + f"--{BOUNDARY}--\r\n"
            headers = [field for field in headers if field[0].lower() != "content-type"]
            headers.append(("Content-Type", f"multipart/form-data; boundary={BOUNDARY}"))
        else:
            body = joined(pattern.get("bodyPatterns") or [], most)
    return request(method, url, body, headers, compare="served", host=HOST)


def requests(mapping):
    """Requests that fulfil a mapping's pattern, with short and long texts, and requests that lack one of its conditions each."""
    pattern = mapping.get("request", {})
    found = [matching(pattern, most) for most in (1, 0, 2, 3)]
    # What a template reads from the body.
    if names := re.findall(r"jsonPath request\.body '\$\.(\w+)'", json.dumps(mapping.get("response", {}))):
        found.append(dataclasses.replace(found[0], body=json.dumps(dict.fromkeys(names, "x")).encode()))
    found.append(dataclasses.replace(found[0], method="PUT" if found[0].method == "PATCH" else "PATCH", body=None))
    for member in ("queryParameters", "headers", "cookies"):
        found += [matching(pattern, 1, (member, name)) for name in pattern.get(member) or {}]
    if pattern.get("bodyPatterns") or pattern.get("multipartPatterns"):
        found.append(matching(pattern, 1, ("body", "")))
    return list(dict.fromkeys(found))


def mappings(folder):
    """The mappings below `folder/mappings` by name, in the order of their files' paths."""
    for file in sorted((folder / "mappings").rglob("*.json"), key=lambda file: str(file.relative_to(folder))):
        document = json.loads(file.read_text())
        for number, mapping in enumerate(document.get("mappings", [document])):
            yield f"{file.relative_to(folder / 'mappings')}" + (f" [{number}]" if "mappings" in document else ""), mapping


def put_in_order(folder):
    """Replaces the mapping files by a single one. WireMock reads files in the order in which the system lists them, which
    decides which of several stubs answers; Diorama reads them in the order of their paths."""
    everything = {"mappings": [mapping for _, mapping in mappings(folder)]}
    shutil.rmtree(folder / "mappings")
    (folder / "mappings").mkdir()
    (folder / "mappings/all.json").write_text(json.dumps(everything))


def cases(folder):
    """A case for each mapping below `folder/mappings`."""
    for name, mapping in mappings(folder):
        if "proxyBaseUrl" in mapping.get("response", {}):
            sys.stdout.write(f"wiremock: {name}: not compared, because it reaches another server\n")
            continue
        before = []
        if scenario := mapping.get("scenarioName"):
            # Every request finds the scenario in the state that the mapping requires.
            before = [request("POST", "/__admin/scenarios/reset", compare="status")]
            if (state := mapping.get("requiredScenarioState", "Started")) != "Started":
                path = f"/__admin/scenarios/{urllib.parse.quote(scenario)}/state"
                before.append(request("PUT", path, {"state": state}, compare="status"))
        yield Case(name, requests=tuple(item for one in requests(mapping) for item in [*before, one]))
