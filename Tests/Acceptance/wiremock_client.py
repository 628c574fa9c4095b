"""The Python client of WireMock, unchanged, against the URL of a server: its whole resource API. Prints each check as JSON.

    wiremock_client.py URL     run it with `python -I`, or wiremock.py beside it hides the package
"""

import json
import sys
import urllib.error
import urllib.request

from wiremock.client import (
    BasicAuthCredentials,
    CommonHeaders,
    DelayDistribution,
    DelayDistributionMethods,
    GlobalSetting,
    GlobalSettings,
    HttpMethods,
    Mapping,
    MappingRequest,
    MappingResponse,
    Mappings,
    NearMisses,
    NearMissMatchPatternRequest,
    NearMissMatchRequest,
    Requests,
    ResponseFaultType,
    Scenarios,
    WireMockMatchers,
)
from wiremock.constants import Config
from wiremock.exceptions import InvalidInputException, NotFoundException

URL = sys.argv[1]
Config.base_url = f"{URL}/__admin"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def that(holds, what, seen=""):
    print(json.dumps([bool(holds), what, str(seen)]), flush=True)


def equal(one, other, what):
    that(one == other, what, f"{one!r}, not {other!r}")


def raises(kind, what, call, *words):
    try:
        that(False, what, call(*words))
    except kind as error:
        that(True, what, error)


def send(method, path, body=None, headers=()):
    """The status and the text of an answer, or the name of the error."""
    data = body.encode() if body is not None else None
    try:
        with opener.open(urllib.request.Request(URL + path, data, dict(headers), method=method), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, type(error).__name__


def url_of(path):
    return MappingRequest(method=HttpMethods.GET, url=path)


def mappings():
    Mappings.delete_all_mappings()
    made = Mappings.create_mapping(
        Mapping(
            priority=3,
            request=MappingRequest(
                method=HttpMethods.POST,
                url_path="/orders",
                headers={CommonHeaders.CONTENT_TYPE: {WireMockMatchers.CONTAINS: "json"}},
                query_parameters={"page": {WireMockMatchers.MATCHES: "[0-9]+"}},
                cookies={"sid": {WireMockMatchers.EQUAL_TO: "1"}},
                basic_auth_credentials=BasicAuthCredentials(username="ann", password="secret"),
                body_patterns=[{WireMockMatchers.EQUAL_TO_JSON: {"item": "tea"}, "ignoreExtraElements": True}],
            ),
            response=MappingResponse(status=201, json_body={"id": 7}, headers={"Content-Type": "application/json"}),
            metadata={"team": "a"},
        )
    )
    that(made.id, "a mapping is created and gets an id", made.get_json_data())
    headers = {"Content-Type": "application/json", "Cookie": "sid=1", "Authorization": "Basic YW5uOnNlY3JldA=="}
    equal(send("POST", "/orders?page=2", '{"item": "tea", "n": 1}', headers), (201, '{"id":7}'), "the mapping answers")
    equal(send("POST", "/orders?page=x", '{"item": "tea"}', headers)[0], 404, "another query parameter is not matched")
    found = Mappings.retrieve_mapping(made.id)
    equal((found.priority, found.request.url_path, found.response.status), (3, "/orders", 201), "the mapping is retrieved")
    equal(found.metadata, {"team": "a"}, "its metadata is retrieved")
    equal(found.request.basic_auth_credentials.username, "ann", "its credentials are retrieved")
    equal(found.request.body_patterns[0]["equalToJson"], {"item": "tea"}, "its body patterns are retrieved")
    Mappings.create_mapping(Mapping(request=url_of("/other"), response=MappingResponse(body="other"), metadata={"team": "b"}))
    every = Mappings.retrieve_all_mappings()
    equal((every.meta.total, [one.request.url for one in every.mappings]), (2, [None, "/other"]), "all mappings are listed in order")
    equal(len(Mappings.retrieve_all_mappings({"limit": 1, "offset": 1}).mappings), 1, "the list has a limit and an offset")
    found.response.status, found.response.json_body, found.response.body = 200, None, "changed"
    equal(Mappings.update_mapping(found).response.body, "changed", "a mapping is updated")
    equal(send("POST", "/orders?page=2", '{"item": "tea"}', headers), (200, "changed"), "the updated mapping answers")
    Mappings.delete_mapping_by_metadata({"matchesJsonPath": {"expression": "$.team", "equalTo": "b"}})
    equal(Mappings.retrieve_all_mappings().meta.total, 1, "mappings are deleted by metadata")
    Mappings.delete_mapping(made.id)
    equal(send("POST", "/orders?page=2", '{"item": "tea"}', headers)[0], 404, "a deleted mapping no longer answers")
    raises(NotFoundException, "a deleted mapping is not found", Mappings.retrieve_mapping, made.id)
    raises(NotFoundException, "a deleted mapping can't be updated", Mappings.update_mapping, found)
    broken = Mapping(request=MappingRequest(url_pattern="("), response=MappingResponse())
    raises(InvalidInputException, "an invalid mapping is refused", Mappings.create_mapping, broken)


def persistence():
    Mappings.delete_all_mappings()
    Mappings.create_mapping(Mapping(request=url_of("/saved"), response=MappingResponse(body="saved")))
    equal(Mappings.persist_mappings().status_code, 200, "mappings are saved")
    Mappings.create_mapping(Mapping(request=url_of("/temporary"), response=MappingResponse(body="temporary")))
    equal(Mappings.reset_mappings().status_code, 200, "mappings are reset")
    seen = send("GET", "/saved"), send("GET", "/temporary")[0]
    equal(seen, ((200, "saved"), 404), "after a reset there are the saved mappings only")
    Mappings.delete_all_mappings()
    Mappings.reset_mappings()
    equal(Mappings.retrieve_all_mappings().meta.total, 0, "deleted mappings don't come back")


def responses():
    Mappings.delete_all_mappings()
    made = {
        "/text": MappingResponse(status=202, status_message="Fine", body="é", headers={"X-Many": ["1", "2"]}),
        "/bytes": MappingResponse(base64_body="aGVsbG8="),
        "/template": MappingResponse(body="{{request.query.q}}", transformers=["response-template"]),
        "/slow": MappingResponse(body="slow", fixed_delay_milliseconds=50),
        "/random": MappingResponse(
            body="random",
            delay_distribution=DelayDistribution(distribution_type=DelayDistributionMethods.UNIFORM, lower=1, upper=5)),
        "/fault": MappingResponse(fault=ResponseFaultType.EMPTY_RESPONSE),
    }
    for path, response in made.items():
        Mappings.create_mapping(Mapping(request=MappingRequest(method="ANY", url_path=path), response=response))
    equal(send("GET", "/text"), (202, "é"), "a text is answered")
    equal(send("GET", "/bytes"), (200, "hello"), "bytes are answered")
    equal(send("GET", "/template?q=x"), (200, "x"), "a template is filled")
    equal((send("GET", "/slow"), send("GET", "/random")), ((200, "slow"), (200, "random")), "delayed answers arrive")
    equal(send("GET", "/fault")[0], 0, "a fault breaks the connection")


def requests():
    Mappings.delete_all_mappings()
    Requests.reset_request_journal()
    Mappings.create_mapping(Mapping(request=MappingRequest(method="ANY", url_path="/seen"), response=MappingResponse(body="x")))
    send("POST", "/seen?a=1", "hello", {"X-Test": "1", "Cookie": "sid=2"})
    send("GET", "/seen")
    send("GET", "/seem")
    every = Requests.get_all_received_requests(parameters={})
    equal((every.meta.total, every.request_journal_disabled), (3, False), "all requests are in the journal")
    equal([one.request.url for one in every.requests], ["/seem", "/seen", "/seen?a=1"], "the newest comes first")
    equal(len(Requests.get_all_received_requests(limit=1, parameters={}).requests), 1, "the journal is read with a limit")
    later = Requests.get_all_received_requests(since="2999-01-01T00:00:00Z", parameters={})
    equal(later.requests, [], "the journal is read from a moment on")
    one = Requests.get_request(every.requests[2].id)
    equal((one.request.method, one.request.body, one.request.headers["X-Test"]), ("POST", "hello", "1"), "a request is retrieved")
    equal((one.request.cookies, one.request.body_as_base64), ({"sid": "2"}, "aGVsbG8="), "with its cookies and bytes")
    equal(one.response_definition.status, 200, "and its response")
    raises(NotFoundException, "an unknown request is not found", Requests.get_request, "11111111-2222-3333-4444-555555555555")
    pattern = NearMissMatchPatternRequest(url_path="/seen", method="POST", headers={"X-Test": {"equalTo": "1"}})
    equal(Requests.get_matching_request_count(pattern).count, 1, "matching requests are counted")
    found = Requests.get_matching_requests(NearMissMatchPatternRequest(url_path="/seen", method="ANY")).requests
    equal([one.method for one in found], ["POST", "GET"], "matching requests are found, the oldest first")
    equal([one.url for one in Requests.get_unmatched_requests().requests], ["/seem"], "unmatched requests are found")
    near = Requests.get_unmatched_requests_near_misses().near_misses
    that(len(near) == 1 and near[0].request.url == "/seem", "the stub nearest to an unmatched request is found", near)
    that(0 < near[0].match_result.distance < 0.5, "its distance is small", near[0].match_result.distance)
    asked = NearMissMatchRequest(url="/seem", absolute_url=f"{URL}/seem", method="GET", headers={}, client_ip="127.0.0.1")
    near = NearMisses.find_nearest_misses_by_request(asked).near_misses
    that(len(near) == 1 and near[0].match_result.distance > 0, "the stub nearest to a request is found", near)
    near = NearMisses.find_nearest_misses_by_request_pattern(NearMissMatchPatternRequest(url="/seem2", method="GET")).near_misses
    equal([len(near), near[0].request.url], [3, "/seem"], "the requests nearest to a pattern are found")
    Requests.reset_request_journal()
    equal(Requests.get_all_received_requests(parameters={}).requests, [], "the journal is reset")


def scenarios():
    Mappings.delete_all_mappings()
    for required, new, text in (("Started", "two", "first"), ("two", None, "second")):
        Mappings.create_mapping(
            Mapping(
                request=url_of("/step"), response=MappingResponse(body=text), scenario_name="steps",
                required_scenario_state=required, new_scenario_state=new))
    seen = [send("GET", "/step")[1] for _ in range(3)]
    equal(seen, ["first", "second", "second"], "a scenario moves on")
    equal(Scenarios.reset_all_scenarios().status_code, 200, "scenarios are reset")
    equal(send("GET", "/step")[1], "first", "a reset scenario starts again")


def settings():
    Mappings.delete_all_mappings()
    Mappings.create_mapping(Mapping(request=url_of("/x"), response=MappingResponse(body="x")))
    for delay in (30, 0):
        try:
            GlobalSettings.update_global_settings(GlobalSetting(fixed_delay=delay))
        except ValueError:
            pass  # WireMock's answer has no body, which the client can't read.
        shown = json.loads(send("GET", "/__admin/settings")[1])["settings"]
        equal(shown.get("fixedDelay"), delay, "global settings are updated")
        equal(send("GET", "/x"), (200, "x"), f"a stub answers with a global delay of {delay} ms")


for section in (mappings, persistence, responses, requests, scenarios, settings):
    section()
Mappings.delete_all_mappings()
