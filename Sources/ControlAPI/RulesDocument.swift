package import Basics
package import Foundation
import LaunchContract

/// Rules that a person writes, as a member of a request or in a file of their own.
///
/// A member that is not known, or is there twice, is refused: a rule with a typing error would do nothing.
package protocol RulesDocument: Codable, Equatable, Sendable {
  /// The names of its members.
  static var members: [String] { get }

  /// No rules.
  init()
}

extension RulesDocument {
  /// Reads rules, as a file has them.
  ///
  /// - Throws: a `CodedError` that says in one line what is wrong at which JSON path, and what is allowed there.
  package init(decoding data: Data) throws(CodedError) {
    if let document = try? JSON.parse([UInt8](data)), let name = document.repeatedName {
      throw CodedError(.broken, "'\(name.prefix(80))' is there twice; put both into one")
    }
    do throws(CodedError) {
      self = try JSON.decode(Self.self, from: data, source: "")
    } catch {
      let isAtMember = Self.members.contains { error.problem.hasPrefix($0) }
      throw CodedError(.broken, isAtMember ? "$.\(error.problem)" : error.problem)
    }
  }

  /// Whether there is no rule at all.
  package var isEmpty: Bool { self == Self() }
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
  func strictContainer<Key: CodingKey & CaseIterable>(_ keys: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let names = Key.allCases.map(\.stringValue)
    for key in try container(keyedBy: AnyName.self).allKeys where !names.contains(key.stringValue) {
      let place = (codingPath.map(\.stringValue) + [String(key.stringValue.prefix(80))]).joined(separator: ".")
      throw CodedError(.broken, "$.\(place): there is no such rule; there are \(names.joined(separator: ", "))")
    }
    return try container(keyedBy: keys)
  }
}

extension KeyedDecodingContainer {
  /// A list of texts; empty where it is left out.
  func texts(_ key: Key) throws -> [String] { try decodeIfPresent([String].self, forKey: key) ?? [] }
}

extension KeyedEncodingContainer {
  /// Leaves out an empty list.
  mutating func encode(texts: [String], _ key: Key) throws {
    if !texts.isEmpty { try encode(texts, forKey: key) }
  }
}

extension JSON {
  /// A member's name that an object in it has twice; nil where there is none.
  fileprivate var repeatedName: String? {
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
