import Foundation
import LaunchContract
import Testing

@Suite("Reading a launch contract")
struct ContractDecodingTests {
  private func read(_ json: String) throws -> LaunchContract {
    try LaunchContract.read(json, source: "DIORAMA_CONTRACT")
  }

  @Test("reads every member of the documented example")
  func example() throws {
    let contract = try read(documentedExample)
    #expect(contract.version == 1)
    #expect(contract.environment == .init(id: "e-1", name: "Booking/books a slot"))
    #expect(contract.mode == "replay")
    #expect(
      contract.clock
        == .init(kind: .frozen, start: "2018-10-08T09:00:00Z", rate: 1, timeZone: "Europe/London", locale: "en_GB"))
    #expect(contract.seed == "recording-2018")
    #expect(contract.toggles == ["skip-onboarding": true_])
    #expect(contract.defaults == ["hasSeenPushPrompt": true_])
    #expect(contract.values == ["location": .string("51.5,-0.1")])
    #expect(contract.endpoints == ["api": "http://127.0.0.1:20013"])
    #expect(contract.ports == ["debug": 20012])
    #expect(contract.credentials?.store == "memory")
    #expect(contract.credentials?.items.first?.secret.revealed == "c2VjcmV0")
    #expect(contract.control?.url == "http://127.0.0.1:20011/__diorama")
    #expect(contract.control?.token.revealed == "t0ken")
    #expect(contract.strings == nil)
    #expect(contract.unknownFields.isEmpty)
  }

  @Test("takes a contract that has nothing but a version")
  func shortest() throws {
    let contract = try read(#"{"version":1}"#)
    #expect(contract.clock.kind == .system)
    #expect(contract.toggles.isEmpty)
    #expect(contract.control == nil)
  }

  @Test("collects the members that it does not know, and reads the rest")
  func unknownFields() throws {
    let contract = try read(
      #"{"version":1,"mode":"mock","weather":{"rain":true},"clock":{"kind":"system","drift":1},"toggles":{"any":1}}"#)
    #expect(contract.unknownFields == ["clock.drift", "weather"])
    #expect(contract.mode == "mock")
  }

  @Test(
    "refuses what is broken, and names the place",
    arguments: [
      (#"{"version":2,"clock":"of another shape"}"#, ["version: 2", "newer"]),
      (#"{"version":0}"#, ["version: 0"]),
      (#"{"mode":"replay"}"#, ["'version' is missing"]),
      (#"{"version":"1"}"#, ["version: "]),
      (#"{"version":1,"clock":{"kind":"sundial"}}"#, ["clock.kind", "'sundial'", "frozen"]),
      (#"{"version":1,"clock":{"kind":"frozen"}}"#, ["clock.start"]),
      (
        #"{"version":1,"clock":{"kind":"frozen","start":"yesterday"}}"#,
        ["clock.start", "'yesterday'", "2018-10-08T09:00:00Z"]
      ),
      (#"{"version":1,"clock":{"kind":"scaled","start":"2018-10-08T09:00:00Z","rate":0}}"#, ["clock.rate"]),
      (#"{"version":1,"clock":{"kind":"scaled","start":"2018-10-08T09:00:00Z","rate":-3}}"#, ["clock.rate"]),
      (#"{"version":1,"endpoints":{"api":7}}"#, ["endpoints.api"]),
      (#"{"version":1,"strings":{"policy":"guess"}}"#, ["strings.policy"]),
      (
        #"{"version":1,"strings":{"policy":"replay","entries":{"email":[{"value":"x"}]}}}"#,
        ["strings.entries.email.0", "length"]
      ),
      (#"{"version":1,"#, ["not valid JSON", "end of file"]),
      (#"{"version":1, "mode" "x"}"#, ["not valid JSON", "character 21"]),
      ("", ["DIORAMA_CONTRACT"]),
      ("true", ["DIORAMA_CONTRACT"]),
    ] as [(String, [String])])
  func broken(_ json: String, _ words: [String]) throws {
    let error = #expect(throws: ContractError.self) {
      try LaunchContract.read(json, source: "DIORAMA_CONTRACT")
    }
    let text = try #require(error).description
    #expect(text.hasPrefix("launch contract in DIORAMA_CONTRACT: "))
    #expect(!text.contains("\n"))
    for word in words { #expect(text.contains(word), "\(text)") }
  }

  @Test("names a file that cannot be read, and a path that is not absolute")
  func files() throws {
    let missing = #expect(throws: ContractError.self) {
      try LaunchContract.read("file:/nowhere/contract.json", source: "DIORAMA_CONTRACT")
    }
    #expect(missing?.source == "/nowhere/contract.json")
    #expect(missing?.problem == "cannot be read: No such file or directory")
    let relative = #expect(throws: ContractError.self) {
      try LaunchContract.read("file:contract.json", source: "DIORAMA_CONTRACT")
    }
    #expect(try #require(relative).description.contains("file:/absolute/path"))
  }
}

let true_ = ContractValue.bool(true)

/// The example of INTERFACE.md, its ellipses filled in.
let documentedExample = """
  {"version": 1,
   "environment": {"id": "e-1", "name": "Booking/books a slot"},
   "mode": "replay",
   "clock": {"kind": "frozen", "start": "2018-10-08T09:00:00Z", "rate": 1, "timeZone": "Europe/London", "locale": "en_GB"},
   "seed": "recording-2018",
   "toggles": {"skip-onboarding": true},
   "defaults": {"hasSeenPushPrompt": true},
   "values": {"location": "51.5,-0.1"},
   "endpoints": {"api": "http://127.0.0.1:20013"},
   "ports": {"debug": 20012},
   "credentials": {"store": "memory", "items": [{"service": "clinic", "account": "auth-token", "secret": "c2VjcmV0"}]},
   "control": {"url": "http://127.0.0.1:20011/__diorama", "token": "t0ken"}}
  """
