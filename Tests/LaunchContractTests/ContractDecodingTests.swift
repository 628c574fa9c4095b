import Basics
import Foundation
import LaunchContract
import Testing

@Suite("Decoding launch contracts")
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

  @Test("accepts a contract with only a version")
  func shortest() throws {
    let contract = try read(#"{"version":1}"#)
    #expect(contract.clock.kind == .system)
    #expect(contract.toggles.isEmpty)
    #expect(contract.control == nil)
  }

  @Test("collects unknown members and reads the rest")
  func unknownFields() throws {
    let contract = try read(
      #"{"version":1,"mode":"mock","weather":{"rain":true},"clock":{"kind":"system","drift":1},"toggles":{"any":1}}"#)
    #expect(contract.unknownFields == ["clock.drift", "weather"])
    #expect(contract.mode == "mock")
  }

  @Test(
    "rejects invalid documents and names the place",
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
      (#"{"version":1,"#, ["not valid JSON", "end of the text"]),
      (#"{"version":1, "mode" "x"}"#, ["not valid JSON", "line 1, column 22"]),
      ("", ["not valid JSON"]),
      ("true", ["it is true or false, not an object"]),
      (#"{"version":null}"#, ["version: it is null, not a whole number"]),
      (#"{"version":1.5}"#, ["version: it is not a whole number"]),
      (#"{"version":1e30}"#, ["version: it is not a whole number"]),
      (#"{"version":1,"toggles":{"a":[1e400]}}"#, ["toggles.a.0: the number does not fit"]),
      (#"{"version":1,"toggles":[]}"#, ["toggles: it is an array, not an object"]),
      (#"{"version":1,"ports":{"debug":0}}"#, ["ports.debug: 0 is not a port"]),
      (#"{"version":1,"ports":{"debug":65536}}"#, ["ports.debug: 65536 is not a port"]),
      (#"{"version":1,"ports":{"debug":"x"}}"#, ["ports.debug: it is a string, not a whole number"]),
      (
        #"{"version":1,"control":{"url":"http://127.0.0.1:1/","token":"t","revision":-1}}"#, ["control.revision: -1"]
      ),
      (#"{"version":1,"strings":{"policy":"replay","file":"x.json"}}"#, ["strings.file: 'x.json'", "absolute"]),
      (#"{"version":1,"strings":{"policy":"guess"}}"#, ["'guess' is not one of derive, report, replay"]),
      (
        #"{"version":1,"credentials":{"items":[{"service":"a","account":"b","secret":815}]}}"#,
        ["credentials.items.0.secret: it is a whole number, not a string"]
      ),
      ("/tmp/contract.json", ["file:/tmp/contract.json"]),
    ] as [(String, [String])])
  func broken(_ json: String, _ words: [String]) throws {
    let error = #expect(throws: CodedError.self) {
      try LaunchContract.read(json, source: "DIORAMA_CONTRACT")
    }
    let text = try #require(error).description
    #expect(text.hasPrefix("launch contract in DIORAMA_CONTRACT: "))
    #expect(!text.contains("\n"))
    for word in words { #expect(text.contains(word), "\(text)") }
    // Foundation's and Swift's messages, and the secret.
    for word in ["Expected", "The given", "The data", "initialize", "Dictionary", "Cannot", "Swift", "Int", "815"] {
      #expect(!text.contains(word), "\(text)")
    }
  }

  @Test("lists unknown members, including those of credentials and faults")
  func unknown() throws {
    let contract = try LaunchContract.read(
      #"""
      {"version": 1, "weather": 1, "clock": {"kind": "system", "drift": 2},
       "credentials": {"items": [{"service": "a", "account": "b", "secret": "", "acount": "c"}],
                       "faults": [{"fault": "locked"}, {"fault": "failRead", "nth": 1, "nht": 1}]}}
      """#, source: "")
    #expect(
      contract.unknownFields == ["clock.drift", "credentials.faults.1.nht", "credentials.items.0.acount", "weather"])
  }

  @Test("rejects a file with credentials that others can read, and suggests a fix")
  func others() throws {
    let path = FileManager.default.temporaryDirectory.path + "/diorama-contract-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(documentedExample.utf8).write(to: URL(filePath: path))
    for mode in [0o644, 0o640, 0o602] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      let error = #expect(throws: CodedError.self) { try LaunchContract.read("file:\(path)", source: "") }
      #expect(error?.problem.contains("run chmod 600 \(path)") == true)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    #expect(try LaunchContract.read("file:\(path)", source: "").credentials?.items.count == 1)
  }

  @Test("names an unreadable file and a relative path")
  func files() throws {
    let missing = #expect(throws: CodedError.self) {
      try LaunchContract.read("file:/nowhere/contract.json", source: "DIORAMA_CONTRACT")
    }
    #expect(missing?.place == "launch contract in /nowhere/contract.json")
    #expect(missing?.problem == "cannot be read: No such file or directory")
    let relative = #expect(throws: CodedError.self) {
      try LaunchContract.read("file:contract.json", source: "DIORAMA_CONTRACT")
    }
    #expect(try #require(relative).description.contains("file:/absolute/path"))
  }
}

let true_ = JSON.bool(true)

/// The example of INTERFACE.md, with its ellipses filled in.
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
