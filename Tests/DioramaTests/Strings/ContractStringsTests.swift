import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Random strings under a contract")
struct ContractStringsTests {
  private func strings(
    _ strings: LaunchContract.Strings?, seed: String = "recording-2018", control: LaunchContract.Control? = nil
  ) throws -> RandomStrings {
    try fixture(strings, seed: seed, control: control).strings
  }

  private let email = StringParameters.string(length: 12, alphabet: RandomStrings.lettersAndDigits)

  @Test("are derived from the seed, the key and the ordinal")
  func derived() throws {
    let strings = try strings(.init(policy: .derive))
    #expect(try strings.string("email", length: 12) == "z0r1lpyugt7o")
    #expect(try strings.integer("age", in: 18...99) == 55)
    #expect(try strings.uuid("user").uuidString.lowercased() == "33b5dc9e-2b61-5d71-b1cb-ce186f420e82")
    #expect(try strings.string("email", length: 12) == "1hjqdinv568o")
  }

  @Test("are derived if the contract only has a seed, and really random without a seed")
  func withoutPolicy() throws {
    #expect(try strings(nil).string("email", length: 12) == "z0r1lpyugt7o")
    let live = try strings(nil, seed: "")
    #expect(
      try live.string("email", length: 12)
        != StringDerivation(seed: "").string(
          key: "email", ordinal: 0, length: 12, alphabet: RandomStrings.lettersAndDigits))
  }

  @Test("count the uses of a key correctly in sixteen threads")
  func threads() throws {
    let strings = try strings(.init(policy: .derive))
    let derivation = StringDerivation(seed: "recording-2018")
    let found = Collected<String>()
    DispatchQueue.concurrentPerform(iterations: 16) { thread in
      for _ in 0..<100 {
        if let value = try? strings.string("shared", length: 20) { found.add(value) }
        _ = try? strings.string("own \(thread)", length: 3)
      }
    }
    let expected = try (0..<1_600).map {
      try derivation.string(key: "shared", ordinal: $0, length: 20, alphabet: RandomStrings.lettersAndDigits)
    }
    #expect(found.values.sorted() == expected.sorted())
    #expect(
      try strings.string("own 3", length: 3)
        == derivation.string(key: "own 3", ordinal: 100, length: 3, alphabet: RandomStrings.lettersAndDigits))
  }

  @Test("are reported before the app gets them while recording")
  func recorded() throws {
    try withControlServer { server in
      let strings = try strings(.init(policy: .report), control: server.control)
      #expect(try strings.string("email", length: 12) == "z0r1lpyugt7o")
      #expect(
        try server.uses() == [
          .init(key: "email", ordinal: 0, status: .recorded, value: "z0r1lpyugt7o", parameters: email)
        ])
      _ = try strings.integer("age", in: 18...99)
      _ = try strings.uuid("user", version4: true)
      #expect(
        try server.uses().dropFirst() == [
          .init(key: "age", ordinal: 0, status: .recorded, value: "55", parameters: .integer(low: 18, high: 99)),
          .init(
            key: "user", ordinal: 0, status: .recorded, value: "33b5dc9e-2b61-4d71-b1cb-ce186f420e82",
            parameters: .uuid(version4: true)),
        ])
    }
  }

  @Test("are those that the environment returns, which may be recorded already")
  func answered() throws {
    try withControlServer({ _ in .json(200, #"{"value":"recordedonce","ordinal":0}"#) }) { server in
      let strings = try strings(.init(policy: .report), control: server.control)
      #expect(try strings.string("email", length: 12) == "recordedonce")
      #expect(throws: DioramaError.self) { try strings.uuid("user") }
    }
  }

  @Test("fail if the environment cannot store them")
  func notRecorded() throws {
    let full = ControlServer.Answer.json(
      507, #"{"title":"No","detail":"the disk is full"}"#, type: "application/problem+json")
    try withControlServer({ _ in full }) { server in
      let strings = try strings(.init(policy: .report), control: server.control)
      let error = #expect(throws: DioramaError.self) { try strings.string("email", length: 12) }
      #expect(error?.kind == .control)
      #expect(error?.description.contains("status 507: the disk is full") == true)
    }
  }

  @Test("need an environment to report to")
  func withoutConnection() {
    let error = #expect(throws: DioramaError.self) { try strings(.init(policy: .report)) }
    #expect(error?.kind == .contract)
  }

  @Test("are read in replay, and reported without blocking the app")
  func replayed() throws {
    let entries = ["email": [StringEntry(value: "fromrecording"[...12], parameters: email), nil]]
    let answered = DispatchSemaphore(value: 0)
    try withControlServer({ _ in
      answered.wait()
      return .noContent
    }) { server in
      let controls = try replay(entries, control: server.control)
      #expect(try controls.strings.string("email", length: 12) == "fromrecordin")
      answered.signal()
      controls.flush()
      let reports = try server.requests.map { try JSONDecoder().decode(UsageReport.self, from: $0.body) }
      #expect(reports == [UsageReport(strings: ["email": OrdinalRanges([0...0])])])
    }
  }

  @Test("report a missing value in replay before they fail")
  func missing() throws {
    try withControlServer { server in
      let strings = try strings(.init(policy: .replay, entries: [:]), control: server.control)
      #expect(throws: DioramaError.self) { try strings.string("email", length: 12) }
      #expect(
        try server.uses() == [.init(key: "email", ordinal: 0, status: .missing, value: nil, parameters: email)])
    }
  }

  @Test("name the recorded alternatives in replay")
  func missingWords() throws {
    let one = StringEntry(value: "z0r1lpyugt7o", parameters: email)
    let entries = ["email": [one], "e-mail": [one], "symptom": [one], "emails": [one, nil]]
    let strings = try strings(.init(policy: .replay, entries: entries))
    func words(_ call: () throws -> some Any) throws -> String {
      let error = try #require(#expect(throws: DioramaError.self) { try call() })
      #expect(error.kind == .missingString)
      return error.description
    }
    #expect(try words { try strings.string("emial", length: 12) }.contains(#""emial", ordinal 0, a string of 12"#))
    #expect(
      try words { try strings.string("emial", length: 12) }
        .contains(#"the nearest recorded keys are "email", "e-mail", "emails""#))
    let other = try words { try strings.string("email", length: 13) }
    #expect(other.contains("a string of 13 over \"abcde…56789\" (36): it was recorded as a string of 12"))
    #expect(try words { try strings.uuid("symptom") }.contains("a UUID: it was recorded as a string of 12"))
    let second = try words { try strings.string("email", length: 12) }
    #expect(second.contains(#""email", ordinal 1"#) && second.contains("used once in the recording"))
    #expect(second.contains("--mode record"))
  }

  @Test("are read from a string store's file; a missing file or a later format is an error")
  func file() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).strings.json").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(throws: DioramaError.self) { try strings(.init(policy: .replay, file: path)) }
    let store = """
      {"format": 1, "algorithm": "uuid5-v1", "seed": "…",
       "entries": {"email": [{"value": "z0r1lpyugt7o", "length": 12, "alphabet": "abcdefghijklmnopqrstuvwxyz0123456789"}]}}
      """
    try Data(store.utf8).write(to: URL(filePath: path))
    #expect(try strings(.init(policy: .replay, file: path)).string("email", length: 12) == "z0r1lpyugt7o")
    try Data(store.replacing(#""format": 1"#, with: #""format": 2"#).utf8).write(to: URL(filePath: path))
    let error = #expect(throws: DioramaError.self) { try strings(.init(policy: .replay, file: path)) }
    #expect(error?.description.contains("format 2") == true && error?.description.contains(path) == true)
  }

  @Test("reject a key before they count or report it")
  func rules() throws {
    try withControlServer { server in
      let strings = try strings(.init(policy: .report), control: server.control)
      #expect(throws: DioramaError.self) { try strings.string("", length: 1) }
      #expect(throws: DioramaError.self) { try strings.string("email", length: -1) }
      #expect(throws: DioramaError.self) { try strings.string("email", length: 1, alphabet: "x") }
      #expect(server.requests.isEmpty)
      #expect(try strings.string("email", length: 12) == "z0r1lpyugt7o")
    }
  }
}

extension String {
  fileprivate subscript(_ range: PartialRangeThrough<Int>) -> String { String(prefix(range.upperBound)) }
}

/// The controls of a contract with random values. A warning fails the test.
func fixture(
  _ strings: LaunchContract.Strings?, seed: String = "recording-2018", control: LaunchContract.Control? = nil
) throws -> AppControls {
  var contract = LaunchContract(
    environment: .init(id: "", name: ""), mode: "test", clock: .init(kind: .system), seed: seed)
  contract.strings = strings
  contract.control = control
  return try AppControls(contract) { Issue.record("warned: \($0)") }
}

/// The controls of a replay.
func replay(_ entries: [String: [StringEntry?]], control: LaunchContract.Control? = nil) throws -> AppControls {
  try fixture(.init(policy: .replay, entries: entries), control: control)
}
