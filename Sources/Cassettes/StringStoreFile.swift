package import Basics
package import LaunchContract

/// `NAME.strings.json`: the random values of a recording, by key and ordinal.
///
/// Replay reads values from this file and never computes them, so cassettes keep working if the algorithm changes.
package struct StringStoreFile: Sendable, Equatable {
  /// One use of a key: the value and the parameters of the request. Shared with the launch contract.
  package typealias Entry = StringEntry

  /// The version of the file format; a file with a higher one is rejected.
  package static let format = 1
  /// The algorithm that derives values from the seed; a file with another one is rejected.
  package static let algorithm = "uuid5-v1"

  /// The seed that the values were derived from.
  package var seed: String
  /// The recording ID, which the HAR also has; nil in a handwritten store.
  package var recording: String?
  /// Entries by key, then by ordinal; nil for an ordinal that was not recorded.
  package var entries: [String: [Entry?]]

  package init(seed: String, recording: String? = nil, entries: [String: [Entry?]] = [:]) {
    self.seed = seed
    self.recording = recording
    self.entries = entries
  }

  /// Encodes the file deterministically: keys sorted by their UTF-8 bytes, one entry per line.
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
  /// Strings, the most common kind, omit `type`.
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

extension StringStoreFile {
  /// Reads a string store, ignoring unknown members.
  ///
  /// - Parameters:
  ///   - bytes: the whole file.
  ///   - name: the file's name, for errors.
  /// - Returns: the store.
  /// - Throws: ``CodedError`` if the file is not a string store, its format or algorithm is unsupported, or an
  ///   entry lacks a required member.
  package static func read(_ bytes: UnsafeRawBufferPointer, name: String) throws(CodedError) -> StringStoreFile {
    try StoreReader(name: name).store(JSON.parse(bytes, name: name, advice: CodedError.restoring))
  }

  /// Reads a string store from an array.
  package static func read(_ bytes: [UInt8], name: String) throws(CodedError) -> StringStoreFile {
    try bytes.withUnsafeBufferPointer { (buffer) throws(CodedError) in
      try read(UnsafeRawBufferPointer(buffer), name: name)
    }
  }
}

private struct StoreReader {
  let name: String

  func store(_ value: JSON) throws(CodedError) -> StringStoreFile {
    guard value.object != nil, value["entries"] != nil || value["seed"] != nil else {
      let isHAR = value["log"] != nil
      throw CodedError(
        name: name, problem: isHAR ? "it is a HAR, not a string store" : "it is not a string store",
        advice: isHAR ? "pass the .strings.json file next to it" : "restore the file or re-record it")
    }
    try check(value)
    guard let seed = value["seed"]?.string else { throw failure("seed is missing or not a string") }
    guard let members = (value["entries"] ?? .object([])).object else { throw failure("entries is not an object") }
    var entries: [String: [StringStoreFile.Entry?]] = [:]
    for member in members {
      guard let uses = member.value.array else { throw failure("entries.\(member.key) is not an array") }
      guard entries[member.key] == nil else { throw failure("entries.\(member.key) appears twice") }
      var read: [StringStoreFile.Entry?] = []
      for (ordinal, use) in uses.enumerated() {
        read.append(use == .null ? nil : try entry(use, at: "entries.\(member.key)[\(ordinal)]"))
      }
      entries[member.key] = read
    }
    return StringStoreFile(seed: seed, recording: value["recording"]?.string, entries: entries)
  }

  private func check(_ value: JSON) throws(CodedError) {
    guard let format = value["format"]?.int, format >= 1 else {
      throw failure("format is missing or not a positive integer")
    }
    guard format <= StringStoreFile.format else {
      throw CodedError(
        name: name,
        problem: "its format is \(format), but this version of diorama supports at most \(StringStoreFile.format)",
        advice: "update diorama")
    }
    guard let algorithm = value["algorithm"]?.string else { throw failure("algorithm is missing or not a string") }
    guard algorithm == StringStoreFile.algorithm else {
      throw CodedError(
        name: name,
        problem:
          "its algorithm is '\(algorithm)', but this version of diorama supports only \(StringStoreFile.algorithm)",
        advice: "update diorama or re-record")
    }
  }

  private func entry(_ value: JSON, at path: String) throws(CodedError) -> StringStoreFile.Entry {
    guard let text = value["value"]?.string else { throw failure("\(path).value is missing or not a string") }
    return .init(value: text, parameters: try parameters(value, at: path))
  }

  private func parameters(_ value: JSON, at path: String) throws(CodedError) -> StringParameters {
    switch value["type"]?.string ?? "string" {
    case "string":
      let length = try length(value, at: path)
      guard let alphabet = value["alphabet"]?.string else {
        throw failure("\(path).alphabet is missing or not a string")
      }
      return .string(length: length, alphabet: alphabet)
    case "email":
      let length = try length(value, at: path)
      guard let domain = value["domain"]?.string else { throw failure("\(path).domain is missing or not a string") }
      return .email(length: length, domain: domain)
    case "uuid":
      return .uuid(version4: value["version4"]?.bool ?? false)
    case "integer":
      guard let low = value["low"]?.int, let high = value["high"]?.int else {
        throw failure("\(path).low or .high is missing or not a whole number")
      }
      return .integer(low: Int64(low), high: Int64(high))
    case "choice": return .choice(try list(value, at: path))
    case "shuffle": return .shuffle(try list(value, at: path))
    case "generator": return .generator
    case let type:
      throw failure("\(path).type is '\(type)', which this version does not support; update diorama")
    }
  }

  private func length(_ value: JSON, at path: String) throws(CodedError) -> Int {
    guard let length = value["length"]?.int, length >= 0 else {
      throw failure("\(path).length is missing or negative")
    }
    return length
  }

  private func list(_ value: JSON, at path: String) throws(CodedError) -> StringList {
    guard let options = value["options"]?.array else {
      guard let count = value["count"]?.int, count >= 0 else {
        throw failure("\(path) has neither options nor count")
      }
      return .count(count)
    }
    var texts: [String] = []
    for option in options {
      guard let text = option.string else { throw failure("\(path).options must all be strings") }
      texts.append(text)
    }
    return .options(texts)
  }

  private func failure(_ problem: String) -> CodedError {
    CodedError(name: name, problem: problem, advice: "restore the file or re-record it")
  }
}
