package import LaunchContract

/// HAR 1.2, the format of a cassette: what is written is strictly valid, what is read may be any tool's.
///
/// Rules: <http://www.softwareishard.com/blog/har-12-spec/>. Custom fields begin with an underscore there; ours stand
/// in `log._diorama`, `entry._diorama` and `postData._diorama`.
///
/// A file is written piece by piece, in constant memory:
/// ```swift
/// write(HAR.prologue(header))
/// for (index, interaction) in interactions.enumerated() {
///   write(HAR.entry(interaction, isFirst: index == 0))
/// }
/// write(HAR.epilogue())
/// ```
package enum HAR {
  /// The version of our own fields; a file with a higher one is refused.
  package static let format = 1

  /// What stands in `log.creator`.
  ///
  /// The version is the format's, not the program's: a re-recording by a newer program should not differ for that
  /// alone.
  package static let creator = JSON.object([.init("name", .string("diorama")), .init("version", .string("\(format)"))])

  /// The beginning of a file: everything before the first entry.
  package static func prologue(_ header: CassetteHeader) -> [UInt8] {
    let log = JSON.object([
      .init(
        "log",
        .object([
          .init("version", .string("1.2")),
          .init("creator", creator),
          .init("_diorama", encode(header)),
          .init("pages", .array([])),
          .init("entries", .array([])),
        ]))
    ])
    // The empty array's bracket and what follows it come from `epilogue`.
    return Array(log.encoded(.pretty).dropLast("]\n  }\n}".utf8.count)) + [0x0A]
  }

  /// One entry, with the comma before it unless it is the first.
  package static func entry(_ interaction: Interaction, isFirst: Bool) -> [UInt8] {
    var output: [UInt8] = []
    if !isFirst { output.append(contentsOf: ",\n".utf8) }
    output.append(contentsOf: "      ".utf8)
    encode(interaction).encode(into: &output, style: .pretty, level: 3)
    return output
  }

  /// The end of a file: everything after the last entry.
  package static func epilogue() -> [UInt8] {
    Array("\n    ]\n  }\n}\n".utf8)
  }

  /// A whole file.
  package static func write(_ cassette: Cassette) -> [UInt8] {
    var output = prologue(cassette.header)
    for (index, interaction) in cassette.interactions.enumerated() {
      output.append(contentsOf: entry(interaction, isFirst: index == 0))
    }
    output.append(contentsOf: epilogue())
    return output
  }
}
