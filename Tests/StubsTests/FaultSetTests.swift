import Basics
import EnvironmentConfiguration
import Stubs
import Testing

@Suite("Faults")
struct FaultSetTests {
  private func settings(_ texts: [String]) throws -> [FaultSettings] {
    try EnvironmentConfiguration.faults(texts.map(JSON.string))
  }

  private func faults(_ texts: String...) throws -> FaultSet {
    FaultSet(
      try settings(texts).enumerated().map { index, fault in try FaultSet.Rule(fault, at: "faults[\(index)]") })
  }

  /// Which of ten requests are affected.
  private func affected(by text: String, draw: (Int) -> Double = { _ in 0 }) throws -> [Int] {
    var set = try faults(text)
    var affected: [Int] = []
    for number in 1...10
    where try set.effect(on: request("GET", "/orders/7"), context, draw: { _ in draw(number) }) != nil {
      affected.append(number)
    }
    return affected
  }

  @Test("affect all requests, or those selected by number, interval, probability and limit")
  func which() throws {
    #expect(try affected(by: "reset") == Array(1...10))
    #expect(try affected(by: "reset,nth=2,nth=5") == [2, 5])
    #expect(try affected(by: "reset,every=3") == [3, 6, 9])
    #expect(try affected(by: "reset,every=3,limit=2") == [3, 6])
    #expect(try affected(by: "reset,probability=0.25") { $0 % 2 == 0 ? 0.24 : 0.25 } == [2, 4, 6, 8, 10])
    #expect(try affected(by: "reset,probability=0") == [])
    #expect(try affected(by: "reset,method=POST") == [])
    #expect(try affected(by: "reset,method=GET,path=/orders/{id}") == Array(1...10))
    #expect(try affected(by: "reset,path=/orders") == [])
    #expect(try affected(by: "reset,upstream=api") == [])
    #expect(try affected(by: #"{"fault": "reset", "request": {"urlPathPattern": "/orders/[0-9]"}}"#) == Array(1...10))
    #expect(try affected(by: #"{"fault": "reset", "request": {"headers": {"X": {"equalTo": "1"}}}}"#) == [])
  }

  @Test("add up delays, apply the lowest bandwidth, and apply the first outcome")
  func combined() throws {
    var set = try faults(
      "delayMilliseconds=100", "status=503,nth=1", "timeout", "bytesPerSecond=900", "bytesPerSecond=70",
      #"{"name": "jitter", "delayDistribution": {"type": "uniform", "lower": 10, "upper": 30}}"#)
    let first = try #require(try set.effect(on: request(), context) { _ in 0.5 })
    #expect(first.delay == 120)
    #expect(first.bytesPerSecond == 70)
    #expect(first.outcome?.status == 503)
    #expect(first.labels == ["delay of 100 ms", "status 503", "900 bytes/s", "70 bytes/s", "jitter"])
    let second = try #require(try set.effect(on: request(), context) { _ in 0.5 })
    #expect(second.outcome?.fault == .timeout)
    #expect(set.uses == [2, 1, 1, 2, 2, 2])
    var restored = try faults("reset,nth=2")
    restored.restore(matches: [1], uses: [0])
    #expect(try restored.effect(on: request(), context) { _ in 0 } != nil)
  }

  @Test("draw by rule, method and target, so that requests to other targets have no influence")
  func draws() throws {
    var set = try faults("reset,probability=0.5,name=flaky")
    var keys: [String] = []
    for target in ["/a", "/b?x=1"] {
      _ = try set.effect(on: request("GET", target), context) { key in
        keys.append(key)
        return 0
      }
    }
    #expect(keys == ["fault flaky GET /a", "fault flaky GET /b?x=1"])
  }

  @Test(
    "are refused with the location, the reason and the nearest name",
    arguments: [
      ("resett", "faults[0].fault: 'resett' is not valid; did you mean 'reset'? Choose from"),
      ("reset,paht=/a", "faults[0].paht: unknown member; did you mean 'path'?"),
      ("status=99", "faults[0].status: 99 is not between 200 and 599"),
      ("status=abc", "faults[0].status: expected a 64-bit integer, not a string"),
      ("nth=1", "faults[0]: it has no effect; give fault,"),
      ("reset,status=500", "faults[0]: give either fault or status, not both"),
      ("reset,afterBytes=3", "faults[0]: afterBytes requires the fault cut"),
      ("cut,retryAfterSeconds=3", "faults[0]: headers, body and retryAfterSeconds require a status"),
      ("refused,path=/a", "faults[0]: refused applies to all requests of an upstream; remove all conditions except"),
      ("reset,method=get", "faults[0]: method: methods are case-sensitive; write 'GET'"),
      ("reset,path=orders", "faults[0]: path: 'orders' does not begin with '/'"),
      ("reset,path=/orders?x=1", "faults[0]: path: a path has no query"),
      (#"{"status": 503, "headers": {"X y": "1"}}"#, "faults[0]: headers.X y: not a valid header field"),
      ("cut,nth=3,every=2", "faults[0]: give only one of nth, every and probability"),
      ("reset,path=/a{b", "faults[0].path: 'a{b' in the path template"),
      (#"{"fault": "reset", "request": {"urlPth": "/"}}"#, "faults[0].request.urlPth: unknown member; did you mean"),
      (#"{"delayDistribution": {"type": "x"}}"#, "faults[0].delayDistribution.type: 'x' is not valid; choose"),
      ("{", "faults[0]: expected an object"),
    ])
  func refused(_ text: String, _ message: String) throws {
    let error = #expect(throws: CodedError.self) { try faults(text) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }
}
