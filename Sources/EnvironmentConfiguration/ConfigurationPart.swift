package import Basics
package import Foundation
import LaunchContract

/// A part of a configuration that has a type of its own in the Swift API, such as redaction rules.
package protocol ConfigurationPart: Codable, Equatable, Sendable {
  /// The name of its setting.
  static var member: String { get }

  /// Creates an empty part.
  init()
}

extension ConfigurationPart {
  /// Reads the part as a project file has it. Unknown and repeated members are refused: a misspelled rule would do nothing.
  ///
  /// - Throws: a `CodedError` with one line: what is wrong, and where.
  package init(decoding data: Data) throws(CodedError) {
    let json = try CodedError.translating(at: "not JSON", try JSON.parse([UInt8](data)))
    let schema = EnvironmentConfiguration.members.first { $0.name == Self.member }?.schema.accepting(.caller)
    if let problem = schema?.problem(with: json) { throw CodedError(.broken, problem) }
    self = try JSON.decode(Self.self, from: data, source: "")
  }

  /// Reads the part strictly from any decoder, for types of the Swift API that wrap it.
  package init(strictlyFrom decoder: any Decoder) throws {
    try self.init(decoding: JSON.encode(try JSON(from: decoder)))
  }

  /// Whether it is empty.
  package var isEmpty: Bool { self == Self() }
}

/// A value that is optional in JSON: if it is missing it decodes as empty, and an empty value is not encoded.
@propertyWrapper
package struct Omittable<Value: Codable & Sendable & Equatable & EmptyInitializable>: Codable, Sendable, Equatable {
  package var wrappedValue: Value

  package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  package init(from decoder: any Decoder) throws { wrappedValue = try Value(from: decoder) }
  package func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

/// A type with an empty value.
package protocol EmptyInitializable {
  init()
}

extension Array: EmptyInitializable {}
extension Dictionary: EmptyInitializable {}

extension KeyedDecodingContainer {
  package func decode<Value>(_: Omittable<Value>.Type, forKey key: Key) throws -> Omittable<Value> {
    Omittable(wrappedValue: try decodeIfPresent(Value.self, forKey: key) ?? Value())
  }
}

extension KeyedEncodingContainer {
  package mutating func encode<Value>(_ value: Omittable<Value>, forKey key: Key) throws {
    if value.wrappedValue != Value() { try encode(value.wrappedValue, forKey: key) }
  }
}
