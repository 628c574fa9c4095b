import Diorama
import Foundation
import LaunchContract
import Testing

@Suite("Random integers and UUIDs")
struct IntegerTests {
  @Test("have the requested type")
  func types() throws {
    for strings in [RandomStrings.live, try fixture(.init(policy: .derive)).strings] {
      for _ in 0..<20 {
        let byte: UInt8 = try strings.integer("byte", in: 250...255)
        #expect(byte >= 250)
        let all: Int64 = try strings.integer("all", in: .min ... .max)
        _ = all
        #expect(try strings.integer("wide", in: UInt64(1)...UInt64(Int64.max)) > 0)
        #expect(try strings.integer("one", in: Int64.min...Int64.min) == .min)
        #expect(try strings.integer("one", in: Int64.max...Int64.max) == .max)
      }
    }
  }

  @Test("are rejected beyond signed 64-bit integers, also without a contract")
  func beyond() throws {
    for strings in [RandomStrings.live, try fixture(.init(policy: .derive)).strings] {
      let error = #expect(throws: DioramaError.self) { try strings.integer("k", in: 0...UInt64.max) }
      #expect(error?.kind == .invalidRequest)
    }
  }

  @Test("fail in replay if the store was edited by hand")
  func changed() throws {
    let strings = try replay([
      "age": [.init(value: "100", parameters: .integer(low: 18, high: 99))],
      "id": [.init(value: "33b5dc9e", parameters: .uuid(version4: false))],
    ]).strings
    let error = #expect(throws: DioramaError.self) { try strings.integer("age", in: 18...99) }
    let words = #"'100' recorded for the key "age", ordinal 0, is not a valid integer in 18…99"#
    #expect(error?.description.contains(words) == true)
    #expect(throws: DioramaError.self) { try strings.uuid("id") }
  }

  @Test("are marked as version 4 on request, and always without a contract")
  func version4() throws {
    let strings = try fixture(.init(policy: .derive)).strings
    #expect(try strings.uuid("user", version4: true) == UUID(uuidString: "33b5dc9e-2b61-4d71-b1cb-ce186f420e82"))
    let live = try RandomStrings.live.uuid("user").uuidString
    #expect(live[live.index(live.startIndex, offsetBy: 14)] == "4")
  }
}

@Suite("Random e-mail addresses")
struct EmailTests {
  @Test("are the string of the same key and ordinal, at the domain")
  func derived() throws {
    let strings = try fixture(.init(policy: .derive)).strings
    #expect(try strings.email("email") == "z0r1lpyugt7o@example.com")
    #expect(try strings.email("email", domain: "clinic.example", length: 4) == "1hjq@clinic.example")
  }

  @Test("are recorded and replayed")
  func whole() throws {
    let entry = StringEntry(value: "ann@example.com", parameters: .email(length: 12, domain: "example.com"))
    try withControlServer { server in
      _ = try fixture(.init(policy: .report), control: server.control).strings.email("email")
      #expect(
        try server.uses() == [
          .init(
            key: "email", ordinal: 0, status: .recorded, value: "z0r1lpyugt7o@example.com",
            parameters: .email(length: 12, domain: "example.com"))
        ])
    }
    #expect(try replay(["user": [entry]]).strings.email("user") == "ann@example.com")
    let error = #expect(throws: DioramaError.self) {
      try replay(["user": [entry]]).strings.email("user", domain: "clinic.example")
    }
    #expect(error?.description.contains("it was recorded as an e-mail address of 12 at example.com") == true)
  }

  @Test("are really random without a contract")
  func live() throws {
    let found = try (0..<50).map { _ in try RandomStrings.live.email("user", domain: "a.example", length: 10) }
    #expect(Set(found).count == 50)
    #expect(found.allSatisfy { $0.hasSuffix("@a.example") && $0.utf8.count == 20 })
  }

  @Test(
    "reject invalid lengths and domains",
    arguments: [(0, "a.example"), (65, "a.example"), (-1, "a.example")]
      + ["", "a@b", "a b", "a\u{3000}b", "a\nb", String(repeating: "a", count: 256)].map { (12, $0) })
  func refused(length: Int, domain: String) throws {
    for strings in [RandomStrings.live, try fixture(.init(policy: .derive)).strings] {
      let error = #expect(throws: DioramaError.self) { try strings.email("user", domain: domain, length: length) }
      #expect(error?.kind == .invalidRequest)
      #expect(error?.description.contains("\n") == false)
    }
  }
}

@Suite("Random number generators")
struct GeneratorTests {
  private let namespace = "53f6ad1b-aaa7-53aa-a60f-1e0555f85827"

  private func numbers(_ strings: RandomStrings, _ count: Int) throws -> [UInt64] {
    var generator = try strings.generator("noise")
    return (0..<count).map { _ in generator.next() }
  }

  @Test("return successive groups of eight bytes of their key, most significant first")
  func specified() throws {
    let strings = try fixture(.init(policy: .derive)).strings
    #expect(
      try numbers(strings, 4) == [
        4_937_971_998_911_379_551, 249_208_402_902_681_735, 8_641_744_591_951_243_184, 12_354_227_742_680_785_822,
      ])
    // A second use of the key gives other bytes.
    #expect(try numbers(strings, 1) == [9_402_146_182_425_507_490])
  }

  @Test("start with the 64-bit integer of the same key, without its sign")
  func integer() throws {
    let first = try numbers(try fixture(.init(policy: .derive)).strings, 1)[0]
    let integer: Int64 = try fixture(.init(policy: .derive)).strings.integer("noise", in: .min ... .max)
    #expect(Int64(bitPattern: first ^ 1 << 63) == integer)
  }

  @Test("are recorded with the namespace of their bytes before the first number")
  func recorded() throws {
    try withControlServer { server in
      _ = try fixture(.init(policy: .report), control: server.control).strings.generator("noise")
      #expect(
        try server.uses() == [
          .init(key: "noise", ordinal: 0, status: .recorded, value: namespace, parameters: .generator)
        ])
    }
  }

  @Test("replay the recorded numbers whatever the seed")
  func replayed() throws {
    let entry = StringEntry(value: namespace, parameters: .generator)
    let strings = try fixture(.init(policy: .replay, entries: ["noise": [nil, entry]]), seed: "another").strings
    #expect(throws: DioramaError.self) { try strings.generator("noise") }
    #expect(try numbers(strings, 1) == [9_402_146_182_425_507_490])
  }

  @Test("continue with the same numbers in copies, independently")
  func copies() throws {
    var one = try fixture(.init(policy: .derive)).strings.generator("noise")
    _ = one.next()
    var other = one
    #expect((0..<20).map { _ in one.next() } == (0..<20).map { _ in other.next() })
  }

  @Test("use the system's generator without a contract, and reject the same keys")
  func live() throws {
    var one = try RandomStrings.live.generator("noise")
    var other = try RandomStrings.live.generator("noise")
    #expect((0..<4).map { _ in one.next() } != (0..<4).map { _ in other.next() })
    #expect(throws: DioramaError.self) { try RandomStrings.live.generator("") }
  }
}

@Suite("Scopes of random values")
struct ScopeTests {
  /// The key of a value in the store.
  private func key(_ use: (RandomStrings) throws -> some Any) throws -> String {
    try withControlServer { server in
      _ = try use(try fixture(.init(policy: .report), control: server.control).strings)
      let uses = try server.uses()
      try #require(uses.count == 1)
      return uses[0].key
    }
  }

  @Test("prefix the key with their names")
  func names() throws {
    #expect(try key { try $0.scope("import-3").string("email", length: 12) } == "import-3▸email")
    #expect(try key { try $0.scope("import-3").scope("row 1").uuid("id") } == "import-3▸row 1▸id")
    #expect(try key { try $0.scope("import-3").generator("noise") } == "import-3▸noise")
  }

  @Test("count the uses of each key separately")
  func ordinals() throws {
    let strings = try fixture(.init(policy: .derive)).strings
    let derivation = StringDerivation(seed: "recording-2018")
    let first = strings.scope("a")
    _ = try strings.uuid("id")
    _ = try strings.scope("b").uuid("id")
    #expect(try first.uuid("id") == derivation.uuid(key: "a▸id", ordinal: 0))
    // A scope with the same name is the same scope.
    #expect(try strings.scope("a").uuid("id") == derivation.uuid(key: "a▸id", ordinal: 1))
    #expect(try strings.uuid("id") == derivation.uuid(key: "id", ordinal: 1))
  }

  @Test("never share a key, whatever their names and keys contain")
  func distinct() throws {
    let parts = ["a", "▸", "\\", "a▸", "▸a", "a\\", "\\a", "\\▸", "▸▸", "▹", "👁"]
    var keys: [String] = []
    for first in parts {
      for second in parts {
        keys.append(try key { try $0.scope(first).uuid(second) })
        for third in parts { keys.append(try key { try $0.scope(first).scope(second).uuid(third) }) }
      }
    }
    #expect(Set(keys).count == keys.count)
  }

  @Test("leave a key outside of a scope unchanged")
  func plain() throws {
    #expect(try key { try $0.uuid("a▸b\\") } == "a▸b\\")
    #expect(try key { try $0.scope("s").uuid("a▸b\\") } == "s▸a\\▸b\\\\")
  }

  @Test("reject an invalid name or key with the first value", arguments: [("", "k"), ("a\nb", "k"), ("s", "")])
  func refused(scope: String, key: String) throws {
    for strings in [RandomStrings.live, try fixture(.init(policy: .derive)).strings] {
      for scope in [strings.scope(scope), strings.scope(scope).scope("inner")] {
        let error = #expect(throws: DioramaError.self) { try scope.uuid(key) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.description.contains("\n") == false)
      }
    }
  }
}
