import Basics
import EnvironmentConfiguration
import Testing

@Suite("Tags of scenarios")
struct ScenarioTagsTests {
  private func configuration(_ tags: String...) throws -> EnvironmentConfiguration {
    try ScenarioTags.configuration(from: tags) ?? EnvironmentConfiguration()
  }

  private func problems(_ tags: [String]) -> [ScenarioTags.Problem] {
    do throws(ScenarioTags.Problems) {
      _ = try ScenarioTags.configuration(from: tags)
      return []
    } catch { return error.problems }
  }

  @Test("set what their key says")
  func keys() throws {
    #expect(try configuration("@cassette:booking").cassette == "booking")
    #expect(try configuration("@mode:replay").mode == "replay")
    #expect(try configuration("@seed:42").seed == "42")
    #expect(try configuration("@stubs:gp-portal").stubs == "gp-portal")
    #expect(try configuration("@port:web", "@port:api", "@port:web").ports == ["web", "api"])
    #expect(
      try configuration("@fault:reset,path=/orders,nth=1").faults == [.string("reset,path=/orders,nth=1")])
  }

  @Test(
    "freeze the clock at a time, in UTC without a zone",
    arguments: [
      ("2018-10-08", "2018-10-08T00:00:00Z"), ("2018-10-08T09:00Z", "2018-10-08T09:00:00Z"),
      ("2018-10-08T09:00", "2018-10-08T09:00:00Z"), ("2018-10-08T09:00:30+02:00", "2018-10-08T09:00:30+02:00"),
      ("2018-10-08T09%3A00Z", "2018-10-08T09:00:00Z"),
    ])
  func frozen(text: String, start: String) throws {
    #expect(try configuration("@frozen:\(text)").clock == .init(kind: "frozen", start: start))
  }

  @Test("let the test move the clock, from the time of @frozen in either order")
  func manual() throws {
    let clock = EnvironmentConfiguration.Clock(kind: "manual", start: "2018-10-08T00:00:00Z")
    #expect(try configuration("@manual").clock == .init(kind: "manual"))
    #expect(try configuration("@frozen").clock == .init(kind: "frozen"))
    #expect(try configuration("@manual", "@frozen:2018-10-08").clock == clock)
    #expect(try configuration("@frozen:2018-10-08", "@manual").clock == clock)
    #expect(try configuration("@frozen:2018-10-08", "@frozen").clock?.start == clock.start)
  }

  @Test("set toggles to JSON, to a word, or to true")
  func toggles() throws {
    let toggles = try configuration(
      "@toggle:a", "@toggle:b=false", "@toggle:currency=GBP", "@toggle:limit=3", "@toggle:text=%22%33%22",
      "@toggle:x%3Dy=a=b", "@toggle:empty="
    ).toggles
    #expect(
      toggles == [
        "a": true, "b": false, "currency": "GBP", "limit": 3, "text": "3", "x=y": "a=b", "empty": "",
      ])
  }

  @Test("are percent-encoded")
  func encoding() throws {
    #expect(try configuration("@cassette:my%20clinic/100%25").cassette == "my clinic/100%")
    #expect(try configuration("@cassette:a:b").cassette == "a:b")
    #expect(problems(["@cassette:100%"]).first?.message.contains("write % as %25") == true)
    #expect(problems(["@cassette:%FF"]).first?.message.contains("invalid percent-encoding") == true)
  }

  @Test("take precedence the later they are")
  func precedence() throws {
    let all = try configuration(
      "@cassette:a", "@seed:1", "@mode:record", "@toggle:x=1", "@toggle:y=1", "@fault:reset", "@frozen:2018-10-08",
      "@cassette:b", "@mode:replay", "@toggle:x=2", "@fault:timeout", "@frozen:2019-10-08")
    #expect(all.cassette == "b")
    #expect(all.seed == "1")
    #expect(all.mode == "replay")
    #expect(all.toggles == ["x": 2, "y": 1])
    #expect(all.faults == ["timeout", "reset"])
    #expect(all.clock == .init(kind: "frozen", start: "2019-10-08T00:00:00Z"))
  }

  @Test("with other keys, or of the runtime, mean nothing to the environment")
  func others() throws {
    #expect(try ScenarioTags.configuration(from: []) == nil)
    #expect(
      try ScenarioTags.configuration(from: ["@smoke", "@JIRA:12", "@mode", "@seed", "@retry:2", "@retry:0", "@:x"])
        == nil)
  }

  @Test(
    "are rejected if they are wrong, with what to write",
    arguments: [
      ("@mode:rply", "'rply'"), ("@mode:", "@mode:replay"), ("@cassette:", "@cassette:booking"),
      ("@seed:", "@seed:42"), ("@port:", "@port:web"), ("@toggle:", "@toggle:never-ask-for-pin"),
      ("@toggle:=1", "@toggle:=1"), ("@frozen:", "@frozen:2018-10-08T09:00Z"),
      ("@frozen:today", "'today' is not a time"),
      ("@frozen:2018-02-30", "not a time"), ("@manual:2018-10-08", "@manual takes no value"),
      ("@fault:rest", "fault: 'rest' is not valid; did you mean 'reset'?"), ("@fault:reset,nth=x", "nth[0]: expected"),
      ("@retry:-1", "@retry:2"), ("@retry:often", "'often'"),
      ("@casette:a", "did you mean @cassette:booking"), ("@tooggle:a", "did you mean @toggle:never-ask-for-pin"),
      ("@frozn:2018-10-08", "did you mean @frozen"),
    ])
  func wrong(tag: String, part: String) {
    let found = problems(["@smoke", tag])
    #expect(found.map(\.index) == [1])
    #expect(found.first?.message.hasPrefix("\(tag): ") == true, "\(found)")
    #expect(found.first?.message.contains(part) == true, "\(found)")
  }

  @Test("are all checked")
  func all() {
    #expect(problems(["@mode:a", "@seed:1", "@retry:x", "@mode:b"]).map(\.index) == [0, 2, 3])
  }

  @Test("never hold credentials, and do not repeat them", arguments: ["credential", "credentials"])
  func credentials(key: String) {
    let message = problems(["@\(key):token=5up3r"]).first?.message ?? ""
    #expect(message.hasPrefix("@\(key): feature files are shared"))
    #expect(!message.contains("5up3r"))
  }
}
