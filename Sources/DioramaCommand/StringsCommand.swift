import Basics
import Diorama
import EnvironmentService
import Foundation
import LaunchContract

/// `diorama strings`: prints values of the algorithm `uuid5-v1`, for scripts and for checking other implementations.
enum StringsCommand {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    if options.has("--batch") {
      if let other = options.values.keys.sorted().first(where: { $0 != "--batch" }) {
        throw CodedError(
          usage: "\(other) cannot be combined with --batch; give it in the input lines", command: "strings")
      }
      try StringsBatch.answer(FileHandle.standardInput.readDataToEndOfFile())
      return 0
    }
    guard let seed = options.value("--seed") else { throw CodedError(usage: "--seed is missing", command: "strings") }
    guard let key = options.value("--key") else { throw CodedError(usage: "--key is missing", command: "strings") }
    let ordinal = try options.number("--ordinal", 0...Int.max, command: "strings") ?? 0
    do {
      let value = try StringDerivation(seed: seed).value(key: key, ordinal: ordinal, parameters(options))
      try Output.write(raw: value + "\n")
    } catch let error as DioramaError {
      throw CodedError(usage: "\(error)", command: "strings")
    }
    return 0
  }

  private static func parameters(_ options: Options) throws(CodedError) -> StringParameters {
    let kinds = ["--uuid", "--integer", "--email", "--choice", "--shuffle"].filter(options.has)
    guard kinds.count <= 1 else {
      throw CodedError(usage: "\(kinds[0]) and \(kinds[1]) cannot be combined", command: "strings")
    }
    let others = ["--length", "--alphabet"].filter { $0 == "--alphabet" || kinds != ["--email"] }
    if let kind = kinds.first, let other = others.first(where: options.has) {
      throw CodedError(usage: "\(other) cannot be combined with \(kind)", command: "strings")
    }
    if options.has("--version4"), !options.has("--uuid") {
      throw CodedError(usage: "--version4 requires --uuid", command: "strings")
    }
    let length =
      try options.number("--length", 0...StringDerivation.longestString, command: "strings")
      ?? StringParameters.defaultLength
    switch kinds.first {
    case "--uuid": return .uuid(version4: options.has("--version4"))
    case "--integer": return try integer(options.value("--integer") ?? "")
    case "--email": return .email(length: length, domain: options.value("--email") ?? "")
    case "--choice": return .choice(.options(options.all("--choice")))
    case "--shuffle":
      return .shuffle(
        .count(try options.number("--shuffle", 0...StringDerivation.mostShuffled, command: "strings") ?? 0))
    default:
      return .string(length: length, alphabet: options.value("--alphabet") ?? StringParameters.defaultAlphabet)
    }
  }

  private static func integer(_ range: String) throws(CodedError) -> StringParameters {
    let ends = range.split(separator: ".", omittingEmptySubsequences: false)
    guard ends.count == 3, ends[1].isEmpty, let low = Int64(ends[0]), let high = Int64(ends[2]), low <= high else {
      throw CodedError(usage: "--integer takes LOW..HIGH, such as 18..99, not '\(range)'", command: "strings")
    }
    return .integer(low: low, high: high)
  }

  private static let table: [Options.Option] = [
    .init("--seed", "TEXT", "the seed of the string store; may be empty"),
    .init("--key", "TEXT", "the key of the value, such as email"),
    .init("--ordinal", "N", "how often the key was used before (default: 0)"),
    .init("--length", "N", "the length in characters (default: 12)"),
    .init("--alphabet", "TEXT", "2 to 256 characters to choose from (default: a-z0-9)"),
    .init("--uuid", nil, "print a UUID"),
    .init("--version4", nil, "with --uuid: set its version digit to 4"),
    .init("--integer", "LOW..HIGH", "print an integer in this range, both ends included"),
    .init("--email", "DOMAIN", "print an e-mail address"),
    .init("--choice", "TEXT", "print one of several texts; repeatable"),
    .init("--shuffle", "N", "print the numbers 0 to N - 1 in random order"),
    .init("--batch", nil, "read requests from standard input, one JSON object a line"),
  ]

  static let command = Command(
    "strings", "print values of the string algorithm uuid5-v1",
    usage: ["strings --seed TEXT --key TEXT [option …]", "strings --batch < REQUESTS"],
    about: """
      Prints a random value. The same seed, key and ordinal always produce the same
      value, in every language: the algorithm uuid5-v1 needs only name-based UUIDs
      (RFC 9562).
      """, options: table,
    notes: """
        diorama strings --seed recording-2018 --key email
        z0r1lpyugt7o

      With --batch, an input line such as

        {"seed": "recording-2018", "key": "email", "ordinal": 1}

      produces the output line {"value": "1hjqdinv568o"}. Other members are those of a
      string store's entry: length and alphabet, or type (email, uuid, integer,
      choice, shuffle) with domain, version4, low and high, options or count.
      """, run: run)
}

/// `diorama strings --batch`: prints many values, for checking other implementations.
enum StringsBatch {
  private struct Request: Decodable {
    var seed: String
    var key: String
    var ordinal: Int
    var parameters: StringParameters

    private enum CodingKeys: String, CodingKey {
      case seed, key, ordinal
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      seed = try container.decode(String.self, forKey: .seed)
      key = try container.decode(String.self, forKey: .key)
      ordinal = try container.decodeIfPresent(Int.self, forKey: .ordinal) ?? 0
      parameters = try StringParameters(request: decoder)
    }
  }

  /// Prints a JSON object for each line; skips empty lines.
  ///
  /// - Throws: ``CodedError`` that names the first invalid line. Earlier lines have been answered.
  static func answer(_ input: Data) throws {
    for (index, line) in input.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      if line.isEmpty || line.elementsEqual([0x0D]) { continue }
      let value: String
      do {
        let request = try JSON.decode(Request.self, from: Data(line), source: "")
        let derivation = StringDerivation(seed: request.seed)
        value = try derivation.value(key: request.key, ordinal: request.ordinal, request.parameters)
      } catch {
        let error = (error as? CodedError)?.problem ?? "\(error)"
        throw CodedError(usage: "standard input, line \(index + 1): \(error)", command: "strings")
      }
      try Output.write(raw: String(decoding: try JSON.encode(["value": value]), as: UTF8.self) + "\n")
    }
  }
}
