import Diorama
import EnvironmentService
import Foundation
import LaunchContract

/// `diorama strings`: a value of the algorithm `uuid5-v1`, for any program and for checking other implementations.
enum StringsCommand {
  static func run(_ arguments: [String]) throws -> Int32 {
    let options = try Options(arguments, table: table, command: "strings")
    if options.has("--help") {
      print(help, terminator: "")
      return 0
    }
    if let extra = options.operands.first ?? options.rest?.first {
      throw UsageError("'\(extra)' is one word too many", command: "strings")
    }
    if options.has("--batch") {
      if let other = options.values.keys.sorted().first(where: { $0 != "--batch" }) {
        throw UsageError("\(other) does not go with --batch, whose lines say everything", command: "strings")
      }
      try StringsBatch.answer(FileHandle.standardInput.readDataToEndOfFile())
      return 0
    }
    guard let seed = options.value("--seed") else { throw UsageError("--seed is missing", command: "strings") }
    guard let key = options.value("--key") else { throw UsageError("--key is missing", command: "strings") }
    let ordinal = try number(options, "--ordinal") ?? 0
    do {
      print(try StringDerivation(seed: seed).value(key: key, ordinal: ordinal, parameters(options)))
    } catch let error as DioramaError {
      throw UsageError("\(error)", command: "strings")
    }
    return 0
  }

  private static func parameters(_ options: Options) throws(UsageError) -> StringParameters {
    let kinds = ["--uuid", "--integer", "--email", "--choice", "--shuffle"].filter(options.has)
    guard kinds.count <= 1 else {
      throw UsageError("\(kinds[0]) and \(kinds[1]) exclude each other", command: "strings")
    }
    let others = ["--length", "--alphabet"].filter { $0 == "--alphabet" || kinds != ["--email"] }
    if let kind = kinds.first, let other = others.first(where: options.has) {
      throw UsageError("\(other) is for strings and does not go with \(kind)", command: "strings")
    }
    if options.has("--version4"), !options.has("--uuid") {
      throw UsageError("--version4 goes with --uuid only", command: "strings")
    }
    let length = try number(options, "--length") ?? StringParameters.defaultLength
    switch kinds.first {
    case "--uuid": return .uuid(version4: options.has("--version4"))
    case "--integer": return try integer(options.value("--integer") ?? "")
    case "--email": return .email(length: length, domain: options.value("--email") ?? "")
    case "--choice": return .choice(.options(options.all("--choice")))
    case "--shuffle": return .shuffle(.count(try number(options, "--shuffle") ?? 0))
    default:
      return .string(length: length, alphabet: options.value("--alphabet") ?? StringParameters.defaultAlphabet)
    }
  }

  private static func integer(_ range: String) throws(UsageError) -> StringParameters {
    let ends = range.split(separator: ".", omittingEmptySubsequences: false)
    guard ends.count == 3, ends[1].isEmpty, let low = Int64(ends[0]), let high = Int64(ends[2]), low <= high else {
      throw UsageError("--integer takes LOW..HIGH, such as 18..99, not '\(range)'", command: "strings")
    }
    return .integer(low: low, high: high)
  }

  private static func number(_ options: Options, _ name: String) throws(UsageError) -> Int? {
    guard let text = options.value(name) else { return nil }
    guard let number = Int(text), number >= 0 else {
      throw UsageError("\(name) takes a whole number from 0, not '\(text)'", command: "strings")
    }
    return number
  }

  private static let table: [Options.Option] = [
    .init("--seed", "TEXT", "the seed of the string store; may be empty"),
    .init("--key", "TEXT", "what the value is for, such as email"),
    .init("--ordinal", "N", "which use of the key, from 0 (default 0)"),
    .init("--length", "N", "characters of the string (default 12)"),
    .init("--alphabet", "TEXT", "2 to 256 characters to choose from (default a-z0-9)"),
    .init("--uuid", nil, "a UUID instead of a string"),
    .init("--version4", nil, "with --uuid: set its version digit to 4"),
    .init("--integer", "LOW..HIGH", "an integer instead of a string, both ends included"),
    .init("--email", "DOMAIN", "an e-mail address instead of a string"),
    .init("--choice", "TEXT", "one of several texts instead of a string; repeatable"),
    .init("--shuffle", "N", "the places 0 to N - 1 in another order instead of a string"),
    .init("--batch", nil, "answers requests from standard input instead, one JSON object a line"),
  ]

  private static let help = """
    usage: diorama strings --seed TEXT --key TEXT [option …]
           diorama strings --batch < REQUESTS

    Prints one random value. The same seed, key and ordinal give the same value for ever, in every language:
    the algorithm uuid5-v1 needs name-based UUIDs (RFC 9562) and nothing else.

    \(Options.describe(table))
      diorama strings --seed recording-2018 --key email
      z0r1lpyugt7o

    With --batch a line such as {"seed": "recording-2018", "key": "email", "ordinal": 1} is answered by the line
    {"value": "1hjqdinv568o"}. Its other members are those of an entry of a string store: length and alphabet, or
    type (email, uuid, integer, choice, shuffle) with domain, version4, low and high, options or count.

    """
}
