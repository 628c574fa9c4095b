import Diorama
import Foundation
import LaunchContract
import Testing
import TestSupport

@Suite("Algorithm uuid5-v1")
struct StringDerivationTests {
  private let derivation = StringDerivation(seed: "recording-2018")
  private let lettersAndDigits = "abcdefghijklmnopqrstuvwxyz0123456789"
  private let capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

  @Test("gives the documented values")
  func vectors() throws {
    #expect(derivation.S == UUID(uuidString: "53f6ad1b-aaa7-53aa-a60f-1e0555f85827"))
    #expect(try derivation.string(key: "email", ordinal: 0, length: 12, alphabet: lettersAndDigits) == "z0r1lpyugt7o")
    #expect(try derivation.string(key: "email", ordinal: 1, length: 12, alphabet: lettersAndDigits) == "1hjqdinv568o")
    #expect(
      try derivation.string(key: "symptom", ordinal: 0, length: 40, alphabet: capitals)
        == "DHDSDWQFZRKRTJOVFHXSNQDTLOVQZKMKKWNGBHGZ")
    #expect(
      try StringDerivation(seed: "").string(key: "naïve 🙂", ordinal: 3, length: 20, alphabet: "01")
        == "11000111111111110010")
    #expect(try derivation.uuid(key: "user", ordinal: 0) == UUID(uuidString: "33b5dc9e-2b61-5d71-b1cb-ce186f420e82"))
    #expect(try derivation.integer(key: "age", ordinal: 0, in: 18...99) == 55)
    #expect(try derivation.integer(key: "big", ordinal: 0, in: 0 ... .max) == 8_800_391_152_725_196_935)
  }

  @Test("marks a UUID as version 4 on request and changes nothing else")
  func version4() throws {
    #expect(
      try derivation.uuid(key: "user", ordinal: 0, version4: true)
        == UUID(uuidString: "33b5dc9e-2b61-4d71-b1cb-ce186f420e82"))
  }

  @Test("gives a longer string the shorter one as prefix")
  func prefix() throws {
    let long = try derivation.string(key: "k", ordinal: 0, length: 400, alphabet: lettersAndDigits)
    #expect(long.count == 400)
    #expect(try derivation.string(key: "k", ordinal: 0, length: 0, alphabet: lettersAndDigits) == "")
    #expect(try derivation.string(key: "k", ordinal: 0, length: 15, alphabet: lettersAndDigits) == long.prefix(15))
  }

  @Test("accepts an alphabet of 2 to 256 Unicode scalars")
  func alphabets() throws {
    let all = String(String.UnicodeScalarView((0..<256).compactMap { Unicode.Scalar(0x1F300 + $0) }))
    #expect(try derivation.string(key: "k", ordinal: 0, length: 30, alphabet: all).unicodeScalars.count == 30)
    // Two scalars that form one character count as two.
    #expect(try derivation.string(key: "k", ordinal: 0, length: 30, alphabet: "e\u{301}").unicodeScalars.count == 30)
    for alphabet in ["", "a", all + "x"] {
      #expect(throws: DioramaError.self) {
        try derivation.string(key: "k", ordinal: 0, length: 1, alphabet: alphabet)
      }
    }
  }

  @Test("uses all characters of an alphabet about equally often")
  func isEven() throws {
    let string = try derivation.string(key: "even", ordinal: 0, length: 36_000, alphabet: lettersAndDigits)
    let counts = string.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    #expect(counts.count == 36)
    #expect(counts.values.allSatisfy { 850...1_150 ~= $0 })
  }

  @Test("accepts ranges of one number, of all 64 bits and across zero")
  func ranges() throws {
    #expect(try derivation.integer(key: "k", ordinal: 0, in: 7...7) == 7)
    let numbers = try (0..<200).map { try derivation.integer(key: "k", ordinal: $0, in: .min ... .max) }
    #expect(Set(numbers).count == 200)
    #expect(numbers.contains { $0 < 0 } && numbers.contains { $0 > 0 })
    let small = try (0..<200).map { try derivation.integer(key: "k", ordinal: $0, in: -1...1) }
    #expect(Set(small) == [-1, 0, 1])
  }

  @Test(
    "rejects a key that is empty or contains control characters",
    arguments: ["", "a\u{1F}b", "\n", "x\u{7F}", "\u{85}"])
  func keys(_ key: String) {
    let errors: [DioramaError?] = [
      #expect(throws: DioramaError.self) { try derivation.string(key: key, ordinal: 0, length: 1, alphabet: "01") },
      #expect(throws: DioramaError.self) { try derivation.uuid(key: key, ordinal: 0) },
      #expect(throws: DioramaError.self) { try derivation.integer(key: key, ordinal: 0, in: 0...1) },
    ]
    for error in errors {
      #expect(error?.kind == .invalidRequest)
      #expect(error?.description.contains("\n") == false)
    }
  }

  @Test(
    "rejects lengths that are too long for a store, and accepts the highest ordinal",
    arguments: [1 << 20, 10_000, .max])
  func enormous(_ beyond: Int) throws {
    let length = beyond == .max ? beyond : (1 << 20) + beyond
    let error = #expect(throws: DioramaError.self) {
      try derivation.string(key: "k", ordinal: 0, length: length, alphabet: "01")
    }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.description.contains("the range is 0 to 1048576") == true)
    #expect(throws: DioramaError.self) { try RandomStrings.live.string("k", length: length) }
    #expect(throws: DioramaError.self) { try RandomStrings.live.email("k", length: length) }
    #expect(throws: DioramaError.self) {
      try derivation.string(key: "k", ordinal: 0, length: 1, alphabet: String(repeating: "é", count: 1 << 20))
    }
    #expect(throws: DioramaError.self) { try derivation.shuffle(key: "k", ordinal: 0, count: length) }
    #expect(try derivation.string(key: "k", ordinal: beyond, length: 3, alphabet: "01").count == 3)
    #expect(try 0..<length ~= derivation.choice(key: "k", ordinal: .max, count: length))
  }

  @Test("rejects negative lengths and ordinals")
  func negative() {
    #expect(throws: DioramaError.self) {
      try derivation.string(key: "k", ordinal: 0, length: -1, alphabet: "01")
    }
    #expect(throws: DioramaError.self) { try derivation.uuid(key: "k", ordinal: -1) }
  }
}

@Suite("Comparison of uuid5-v1 with Python's uuid module")
struct PythonComparisonTests {
  private struct Request: Decodable {
    var seed: String
    var key: String
    var ordinal: Int
    var outputs: Int?
    var parameters: StringParameters

    private enum CodingKeys: String, CodingKey {
      case seed, key, ordinal, outputs
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      seed = try container.decode(String.self, forKey: .seed)
      key = try container.decode(String.self, forKey: .key)
      ordinal = try container.decode(Int.self, forKey: .ordinal)
      outputs = try container.decodeIfPresent(Int.self, forKey: .outputs)
      parameters = try StringParameters(request: decoder)
    }
  }

  @Test(
    "agrees exactly on 10,000 random values",
    arguments: [
      ["string", "uuid", "integer"], ["email", "choice", "shuffle", "generator"],
    ])
  func agrees(types: [String]) async throws {
    let requests = try PythonStrings.requests(10_000, types: types)
    let answers = try await PythonStrings.answers(to: requests)
    try #require(answers.count == requests.count)
    for (data, answer) in zip(requests, answers) {
      let request = try JSONDecoder().decode(Request.self, from: data)
      let value = try value(of: request)
      // By bytes, because Swift strings are equal if they are Unicode-equivalent.
      let isEqual = value.utf8.elementsEqual(answer.utf8)
      #expect(isEqual, "\(value) is \(answer) in Python: \(request)")
      if !isEqual { break }
    }
  }

  private func value(of request: Request) throws -> String {
    let derivation = StringDerivation(seed: request.seed)
    guard let outputs = request.outputs else {
      return try derivation.value(key: request.key, ordinal: request.ordinal, request.parameters)
    }
    var generator = try derivation.generator(key: request.key, ordinal: request.ordinal)
    return (0..<outputs).map { _ in String(generator.next()) }.joined(separator: ",")
  }
}
