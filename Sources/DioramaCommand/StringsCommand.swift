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
    let kinds = ["--uuid", "--integer"].filter(options.has)
    guard kinds.count <= 1 else { throw UsageError("--uuid and --integer exclude each other", command: "strings") }
    if let kind = kinds.first, let other = ["--length", "--alphabet"].first(where: options.has) {
      throw UsageError("\(other) is for strings and does not go with \(kind)", command: "strings")
    }
    if options.has("--version4"), !options.has("--uuid") {
      throw UsageError("--version4 goes with --uuid only", command: "strings")
    }
    if options.has("--uuid") { return .uuid(version4: options.has("--version4")) }
    guard let range = options.value("--integer") else {
      return .string(
        length: try number(options, "--length") ?? 12,
        alphabet: options.value("--alphabet") ?? "abcdefghijklmnopqrstuvwxyz0123456789")
    }
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
  ]

  private static let help = """
    usage: diorama strings --seed TEXT --key TEXT [option …]

    Prints one random value. The same seed, key and ordinal give the same value for ever, in every language:
    the algorithm uuid5-v1 needs name-based UUIDs (RFC 9562) and nothing else.

    \(Options.describe(table))
      diorama strings --seed recording-2018 --key email
      z0r1lpyugt7o

    """
}
