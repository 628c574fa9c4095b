/// A value of the string store, at the index of its ordinal.
package struct StringEntry: Sendable, Equatable {
  /// The value: a UUID in lower case, an integer in decimal, others as ``StringParameters`` specifies.
  package var value: String
  /// The requested kind of value.
  package var parameters: StringParameters

  package init(value: String, parameters: StringParameters) {
    self.value = value
    self.parameters = parameters
  }
}

extension StringEntry: Codable {
  private enum CodingKeys: String, CodingKey {
    case value
  }

  package init(from decoder: any Decoder) throws {
    value = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .value)
    parameters = try StringParameters(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    try parameters.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(value, forKey: .value)
  }
}
