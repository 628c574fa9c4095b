import LaunchContract

extension StringStoreFile {
  /// Reads a store; members that it does not know it ignores.
  ///
  /// - Parameters:
  ///   - bytes: The whole file.
  ///   - name: The file, for errors.
  /// - Returns: The store.
  /// - Throws: ``CassetteError`` when it is no string store, of a newer format or of another algorithm, or an entry
  ///   lacks what it needs.
  package static func read(_ bytes: UnsafeRawBufferPointer, name: String) throws(CassetteError) -> StringStoreFile {
    let document: JSON
    do {
      document = try JSON.parse(bytes)
    } catch {
      throw CassetteError(name: name, json: error)
    }
    return try StoreReader(name: name).store(document)
  }

  /// Reads a store; as the other `read`.
  package static func read(_ bytes: [UInt8], name: String) throws(CassetteError) -> StringStoreFile {
    try bytes.withUnsafeBufferPointer { (buffer) throws(CassetteError) in
      try read(UnsafeRawBufferPointer(buffer), name: name)
    }
  }
}

private struct StoreReader {
  let name: String

  func store(_ value: JSON) throws(CassetteError) -> StringStoreFile {
    guard value.object != nil, value["entries"] != nil || value["seed"] != nil else {
      let isHAR = value["log"] != nil
      throw CassetteError(
        name: name, problem: isHAR ? "it is a HAR, not a string store" : "it is not a string store",
        advice: isHAR ? "name the .strings.json file that stands beside it" : "restore the file, or record anew")
    }
    try check(value)
    guard let seed = value["seed"]?.string else { throw failure("seed is missing or not a string") }
    guard let members = (value["entries"] ?? .object([])).object else { throw failure("entries is not an object") }
    var entries: [String: [StringStoreFile.Entry?]] = [:]
    for member in members {
      guard let uses = member.value.array else { throw failure("entries.\(member.key) is not an array") }
      guard entries[member.key] == nil else { throw failure("entries.\(member.key) stands there twice") }
      var read: [StringStoreFile.Entry?] = []
      for (ordinal, use) in uses.enumerated() {
        read.append(use == .null ? nil : try entry(use, at: "entries.\(member.key)[\(ordinal)]"))
      }
      entries[member.key] = read
    }
    return StringStoreFile(seed: seed, recording: value["recording"]?.string, entries: entries)
  }

  private func check(_ value: JSON) throws(CassetteError) {
    guard let format = value["format"]?.int, format >= 1 else {
      throw failure("format is missing or not a number from 1")
    }
    guard format <= StringStoreFile.format else {
      throw CassetteError(
        name: name,
        problem: "it has format \(format), and this diorama knows formats up to \(StringStoreFile.format)",
        advice: "update diorama")
    }
    guard let algorithm = value["algorithm"]?.string else { throw failure("algorithm is missing or not a string") }
    guard algorithm == StringStoreFile.algorithm else {
      throw CassetteError(
        name: name, problem: "its algorithm is '\(algorithm)', and this diorama knows \(StringStoreFile.algorithm)",
        advice: "update diorama, or record anew")
    }
  }

  private func entry(_ value: JSON, at path: String) throws(CassetteError) -> StringStoreFile.Entry {
    guard let text = value["value"]?.string else { throw failure("\(path).value is missing or not a string") }
    return .init(value: text, parameters: try parameters(value, at: path))
  }

  private func parameters(_ value: JSON, at path: String) throws(CassetteError) -> StringParameters {
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
      throw failure("\(path).type is '\(type)', which is not known here; update diorama")
    }
  }

  private func length(_ value: JSON, at path: String) throws(CassetteError) -> Int {
    guard let length = value["length"]?.int, length >= 0 else {
      throw failure("\(path).length is missing or not a number from 0")
    }
    return length
  }

  private func list(_ value: JSON, at path: String) throws(CassetteError) -> StringList {
    guard let options = value["options"]?.array else {
      guard let count = value["count"]?.int, count >= 0 else {
        throw failure("\(path) has neither options nor a count")
      }
      return .count(count)
    }
    var texts: [String] = []
    for option in options {
      guard let text = option.string else { throw failure("\(path).options are not all strings") }
      texts.append(text)
    }
    return .options(texts)
  }

  private func failure(_ problem: String) -> CassetteError {
    CassetteError(name: name, problem: problem, advice: "restore the file, or record anew")
  }
}
