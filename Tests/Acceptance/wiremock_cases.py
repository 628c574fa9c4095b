"""The cases of `wiremock.py`: stubs, the requests that follow, and how the two servers' answers are compared."""

import base64
import gzip
import json
from dataclasses import dataclass, field, replace

import wiremock_templates

# Identifiers are compared when the case sets them; others must only be identifiers.
FIXED_ID = "11111111-2222-3333-4444-555555555555"
OTHER_ID = "99999999-2222-3333-4444-555555555555"


@dataclass(frozen=True)
class Request:
    """One request, and how its two answers are compared.

    compare: "exact"    status, reason, headers and body
             "status"   status only
             "error"    status, and each error's code and pointer
             "json"     as exact, but the body as JSON without what differs from run to run
             "file"     status, reason, Content-Type and body
             "pattern"  status, and both bodies match the regular expression `pattern`
             "near"     status, and both bodies are numbers at most `tolerance` apart
             "raw"      the head's lines in order and the body, on a connection that is to be closed
             "fault"    every byte on a connection that the client would keep open
             "chunks"   every byte on a kept connection up to the last chunk
             "served"   as exact, but for times of day in the body
             "delay"    as exact, and the answer takes between `least` and `most` seconds
    """

    method: str
    path: str
    body: bytes = None
    headers: tuple = ()
    compare: str = "exact"
    pattern: str = ""
    tolerance: float = 10
    least: float = 0
    most: float = 0
    host: str = ""

    def __str__(self):
        body = "" if self.body is None else " " + self.body.decode("utf-8", "backslashreplace")
        headers = "".join(f" [{name}: {value}]" for name, value in self.headers)
        return f"{self.method} {self.path}{headers}{body}"


@dataclass(frozen=True)
class Case:
    """Stubs and requests. A stub is a mapping, or its JSON text."""

    name: str
    stubs: tuple = ()
    requests: tuple = ()
    files: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)


def request(method, path, body=None, headers=(), **options):
    """Makes a request; a `str` body is sent as UTF-8, a `dict` or `list` body as JSON."""
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    if isinstance(headers, dict):
        headers = headers.items()
    return Request(method, path, body, tuple(headers), **options)


def get(path, headers=(), **options):
    return request("GET", path, None, headers, **options)


def post(path, body, headers=(), **options):
    return request("POST", path, body, headers, **options)


SECTIONS = []


def section(function):
    """Registers a generator function that yields the cases of one feature."""
    SECTIONS.append(function)
    return function


def stub(pattern, response=None, **members):
    """A mapping; `pattern` is its request, `response` defaults to a body that says which stub answered."""
    return {"request": pattern, "response": {"status": 200, "body": "match"} if response is None else response, **members}


FALLBACK = {"priority": 10, "request": {"method": "ANY"}, "response": {"status": 202, "body": "no match"}}


def matching(name, pattern, *requests):
    """A case that tells which requests match `pattern`: each is answered 200 "match" or 202 "no match"."""
    return Case(name, (stub(pattern), FALLBACK), requests)


def body_matching(name, matcher, *bodies, headers=()):
    """A case that sends each of `bodies` to a stub with one body pattern."""
    return matching(
        name, {"method": "POST", "url": "/b", "bodyPatterns": [matcher]}, *(post("/b", body, headers) for body in bodies)
    )


def header_matching(name, matcher, *values):
    """A case that sends header X-Test with each of `values`: a string, several strings, or None for no header."""

    def headers(value):
        return () if value is None else [("X-Test", item) for item in ([value] if isinstance(value, str) else value)]

    return matching(name, {"url": "/h", "headers": {"X-Test": matcher}}, *(get("/h", headers(v)) for v in values))


def response(name, definition, *requests, **options):
    """A case with one stub for any request."""
    return Case(
        name, (stub({"method": "ANY", "urlPattern": "/.*"}, definition, id=FIXED_ID),), requests or (get("/r"),), **options
    )


@section
def urls():
    yield matching(
        "url: url is path and query",
        {"method": "GET", "url": "/a?x=1"},
        *map(get, ["/a?x=1", "/a", "/a?x=2", "/a?x=1&y=2", "/a?y=2&x=1", "/A?x=1"]),
    )
    yield matching("url: url without query", {"url": "/a"}, *map(get, ["/a", "/a?", "/a?x=1", "/a/", "/b"]))
    yield matching("url: url escapes are not decoded", {"url": "/a%20b"}, *map(get, ["/a%20b", "/a+b", "/a%2520b"]))
    yield matching("url: url non-ASCII", {"url": "/%C3%A9"}, *map(get, ["/%C3%A9", "/%c3%a9"]))
    yield matching("url: urlPath ignores the query", {"urlPath": "/a"}, *map(get, ["/a", "/a?", "/a?x=1", "/a/", "/a/b", "/A"]))
    yield matching("url: urlPath with a query in it", {"urlPath": "/a?x=1"}, *map(get, ["/a", "/a?x=1"]))
    yield matching(
        "url: urlPattern covers path and query",
        {"urlPattern": "/a/[0-9]+"},
        *map(get, ["/a/1", "/a/12", "/a/12?x=1", "/a/x", "/x/a/1", "/a/1/b"]),
    )
    yield matching("url: urlPattern with a query", {"urlPattern": "/a\\?x=.*"}, *map(get, ["/a?x=1", "/a?x=", "/a"]))
    yield matching(
        "url: urlPathPattern", {"urlPathPattern": "/a/[^/]+"}, *map(get, ["/a/1", "/a/1?x=1", "/a/1/b", "/a/", "/b/a/1"])
    )
    yield matching("url: urlPattern alternatives", {"urlPattern": "/a|/b"}, *map(get, ["/a", "/b", "/ab", "/a/b"]))
    yield matching("url: urlPattern groups and look-ahead", {"urlPattern": "/(?!x)([a-z])\\1"}, *map(get, ["/aa", "/ab", "/xx"]))
    yield matching("url: no url", {"method": "GET"}, *map(get, ["/", "/a", "/a?b"]))
    yield matching("url: url wins over urlPath", {"url": "/a", "urlPath": "/b"}, *map(get, ["/a", "/b"]))
    yield matching("url: double slash", {"urlPath": "/a//b"}, *map(get, ["/a//b", "/a/b"]))
    yield matching("url: dot segments", {"urlPath": "/a/../b"}, *map(get, ["/a/../b", "/b"]))
    yield matching("url: trailing question mark", {"url": "/a?"}, *map(get, ["/a?", "/a"]))
    yield matching("url: root", {"url": "/"}, *map(get, ["/", "/?"]))
    yield matching("url: semicolon", {"urlPath": "/a;v=1"}, *map(get, ["/a;v=1", "/a"]))


@section
def methods():
    every = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "FOO"]
    yield matching("method: ANY", {"method": "ANY", "url": "/m"}, *(request(m, "/m") for m in every))
    yield matching("method: missing", {"url": "/m"}, *(request(m, "/m") for m in every))
    for name in ["GET", "POST", "HEAD", "PATCH", "FOO"]:
        yield matching(
            "method: " + name, {"method": name, "url": "/m"}, *(request(m, "/m") for m in ["GET", "POST", "HEAD", "PATCH", "FOO"])
        )
    yield matching("method: lower case", {"method": "get", "url": "/m"}, get("/m"))


@section
def query_parameters():

    def query(name, parameters, *queries):
        return matching("query: " + name, {"urlPath": "/q", "queryParameters": parameters}, *(get("/q" + q) for q in queries))

    yield query("equalTo", {"a": {"equalTo": "1"}}, "?a=1", "?a=2", "", "?a=1&b=2", "?b=2&a=1", "?A=1", "?a=1&a=2")
    yield query("equalTo repeated", {"a": {"equalTo": "2"}}, "?a=1&a=2", "?a=2&a=2", "?a=1&a=3")
    yield query("decoded", {"a b": {"equalTo": "x y"}}, "?a%20b=x%20y", "?a+b=x+y", "?a%20b=x%2By")
    yield query("non-ASCII", {"a": {"equalTo": "é"}}, "?a=%C3%A9", "?a=%E9", "?a=e")
    yield query("empty value", {"a": {"equalTo": ""}}, "?a=", "?a", "", "?a=&b", "?b")
    yield query("absent", {"a": {"absent": True}}, "", "?a=", "?a", "?a=1", "?b=1")
    yield query("absent false", {"a": {"absent": False}}, "", "?a=1", "?a")
    yield query("contains", {"a": {"contains": "x"}}, "?a=axb", "?a=b", "?a=b&a=x", "")
    yield query("doesNotContain", {"a": {"doesNotContain": "x"}}, "?a=axb", "?a=b", "?a=b&a=x", "")
    yield query("matches", {"a": {"matches": "[0-9]+"}}, "?a=12", "?a=1x", "?a=", "?a=x&a=1", "")
    yield query("doesNotMatch", {"a": {"doesNotMatch": "[0-9]+"}}, "?a=12", "?a=1x", "?a=", "?a=x&a=1", "")
    yield query("several", {"a": {"equalTo": "1"}, "b": {"equalTo": "2"}}, "?a=1&b=2", "?b=2&a=1", "?a=1", "?a=1&b=3")
    yield query("equals sign in value", {"a": {"equalTo": "b=c"}}, "?a=b=c", "?a=b%3Dc")
    yield query("ampersand only", {"a": {"absent": True}}, "?&", "?=1", "?&&b=1")
    yield query("comma is one value", {"a": {"equalTo": "1"}}, "?a=1,2", "?a=1%2C2")
    yield query("brackets", {"a[]": {"equalTo": "1"}}, "?a[]=1", "?a%5B%5D=1", "?a[]=2&a[]=1")
    yield query("equalToJson", {"a": {"equalToJson": {"x": 1}}}, "?a=%7B%22x%22:1%7D", "?a=%7B%22x%22:2%7D")
    yield query("before", {"a": {"before": "2021-06-14T15:15:15Z"}}, "?a=2021-06-13T15:15:15Z", "?a=2022-06-13T15:15:15Z")


@section
def headers():
    yield header_matching("headers: equalTo", {"equalTo": "abc"}, "abc", "ABC", "ab", ["x", "abc"], None, " abc ", "")
    yield header_matching("headers: caseInsensitive", {"equalTo": "abc", "caseInsensitive": True}, "abc", "ABC", "ab")
    yield header_matching("headers: caseInsensitive as text", {"equalTo": "a", "caseInsensitive": "true"}, "a", "A")
    yield header_matching(
        "headers: caseInsensitive non-ASCII",
        {"equalTo": "Straße", "caseInsensitive": True},
        "Straße".encode().decode("latin-1"),
        "STRASSE",
    )
    yield header_matching("headers: contains", {"contains": "b"}, "abc", "ABC", ["x", "b"], None)
    yield header_matching("headers: doesNotContain", {"doesNotContain": "b"}, "abc", "xyz", ["b", "x"], None)
    yield header_matching("headers: matches", {"matches": "a.c"}, "abc", "xabc", "abcd", ["q", "abc"], None)
    yield header_matching("headers: doesNotMatch", {"doesNotMatch": "a.c"}, "abc", "xabc", ["abc", "x"], None)
    yield header_matching("headers: absent", {"absent": True}, None, "", "x")
    yield header_matching("headers: comma is one value", {"equalTo": "a"}, "a, b", ["a", "b"])
    yield header_matching("headers: and", {"and": [{"contains": "a"}, {"contains": "b"}]}, "ab", "a", "ba", None)
    yield header_matching("headers: or", {"or": [{"equalTo": "a"}, {"matches": "b+"}]}, "a", "bb", "c", None)
    yield header_matching("headers: or absent", {"or": [{"equalTo": "a"}, {"absent": True}]}, "a", "c", None)
    yield header_matching("headers: and over two values", {"and": [{"contains": "a"}, {"contains": "b"}]}, ["a", "b"])
    yield header_matching(
        "headers: nested and/or", {"and": [{"contains": "a"}, {"or": [{"contains": "b"}, {"contains": "c"}]}]}, "ab", "ac", "a"
    )
    yield header_matching("headers: anything", {"anything": "x"}, "a", None)
    yield header_matching("headers: equalToJson", {"equalToJson": '{"a":1}'}, '{"a": 1}', "{}")
    yield header_matching("headers: matchesJsonPath", {"matchesJsonPath": "$.a"}, '{"a": 1}', "{}")
    yield matching(
        "headers: name in another case",
        {"url": "/h", "headers": {"x-TEST": {"equalTo": "1"}}},
        get("/h", {"X-Test": "1"}),
        get("/h", {"X-Test": "2"}),
    )
    yield matching(
        "headers: Content-Type with parameters",
        {"url": "/h", "headers": {"Content-Type": {"contains": "application/json"}}},
        post("/h", "{}", {"Content-Type": "application/json; charset=utf-8"}),
        post("/h", "{}", {"Content-Type": "text/plain"}),
    )
    yield matching(
        "headers: Host",
        {"url": "/h", "headers": {"Host": {"equalTo": "mock.test:8099"}}},
        get("/h", host="mock.test:8099"),
        get("/h", host="other.test"),
    )


@section
def cookies():

    def cookie(name, matcher, *values):
        return matching(
            "cookies: " + name,
            {"url": "/c", "cookies": {"sid": matcher}},
            *(get("/c", () if v is None else {"Cookie": v}) for v in values),
        )

    yield cookie("equalTo", {"equalTo": "1"}, "sid=1", "sid=2", "a=b; sid=1", "sid=1; sid=2", "sid=2; sid=1", "SID=1", None)
    yield cookie("matches", {"matches": "[0-9]+"}, "sid=12", "sid=x", "sid=", None)
    yield cookie("contains", {"contains": "b"}, "sid=abc", "sid=x", None)
    yield cookie("absent", {"absent": True}, None, "a=b", "sid=", "sid=1")
    yield cookie("quoted", {"equalTo": "a b"}, 'sid="a b"', "sid=a b", "sid=a%20b")
    yield cookie("equals sign", {"equalTo": "a=b"}, "sid=a=b", "sid=a")
    yield cookie("caseInsensitive", {"equalTo": "a", "caseInsensitive": True}, "sid=A", "sid=b")
    yield cookie("doesNotMatch", {"doesNotMatch": "x"}, "sid=x", "sid=y", None)


@section
def authority():
    token = base64.b64encode(b"user:pa:ss").decode()
    for member in ["basicAuthCredentials", "basicAuth"]:
        yield matching(
            "auth: " + member,
            {"url": "/a", member: {"username": "user", "password": "pa:ss"}},
            get("/a", {"Authorization": "Basic " + token}),
            get("/a", {"Authorization": "basic " + token}),
            get("/a", {"Authorization": "Basic abc"}),
            get("/a"),
        )
    yield matching(
        "host: equalTo",
        {"host": {"equalTo": "mock.test"}, "urlPath": "/a"},
        get("/a", host="mock.test"),
        get("/a", host="mock.test:8099"),
        get("/a", host="other.test"),
    )
    yield matching("host: contains", {"host": {"contains": "mock"}}, get("/a", host="a.mock.test"), get("/a", host="b"))
    yield matching(
        "port: of the Host header",
        {"port": 8099},
        get("/a", host="mock.test:8099"),
        get("/a", host="mock.test:81"),
        get("/a", host="mock.test"),
    )
    yield matching("port: 80 without a port in Host", {"port": 80}, get("/a", host="mock.test"), get("/a", host="a:80"))
    yield matching("scheme: http", {"scheme": "http"}, get("/a"))
    yield matching("scheme: https", {"scheme": "https"}, get("/a"))
    yield matching("host: IPv6", {"host": {"equalTo": "[::1]"}}, get("/a", host="[::1]:8099"))


@section
def text_bodies():
    yield body_matching("body: equalTo", {"equalTo": "abc"}, "abc", "ABC", "abc\n", "", None)
    yield body_matching("body: equalTo caseInsensitive", {"equalTo": "abc", "caseInsensitive": True}, "ABC", "abd")
    yield body_matching("body: equalTo non-ASCII", {"equalTo": "é"}, "é", "e\u0301", b"\xe9")
    yield body_matching(
        "body: equalTo latin-1 body", {"equalTo": "é"}, b"\xe9", "é", headers={"Content-Type": "text/plain; charset=iso-8859-1"}
    )
    yield body_matching("body: equalTo empty", {"equalTo": ""}, "", None, " ")
    yield body_matching("body: contains", {"contains": "b\nc"}, "ab\ncd", "abcd", "", None)
    yield body_matching("body: contains empty", {"contains": ""}, "", "a", None)
    yield body_matching("body: doesNotContain", {"doesNotContain": "b"}, "abc", "xyz", "", None)
    yield body_matching(
        "body: matches is anchored and dot matches line ends", {"matches": "a.*c"}, "abc", "a\nb\nc", "xabc", "abcx", "", None
    )
    yield body_matching("body: matches ^ and $", {"matches": "^b$"}, "a\nb\nc", "b", "b\n")
    yield body_matching("body: matches multi-line flag", {"matches": "(?m).*^b$.*"}, "a\nb\nc", "abc")
    yield body_matching("body: matches caseless flag", {"matches": "(?i)abc"}, "ABC", "xyz")
    yield body_matching("body: matches classes", {"matches": "\\p{Alpha}+\\s\\d{2,3}\\b"}, "ab 12", "ab 1", "é 12")
    yield body_matching("body: matches possessive and atomic", {"matches": "a++b(?>c|cd)e"}, "aabce", "aabcde")
    yield body_matching("body: matches quoted", {"matches": "\\Qa.b\\E"}, "a.b", "axb")
    yield body_matching("body: matches named group", {"matches": "(?<x>a+)-\\k<x>"}, "aa-aa", "aa-a")
    yield body_matching("body: matches non-ASCII", {"matches": "\\w+"}, "abc", "é")
    yield body_matching("body: doesNotMatch", {"doesNotMatch": "a.*"}, "abc", "xabc", "", None)
    yield body_matching("body: absent", {"absent": True}, None, "", "x")
    yield body_matching("body: and", {"and": [{"contains": "a"}, {"doesNotContain": "b"}]}, "ac", "ab", "x", None)
    yield body_matching("body: or", {"or": [{"equalToJson": {"a": 1}}, {"contains": "x"}]}, '{"a":1}', "xx", "{}")
    yield body_matching("body: anything", {"anything": "a"}, "x", None)
    yield matching(
        "body: several patterns",
        {"method": "POST", "bodyPatterns": [{"contains": "a"}, {"matches": ".*b"}]},
        post("/b", "ab"),
        post("/b", "a"),
        post("/b", "b"),
    )
    yield body_matching("body: first known matcher wins", {"contains": "a", "equalTo": "b"}, "a", "b", "xa")
    yield body_matching("body: unknown extra member", {"contains": "a", "somethingElse": 1}, "a", "b")
    encoded = base64.b64encode(bytes([0, 1, 254, 255])).decode()
    yield body_matching("body: binaryEqualTo", {"binaryEqualTo": encoded}, bytes([0, 1, 254, 255]), bytes([0, 1]), "")
    yield body_matching(
        "body: gzip request", {"equalTo": "abc"}, gzip.compress(b"abc", mtime=0), headers={"Content-Encoding": "gzip"}
    )


@section
def json_equality():

    def equal(name, expected, *bodies, **options):
        return body_matching("equalToJson: " + name, {"equalToJson": expected, **options}, *bodies)

    yield equal(
        "object",
        {"a": 1, "b": [1, 2]},
        '{"b":[1,2],"a":1}',
        '{"a":1}',
        '{"a":1,"b":[2,1]}',
        '{"a":1,"b":[1,2],"c":3}',
        "[]",
        "",
        None,
        "not json",
        '{"a":1,"b":[1,2]} x',
    )
    yield equal("text form", '{ "a": 1 }', '{"a":1}', '{"a":2}')
    yield equal("numbers", {"a": 1}, '{"a":1.0}', '{"a":1.00}', '{"a":1e0}', '{"a":"1"}', '{"a":10e-1}')
    yield equal("decimals", {"a": 1.5}, '{"a":1.5}', '{"a":1.50}', '{"a":15e-1}', '{"a":1.51}')
    yield equal(
        "big numbers",
        '{"a":12345678901234567890}',
        '{"a":12345678901234567890}',
        '{"a":12345678901234567891}',
        '{"a":1.2345678901234567890e19}',
    )
    yield equal("null", {"a": None}, '{"a":null}', "{}", '{"a":0}', '{"a":false}')
    yield equal("true", {"a": True}, '{"a":true}', '{"a":"true"}', '{"a":1}')
    yield equal("scalar documents", "1", "1", "1.0", "2", '"1"')
    yield equal("text document", '"x"', '"x"', "x", '"y"')
    yield equal("empty object", {}, "{}", '{"a":1}', "[]", "null")
    yield equal("empty array", [], "[]", "[1]", "{}")
    yield equal("duplicate members", {"a": 2}, '{"a":1,"a":2}', '{"a":2,"a":1}')
    yield equal("comments and single quotes in the body", {"a": "x"}, "{'a':'x'}", '{"a":"x"/*c*/}', '{a:"x"}')
    yield equal("escapes", {"a": "é/"}, '{"a":"\\u00e9\\/"}', '{"a":"é/"}')
    yield equal("nested", {"a": {"b": {"c": [1, {"d": 2}]}}}, '{"a":{"b":{"c":[1,{"d":2}]}}}', '{"a":{"b":{"c":[1,{"d":3}]}}}')
    yield equal(
        "ignoreArrayOrder",
        {"a": [1, 2, 2]},
        '{"a":[2,1,2]}',
        '{"a":[2,1]}',
        '{"a":[2,1,1]}',
        '{"a":[1,2,2,3]}',
        ignoreArrayOrder=True,
    )
    yield equal(
        "ignoreArrayOrder objects", [{"a": 1}, {"b": [1, 2]}], '[{"b":[2,1]},{"a":1}]', '[{"a":1}]', ignoreArrayOrder=True
    )
    yield equal("ignoreExtraElements", {"a": {"b": 1}}, '{"a":{"b":1,"c":2},"d":1}', '{"a":{}}', "{}", ignoreExtraElements=True)
    yield equal(
        "ignoreExtraElements arrays",
        {"a": [1, 2]},
        '{"a":[1,2,3]}',
        '{"a":[3,1,2]}',
        '{"a":[1]}',
        '{"a":[1,3,2]}',
        ignoreExtraElements=True,
    )
    yield equal(
        "both options",
        {"a": [1, 2]},
        '{"a":[3,2,1],"b":1}',
        '{"a":[3,1]}',
        '{"a":[2,1]}',
        ignoreArrayOrder=True,
        ignoreExtraElements=True,
    )
    yield equal(
        "both options objects",
        [{"a": 1}],
        '[{"b":1},{"a":1,"c":2}]',
        '[{"b":1}]',
        ignoreArrayOrder=True,
        ignoreExtraElements=True,
    )
    yield equal("options as text", {"a": [1, 2]}, '{"a":[2,1]}', ignoreArrayOrder="true")
    for prefix in ["json-unit", "xmlunit"]:
        for kind, values in [
            ("ignore", ["1", "null", "{}", '"x"']),
            ("any-string", ['"x"', '""', "1", "null"]),
            ("any-number", ["1", "1.5", '"1"', "null"]),
            ("any-boolean", ["true", '"true"', "0"]),
            ("regex}[a-z]+", ['"abc"', '"ABC"', '"abc1"', "1"]),
            ("ignore-element", ["1", "null"]),
        ]:
            token = "${" + prefix + "." + kind + ("" if "}" in kind else "}")
            yield equal("placeholder " + token, {"a": token}, *('{"a":%s}' % value for value in values), "{}")
    yield equal("nested arrays, any order", [[1, 2], [3, 4]], "[[4,3],[2,1]]", "[[1,3],[2,4]]", ignoreArrayOrder=True)
    yield equal("nested arrays, extra items", [[1], [2]], "[[1,9],[2]]", "[[1],[2],[3]]", "[[2],[1]]", ignoreExtraElements=True)
    yield equal("extra elements and null", {"a": None}, '{"a":null,"b":1}', '{"b":1}', ignoreExtraElements=True)
    yield equal(
        "order of objects with extra members",
        {"l": [{"id": 1}, {"id": 2}]},
        '{"l":[{"id":2,"x":1},{"id":1,"x":2}]}',
        '{"l":[{"id":2,"x":1}]}',
        ignoreArrayOrder=True,
        ignoreExtraElements=True,
    )
    yield equal("placeholders in any order", ["${json-unit.any-string}", 1], '[1,"x"]', "[1,2]", ignoreArrayOrder=True)
    yield equal("placeholder in the middle of text", {"a": "x${json-unit.ignore}"}, '{"a":"xy"}', '{"a":"x${json-unit.ignore}"}')
    yield equal("whitespace and byte order mark", {"a": 1}, ' \n{ "a" :\t1 } ', '\ufeff{"a":1}')
    yield equal(
        "deep",
        {"a": {"b": {"c": {"d": {"e": [1, [2, [3]]]}}}}},
        '{"a":{"b":{"c":{"d":{"e":[1,[2,[3]]]}}}}}',
        '{"a":{"b":{"c":{"d":{"e":[1,[2,[4]]]}}}}}',
    )
    yield equal("placeholder hash form", {"a": "#{json-unit.ignore}"}, '{"a":1}', '{"a":"x"}')
    yield equal("placeholder for the document", '"${json-unit.ignore}"', "1", '{"a":1}')
    yield equal("placeholder in an array", ["${json-unit.any-number}", 2], "[1,2]", '["1",2]', "[1]")
    yield equal("placeholder matches custom", {"a": "${json-unit.matches:foo}x"}, '{"a":1}')


@section
def json_paths():

    def path(name, operand, *bodies):
        return body_matching("matchesJsonPath: " + name, {"matchesJsonPath": operand}, *bodies)

    shop = json.dumps(
        {
            "store": {
                "book": [
                    {"category": "reference", "author": "Rees", "title": "Sayings", "price": 8.95},
                    {"category": "fiction", "author": "Waugh", "title": "Sword", "price": 12.99},
                    {"category": "fiction", "author": "Melville", "title": "Moby Dick", "isbn": "0-553-21311-3", "price": 8.99},
                ],
                "bicycle": {"color": "red", "price": 19.95},
            },
            "expensive": 10,
            "empty": [],
            "none": None,
            "no": False,
            "zero": 0,
            "blank": "",
            "object": {},
            "a b": 1,
            "a.b": 2,
        }
    )
    yield path(
        "present",
        "$.a",
        '{"a":1}',
        '{"a":null}',
        '{"a":[]}',
        '{"a":{}}',
        '{"a":""}',
        '{"a":false}',
        '{"a":[null]}',
        "{}",
        "[]",
        "",
        None,
        "not json",
        "<a/>",
        "  <a/>",
    )
    for text in [
        "$",
        "$.store.book",
        "$.store.book[0]",
        "$.store.book[3]",
        "$.store.book[-1]",
        "$..price",
        "$..nothing",
        "$.store.*",
        "$['store']['bicycle']",
        "$.store.book[0,1].title",
        "$.store.book[0:2]",
        "$.store.book[:1]",
        "$.store.book[1:]",
        "$.store.book[-1:]",
        "$.store.book[*].isbn",
        "$..book[2]",
        "$.empty",
        "$.object",
        "$.none",
        "$.no",
        "$.zero",
        "$.blank",
        "$['a b']",
        "$['a.b']",
        "$.a.b",
        "store",
        "store.book",
        "@.store",
        "$.store.book.length()",
        "$.expensive.length()",
        "$.store.book[0].price.min()",
        "$..price.sum()",
        "$.store.book[*].price.max()",
        "$.store.keys()",
        "$.store.book[?(@.isbn)]",
        "$.store.book[?(!@.isbn)]",
        "$.store.book[?(@.price < 10)]",
        "$.store.book[?(@.price < $.expensive)]",
        "$.store.book[?(@.price > 100)]",
        "$.store.book[?(@.author == 'Waugh')]",
        '$.store.book[?(@.author == "Waugh")]',
        "$.store.book[?(@.author != 'Waugh')]",
        "$.store.book[?(@.author =~ /.*ville/)]",
        "$.store.book[?(@.author =~ /.*VILLE/i)]",
        "$.store.book[?(@.author =~ /vill/)]",
        "$.store.book[?(@.category in ['fiction'])]",
        "$.store.book[?(@.category nin ['fiction','reference'])]",
        "$.store.book[?(@.price < 10 && @.category == 'fiction')]",
        "$.store.book[?(@.price > 100 || @.category == 'fiction')]",
        "$.store.book[?(@.title contains 'Dick')]",
        "$.store.book[?(@.author size 4)]",
        "$.store.book[?(@.author empty true)]",
        "$.store.book[?(@.category anyof ['fiction'])]",
        "$[?(@.expensive == 10)]",
        "$.store[?(@.color == 'red')]",
        "$.[?(@.expensive)]",
        "$..[?(@.color)]",
        "$.store.book[?(@.price == 8.95)]",
        "$.store.book[?(@['price'] == 8.95)]",
        "$.store.book[?(@.title == null)]",
        "$.store.book[?(@.isbn == null)]",
        "$.store.book[?(@.price == '8.95')]",
        "$.store.book[?(1 == 1)]",
        "$.store..*",
        "$.store.book[?(@.price <= 8.95)].title",
        "$.store.book[(@.length-1)]",
    ]:
        yield path(text, text, shop)
    for sub in [
        {"equalTo": "10"},
        {"equalTo": "10.0"},
        {"matches": "[0-9]+"},
        {"contains": "1"},
        {"absent": True},
        {"equalToJson": "10"},
        {"doesNotMatch": "x"},
        {"doesNotContain": "1"},
    ]:
        yield path(
            "number with " + json.dumps(sub),
            {"expression": "$.a", **sub},
            '{"a":10}',
            '{"a":"10"}',
            '{"a":10.0}',
            '{"a":1e1}',
            '{"a":null}',
            "{}",
            '{"a":[10]}',
            '{"a":[1,10]}',
            '{"a":true}',
            "not json",
            "",
        )
    for sub in [
        {"equalToJson": {"b": 1}},
        {"equalToJson": {"b": 1}, "ignoreExtraElements": True},
        {"contains": "b"},
        {"equalTo": '{\n  "b" : 1\n}'},
        {"equalTo": '{"b":1}'},
        {"matches": ".*b.*"},
        {"absent": True},
        {"matchesJsonPath": "$.b"},
    ]:
        yield path(
            "object with " + json.dumps(sub),
            {"expression": "$.a", **sub},
            '{"a":{"b":1}}',
            '{"a":{"b":1,"c":2}}',
            '{"a":{}}',
            '{"a":[{"b":1}]}',
            "{}",
        )
    for sub in [
        {"equalTo": "x"},
        {"equalToJson": ["x", "y"]},
        {"equalToJson": ["y", "x"], "ignoreArrayOrder": True},
        {"contains": "y"},
        {"doesNotContain": "y"},
        {"absent": True},
        {"matches": "x|y"},
        {"and": [{"contains": "x"}, {"contains": "y"}]},
        {"or": [{"equalTo": "z"}, {"equalTo": "y"}]},
    ]:
        yield path(
            "list with " + json.dumps(sub),
            {"expression": "$.a", **sub},
            '{"a":["x","y"]}',
            '{"a":[]}',
            '{"a":"x"}',
            '{"a":[["x"]]}',
            '{"a":[{"x":1}]}',
        )
    yield path("indefinite with equalTo", {"expression": "$..price", "equalTo": "12.99"}, shop, "{}")
    yield path("indefinite with absent", {"expression": "$..nothing", "absent": True}, shop, '{"nothing":1}')
    yield path("size with equalTo", {"expression": "$.store.book.size()", "equalTo": "3"}, shop, "{}")
    yield path("length with equalTo", {"expression": "$.store.book.length()", "equalTo": "3"}, shop, "{}")
    yield path(
        "dates",
        {"expression": "$.a", "before": "2021-06-14T00:00:00Z"},
        '{"a":"2021-06-13T00:00:00Z"}',
        '{"a":"2021-06-15T00:00:00Z"}',
        '{"a":1}',
    )
    yield path("boolean with equalTo", {"expression": "$.a", "equalTo": "true"}, '{"a":true}', '{"a":"true"}', '{"a":1}')
    yield path("large and small numbers", {"expression": "$.a", "matches": ".*"}, '{"a":1e400}', '{"a":1e-7}')
    for text in ["1E-7", "1.0E-7", "1.0E7", "1.0E10", "10000000", "10000000.0", "0.1", "0.10", "1.0"]:
        yield path(
            "number text " + text,
            {"expression": "$.a", "equalTo": text},
            *('{"a":%s}' % n for n in ["1e-7", "0.0000001", "1e7", "1e10", "10000000", "0.1", "0.10", "1.0", "1"]),
        )
    numbers = json.dumps(
        {"n": [1, 2, 3, 4], "s": ["a", "b"], "t": "abc", "items": [{"tags": ["a", "b"], "v": 1}, {"tags": ["c"], "v": 2}]}
    )
    for text in [
        "$.n.avg()",
        "$.n.sum()",
        "$.n.min()",
        "$.n.max()",
        "$.n.stddev()",
        "$.n.size()",
        "$.n.first()",
        "$.n.last()",
        "$.n.index(1)",
        "$.t.length()",
        "$.s.concat('c')",
        "$.n.append(5)",
        "$.items[?(@.tags subsetof ['a','b','c'])].v",
        "$.items[?(@.tags anyof ['c','d'])].v",
        "$.items[?(@.tags noneof ['c'])].v",
        "$.items[?('a' in @.tags)].v",
        "$.items[?(@.tags contains 'c')].v",
        "$.items[?(@.tags size 1)].v",
        "$.items[?(@.tags empty false)].v",
        "$.n[?(@ > 2)]",
        "$.n[::2]",
        "$.n[-2:]",
        "$.n[1:-1]",
        "$.items[*].tags[0]",
        "$..v",
        "$.items[?(!(@.v == 1))].v",
        "$.items[?(@.v == 1 || @.v == 2)].v",
        "$.items[?(@.none)].v",
        "$.items.length()",
        "$['n'][0]",
        '$["t"]',
        "$.*",
        "$.items[?(@.v >= 1 && @.tags size 2)].v",
    ]:
        yield path("result of " + text, {"expression": text, "matches": "(?s).+"}, numbers)
        for expected in ["1", "2", "4", "10.0", "2.5", "a", "c", '{"v":1}']:
            yield path(f"{text} is {expected}", {"expression": text, "equalTo": expected}, numbers)
    yield path("invalid path", "$.a[", '{"a":1}')
    yield path("invalid filter", "$[?(@.a = 1)]", '[{"a":1}]')
    yield path("list with a null", {"expression": "$.a", "equalTo": "x"}, '{"a":["x",null]}')


@section
def xml():

    def equal(name, expected, *bodies, **options):
        return body_matching("equalToXml: " + name, {"equalToXml": expected, **options}, *bodies)

    yield equal(
        "whitespace",
        "<a><b>1</b><c/></a>",
        "<a><b>1</b><c/></a>",
        "<a>\n  <b>1</b>\n  <c></c>\n</a>",
        "<a><b> 1 </b><c/></a>",
        "<a><b>2</b><c/></a>",
        "<a><b>1</b></a>",
        "",
        None,
        "no xml",
        "{}",
    )
    yield equal("order of different elements", "<a><b/><c/></a>", "<a><c/><b/></a>")
    yield equal("order of equal elements", "<a><b>1</b><b>2</b></a>", "<a><b>2</b><b>1</b></a>", "<a><b>1</b><b>2</b></a>")
    yield equal(
        "order with children",
        "<a><i><n>1</n><v>x</v></i><i><n>2</n></i></a>",
        "<a><i><v>x</v><n>1</n></i><i><n>2</n></i></a>",
        "<a><i><n>2</n></i><i><n>1</n><v>x</v></i></a>",
    )
    yield equal("attributes", "<a x='1' y='2'/>", '<a y="2" x="1"/>', "<a x='1'/>", "<a x='1' y='3'/>", "<a x='1' y='2' z='3'/>")
    yield equal(
        "comments and instructions",
        "<a><b/></a>",
        "<a><!-- c --><b/></a>",
        "<a><?pi x?><b/></a>",
        "<?xml version='1.0' encoding='UTF-8'?><a><b/></a>",
    )
    yield equal("CDATA", "<a>x&lt;</a>", "<a><![CDATA[x<]]></a>", "<a>x&#60;</a>")
    yield equal(
        "namespaces",
        "<p:a xmlns:p='urn:x'><p:b/></p:a>",
        "<q:a xmlns:q='urn:x'><q:b/></q:a>",
        "<a xmlns='urn:x'><b/></a>",
        "<p:a xmlns:p='urn:y'><p:b/></p:a>",
        "<a><b/></a>",
    )
    yield equal("no namespace expected", "<a><b/></a>", "<a xmlns='urn:x'><b/></a>", "<p:a xmlns:p='urn:x'><p:b/></p:a>")
    yield equal("document type", "<a/>", "<!DOCTYPE a><a/>", "<!DOCTYPE a [<!ENTITY e 'x'>]><a/>")
    yield equal("extra element", "<a><b/></a>", "<a><b/><c/></a>", "<a><b/><b/></a>")
    yield equal("mixed text", "<a>x<b/>y</a>", "<a>x<b/>y</a>", "<a>xy<b/></a>", "<a> x <b/> y </a>")
    yield equal("placeholders off", "<a>${xmlunit.ignore}</a>", "<a>x</a>", "<a>${xmlunit.ignore}</a>")
    for token in [
        "${xmlunit.ignore}",
        "${xmlunit.isNumber}",
        "${xmlunit.isDateTime}",
        "${xmlunit.matchesRegex(^\\d+$)}",
        "${xmlunit.isDateTime(dd.MM.yyyy)}",
    ]:
        yield equal(
            "placeholder " + token,
            f"<a><b>{token}</b></a>",
            "<a><b>12</b></a>",
            "<a><b>x</b></a>",
            "<a><b></b></a>",
            "<a><b><c/></b></a>",
            "<a><b>2020-01-02T03:04:05Z</b></a>",
            "<a><b>02.01.2020</b></a>",
            "<a/>",
            enablePlaceholders=True,
        )
    yield equal("placeholder in an attribute", "<a x='${xmlunit.ignore}'/>", "<a x='1'/>", "<a/>", enablePlaceholders=True)
    yield equal(
        "placeholder delimiters",
        "<a>[[xmlunit.ignore]]</a>",
        "<a>1</a>",
        enablePlaceholders=True,
        placeholderOpeningDelimiterRegex="\\[\\[",
        placeholderClosingDelimiterRegex="]]",
    )
    yield equal(
        "exemptedComparisons",
        "<a xmlns='urn:x'><b>1</b></a>",
        "<a xmlns='urn:y'><b>1</b></a>",
        "<a><b>2</b></a>",
        exemptedComparisons=["NAMESPACE_URI"],
    )
    yield equal(
        "exemptedComparisons text",
        "<a><b>1</b></a>",
        "<a><b>2</b></a>",
        "<a><c>1</c></a>",
        exemptedComparisons=["TEXT_VALUE", "ELEMENT_TAG_NAME"],
    )

    def path(name, operand, *bodies, **options):
        return body_matching("matchesXPath: " + name, {"matchesXPath": operand, **options}, *bodies)

    order = "<order id='7'><item><name>Tea</name><n>2</n></item><item><name>Milk</name><n>1</n></item><note/></order>"
    for text in [
        "/order",
        "//item",
        "//item[2]",
        "//item[3]",
        "//item[n>1]",
        "//item[name='Tea']",
        "/order/@id",
        "/order[@id='7']",
        "//note",
        "//note/text()",
        "//name/text()",
        "count(//item)",
        "count(//item)=2",
        "count(//item)=3",
        "boolean(//x)",
        "string(//name)",
        "//item[contains(name,'il')]",
        "//*[local-name()='n']",
        "//item | //x",
        "order",
        "/x",
        "//item[",
        "//item[last()]",
        "//item[position()<2]/name",
        "//name[starts-with(.,'T')]",
        "//x:item",
    ]:
        yield path(text, text, order, "not xml", "")
    for sub in [
        {"equalTo": "Tea"},
        {"equalTo": "Milk"},
        {"contains": "ea"},
        {"matches": "[A-Z].*"},
        {"absent": True},
        {"doesNotContain": "ea"},
        {"equalToXml": "<name>Tea</name>"},
    ]:
        for expression in ["//name/text()", "//name", "//x"]:
            yield path(expression + " with " + json.dumps(sub), {"expression": expression, **sub}, order)
    yield path("attribute with equalTo", {"expression": "/order/@id", "equalTo": "7"}, order, "<order id='8'/>", "<order/>")
    yield path("number with equalTo", {"expression": "count(//item)", "equalTo": "2.0"}, order)
    yield path("number with equalTo integer", {"expression": "count(//item)", "equalTo": "2"}, order)
    yield path(
        "element with equalToXml", {"expression": "//item[1]", "equalToXml": "<item><name>Tea</name><n>2</n></item>"}, order
    )
    soap = "<s:Envelope xmlns:s='urn:s' xmlns:m='urn:m'><s:Body><m:x>1</m:x></s:Body></s:Envelope>"
    yield path("namespaces", "//b:Body/n:x", soap, xPathNamespaces={"b": "urn:s", "n": "urn:m"})
    yield path("namespaces wrong", "//b:Body/n:x", soap, xPathNamespaces={"b": "urn:q", "n": "urn:m"})
    yield path("namespaces missing", "//s:Body/m:x", soap)
    yield path("without prefixes", "//Body/x", soap)
    yield path("default namespace", "//x", "<a xmlns='urn:x'><x/></a>")
    yield path(
        "namespaces with sub-matcher", {"expression": "//n:x/text()", "equalTo": "1"}, soap, xPathNamespaces={"n": "urn:m"}
    )
    yield path("local-name", "//*[local-name()='x']", soap)


@section
def dates():

    def date(name, matcher, *values):
        return header_matching(f"dates: {name} {json.dumps(matcher)}", matcher, *values)

    zoned = [
        "2021-06-13T15:15:15Z",
        "2021-06-14T15:15:15Z",
        "2021-06-14T17:15:15+02:00",
        "2021-06-15T00:00:00Z",
        "2021-06-14T15:15:15",
        "2021-06-13",
        "2021-06-15",
        "Mon, 14 Jun 2021 15:15:15 GMT",
        "Monday, 14-Jun-21 15:15:15 GMT",
        "Mon Jun 14 15:15:15 2021",
        "Sun, 13 Jun 2021 15:15:15 GMT",
        "2021-06-14T15:15:15.5Z",
        "2021-06-14T15:15:15Z[UTC]",
        "x",
        "",
        None,
    ]
    for operator in ["before", "after", "equalToDateTime"]:
        yield date("zoned", {operator: "2021-06-14T15:15:15Z"}, *zoned)
        yield date("local", {operator: "2021-06-14T15:15:15"}, *zoned)
        yield date("day", {operator: "2021-06-14"}, *zoned)
    far = ["1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "2999-01-01T00:00:00", "2999-01-01"]
    for expected in [
        "now",
        "now +3 days",
        "now -3 days",
        "3 days",
        "-3 months",
        "15 years",
        "now +1 hours",
        "Now +5 minutes",
        "10 seconds",
    ]:
        yield date("now", {"before": expected}, *far)
        yield date("now", {"after": expected}, *far)
    yield date("offset members", {"before": "now", "expectedOffset": 2000, "expectedOffsetUnit": "years"}, *far)
    yield date(
        "actualFormat", {"equalToDateTime": "2021-06-14", "actualFormat": "dd/MM/yyyy"}, "14/06/2021", "2021-06-14", "15/06/2021"
    )
    yield date(
        "actualFormat",
        {"before": "2021-06-14T00:00:00Z", "actualFormat": "dd/MM/yyyy HH:mm:ss"},
        "13/06/2021 00:00:00",
        "15/06/2021 00:00:00",
    )
    yield date(
        "actualFormat zone",
        {"equalToDateTime": "2021-06-14T12:00:00Z", "actualFormat": "yyyy-MM-dd HH:mm Z"},
        "2021-06-14 14:00 +0200",
        "2021-06-14 12:00 +0200",
    )
    yield date(
        "actualFormat unix", {"equalToDateTime": "2021-06-14T12:00:00Z", "actualFormat": "unix"}, "1623672000", "1623672001"
    )
    yield date(
        "actualFormat epoch",
        {"equalToDateTime": "2021-06-14T12:00:00Z", "actualFormat": "epoch"},
        "1623672000000",
        "1623672000001",
    )
    for truncation in [
        "first second of minute",
        "first minute of hour",
        "first hour of day",
        "first day of month",
        "first day of next month",
        "last day of month",
        "first day of year",
        "first day of next year",
        "last day of year",
    ]:
        yield date(
            "truncateActual",
            {"equalToDateTime": "2021-06-01T00:00:00Z", "truncateActual": truncation},
            "2021-06-14T15:16:17Z",
            "2021-06-01T00:00:17Z",
            "2021-06-01T00:16:17Z",
            "2021-06-01T15:16:17Z",
            "2021-05-05T01:01:01Z",
            "2020-05-05T01:01:01Z",
        )
    yield date("truncateExpected", {"before": "now", "truncateExpected": "first day of year"}, *far)
    yield date(
        "truncateActual upper case",
        {"equalToDateTime": "2021-06-14T15:16:00Z", "truncateActual": "FIRST_SECOND_OF_MINUTE"},
        "2021-06-14T15:16:17Z",
    )
    yield body_matching(
        "dates: in a body", {"before": "2021-06-14T00:00:00Z"}, "2021-06-13T00:00:00Z", "2021-06-15T00:00:00Z", None
    )


def multipart_body(*parts, boundary="XX"):
    """A multipart body of (headers, content) parts."""
    lines = []
    for part_headers, content in parts:
        lines += ["--" + boundary, *(f"{key}: {value}" for key, value in part_headers.items()), "", content]
    return "\r\n".join(lines + ["--" + boundary + "--", ""])


@section
def multiparts():
    kind = {"Content-Type": "multipart/form-data; boundary=XX"}
    name = {"Content-Disposition": 'form-data; name="text"'}
    file = {"Content-Disposition": 'form-data; name="file"; filename="a.json"', "Content-Type": "application/json"}
    both = multipart_body((name, "hello"), (file, '{"a":1}'))
    only = multipart_body((name, "hello"))

    def multipart(title, pattern, *bodies):
        return matching(
            "multipart: " + title,
            {"method": "POST", "multipartPatterns": [pattern]},
            *(post("/m", body, kind) for body in bodies),
            post("/m", "hello"),
            post("/m", "hello", {"Content-Type": "multipart/form-data"}),
        )

    body = {"bodyPatterns": [{"contains": "hello"}]}
    yield multipart("ANY body", {"matchingType": "ANY", **body}, both, only)
    yield multipart("ALL body", {"matchingType": "ALL", **body}, both, only)
    yield multipart("default type", body, both, only)
    yield multipart("name is not compared", {"name": "other", **body}, both, only)
    yield multipart("name only", {"name": "file"}, both, only)
    yield multipart("headers", {"headers": {"Content-Type": {"contains": "json"}}}, both, only)
    yield multipart("headers by name", {"headers": {"Content-Disposition": {"contains": 'name="text"'}}, **body}, both, only)
    yield multipart("equalToJson", {"bodyPatterns": [{"equalToJson": {"a": 1}}]}, both, only)
    yield multipart("binaryEqualTo", {"bodyPatterns": [{"binaryEqualTo": "aGVsbG8="}]}, both, only)
    yield matching(
        "multipart: two patterns",
        {"method": "POST", "multipartPatterns": [body, {"bodyPatterns": [{"matchesJsonPath": "$.a"}]}]},
        post("/m", both, kind),
        post("/m", only, kind),
    )
    yield matching(
        "multipart: mixed type",
        {"method": "POST", "multipartPatterns": [body]},
        post("/m", both, {"Content-Type": "multipart/mixed; boundary=XX"}),
    )


@section
def order():

    def answer(text):
        return {"body": text}

    any_path = {"urlPath": "/o"}
    yield Case("order: the newest stub wins", (stub(any_path, answer("1")), stub(any_path, answer("2"))), (get("/o"),))
    yield Case(
        "order: priority 1 before 2",
        (stub(any_path, answer("1"), priority=1), stub(any_path, answer("2"), priority=2)),
        (get("/o"),),
    )
    yield Case(
        "order: default priority is 5",
        (stub(any_path, answer("4"), priority=4), stub(any_path, answer("default")), stub(any_path, answer("6"), priority=6)),
        (get("/o"),),
    )
    yield Case(
        "order: 5 equals the default", (stub(any_path, answer("default")), stub(any_path, answer("5"), priority=5)), (get("/o"),)
    )
    yield Case(
        "order: 5 before a newer default",
        (stub(any_path, answer("5"), priority=5), stub(any_path, answer("default"))),
        (get("/o"),),
    )
    yield Case(
        "order: zero and negative priorities",
        (stub(any_path, answer("0"), priority=0), stub(any_path, answer("-1"), priority=-1)),
        (get("/o"),),
    )
    yield Case(
        "order: the same id twice",
        (stub(any_path, answer("1"), id=FIXED_ID), stub(any_path, answer("2")), stub(any_path, answer("3"), id=FIXED_ID)),
        (get("/o"), request("DELETE", "/__admin/mappings/" + FIXED_ID), get("/o")),
    )


@section
def scenarios():

    def step(required, new, text, name="s", **members):
        members = {"scenarioName": name, **members}
        if required:
            members["requiredScenarioState"] = required
        if new:
            members["newScenarioState"] = new
        return stub({"url": "/s"}, {"status": 200, "body": text}, **members)

    again = (get("/s"),) * 4
    yield Case(
        "scenarios: three steps", (step("Started", "two", "1"), step("two", "three", "2"), step("three", None, "3")), again
    )
    yield Case("scenarios: back to the start", (step("Started", "two", "1"), step("two", "Started", "2")), again)
    yield Case("scenarios: no required state", (step(None, "two", "1"), step("two", None, "2")), again)
    yield Case("scenarios: no required state, older", (step("two", "Started", "2"), step(None, "two", "1")), again)
    yield Case("scenarios: state never reached", (step("two", None, "1"),), again)
    yield Case(
        "scenarios: two scenarios", (step("Started", "b", "1", priority=1), step("Started", "b", "2", "t", priority=2)), again
    )
    yield Case("scenarios: state names are case sensitive", (step("started", None, "1"), step("Started", None, "2")), again)
    yield Case(
        "scenarios: set, reset",
        (step("Started", "two", "1"), step("two", None, "2")),
        (
            get("/s"),
            request("PUT", "/__admin/scenarios/s/state", {"state": "Started"}),
            get("/s"),
            get("/s"),
            request("PUT", "/__admin/scenarios/s/state"),
            get("/s"),
            post("/__admin/scenarios/reset", None),
            get("/s"),
            request("PUT", "/__admin/scenarios/none/state", {"state": "x"}, compare="error"),
            request("PUT", "/__admin/scenarios/s/state", {"state": "none"}, compare="status"),
            get("/s"),
        ),
    )


@section
def responses():
    yield response("response: empty", {}, get("/r"), request("HEAD", "/r"), post("/r", "x"))
    yield Case("response: no response", ({"request": {"url": "/r"}},), (get("/r"),))
    for status in [200, 201, 202, 204, 205, 301, 302, 304, 400, 401, 404, 418, 422, 429, 499, 500, 503, 599, 600, 999]:
        yield response(f"response: status {status}", {"status": status})
        yield response(f"response: status {status} with a body", {"status": status, "body": "x"})
    yield response("response: status 0", {"status": 0, "body": "x"})
    yield response("response: status -1", {"status": -1, "body": "x"})
    yield response("response: status as text", {"status": "201", "body": "x"})
    yield response("response: statusMessage", {"status": 200, "statusMessage": "All Good", "body": "x"})
    yield response("response: statusMessage empty", {"status": 404, "statusMessage": ""})
    yield response("response: statusMessage non-ASCII", {"status": 200, "statusMessage": "Düne"})
    yield response("response: HEAD with a body", {"body": "hello"}, request("HEAD", "/r"), get("/r"))
    yield response("response: headers", {"headers": {"X-One": "1", "content-type": "text/x", "X-Empty": ""}, "body": "x"})
    yield response("response: repeated headers", {"headers": {"X-Many": ["1", "2"], "Set-Cookie": ["a=b", "c=d"]}})
    yield response("response: header value types", {"headers": {"X-Number": 1, "X-True": True}}, get("/r"))
    yield response("response: header non-ASCII", {"headers": {"X-Text": "é"}})
    yield response("response: header line end", {"headers": {"X-Text": "a\r\nb"}})
    yield response("response: Content-Length given", {"headers": {"Content-Length": "5"}, "body": "hello"})
    yield response("response: Transfer-Encoding given", {"headers": {"Transfer-Encoding": "chunked"}, "body": "hello"})
    yield response("response: Date given", {"headers": {"Date": "Mon, 14 Jun 2021 15:15:15 GMT"}, "body": "hello"})
    yield response("response: Content-Type charset", {"headers": {"Content-Type": "text/plain; charset=iso-8859-1"}, "body": "é"})
    yield response("response: body non-ASCII", {"body": "é\u20ac\U0001f600"})
    yield response("response: body empty", {"body": ""})
    yield response("response: jsonBody object", {"jsonBody": {"b": 1, "a": [1, 2, {"c": None}], "e": {}, "f": []}})
    yield response("response: jsonBody array", {"jsonBody": [1, "two", None, True]})
    yield response("response: jsonBody text", {"jsonBody": "text"})
    yield response("response: jsonBody number", {"jsonBody": 12})
    yield response("response: jsonBody null", {"jsonBody": None})
    yield response("response: jsonBody true", {"jsonBody": True})
    for number in [
        "1.0",
        "1.50",
        "1e3",
        "1E+3",
        "1e-7",
        "0.0000001",
        "12345678901234567890",
        "1e400",
        "-0",
        "-0.0",
        "123456789.123456789",
        "1e20",
        "100000000000000000000.0",
    ]:
        yield Case(
            "response: jsonBody number " + number,
            ('{"request":{"url":"/r"},"response":{"jsonBody":{"n":%s}}}' % number,),
            (get("/r"),),
        )
    yield response("response: jsonBody text escapes", {"jsonBody": {"t": "é/\"\\\n\t\u0001\u007f\u2028<>&'"}})
    yield response("response: jsonBody emoji", {"jsonBody": {"t": "\U0001f389"}})
    yield response("response: base64Body", {"base64Body": base64.b64encode(bytes(range(256))).decode()})
    yield response("response: base64Body with body", {"base64Body": "YWJj", "body": "body"})
    yield response("response: body with jsonBody", {"body": "body", "jsonBody": {"a": 1}})
    yield response("response: body with bodyFileName", {"body": "body", "bodyFileName": "page.html"}, files=FILES)
    for name in sorted(FILES):
        yield response("response: bodyFileName " + name, {"bodyFileName": name}, files=FILES)
    yield response("response: bodyFileName missing", {"bodyFileName": "missing.txt"}, get("/r", compare="status"))
    yield response("response: bodyFileName outside", {"bodyFileName": "../mappings/x.json"}, get("/r", compare="status"))
    yield response(
        "response: bodyFileName template",
        {"bodyFileName": "{{request.pathSegments.[0]}}.txt"},
        get("/plain"),
        get("/missing", compare="status"),
        files=FILES,
    )
    yield response(
        "response: gzip",
        {"body": "hello " * 100},
        get("/r", {"Accept-Encoding": "gzip"}),
        get("/r", {"Accept-Encoding": "identity"}),
        get("/r", {"Accept-Encoding": "gzip, deflate, br"}),
    )
    yield response("response: gzip of a short body", {"body": "x"}, get("/r", {"Accept-Encoding": "gzip"}))
    yield response("response: gzip of an empty body", {}, get("/r", {"Accept-Encoding": "gzip"}))
    yield response(
        "response: gzip with Content-Length",
        {"headers": {"Content-Length": "5"}, "body": "hello"},
        get("/r", {"Accept-Encoding": "gzip"}),
    )
    yield response(
        "response: gzip of an image",
        {"headers": {"Content-Type": "image/png"}, "body": "hello " * 100},
        get("/r", {"Accept-Encoding": "gzip"}),
    )
    yield Case("response: name", (stub({"url": "/r"}, {"body": "x"}, name="Some stub", id=FIXED_ID),), (get("/r"),))
    yield Case("response: uuid", (stub({"url": "/r"}, {"body": "x"}, uuid=FIXED_ID),), (get("/r", compare="raw"),))
    yield Case(
        "response: raw head",
        (stub({"url": "/r"}, {"body": "x", "headers": {"X-B": "1", "X-A": "2"}}, id=FIXED_ID),),
        (get("/r", compare="raw"), request("HEAD", "/r", compare="raw")),
    )
    yield Case("response: raw chunks", (stub({"url": "/r"}, {"body": "hello " * 3}, id=FIXED_ID),), (get("/r", compare="raw"),))
    yield response("response: unknown transformer", {"body": "{{request.method}}", "transformers": ["none"]})
    yield response(
        "response: CORS preflight",
        {"body": "x"},
        request("OPTIONS", "/r", None, {"Origin": "http://a.test", "Access-Control-Request-Method": "PUT"}),
    )
    yield response("response: Origin", {"body": "x"}, get("/r", {"Origin": "http://a.test"}))
    yield response("response: Expect", {"body": "x"}, post("/r", "abc", {"Expect": "100-continue"}))


FILES = {
    "plain.txt": "plain text\n",
    "page.html": "<p>hi</p>",
    "data.json": '{"a":1}',
    "index.html": "<h1>index</h1>",
    "style.css": "p{}",
    "script.js": "1;",
    "picture.png": "\x89PNG",
    "doc.xml": "<a/>",
    "sub/inner.txt": "inner",
    "sub/index.html": "sub index",
    "noextension": "none",
    "template.txt": "{{request.method}} {{request.path}}",
    "vector.svg": "<svg/>",
    "data.csv": "a,b",
    "a.pdf": "%PDF",
    "b.bin": "\x00\x01",
}


@section
def static_files():
    paths = ["/" + name for name in sorted(FILES)]
    paths += ["/", "/sub", "/sub/", "/missing.txt", "/plain.txt?x=1", "/../mappings/", "/plain.txt/", "/%70lain.txt"]
    for path in paths:
        yield Case("files: GET " + path, (stub({"url": "/never"}),), (get(path, compare="file"),), files=FILES)
    yield Case(
        "files: other methods",
        (stub({"url": "/never"}),),
        (request("HEAD", "/plain.txt", compare="status"), post("/plain.txt", "x", compare="status")),
        files=FILES,
    )
    yield Case("files: a stub comes first", (stub({"url": "/plain.txt"}),), (get("/plain.txt"),), files=FILES)
    yield Case("files: without stubs", (), (get("/plain.txt", compare="file"),), files=FILES)
    yield Case(
        "files: If-Modified-Since and Range",
        (),
        (
            get("/plain.txt", {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}, compare="status"),
            get("/plain.txt", {"Range": "bytes=0-4"}, compare="file"),
        ),
        files=FILES,
    )


@section
def faults():
    for fault in ["EMPTY_RESPONSE", "RANDOM_DATA_THEN_CLOSE", "MALFORMED_RESPONSE_CHUNK", "CONNECTION_RESET_BY_PEER"]:
        yield response("fault: " + fault, {"fault": fault}, get("/r", compare="fault"), post("/r", "x", compare="fault"))
        yield response(
            f"fault: {fault} with status and body",
            {"fault": fault, "status": 503, "body": "x", "headers": {"X-A": "1"}},
            get("/r", compare="fault"),
        )


@section
def delays():
    yield response(
        "delay: fixedDelayMilliseconds",
        {"fixedDelayMilliseconds": 300, "body": "x"},
        get("/r", compare="delay", least=0.28, most=10),
    )
    yield response(
        "delay: fixedDelayMilliseconds as text",
        {"fixedDelayMilliseconds": "300", "body": "x"},
        get("/r", compare="delay", least=0.28, most=10),
    )
    yield response(
        "delay: uniform",
        {"delayDistribution": {"type": "uniform", "lower": 200, "upper": 300}, "body": "x"},
        get("/r", compare="delay", least=0.18, most=10),
    )
    yield response(
        "delay: lognormal",
        {"delayDistribution": {"type": "lognormal", "median": 200, "sigma": 0.1}, "body": "x"},
        get("/r", compare="delay", least=0.05, most=10),
    )
    yield response(
        "delay: fixed distribution",
        {"delayDistribution": {"type": "fixed", "milliseconds": 200}, "body": "x"},
        get("/r", compare="delay", least=0.18, most=10),
    )
    yield response(
        "delay: both",
        {"delayDistribution": {"type": "uniform", "lower": 200, "upper": 201}, "fixedDelayMilliseconds": 200, "body": "x"},
        get("/r", compare="delay", least=0.38, most=10),
    )
    yield response(
        "delay: chunkedDribbleDelay",
        {"chunkedDribbleDelay": {"numberOfChunks": 4, "totalDuration": 400}, "body": "abcdefghij"},
        get("/r", compare="delay", least=0.38, most=10),
        get("/r", compare="chunks"),
    )
    yield response(
        "delay: chunkedDribbleDelay with few bytes",
        {"chunkedDribbleDelay": {"numberOfChunks": 5, "totalDuration": 100}, "body": "abc"},
        get("/r", compare="chunks"),
    )
    yield response(
        "delay: chunkedDribbleDelay without body",
        {"chunkedDribbleDelay": {"numberOfChunks": 5, "totalDuration": 100}},
        get("/r", compare="raw"),
    )
    yield response(
        "delay: global fixedDelay",
        {"body": "x"},
        get("/r", compare="delay", least=0.18, most=10),
        get("/none/.", compare="status"),
        settings={"fixedDelay": 200},
    )
    yield response(
        "delay: stub's delay replaces the global one",
        {"body": "x", "fixedDelayMilliseconds": 10},
        get("/r", compare="delay", least=0, most=2.5),
        settings={"fixedDelay": 3000},
    )
    yield response(
        "delay: global distribution",
        {"body": "x"},
        get("/r", compare="delay", least=0.18, most=10),
        settings={"delayDistribution": {"type": "uniform", "lower": 200, "upper": 201}},
    )


@section
def proxying():

    def proxy(name, definition, *requests, **options):
        pattern = {"method": "ANY", "urlPattern": "/.*"}
        return Case(
            "proxy: " + name,
            (stub(pattern, {"proxyBaseUrl": "@UPSTREAM@", **definition}, id=FIXED_ID),),
            requests or (get("/echo?x=1", {"X-A": "1"}),),
            **options,
        )

    yield proxy("plain", {})
    yield proxy("POST", {}, post("/echo", "body", {"Content-Type": "text/plain"}), post("/echo", "{}"))
    yield proxy(
        "other methods",
        {},
        request("PUT", "/echo", "x"),
        request("DELETE", "/echo"),
        request("PATCH", "/echo", "x"),
        request("HEAD", "/echo"),
        request("OPTIONS", "/echo"),
    )
    yield proxy("path in the base", {"proxyBaseUrl": "@UPSTREAM@/base"})
    yield proxy("trailing slash in the base", {"proxyBaseUrl": "@UPSTREAM@/"})
    yield proxy("proxyUrlPrefixToRemove", {"proxyUrlPrefixToRemove": "/api"}, get("/api/echo?x=1"), get("/other"))
    yield proxy("additionalProxyRequestHeaders", {"additionalProxyRequestHeaders": {"X-More": "2", "X-A": "replaced"}})
    yield proxy("response headers are added", {"headers": {"X-From-Stub": "1", "X-Upstream": "stub"}})
    yield proxy("status and body are ignored", {"status": 202, "body": "x"})
    yield proxy("status of the upstream", {}, get("/status/404"), get("/status/302"), get("/status/204"), get("/status/500"))
    yield proxy("repeated headers", {}, get("/echo", [("X-A", "1"), ("X-A", "2")]))
    yield proxy("delay", {"fixedDelayMilliseconds": 200}, get("/echo", compare="delay", least=0.18, most=10))
    yield proxy("unreachable", {"proxyBaseUrl": "http://127.0.0.1:1"}, get("/echo"))
    yield proxy("template", {"proxyBaseUrl": "@UPSTREAM@/{{request.query.to}}"}, get("/echo?to=there"))
    yield proxy("template in a header", {"additionalProxyRequestHeaders": {"X-More": "{{request.method}}"}})
    yield Case(
        "proxy: removeProxyRequestHeaders is unknown",
        (),
        (
            post(
                "/__admin/mappings",
                stub({"url": "/x"}, {"proxyBaseUrl": "http://a.test", "removeProxyRequestHeaders": ["X-A"]}),
                compare="error",
            ),
        ),
    )


def template_case(name, text, *requests, **definition):
    """A case whose stub answers with the template `text`."""
    return Case(
        "template: " + name,
        (stub({"method": "ANY", "urlPattern": "/.*"}, {"body": text, "transformers": ["response-template"], **definition}),),
        requests or (TEMPLATE_REQUEST,),
    )


TEMPLATE_REQUEST = post(
    "/things/42/a%20b?q=1&q=2&r=x%20y&empty=&deep.name=d",
    {
        "name": "Ann",
        "age": 30,
        "price": 1.50,
        "tags": ["a", "b", "c"],
        "none": None,
        "yes": True,
        "empty": "",
        "list": [],
        "address": {"city": "Rome", "zip": "00100"},
        "items": [{"id": 1, "n": "one"}, {"id": 2, "n": "two"}],
        "text": "<b>\"bold\" & 'x'</b>",
        "date": "2021-06-14T15:15:15Z",
    },
    [
        ("X-One", "1"),
        ("X-Many", "a"),
        ("X-Many", "b"),
        ("Content-Type", "application/json"),
        ("Cookie", "sid=abc; other=x"),
        ("X-Html", "<i>&\"'`="),
    ],
    host="mock.test:8099",
)

XML_REQUEST = post(
    "/x",
    '<?xml version="1.0"?>\n<order id="7"><item><name>Tea</name></item><item><name>Milk &amp; co</name>'
    '</item><note/><t:x xmlns:t="urn:t">ns</t:x></order>',
)
SOAP_REQUEST = post(
    "/x",
    '<soap:Envelope xmlns:soap="http://www.w3.org/2003/05/soap-envelope"><soap:Body><m:a '
    'xmlns:m="urn:m"><m:b>success</m:b></m:a></soap:Body></soap:Envelope>',
)
FORM_REQUEST = post(
    "/f", "item1=one%20two&item1=2&item2=a+b&flag&empty=&x=1=2", {"Content-Type": "application/x-www-form-urlencoded"}
)


@section
def templates():
    for text in wiremock_templates.REQUEST_TEMPLATES:
        compare = "status" if text in ("{{this}}", "{{request}}") else "exact"
        yield template_case("request " + text, text, replace(TEMPLATE_REQUEST, compare=compare))
    for group, texts in [
        ("syntax", wiremock_templates.SYNTAX_TEMPLATES),
        ("strings", wiremock_templates.STRING_TEMPLATES),
        ("conditions", wiremock_templates.CONDITIONAL_TEMPLATES),
        ("numbers", wiremock_templates.NUMBER_TEMPLATES),
        ("json", wiremock_templates.JSON_TEMPLATES),
        ("dates", wiremock_templates.DATE_TEMPLATES),
        ("system", wiremock_templates.SYSTEM_TEMPLATES),
    ]:
        for text in texts:
            yield template_case(f"{group} {text}", text)
    yield template_case("syntax line ends", "{{request.method}}\n\n{{request.method}}\n")
    for text in wiremock_templates.BROKEN_TEMPLATES:
        yield template_case("broken " + text, text, replace(TEMPLATE_REQUEST, compare="status"))
    for text in wiremock_templates.XML_TEMPLATES:
        yield template_case("xml " + text, text, XML_REQUEST)
    for text in wiremock_templates.SOAP_TEMPLATES:
        yield template_case("soap " + text, text, SOAP_REQUEST)
    for text in wiremock_templates.FORM_TEMPLATES:
        yield template_case("form " + text, text, FORM_REQUEST)
    for text, pattern in wiremock_templates.RANDOM_TEMPLATES:
        yield template_case("random " + text, text, get("/x?q=1&q=2", compare="pattern", pattern=pattern))
    for text, tolerance in wiremock_templates.CLOCK_TEMPLATES:
        yield template_case("clock " + text, text, get("/x", compare="near", tolerance=tolerance))


@section
def template_places():
    transform = {"transformers": ["response-template"]}
    yield template_case(
        "place: header", "x", get("/a?x=1"), headers={"X-Path": "{{request.path}}", "X-Q": ["{{request.query.x}}", "y"]}
    )
    yield Case(
        "template: place: jsonBody",
        (stub({}, {"jsonBody": {"m": "{{request.method}}", "{{request.method}}": [1]}, **transform}),),
        (get("/a"),),
    )
    yield Case(
        "template: place: jsonBody that is no JSON afterwards",
        (stub({}, {"jsonBody": {"m": "{{request.query.x}}"}, **transform}),),
        (get("/a?x=1"), get("/a?x=%22", compare="status")),
    )
    yield Case(
        "template: place: base64Body is not a template",
        (stub({}, {"base64Body": base64.b64encode(b"{{request.method}}").decode(), **transform}),),
        (get("/a"),),
    )
    yield Case(
        "template: place: bodyFileName", (stub({}, {"bodyFileName": "template.txt", **transform}),), (get("/a"),), files=FILES
    )
    yield Case(
        "template: place: disableBodyFileTemplating",
        (stub({}, {"bodyFileName": "template.txt", "transformerParameters": {"disableBodyFileTemplating": True}, **transform}),),
        (get("/a"),),
        files=FILES,
    )
    yield Case("template: place: without transformers, globally on", (stub({}, {"body": "{{request.method}}"}),), (get("/a"),))
    yield Case(
        "template: place: transformerParameters",
        (
            stub(
                {},
                {
                    "body": "{{parameters.name}} {{parameters.deep.x}} {{parameters.list.[1]}} {{parameters.none}} {{parameters.n}}",
                    "transformerParameters": {"name": "Ann", "deep": {"x": 1}, "list": [1, 2], "n": 1.50},
                    **transform,
                },
            ),
        ),
        (get("/a"),),
    )
    yield Case(
        "template: place: status message is not a template",
        (stub({}, {"status": 200, "statusMessage": "{{request.method}}", **transform}),),
        (get("/a"),),
    )
    multipart_request = post(
        "/m",
        multipart_body(({"Content-Disposition": 'form-data; name="text"', "Content-Type": "text/plain"}, "hello")),
        {"Content-Type": "multipart/form-data; boundary=XX"},
    )
    for text in ["{{request.parts.text.body}}", "{{request.parts.text.headers.content-type}}", "{{request.parts.text.binary}}"]:
        yield template_case("multipart " + text, text, multipart_request)
    yield template_case("place: text before and after", "a {{request.method}} b }} c {{ d", get("/a", compare="status"))
    yield template_case("place: JSON text around a template", '{"a":{"b":"{{request.method}}"}}', get("/a"))


@section
def not_matched():
    """Only the status and ours are checked: each server describes an unmatched request in its own words."""
    every = (get("/x"), post("/x?a=b", "body"), request("HEAD", "/x"), request("OPTIONS", "/x"))
    yield Case("no match: no stubs", (), every)
    yield Case("no match: another path", (stub({"urlPath": "/y"}),), every)
    yield Case("no match: another method", (stub({"method": "PUT", "urlPath": "/x"}),), every)
    pattern = {"urlPath": "/x", "headers": {"X-A": {"equalTo": "1"}}, "bodyPatterns": [{"equalToJson": {"a": 1}}]}
    yield Case("no match: another header and body", (stub(pattern, name="A stub"),), every)
    yield Case("no match: another state", (stub({"url": "/x"}, scenarioName="s", requiredScenarioState="two"),), every)


@section
def bad_mappings():

    def bad(name, document):
        return Case("bad mapping: " + name, (), (post("/__admin/mappings", document, compare="error"),))

    yield bad("not JSON", "{nope")
    yield bad("empty", "")
    yield bad("array", "[]")
    yield bad("unknown member", {"request": {"url": "/"}, "response": {}, "nonsense": 1})
    yield bad("unknown request member", {"request": {"url": "/", "nonsense": 1}, "response": {}})
    yield bad("unknown response member", {"request": {"url": "/"}, "response": {"nonsense": 1}})
    yield bad("unknown matcher", {"request": {"headers": {"A": {"nonsense": "1"}}}})
    yield bad("empty matcher", {"request": {"headers": {"A": {}}}})
    yield bad("matcher of a wrong type", {"request": {"headers": {"A": {"equalTo": 1}}}})
    yield bad("contains of a wrong type", {"request": {"headers": {"A": {"contains": 1}}}})
    yield bad("matcher as text", {"request": {"headers": {"A": "x"}}})
    yield bad("status as text", {"response": {"status": "x"}})
    yield bad("invalid regex", {"request": {"urlPattern": "("}})
    yield bad("invalid regex in a header", {"request": {"headers": {"A": {"matches": "("}}}})
    yield bad("invalid JSON in equalToJson", {"request": {"bodyPatterns": [{"equalToJson": "{nope"}]}})
    yield bad("invalid XML in equalToXml", {"request": {"bodyPatterns": [{"equalToXml": "<a>"}]}})
    yield bad("expression missing", {"request": {"bodyPatterns": [{"matchesJsonPath": {"equalTo": "x"}}]}})
    yield bad("matcher missing", {"request": {"bodyPatterns": [{"matchesJsonPath": {"expression": "$.a"}}]}})
    yield bad("and of a wrong type", {"request": {"headers": {"A": {"and": {"equalTo": "x"}}}}})
    yield bad("and empty", {"request": {"headers": {"A": {"and": []}}}})
    yield bad("unknown fault", {"response": {"fault": "NOPE"}})
    yield bad("unknown delay type", {"response": {"delayDistribution": {"type": "nope"}}})
    yield bad("invalid base64", {"response": {"base64Body": "***"}})
    yield bad("id that is no UUID", {"id": "x"})
    yield bad("priority as text", {"priority": "x"})
    yield bad("bodyPatterns as object", {"request": {"bodyPatterns": {"equalTo": "x"}}})
    yield bad("date unit", {"request": {"headers": {"A": {"before": "now +3 parsecs"}}}})
    yield bad("truncation", {"request": {"headers": {"A": {"before": "now", "truncateExpected": "nope"}}}})
    for matcher in ["not", "hasExactly", "includes", "matchesJsonSchema", "equalToNumber"]:
        yield bad("only in version 3: " + matcher, {"request": {"headers": {"A": {matcher: "x"}}}})
    for member in ["urlPathTemplate", "formParameters", "pathParameters", "clientIp"]:
        yield bad("only in version 3: " + member, {"request": {member: "x"}})
    for document in [
        {},
        {"request": {}},
        {"response": {}},
        {"request": None},
        {"$schema": "x"},
        {"metadata": {"a": [1]}},
        {"persistent": False},
        {"postServeActions": []},
        {"request": {"url": "/", "customMatcher": {"name": "none"}}},
    ]:
        yield Case(
            "mapping: accepted " + json.dumps(document), (), (post("/__admin/mappings", document, compare="json"), get("/"))
        )
    yield Case(
        "mapping: comments and single quotes",
        (),
        (post("/__admin/mappings", "{'request': {'url': '/'}, /* c */ 'response': {'body': 'x'}}", compare="json"), get("/")),
    )


@section
def verification():
    """Counting and finding requests by pattern: each question is compared after the same three requests."""
    sent = (get("/a?x=1", {"X-A": "1"}), post("/b", '{"a":1}', {"Content-Type": "application/json"}), get("/none"))
    stubs = (stub({"urlPath": "/a"}), stub({"urlPath": "/b"}))
    for pattern in [
        {},
        {"method": "GET"},
        {"method": "ANY"},
        {"url": "/a"},
        {"url": "/a?x=1"},
        {"urlPath": "/a"},
        {"urlPattern": "/.*"},
        {"urlPathPattern": "/[ab]"},
        {"headers": {"X-A": {"equalTo": "1"}}},
        {"headers": {"X-A": {"absent": True}}},
        {"queryParameters": {"x": {"equalTo": "1"}}},
        {"bodyPatterns": [{"equalToJson": {"a": 1}}]},
        {"method": "POST", "bodyPatterns": [{"matchesJsonPath": "$.a"}]},
        {"bodyPatterns": [{"absent": True}]},
    ]:
        yield Case(
            "verify: count " + json.dumps(pattern), stubs, sent + (post("/__admin/requests/count", pattern, compare="json"),)
        )
        yield Case(
            "verify: find " + json.dumps(pattern), stubs, sent + (post("/__admin/requests/find", pattern, compare="json"),)
        )
