"""The cases of `wiremock.py` for the admin API."""

from wiremock_cases import FILES, FIXED_ID, OTHER_ID, Case, get, multipart_body, post, request, section, stub

PLAIN = {
    "id": FIXED_ID,
    "name": "one",
    "request": {"method": "GET", "urlPath": "/one"},
    "response": {"status": 200, "body": "1"},
    "metadata": {"team": "a", "n": [1, {"x": 2}]},
}
OTHER = {
    "id": OTHER_ID,
    "priority": 3,
    "scenarioName": "s",
    "requiredScenarioState": "Started",
    "newScenarioState": "two",
    "request": {
        "method": "POST",
        "url": "/two",
        "headers": {"X-A": {"contains": "b"}},
        "bodyPatterns": [{"equalToJson": '{"a":1}'}],
    },
    "response": {"status": 201, "jsonBody": {"a": 1}, "headers": {"X-B": ["1", "2"]}, "fixedDelayMilliseconds": 1},
}


def ask(method, path, body=None, headers=(), **options):
    """A request to the admin API, compared as JSON."""
    return request(method, "/__admin" + path, body, headers, **{"compare": "json", **options})


@section
def admin_mappings():
    both = (PLAIN, OTHER)
    yield Case("admin mappings: empty", (), (ask("GET", "/mappings"), ask("GET", ""), ask("GET", "/")))
    yield Case(
        "admin mappings: list",
        both,
        (
            ask("GET", "/mappings"),
            ask("GET", "/mappings?limit=1"),
            ask("GET", "/mappings?offset=1"),
            ask("GET", "/mappings?limit=1&offset=1"),
            ask("GET", "/mappings?limit=0"),
            ask("GET", "/mappings?limit=9&offset=9"),
            ask("GET", "/mappings?limit=x", compare="error"),
            ask("GET", "/mappings?limit=-1", compare="error"),
        ),
    )
    yield Case(
        "admin mappings: create",
        (),
        (
            ask("POST", "/mappings", PLAIN),
            ask("POST", "/mappings", OTHER),
            ask("POST", "/mappings", {}),
            ask("POST", "/mappings/new", PLAIN),
            ask("POST", "/mappings", {"request": {"url": "/x"}}),
        ),
    )
    for name, pattern in [
        ("every url", {"urlPathPattern": "/a"}),
        (
            "matchers",
            {
                "headers": {
                    "A": {"equalTo": "x", "caseInsensitive": True},
                    "B": {"matches": "x"},
                    "C": {"absent": True},
                    "D": {"contains": "x"},
                    "E": {"and": [{"contains": "x"}, {"matches": "y"}]},
                    "F": {"doesNotMatch": "x"},
                    "G": {"before": "now +3 days"},
                    "H": {"or": [{"equalTo": "x"}, {"absent": True}]},
                }
            },
        ),
        (
            "bodies",
            {
                "bodyPatterns": [
                    {"equalToJson": {"a": 1.50}, "ignoreArrayOrder": True},
                    {"equalToJson": '{ "a":1}'},
                    {"matchesJsonPath": "$.a"},
                    {"matchesJsonPath": {"expression": "$.a", "equalTo": "x"}},
                    {"equalToXml": "<a/>", "enablePlaceholders": True},
                    {"matchesXPath": "//a", "xPathNamespaces": {"a": "urn:a"}},
                    {"matchesXPath": {"expression": "//a", "contains": "x"}},
                    {"binaryEqualTo": "AAE="},
                    {"absent": True},
                ]
            },
        ),
        (
            "the rest",
            {
                "method": "ANY",
                "urlPattern": ".*",
                "queryParameters": {"a": {"equalTo": "x"}},
                "cookies": {"c": {"matches": "x"}},
                "basicAuth": {"username": "u", "password": "p"},
                "host": {"equalTo": "h"},
                "port": 1,
                "scheme": "http",
                "multipartPatterns": [
                    {"name": "n", "matchingType": "ALL", "headers": {"A": {"equalTo": "x"}}, "bodyPatterns": [{"contains": "x"}]}
                ],
            },
        ),
    ]:
        yield Case(
            "admin mappings: serialise request, " + name, (), (ask("POST", "/mappings", {"id": FIXED_ID, "request": pattern}),)
        )
    for name, definition in [
        ("plain", {"status": 200, "body": "x", "statusMessage": "m", "headers": {"A": "x", "B": ["y", "z"]}}),
        ("json", {"jsonBody": {"a": [1, 2.50, 1e3]}}),
        ("base64", {"base64Body": "AAE="}),
        ("file", {"bodyFileName": "a"}),
        (
            "delays",
            {
                "fixedDelayMilliseconds": 1,
                "delayDistribution": {"type": "lognormal", "median": 1, "sigma": 0.5},
                "chunkedDribbleDelay": {"numberOfChunks": 2, "totalDuration": 3},
            },
        ),
        ("uniform", {"delayDistribution": {"type": "uniform", "lower": 1, "upper": 2}}),
        ("fault", {"fault": "EMPTY_RESPONSE"}),
        ("proxy", {"proxyBaseUrl": "http://a.test", "proxyUrlPrefixToRemove": "/x", "additionalProxyRequestHeaders": {"A": "x"}}),
        ("transformers", {"transformers": ["response-template"], "transformerParameters": {"a": 1}}),
    ]:
        yield Case(
            "admin mappings: serialise response, " + name,
            (),
            (ask("POST", "/mappings", {"id": FIXED_ID, "response": definition}),),
        )
    yield Case(
        "admin mappings: one",
        both,
        (
            ask("GET", "/mappings/" + FIXED_ID),
            ask("GET", "/mappings/" + OTHER_ID),
            ask("GET", "/mappings/00000000-0000-0000-0000-000000000000", compare="status"),
            ask("GET", "/mappings/no-uuid", compare="status"),
        ),
    )
    yield Case(
        "admin mappings: replace",
        both,
        (
            ask("PUT", "/mappings/" + FIXED_ID, {"request": {"url": "/new"}, "response": {"body": "new"}}),
            get("/new"),
            ask("GET", "/mappings"),
            ask("PUT", "/mappings/00000000-0000-0000-0000-000000000000", PLAIN, compare="status"),
            ask("PUT", "/mappings/" + FIXED_ID, "{nope", compare="error"),
            ask("POST", "/mappings/edit", PLAIN, compare="status"),
        ),
    )
    yield Case(
        "admin mappings: delete",
        both,
        (
            ask("DELETE", "/mappings/" + FIXED_ID),
            ask("GET", "/mappings/" + FIXED_ID, compare="status"),
            ask("DELETE", "/mappings/" + FIXED_ID, compare="status"),
            ask("DELETE", "/mappings/no-uuid", compare="status"),
            ask("POST", "/mappings/remove", OTHER, compare="status"),
            ask("GET", "/mappings"),
            ask("DELETE", "/mappings"),
        ),
    )
    yield Case(
        "admin mappings: reset",
        both,
        (
            ask("POST", "/mappings/reset"),
            ask("GET", "/mappings"),
            ask("POST", "/reset"),
            ask("DELETE", "/mappings"),
            ask("GET", "/mappings"),
        ),
    )
    yield Case(
        "admin mappings: metadata",
        both,
        (
            ask("POST", "/mappings/find-by-metadata", {"matchesJsonPath": {"expression": "$.team", "equalTo": "a"}}),
            ask("POST", "/mappings/find-by-metadata", {"equalToJson": {"team": "a"}, "ignoreExtraElements": True}),
            ask("POST", "/mappings/find-by-metadata", {"matchesJsonPath": "$.none"}),
            ask("POST", "/mappings/find-by-metadata", {"absent": True}),
            ask("POST", "/mappings/find-by-metadata", "{nope", compare="error"),
            ask("POST", "/mappings/find-by-metadata", {}, compare="error"),
            ask("POST", "/mappings/remove-by-metadata", {"matchesJsonPath": "$.team"}),
            ask("GET", "/mappings"),
        ),
    )
    yield Case(
        "admin mappings: import",
        both,
        (
            ask("POST", "/mappings/import", {"mappings": [{**PLAIN, "name": "changed"}, {"request": {"url": "/i"}}]}),
            ask("GET", "/mappings"),
            ask("POST", "/mappings/import", {"mappings": [PLAIN], "importOptions": {"duplicatePolicy": "IGNORE"}}),
            ask("GET", "/mappings"),
            ask(
                "POST",
                "/mappings/import",
                {"mappings": [PLAIN], "importOptions": {"duplicatePolicy": "OVERWRITE", "deleteAllNotInImport": True}},
            ),
            ask("GET", "/mappings"),
            ask("POST", "/mappings/import", {"mappings": []}),
            ask("POST", "/mappings/import", {}, compare="status"),
            ask("POST", "/mappings/import", {"nope": 1}, compare="error"),
        ),
    )
    yield Case(
        "admin mappings: save",
        (PLAIN,),
        (
            ask("POST", "/mappings/save"),
            ask("POST", "/mappings/reset"),
            ask("GET", "/mappings"),
            ask("DELETE", "/mappings"),
            ask("POST", "/mappings/reset"),
            ask("GET", "/mappings"),
        ),
    )
    yield Case(
        "admin mappings: persistent",
        (),
        (
            ask("POST", "/mappings", {**PLAIN, "persistent": True}),
            ask("POST", "/mappings/reset"),
            ask("GET", "/mappings"),
            ask("DELETE", "/mappings/" + FIXED_ID),
            ask("POST", "/mappings/reset"),
            ask("GET", "/mappings"),
        ),
    )


@section
def admin_requests():
    sent = (
        get("/one?x=1&y=2&y=3", {"X-A": "1", "Cookie": "a=b"}),
        post("/two", '{"a":2}', {"Content-Type": "application/json"}),
        get("/none"),
    )
    both = (PLAIN, OTHER)
    yield Case(
        "admin requests: empty",
        (),
        (ask("GET", "/requests"), ask("GET", "/requests/unmatched"), ask("GET", "/requests/unmatched/near-misses")),
    )
    yield Case(
        "admin requests: list",
        both,
        sent
        + (
            ask("GET", "/requests"),
            ask("GET", "/requests?limit=1"),
            ask("GET", "/requests?limit=0"),
            ask("GET", "/requests?unmatched=true"),
            ask("GET", "/requests?unmatched=false"),
            ask("GET", "/requests?matchingStub=" + FIXED_ID),
            ask("GET", "/requests?matchingStub=" + OTHER_ID),
            ask("GET", "/requests?matchingStub=x", compare="error"),
            ask("GET", "/requests?since=2000-01-01T00:00:00Z"),
            ask("GET", "/requests?since=2999-01-01T00:00:00Z"),
            ask("GET", "/requests?since=x", compare="error"),
            ask("GET", "/requests?limit=x", compare="error"),
            ask("GET", "/requests?limit=-1", compare="error"),
        ),
    )
    yield Case(
        "admin requests: bodies",
        both,
        (
            post("/none", bytes([0, 255, 254])),
            post("/none", "é"),
            post("/none", b"\xe9", {"Content-Type": "text/plain; charset=iso-8859-1"}),
            request("POST", "/none"),
            get("/none", [("X-A", "1"), ("X-A", "2")]),
            post(
                "/none",
                multipart_body(({"Content-Disposition": 'form-data; name="t"'}, "hello")),
                {"Content-Type": "multipart/form-data; boundary=XX"},
            ),
            ask("GET", "/requests"),
        ),
    )
    yield Case(
        "admin requests: one",
        both,
        sent[:1]
        + (
            ask("GET", "/requests/@EVENT@"),
            ask("DELETE", "/requests/@EVENT@"),
            ask("GET", "/requests"),
            ask("GET", "/requests/" + FIXED_ID, compare="status"),
            ask("GET", "/requests/no-uuid", compare="status"),
            ask("DELETE", "/requests/" + FIXED_ID, compare="status"),
        ),
    )
    yield Case(
        "admin requests: one with a file, a fault and a proxy",
        (
            stub({"url": "/file"}, {"bodyFileName": "plain.txt"}, id=FIXED_ID),
            stub({"url": "/fault"}, {"fault": "EMPTY_RESPONSE"}, id=OTHER_ID),
            stub({"url": "/proxy"}, {"proxyBaseUrl": "@UPSTREAM@"}),
        ),
        (
            get("/file"),
            ask("GET", "/requests/@EVENT@"),
            get("/fault", compare="fault"),
            ask("GET", "/requests/@EVENT@"),
            get("/proxy"),
            ask("GET", "/requests/@EVENT@"),
        ),
        files=FILES,
    )
    yield Case(
        "admin requests: find and count",
        both,
        sent
        + (
            ask("POST", "/requests/find", {"urlPath": "/one"}),
            ask("POST", "/requests/count", {"urlPath": "/one"}),
            ask("POST", "/requests/count", "{nope", compare="error"),
            ask("POST", "/requests/find", "", compare="status"),
            ask("POST", "/requests/count", "", compare="status"),
            ask("POST", "/requests/count", {"nope": 1}, compare="error"),
        ),
    )
    yield Case(
        "admin requests: remove",
        both,
        sent
        + (
            ask("POST", "/requests/remove", {"urlPath": "/one"}),
            ask("GET", "/requests?limit=1"),
            ask("POST", "/requests/remove", {"url": "/nothing"}),
            ask("POST", "/requests/remove-by-metadata", {"matchesJsonPath": "$.team"}),
            ask("DELETE", "/requests"),
            ask("GET", "/requests"),
        ),
    )
    yield Case(
        "admin requests: remove by metadata",
        both,
        sent
        + (
            ask("POST", "/requests/remove-by-metadata", {"matchesJsonPath": {"expression": "$.team", "equalTo": "a"}}),
            ask("GET", "/requests"),
        ),
    )
    yield Case("admin requests: reset", both, sent + (ask("POST", "/requests/reset"), ask("GET", "/requests")))
    yield Case(
        "admin requests: unmatched",
        both,
        sent + (ask("GET", "/requests/unmatched"), ask("GET", "/requests/unmatched/near-misses")),
    )
    yield Case(
        "admin near misses: of a request",
        both,
        (
            ask(
                "POST",
                "/near-misses/request",
                {"url": "/one", "absoluteUrl": "http://h/one", "method": "POST", "headers": {}, "clientIp": "1.2.3.4"},
            ),
            ask(
                "POST",
                "/near-misses/request",
                {"url": "/two", "absoluteUrl": "http://h/two", "method": "POST", "headers": {"X-A": "abc"}},
            ),
            ask("POST", "/near-misses/request", "{nope", compare="error"),
            ask("POST", "/near-misses/request", {}, compare="status"),
        ),
    )
    yield Case(
        "admin near misses: of a pattern",
        both,
        sent
        + (
            ask("POST", "/near-misses/request-pattern", {"method": "GET", "url": "/on"}),
            ask("POST", "/near-misses/request-pattern", {"urlPath": "/one"}),
            ask("POST", "/near-misses/request-pattern", {}),
            ask("POST", "/near-misses/request-pattern", {"nope": 1}, compare="error"),
        ),
    )


@section
def admin_rest():
    yield Case(
        "admin scenarios",
        (OTHER,),
        (
            ask("GET", "/scenarios"),
            post("/two", '{"a":1}', {"X-A": "b"}),
            ask("GET", "/scenarios"),
            ask("POST", "/scenarios/reset"),
            ask("GET", "/scenarios"),
            ask("PUT", "/scenarios/s/state", {"state": "two"}),
            ask("GET", "/scenarios"),
            ask("PUT", "/scenarios/s/state"),
            ask("PUT", "/scenarios/s/state", {"state": "nope"}, compare="error"),
            ask("PUT", "/scenarios/none/state", {"state": "two"}, compare="error"),
            ask("PUT", "/scenarios/s/state", "{nope", compare="error"),
            ask("DELETE", "/scenarios", compare="status"),
            ask("GET", "/scenarios/s", compare="status"),
        ),
    )
    yield Case("admin scenarios: none", (), (ask("GET", "/scenarios"),))
    yield Case(
        "admin settings",
        (),
        (
            ask("GET", "/settings"),
            ask("POST", "/settings", {"fixedDelay": 5}),
            ask("GET", "/settings"),
            ask("PUT", "/settings", {"settings": {"fixedDelay": 6}}),
            ask("GET", "/settings"),
            ask("POST", "/settings", {"delayDistribution": {"type": "uniform", "lower": 1, "upper": 2}}),
            ask("GET", "/settings"),
            ask("PATCH", "/settings/extended", {"a": {"b": 1}}),
            ask("GET", "/settings"),
            ask("POST", "/settings", {"extended": {}, "proxyPassThrough": False}),
            ask("GET", "/settings"),
            ask("POST", "/settings", {"nope": 1}, compare="error"),
            ask("POST", "/settings", {}),
            ask("GET", "/settings"),
        ),
    )
    yield Case(
        "admin reset",
        (PLAIN,),
        (get("/one"), ask("POST", "/reset"), ask("GET", "/mappings"), ask("GET", "/requests"), ask("GET", "/settings")),
    )
    yield Case(
        "admin files",
        (),
        (
            ask("GET", "/files"),
            ask("PUT", "/files/a.txt", "hello"),
            ask("PUT", "/files/d/b.txt", "deep"),
            ask("GET", "/files"),
            ask("GET", "/files/a.txt", compare="status"),
            get("/a.txt", compare="file"),
            ask("DELETE", "/files/a.txt"),
            ask("DELETE", "/files/d/b.txt"),
            ask("DELETE", "/files/none.txt", compare="status"),
            ask("PUT", "/files/../out.txt", "x", compare="status"),
        ),
    )
    yield Case(
        "admin unknown",
        (),
        (
            ask("GET", "/nope", compare="exact"),
            ask("POST", "/nope", "x", compare="exact"),
            ask("PUT", "/mappings", {}, compare="exact"),
            ask("GET", "/health", compare="status"),
            ask("GET", "/version", compare="status"),
            ask("PATCH", "/mappings/" + FIXED_ID, {}, compare="status"),
            ask("GET", "/reset", compare="status"),
            ask("HEAD", "/mappings", compare="status"),
            ask("OPTIONS", "/mappings", compare="status"),
            ask("GET", "/requests/count", compare="status"),
            ask("DELETE", "/scenarios/s", compare="status"),
        ),
    )
    yield Case(
        "admin recordings",
        (),
        (
            ask("GET", "/recordings/status", compare="status"),
            ask("POST", "/recordings/start", {"targetBaseUrl": "@UPSTREAM@"}, compare="status"),
            ask("POST", "/recordings/stop", compare="status"),
            ask("DELETE", "/mappings"),
        ),
    )
