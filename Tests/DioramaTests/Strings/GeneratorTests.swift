import Diorama
import LaunchContract
import Testing

@Suite("Generators of random numbers")
struct GeneratorTests {
  private let namespace = "53f6ad1b-aaa7-53aa-a60f-1e0555f85827"

  private func numbers(_ strings: RandomStrings, _ count: Int) throws -> [UInt64] {
    var generator = try strings.generator("noise")
    return (0..<count).map { _ in generator.next() }
  }

  @Test("give eight bytes of their key's row after another, the first as the most significant")
  func specified() throws {
    let strings = try fixture(.init(policy: .derive)).strings
    #expect(
      try numbers(strings, 4) == [
        4_937_971_998_911_379_551, 249_208_402_902_681_735, 8_641_744_591_951_243_184, 12_354_227_742_680_785_822,
      ])
    // Another use of the key, another row.
    #expect(try numbers(strings, 1) == [9_402_146_182_425_507_490])
  }

  @Test("begin with the integer of all 64 bits, less its sign")
  func integer() throws {
    let first = try numbers(try fixture(.init(policy: .derive)).strings, 1)[0]
    let integer: Int64 = try fixture(.init(policy: .derive)).strings.integer("noise", in: .min ... .max)
    #expect(Int64(bitPattern: first ^ 1 << 63) == integer)
  }

  @Test("are recorded with the name space of their bytes, before they give any")
  func recorded() throws {
    try withControlServer { server in
      _ = try fixture(.init(policy: .report), control: server.control).strings.generator("noise")
      #expect(
        try server.uses() == [
          .init(key: "noise", ordinal: 0, status: .recorded, value: namespace, parameters: .generator)
        ])
    }
  }

  @Test("give in replay what they gave in the recording, whatever the seed")
  func replayed() throws {
    let entry = StringEntry(value: namespace, parameters: .generator)
    let strings = try fixture(.init(policy: .replay, entries: ["noise": [nil, entry]]), seed: "another").strings
    #expect(throws: DioramaError.self) { try strings.generator("noise") }
    #expect(try numbers(strings, 1) == [9_402_146_182_425_507_490])
  }

  @Test("go on alike in copies, and each for itself")
  func copies() throws {
    var one = try fixture(.init(policy: .derive)).strings.generator("noise")
    _ = one.next()
    var other = one
    #expect((0..<20).map { _ in one.next() } == (0..<20).map { _ in other.next() })
  }

  @Test("are the system's without a contract, and refuse the same keys")
  func live() throws {
    var one = try RandomStrings.live.generator("noise")
    var other = try RandomStrings.live.generator("noise")
    #expect((0..<4).map { _ in one.next() } != (0..<4).map { _ in other.next() })
    #expect(throws: DioramaError.self) { try RandomStrings.live.generator("") }
  }
}
