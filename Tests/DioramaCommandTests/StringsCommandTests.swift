import Foundation
import TestSupport
import Testing

@Suite("diorama strings", .timeLimit(.minutes(5)))
struct StringsCommandTests {
  /// Arguments and the value that they give for ever.
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
  ]

  @Test("prints the value of the algorithm uuid5-v1", arguments: vectors)
  func vector(arguments: [String], value: String) async throws {
    let outcome = try await Diorama.run(["strings"] + arguments)
    #expect(outcome.text == value + "\n")
    #expect(outcome.words == "")
    #expect(outcome.status == 0)
  }

  @Test("keeps an integer in its range, also one below zero and the whole of 64 bits")
  func range() async throws {
    let small = try await Diorama.run("strings", "--seed", "s", "--key", "k", "--integer", "-3..3")
    #expect((-3...3).contains(Int(small.text.dropLast()) ?? 9))
    let whole = try await Diorama.run(
      "strings", "--seed", "s", "--key", "k", "--integer", "-9223372036854775808..9223372036854775807")
    #expect(Int64(whole.text.dropLast()) != nil)
  }
}
