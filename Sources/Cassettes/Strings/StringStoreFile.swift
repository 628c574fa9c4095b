package import LaunchContract

/// `NAME.strings.json`: the random inputs of one recording, by key and ordinal.
///
/// In replay a value is read from here and never made, so a cassette keeps working whatever becomes of the algorithm.
package struct StringStoreFile: Sendable, Equatable {
  /// One use of a key: what the app got, and what it had asked for. The launch contract carries the same.
  package typealias Entry = StringEntry

  /// The version of the file's layout; a file with a higher one is refused.
  package static let format = 1
  /// How values are made from the seed; a file with another one is refused.
  package static let algorithm = "uuid5-v1"

  /// What the values were made from.
  package var seed: String
  /// The recording id that the HAR beside it has too; nil in a store written by hand.
  package var recording: String?
  /// By key, then by ordinal; nil where an ordinal was not recorded.
  package var entries: [String: [Entry?]]

  package init(seed: String, recording: String? = nil, entries: [String: [Entry?]] = [:]) {
    self.seed = seed
    self.recording = recording
    self.entries = entries
  }

  /// The file: keys sorted by their UTF-8 bytes, one entry a line, the same bytes for the same store.
  package func write() -> [UInt8] {
    var output: [UInt8] = []
    output.append(contentsOf: "{\n  \"format\": \(Self.format),\n  \"algorithm\": \"\(Self.algorithm)\"".utf8)
    append(",\n  \"seed\": ", seed, to: &output)
    if let recording { append(",\n  \"recording\": ", recording, to: &output) }
    output.append(contentsOf: ",\n  \"entries\": {".utf8)
    let keys = entries.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    for (index, key) in keys.enumerated() {
      append(index == 0 ? "\n    " : ",\n    ", key, to: &output)
      output.append(contentsOf: ": [".utf8)
      let uses = entries[key] ?? []
      for (ordinal, entry) in uses.enumerated() {
        output.append(contentsOf: (ordinal == 0 ? "\n      " : ",\n      ").utf8)
        (entry?.json ?? .null).encode(into: &output, style: .line)
      }
      output.append(contentsOf: (uses.isEmpty ? "]" : "\n    ]").utf8)
    }
    output.append(contentsOf: (keys.isEmpty ? "}\n}\n" : "\n  }\n}\n").utf8)
    return output
  }

  private func append(_ before: String, _ text: String, to output: inout [UInt8]) {
    output.append(contentsOf: before.utf8)
    JSON.encode(text, into: &output)
  }
}

extension StringEntry {
  /// A string's entry has no `type`: strings are what nearly all of them are.
  fileprivate var json: JSON {
    var members = [JSON.Member("value", .string(value))]
    switch parameters {
    case .string(let length, let alphabet):
      members += [.init("length", .number("\(length)")), .init("alphabet", .string(alphabet))]
    case .email(let length, let domain):
      members += [
        .init("type", .string("email")), .init("length", .number("\(length)")), .init("domain", .string(domain)),
      ]
    case .uuid(let version4):
      members.append(.init("type", .string("uuid")))
      if version4 { members.append(.init("version4", .bool(true))) }
    case .integer(let low, let high):
      members += [
        .init("type", .string("integer")), .init("low", .number("\(low)")), .init("high", .number("\(high)")),
      ]
    case .choice(let list): members += [.init("type", .string("choice")), list.json]
    case .shuffle(let list): members += [.init("type", .string("shuffle")), list.json]
    case .generator: members.append(.init("type", .string("generator")))
    }
    return .object(members)
  }
}

extension StringList {
  fileprivate var json: JSON.Member {
    switch self {
    case .options(let options): .init("options", .array(options.map(JSON.string)))
    case .count(let count): .init("count", .number("\(count)"))
    }
  }
}
