import EnvironmentConfiguration
import LaunchContract

extension Schemas {
  static let stringRequest = Schema.record(
    "What a random value is for, and what bounds it; type decides which of the other members count.",
    [
      .required("key", .line(1...10_000), "Non-empty, without control characters."),
      .optional("ordinal", .integer(0...999_999), "Counts the uses of the key; the next where it is left out."),
      .optional("status", .word("recorded", "read", "missing"), "What became of it, from a program that counts."),
      .optional("value", .text(.any, 0...1_048_576), "What a program that counts has come to."),
      .optional(
        "type", .word("string", "email", "uuid", "integer", "choice", "shuffle", "generator"),
        "string where it is left out."),
      .optional("length", .integer(0...1_048_576), "Characters; 12 where it is left out."),
      .optional("alphabet", .text(.any, 2...256), "The characters; a-z0-9 where it is left out."),
      .optional("domain", .line(1...255), "Of an e-mail address; example.com where it is left out."),
      .optional("low", .integer(Int.min...Int.max)), .optional("high", .integer(Int.min...Int.max)),
      .optional("version4", .boolean, "Whether a UUID's version digit says 4."),
      .optional(
        "options", .array(of: .text(.any, 0...10_000), count: 0...StringList.mostOptions), "What a choice is made of."),
      .optional("count", .integer(0...100_000), "How many things there are, instead of options."),
    ])

  static let stringAnswer = Schema.record([
    .optional("value", .words, "The value to use."), .required("ordinal", .count, "The use that it belongs to."),
  ])
}
