import Foundation
import TestSupport
import Testing

@Suite("diorama strings", .timeLimit(.minutes(5)))
struct StringsCommandTests {
  /// Arguments with their permanent values.
  static let vectors: [([String], String)] = [
    (["--seed", "recording-2018", "--key", "email"], "z0r1lpyugt7o"),
    (["--seed", "recording-2018", "--key", "email", "--ordinal", "0", "--length", "12"], "z0r1lpyugt7o"),
    (["--seed=recording-2018", "--key=email", "--ordinal=1"], "1hjqdinv568o"),
    (
      [
        "--seed", "recording-2018", "--key", "symptom", "--length", "40", "--alphabet", "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
      ], "DHDSDWQFZRKRTJOVFHXSNQDTLOVQZKMKKWNGBHGZ"
    ),
    (
      ["--seed", "", "--key", "naïve 🙂", "--ordinal", "3", "--length", "20", "--alphabet", "01"],
      "11000111111111110010"
    ),
    (["--seed", "recording-2018", "--key", "user", "--uuid"], "33b5dc9e-2b61-5d71-b1cb-ce186f420e82"),
    (["--seed", "recording-2018", "--key", "user", "--uuid", "--version4"], "33b5dc9e-2b61-4d71-b1cb-ce186f420e82"),
    (["--seed", "recording-2018", "--key", "age", "--integer", "18..99"], "55"),
    (["--seed", "recording-2018", "--key", "big", "--integer", "0..9223372036854775807"], "8800391152725196935"),
    (["--seed", "recording-2018", "--key", "one", "--integer", "-7..-7"], "-7"),
    (["--seed", "recording-2018", "--key", "none", "--length", "0"], ""),
    (["--seed", "recording-2018", "--key", "email", "--email", "example.com"], "z0r1lpyugt7o@example.com"),
    (["--seed", "recording-2018", "--key", "email", "--email", "a.b", "--length", "3"], "z0r@a.b"),
    (["--seed", "recording-2018", "--key", "plan", "--choice", "a", "--choice", "b", "--choice", "c"], "c"),
    (["--seed", "recording-2018", "--key", "deck", "--shuffle", "10"], "4,5,0,6,1,9,2,7,8,3"),
  ]

  @Test("prints values of the algorithm uuid5-v1", arguments: vectors)
  func vector(arguments: [String], value: String) async throws {
    let outcome = try await Diorama.run(["strings"] + arguments)
    #expect(outcome.text == value + "\n")
    #expect(outcome.words == "")
    #expect(outcome.status == 0)
  }

  @Test("answers a batch of requests like the Python implementation")
  func batch() async throws {
    let requests = try PythonStrings.requests(
      10_000, types: ["string", "uuid", "integer", "string", "uuid", "integer", "email", "choice", "shuffle"])
    let expected = try await PythonStrings.answers(to: requests)
    let outcome = try await Diorama.run(
      "strings", "--batch", input: .bytes(Array(requests.joined(separator: [0x0A])) + [0x0A]))
    #expect(outcome.status == 0)
    #expect(outcome.words == "")
    let values = try outcome.output.split(separator: 0x0A).map {
      try JSONDecoder().decode([String: String].self, from: Data($0))["value"] ?? ""
    }
    try #require(values.count == expected.count)
    for (index, (value, answer)) in zip(values, expected).enumerated() {
      // Compares bytes, since Swift strings are equal if they are canonically equivalent.
      try #require(value.utf8.elementsEqual(answer.utf8), "\(String(decoding: requests[index], as: UTF8.self))")
    }
  }

  @Test("answers the lines before the first invalid one, and names it")
  func brokenBatch() async throws {
    let lines = [#"{"seed": "recording-2018", "key": "email"}"#, "", #"{"seed": "s", "key": ""}"#, "{"]
    let outcome = try await Diorama.run(
      "strings", "--batch", input: .bytes(Array(lines.joined(separator: "\r\n").utf8)))
    #expect(outcome.text == #"{"value":"z0r1lpyugt7o"}"# + "\n")
    #expect(outcome.status == 64)
    #expect(outcome.lines.count == 1)
    #expect(outcome.words.contains("line 3: the key of a random value must not be empty"))
  }

  @Test(
    "explains what is wrong with a request",
    arguments: [
      (#"{"seed": "s", "key": "k", "length": 1e300}"#, "length: it is not a whole number"),
      (#"{"seed": "s", "key": "k", "length": "x"}"#, "length: it is a string, not a whole number"),
      (#"{"seed": null, "key": "k"}"#, "seed: it is null, not a string"), (#"{"seed": "s"}"#, "'key' is missing"),
      (#"{"seed": "s", "key": "k", "type": "colour"}"#, "type: 'colour' is not one of string, email"),
      ("{", "not valid JSON: line 1, column 2"),
    ])
  func plainWords(_ line: String, _ problem: String) async throws {
    let outcome = try await Diorama.run("strings", "--batch", input: .bytes(Array(line.utf8)))
    expectOneLine(outcome, status: 64, naming: "standard input, line 1: \(problem)")
  }

  @Test("refuses excessive lengths", arguments: ["1048577", "1000000000000", "9223372036854775807"])
  func enormous(_ length: String) async throws {
    for words in [["--length", length], ["--email", "a.b", "--length", length], ["--shuffle", length]] {
      expectOneLine(
        try await Diorama.run(["strings", "--seed", "s", "--key", "k"] + words), status: 64, naming: length)
    }
    let line = #"{"seed": "s", "key": "k", "length": \#(length)}"#
    expectOneLine(
      try await Diorama.run("strings", "--batch", input: .bytes(Array(line.utf8))), status: 64, naming: "line 1", length
    )
    let high = try await Diorama.run(["strings", "--seed", "s", "--key", "k", "--ordinal", length])
    #expect(high.text.count == 13)
  }

  @Test("keeps integers in their range, including negative and 64-bit ranges")
  func range() async throws {
    let small = try await Diorama.run("strings", "--seed", "s", "--key", "k", "--integer", "-3..3")
    #expect((-3...3).contains(Int(small.text.dropLast()) ?? 9))
    let whole = try await Diorama.run(
      "strings", "--seed", "s", "--key", "k", "--integer", "-9223372036854775808..9223372036854775807")
    #expect(Int64(whole.text.dropLast()) != nil)
  }
}
