/// What the app sends to `POST {control}/strings`: one use of the string store.
package struct StringUse: Sendable, Equatable {
  /// What became of it.
  package enum Status: String, Codable, Sendable, CaseIterable {
    /// Made from the seed; to be written to the store before the app uses it.
    case recorded
    /// Read from the store.
    case read
    /// Not in the store, or recorded for other parameters: the app gets an error.
    case missing
  }

  /// What the value is for.
  package var key: String
  /// Counts the uses of that key in that app from 0.
  package var ordinal: Int
  /// What became of it.
  package var status: Status
  /// Nil when missing.
  package var value: String?
  /// What was asked for.
  package var parameters: StringParameters

  package init(key: String, ordinal: Int, status: Status, value: String?, parameters: StringParameters) {
    self.key = key
    self.ordinal = ordinal
    self.status = status
    self.value = value
    self.parameters = parameters
  }
}

extension StringUse: Codable {
  private enum CodingKeys: String, CodingKey {
    case key, ordinal, status, value
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    key = try container.decode(String.self, forKey: .key)
    ordinal = try container.decode(Int.self, forKey: .ordinal)
    status = try container.decodeWord(Status.self, forKey: .status)
    value = try container.decodeIfPresent(String.self, forKey: .value)
    parameters = try StringParameters(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    try parameters.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(key, forKey: .key)
    try container.encode(ordinal, forKey: .ordinal)
    try container.encode(status, forKey: .status)
    try container.encodeIfPresent(value, forKey: .value)
  }
}

/// What `POST {control}/strings` answers: the value to use, which in `extend` may be the one that is recorded.
package struct StringUseAnswer: Codable, Sendable, Equatable {
  /// The value to use; nil leaves the app with its own.
  package var value: String?
  /// The use that the value belongs to.
  package var ordinal: Int

  package init(value: String?, ordinal: Int) {
    self.value = value
    self.ordinal = ordinal
  }
}

/// What the app sends to `POST {control}/usage`: what it has read since it last did, or for the first time.
///
/// The same again does no harm, so that a report whose answer was lost is sent a second time.
package struct UsageReport: Sendable, Equatable {
  /// The toggles by name, with the values that the app got: its own default where the contract has none.
  package var toggles: [String: ContractValue]
  /// The recorded values that were read: the ordinals by key.
  package var strings: [String: OrdinalRanges]

  package init(toggles: [String: ContractValue] = [:], strings: [String: OrdinalRanges] = [:]) {
    self.toggles = toggles
    self.strings = strings
  }
}

extension UsageReport: Codable {
  private enum CodingKeys: String, CodingKey {
    case toggles, strings
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard container.contains(.toggles) || container.contains(.strings) else {
      throw ContractError("neither toggles nor strings are there")
    }
    toggles = try container.decodeIfPresent([String: ContractValue].self, forKey: .toggles) ?? [:]
    strings = try container.decodeIfPresent([String: OrdinalRanges].self, forKey: .strings) ?? [:]
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if !toggles.isEmpty || strings.isEmpty { try container.encode(toggles, forKey: .toggles) }
    if !strings.isEmpty { try container.encode(strings, forKey: .strings) }
  }
}
