import static com.github.tomakehurst.wiremock.client.WireMock.*;
import static com.github.tomakehurst.wiremock.stubbing.StubImport.stubImport;

import com.github.tomakehurst.wiremock.admin.model.ServeEventQuery;
import com.github.tomakehurst.wiremock.client.VerificationException;
import com.github.tomakehurst.wiremock.client.WireMock;
import com.github.tomakehurst.wiremock.common.Metadata;
import com.github.tomakehurst.wiremock.global.GlobalSettings;
import com.github.tomakehurst.wiremock.http.Fault;
import com.github.tomakehurst.wiremock.matching.RequestPattern;
import com.github.tomakehurst.wiremock.stubbing.Scenario;
import com.github.tomakehurst.wiremock.stubbing.ServeEvent;
import com.github.tomakehurst.wiremock.stubbing.StubMapping;
import com.github.tomakehurst.wiremock.verification.LoggedRequest;
import com.github.tomakehurst.wiremock.verification.NearMiss;
import java.io.File;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;

/**
 * WireMock's own Java client, unchanged, against a server that is not WireMock's. Prints a line for each check: "held" or
 * "broken", what it checks, and what was seen, with tabs between.
 *
 * <p>java -cp WIREMOCK.jar WireMockClient.java PORT FOLDER
 */
public class WireMockClient {
  static final UUID ID = UUID.fromString("11111111-2222-3333-4444-555555555555");
  static final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  static int port;
  static WireMock wireMock;

  interface Section {
    void run() throws Exception;
  }

  static void that(boolean holds, String what, Object seen) {
    String text = String.valueOf(seen).replaceAll("\\s+", " ");
    System.out.println((holds ? "held" : "broken") + "\t" + what + "\t" + text);
  }

  static void equal(Object one, Object other, String what) {
    that(one.equals(other), what, one + ", not " + other);
  }

  static void throwing(Class<? extends Throwable> kind, String what, Section section) {
    try {
      section.run();
      that(false, what, "nothing is thrown");
    } catch (Throwable error) {
      that(kind.isInstance(error), what, error);
    }
  }

  /** Runs a part. If it throws, the other parts still run. */
  static void part(String title, Section section) {
    try {
      resetAllRequests();
      wireMock.removeMappings();
      section.run();
    } catch (Throwable error) {
      that(false, title, error);
    }
  }

  /** The status and the text of an answer. */
  static String send(String method, String path, String body, String... headers) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path));
    if (headers.length > 0) request.headers(headers);
    request.method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body));
    HttpResponse<String> response = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    return response.statusCode() + " " + response.body();
  }

  static String get(String path) throws Exception {
    return send("GET", path, null);
  }

  static String status(String path) throws Exception {
    return get(path).substring(0, 3);
  }

  static void stubs() throws Exception {
    StubMapping made = stubFor(WireMock.get(urlPathEqualTo("/thing")).withId(ID).withName("A thing")
        .withQueryParam("q", matching("[a-z]+")).withHeader("X-A", equalTo("1").or(absent())).atPriority(2)
        .withMetadata(Metadata.metadata().attr("team", "a")).willReturn(okJson("{\"a\":1}")));
    equal(made.getId(), ID, "a stub is made");
    equal(get("/thing?q=x"), "200 {\"a\":1}", "the stub answers");
    equal(status("/thing?q=1"), "404", "it answers only what it matches");
    stubFor(WireMock.post("/orders").withBasicAuth("ann", "secret").withCookie("sid", containing("1"))
        .withRequestBody(equalToJson("{\"item\":\"tea\"}", true, true))
        .withRequestBody(matchingJsonPath("$.n", equalTo("2"))).willReturn(created().withBody("made")));
    String basic = "Basic YW5uOnNlY3JldA==";
    equal(send("POST", "/orders", "{\"item\":\"tea\",\"n\":2}", "Authorization", basic, "Cookie", "sid=1"), "201 made",
        "a stub with conditions on the body, cookies and credentials answers");
    stubFor(WireMock.any(urlMatching("/xml/.*")).withRequestBody(equalToXml("<a><b/></a>"))
        .withRequestBody(matchingXPath("//b")).willReturn(okXml("<c/>")));
    equal(send("PUT", "/xml/1", "<a> <b></b> </a>"), "200 <c/>", "a stub with conditions on XML answers");
    stubFor(WireMock.get("/fault").willReturn(aResponse().withFault(Fault.CONNECTION_RESET_BY_PEER)));
    throwing(java.io.IOException.class, "a fault breaks the connection", () -> get("/fault"));
    equal(listAllStubMappings().getMappings().size(), 4, "all stubs are listed");
    equal(wireMock.getStubMapping(ID).getItem().getName(), "A thing", "a stub is retrieved");
    throwing(Exception.class, "an unknown stub is not found", () -> wireMock.getStubMapping(UUID.randomUUID()));
  }

  static void changing() throws Exception {
    stubFor(WireMock.get("/thing").withId(ID).willReturn(ok("first")));
    editStub(WireMock.get("/thing").withId(ID).willReturn(ok("second")));
    equal(get("/thing"), "200 second", "a stub is edited");
    removeStub(wireMock.getStubMapping(ID).getItem());
    equal(status("/thing"), "404", "a stub is removed");
  }

  static void metadata() throws Exception {
    for (String team : List.of("a", "b")) {
      stubFor(WireMock.get("/" + team).withMetadata(Metadata.metadata().attr("team", team)).willReturn(ok(team)));
    }
    List<StubMapping> found = findStubsByMetadata(matchingJsonPath("$.team", equalTo("a")));
    equal(found.size(), 1, "stubs are found by metadata");
    equal(found.get(0).getMetadata().getString("team"), "a", "their metadata is read");
    get("/a");
    equal(removeEventsByStubMetadata(matchingJsonPath("$.team", equalTo("a"))).size(), 1, "requests are removed by metadata");
    removeStubsByMetadata(matchingJsonPath("$.team", equalTo("a")));
    equal(status("/a") + status("/b"), "404200", "stubs are removed by metadata");
  }

  static void importing() throws Exception {
    stubFor(WireMock.get("/old").withId(ID).willReturn(ok("old")));
    importStubs(stubImport().stub(WireMock.get("/old").withId(ID).willReturn(ok("ignored")))
        .stub(WireMock.get("/new").willReturn(ok("new"))).ignoreExisting().doNotDeleteExistingStubs());
    equal(get("/old") + get("/new"), "200 old200 new", "stubs are imported, and existing ones kept");
    importStubs(stubImport().stub(WireMock.get("/old").withId(ID).willReturn(ok("newer"))).overwriteExisting()
        .deleteAllExistingStubsNotInImport());
    equal(get("/old") + status("/new"), "200 newer404", "an import overwrites stubs and deletes others");
  }

  static void loading(String folder) throws Exception {
    wireMock.loadMappingsFrom(new File(folder));
    equal(get("/loaded"), "200 loaded", "stubs are loaded from a folder");
  }

  static void saving() throws Exception {
    stubFor(WireMock.get("/saved").persistent().willReturn(ok("saved")));
    stubFor(WireMock.get("/temporary").willReturn(ok("temporary")));
    resetToDefault();
    equal(status("/saved") + status("/temporary"), "200404", "persistent stubs survive a reset");
    stubFor(WireMock.get("/also").willReturn(ok("also")));
    saveAllMappings();
    resetToDefault();
    equal(status("/saved") + status("/also"), "200200", "saved stubs survive a reset");
    wireMock.removeMappings();
    resetToDefault();
    equal(listAllStubMappings().getMappings().size(), 0, "removed stubs don't come back");
  }

  static void verifying() throws Exception {
    stubFor(WireMock.any(urlPathEqualTo("/seen")).willReturn(ok()));
    send("POST", "/seen?a=1", "hello", "X-Test", "1", "Cookie", "sid=2");
    get("/seen");
    verify(1, postRequestedFor(urlPathEqualTo("/seen")).withHeader("X-Test", equalTo("1")).withRequestBody(containing("ell")));
    verify(moreThanOrExactly(2), anyRequestedFor(urlPathEqualTo("/seen")));
    throwing(VerificationException.class, "a wrong count fails", () -> verify(2, getRequestedFor(urlEqualTo("/seen"))));
    throwing(VerificationException.class, "a request that never came fails",
        () -> verify(getRequestedFor(urlEqualTo("/seem"))));
    List<LoggedRequest> found = findAll(anyRequestedFor(urlPathEqualTo("/seen")));
    equal(found.size(), 2, "requests are found");
    LoggedRequest first = found.get(0);
    equal(first.getBodyAsString() + first.getHeader("X-Test") + first.getCookies().get("sid").getValue(), "hello12",
        "a request has its body, headers and cookies");
    equal(first.queryParameter("a").firstValue(), "1", "and its query parameters");
    that(Math.abs(first.getLoggedDate().getTime() - System.currentTimeMillis()) < 600_000, "and its time", first.getLoggedDate());
    List<ServeEvent> events = getAllServeEvents();
    equal(events.size(), 2, "all events are listed");
    equal(events.get(0).getRequest().getMethod().toString(), "GET", "the newest first");
    that(events.get(0).getWasMatched() && events.get(0).getResponse().getStatus() == 200, "with their response", events.get(0));
    removeServeEvent(events.get(0).getId());
    equal(removeServeEvents(postRequestedFor(urlPathEqualTo("/seen"))).size(), 1, "events are removed by a pattern");
    equal(getAllServeEvents().size(), 0, "and by their id");
  }

  static void missing() throws Exception {
    stubFor(WireMock.get("/seen").withId(ID).willReturn(ok()));
    get("/seem");
    get("/seen");
    equal(findUnmatchedRequests().size(), 1, "unmatched requests are found");
    equal(getAllServeEvents(ServeEventQuery.ALL_UNMATCHED).size(), 1, "unmatched events are listed");
    equal(getAllServeEvents(ServeEventQuery.forStubMapping(ID)).size(), 1, "the events of a stub are listed");
    List<NearMiss> near = findNearMissesForAllUnmatched();
    equal(near.get(0).getStubMapping().getId(), ID, "the stub nearest to an unmatched request is found");
    that(near.get(0).getMatchResult().getDistance() > 0, "with its distance", near.get(0).getMatchResult().getDistance());
    near = findNearMissesFor(findUnmatchedRequests().get(0));
    equal(near.get(0).getStubMapping().getId(), ID, "the stub nearest to a request is found");
    near = findNearMissesFor(getRequestedFor(urlEqualTo("/seem/x")));
    equal(near.get(0).getRequest().getUrl(), "/seem", "the request nearest to a pattern is found");
  }

  static void scenarios() throws Exception {
    stubFor(WireMock.get("/step").inScenario("steps").whenScenarioStateIs(Scenario.STARTED).willSetStateTo("two")
        .willReturn(ok("first")));
    stubFor(WireMock.get("/step").inScenario("steps").whenScenarioStateIs("two").willReturn(ok("second")));
    equal(get("/step") + get("/step"), "200 first200 second", "a scenario moves on");
    Scenario scenario = getAllScenarios().get(0);
    equal(scenario.getName() + scenario.getState() + scenario.getPossibleStates().size(), "stepstwo2", "scenarios are listed");
    resetAllScenarios();
    equal(get("/step"), "200 first", "all scenarios are reset");
    resetScenario("steps");
    equal(get("/step"), "200 first", "one scenario is reset");
    setScenarioState("steps", Scenario.STARTED);
    equal(get("/step"), "200 first", "a scenario's state is set");
    throwing(Exception.class, "an unknown scenario is refused", () -> setScenarioState("none", "two"));
  }

  static void settings() throws Exception {
    setGlobalFixedDelay(20);
    equal(getSettings().getFixedDelay(), 20, "a global delay is set");
    stubFor(WireMock.get("/slow").willReturn(ok("slow")));
    long start = System.nanoTime();
    equal(get("/slow"), "200 slow", "a stub answers with a global delay");
    that(System.nanoTime() - start >= 20_000_000, "it takes that long", System.nanoTime() - start);
    updateSettings(GlobalSettings.defaults());
    that(getSettings().getFixedDelay() == null, "settings are reset", getSettings().getFixedDelay());
  }

  public static void main(String[] words) throws Exception {
    port = Integer.parseInt(words[0]);
    configureFor("127.0.0.1", port);
    wireMock = new WireMock("127.0.0.1", port);
    part("stubs are made", WireMockClient::stubs);
    part("stubs are edited and removed", WireMockClient::changing);
    part("stubs have metadata", WireMockClient::metadata);
    part("stubs are imported", WireMockClient::importing);
    part("stubs are loaded", () -> loading(words[1]));
    part("stubs are saved", WireMockClient::saving);
    part("requests are verified", WireMockClient::verifying);
    part("requests are missing", WireMockClient::missing);
    part("scenarios are kept", WireMockClient::scenarios);
    part("settings are kept", WireMockClient::settings);
    part("the server stays", () -> {
      if (words.length > 2) throwing(Exception.class, "a shutdown is refused", () -> wireMock.shutdown());
    });
  }
}
