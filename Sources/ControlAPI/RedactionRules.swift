package import Foundation
package import LaunchContract

/// What is taken out of a recording beside what always is: credentials that the environment knows, and the headers that
/// carry them.
///
/// The member `redact` of a request, and the content of `NAME.redact.json` and `redact.json` beside a cassette. A member
/// that is not known is refused, since a rule with a typing error would redact nothing.
package struct RedactionRules: Codable, Sendable, Equatable {
  /// Header fields whose whole value goes; in any case of letters.
  package var headers: [String] = []
  /// Items of a URL's query whose value goes, in the request's and in URLs in headers and text; in any case of letters.
  package var query: [String] = []
  /// Places in JSON bodies: JSON paths (RFC 9535) of names, indices, `*` and `..`.
  package var json: [String] = []
  /// Fields of form bodies, urlencoded and multipart; in any case of letters.
  package var form: [String] = []
  /// Regular expressions for what goes wherever it stands.
  package var patterns: [String] = []
  /// Defaults that do not hold.
  package var keep = Keep()

  /// Defaults that do not hold.
  package struct Keep: Codable, Sendable, Equatable {
    /// Header fields that would be redacted without being named.
    package var headers: [String] = []
    /// Credentials, as `SERVICE/ACCOUNT`, that are no secrets, such as a user's name.
    package var credentials: [String] = []

    package init(headers: [String] = [], credentials: [String] = []) {
      self.headers = headers
      self.credentials = credentials
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
      case headers, credentials
    }

    package init(from decoder: any Decoder) throws {
      let container = try decoder.strictContainer(CodingKeys.self)
      headers = try container.texts(.headers)
      credentials = try container.texts(.credentials)
    }

    package func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(texts: headers, .headers)
      try container.encode(texts: credentials, .credentials)
    }
  }

  package init() {}

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case headers, query, json, form, patterns, keep
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.strictContainer(CodingKeys.self)
    headers = try container.texts(.headers)
    query = try container.texts(.query)
    json = try container.texts(.json)
    form = try container.texts(.form)
    patterns = try container.texts(.patterns)
    keep = try container.decodeIfPresent(Keep.self, forKey: .keep) ?? Keep()
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(texts: headers, .headers)
    try container.encode(texts: query, .query)
    try container.encode(texts: json, .json)
    try container.encode(texts: form, .form)
    try container.encode(texts: patterns, .patterns)
    if keep != Keep() { try container.encode(keep, forKey: .keep) }
  }

  /// Reads rules, as a file has them.
  ///
  /// - Throws: a `ContractError` that says in one line what is wrong at which JSON path, and what is allowed there.
  package init(decoding data: Data) throws(ContractError) {
    if let document = try? JSON.parse([UInt8](data)), let name = document.repeatedName {
      throw ContractError("'\(name.prefix(80))' is there twice; put both into one")
    }
    do throws(ContractError) {
      self = try ContractJSON.decode(Self.self, from: data, source: "")
    } catch {
      let isAtMember = CodingKeys.allCases.contains { error.problem.hasPrefix("\($0.rawValue)") }
      throw ContractError(isAtMember ? "$.\(error.problem)" : error.problem)
    }
  }

  /// Whether there is no rule at all.
  package var isEmpty: Bool { self == RedactionRules() }

  /// All of these and all of the others: rules only add up.
  package func adding(_ others: RedactionRules) -> RedactionRules {
    func united(_ left: [String], _ right: [String]) -> [String] { left + right.filter { !left.contains($0) } }
    var all = self
    all.headers = united(headers, others.headers)
    all.query = united(query, others.query)
    all.json = united(json, others.json)
    all.form = united(form, others.form)
    all.patterns = united(patterns, others.patterns)
    all.keep.headers = united(keep.headers, others.keep.headers)
    all.keep.credentials = united(keep.credentials, others.keep.credentials)
    return all
  }
}

/// A member of any name.
private struct AnyName: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension Decoder {
  /// A container that has none but known members.
  func strictContainer<Key: CodingKey & CaseIterable>(
    _ keys: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    let names = Key.allCases.map(\.stringValue)
    for key in try container(keyedBy: AnyName.self).allKeys where !names.contains(key.stringValue) {
      let place = (codingPath.map(\.stringValue) + [String(key.stringValue.prefix(80))]).joined(separator: ".")
      throw ContractError("$.\(place): there is no such rule; there are \(names.joined(separator: ", "))")
    }
    return try container(keyedBy: keys)
  }
}

extension KeyedDecodingContainer {
  func texts(_ key: Key) throws -> [String] { try decodeIfPresent([String].self, forKey: key) ?? [] }
}

extension KeyedEncodingContainer {
  mutating func encode(texts: [String], _ key: Key) throws {
    if !texts.isEmpty { try encode(texts, forKey: key) }
  }
}

extension JSON {
  /// A member's name that an object in it has twice; nil where there is none.
  var repeatedName: String? {
    switch self {
    case .object(let members):
      var names = Set<String>()
      for member in members {
        if !names.insert(member.key).inserted { return member.key }
        if let name = member.value.repeatedName { return name }
      }
      return nil
    case .array(let values):
      for value in values { if let name = value.repeatedName { return name } }
      return nil
    default: return nil
    }
  }
}
