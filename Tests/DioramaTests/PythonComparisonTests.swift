import Diorama
import Foundation
import TestSupport
import Testing

/// Asks Python, since INTERFACE.md promises that another language's standard library gets the same values.
@Suite("The algorithm uuid5-v1 beside Python's uuid module")
struct PythonComparisonTests {
  /// A call with its arguments, and the place for the answer.
  private struct Call: Codable {
    var seed: String
    var key: String
    var ordinal: Int
    var length: Int?
    var alphabet: String?
    var low: Int64?
    var high: Int64?
  }

  @Test("agrees on 10,000 random calls")
  func agrees() async throws {
    var generator = SystemRandomNumberGenerator()
    let calls = (0..<10_000).map { _ in randomCall(&generator) }
    let answers = try await askPython(calls)
    try #require(answers.count == calls.count)
    for (call, answer) in zip(calls, answers) {
      let value = try value(of: call)
      #expect(value == answer, "\(call)")
      if value != answer { break }
    }
  }

  private func value(of call: Call) throws -> String {
    let derivation = StringDerivation(seed: call.seed)
    if let length = call.length, let alphabet = call.alphabet {
      return try derivation.string(key: call.key, ordinal: call.ordinal, length: length, alphabet: alphabet)
    }
    if let low = call.low, let high = call.high {
      return String(try derivation.integer(key: call.key, ordinal: call.ordinal, in: low...high))
    }
    return try derivation.uuid(key: call.key, ordinal: call.ordinal).uuidString.lowercased()
  }

  private func randomCall(_ generator: inout SystemRandomNumberGenerator) -> Call {
    let words = ["email", "ключ", "naïve 🙂", "日本", "a/b?c", "key \u{A0}", "e\u{301}"]
    func word() -> String {
      (words.randomElement(using: &generator) ?? "") + String(Int.random(in: 0...99_999, using: &generator))
    }
    var call = Call(
      seed: Bool.random() ? word() : "", key: word(), ordinal: Int.random(in: 0...2_000, using: &generator))
    switch Int.random(in: 0..<3, using: &generator) {
    case 0:
      let first = UInt32.random(in: 0x21...0x2000, using: &generator)
      let letters = (0..<UInt32.random(in: 2...256, using: &generator)).compactMap { Unicode.Scalar(first + $0) }
      call.length = Int.random(in: 0...80, using: &generator)
      call.alphabet = String(String.UnicodeScalarView(letters))
    case 1:
      let shift = Int64.random(in: 0...62, using: &generator)
      let ends = [
        Int64.random(in: .min ... .max, using: &generator) >> shift, Int64.random(in: .min ... .max, using: &generator),
      ]
      call.low = ends.min()
      call.high = ends.max()
    default: break
    }
    return call
  }

  private func askPython(_ calls: [Call]) async throws -> [String] {
    let input = try Array(JSONEncoder().encode(calls))
    let outcome = try await onThread {
      try Child(
        ["python3", "-c", Self.program].map { Array($0.utf8) }, environment: ProcessInfo.processInfo.environment,
        input: .bytes(input)
      ).finish()
    }
    return try JSONDecoder().decode([String].self, from: Data(outcome.output))
  }

  private static let program = """
    import json, sys, uuid
    ROOT = uuid.UUID("6f0c9f2e-3b1d-5c58-9d0f-8a4be1c5d7a2")
    def row(space, call):
        i = 0
        while True:
            block = uuid.uuid5(space, "%s\\x1f%d\\x1f%d" % (call["key"], call["ordinal"], i)).bytes
            yield from (b for n, b in enumerate(block) if n not in (6, 8))
            i += 1
    def value(call):
        space = uuid.uuid5(ROOT, call["seed"])
        if "alphabet" in call:
            letters, text = call["alphabet"], ""
            for byte in row(space, call):
                if len(text) == call["length"]:
                    return text
                if byte < 256 - 256 % len(letters):
                    text += letters[byte % len(letters)]
        if "low" in call:
            width, bytes_ = call["high"] - call["low"] + 1, row(space, call)
            while True:
                x = int.from_bytes(bytes(next(bytes_) for _ in range(8)), "big")
                if x < 2 ** 64 - 2 ** 64 % width:
                    return str(call["low"] + x % width)
        return str(uuid.uuid5(space, "%s\\x1f%d" % (call["key"], call["ordinal"])))
    json.dump([value(call) for call in json.loads(sys.stdin.buffer.read())], sys.stdout)
    """
}
