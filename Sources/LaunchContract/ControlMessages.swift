package import Basics

/// The body of `POST {control}/strings`: one use of the string store.
package struct StringUse: Sendable, Equatable {
  /// The result of the use.
  package enum Status: String, Codable, Sendable, CaseIterable {
    /// Derived from the seed; to be stored before the app uses it.
    case recorded
    /// Read from the store.
    case read
    /// Not in the store, or recorded with other parameters: the app gets an error.
    case missing
  }

  /// The key of the value.
  package var key: String
  /// The number of earlier uses of that key in that app.
  package var ordinal: Int
  /// The result of the use.
  package var status: Status
  /// The value; nil if missing.
  package var value: String?
  /// The requested kind of value.
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

/// The response to `POST {control}/strings`: the value to use, which may be the recorded one in `extend`.
package struct StringUseAnswer: Codable, Sendable, Equatable {
  /// The value to use; nil to use the app's own.
  package var value: String?
  /// The ordinal of the value's use.
  package var ordinal: Int

  package init(value: String?, ordinal: Int) {
    self.value = value
    self.ordinal = ordinal
  }
}

/// The body of `POST {control}/usage`: what the app has read since the previous report, or for the first time.
///
/// Repeating a report is harmless, so it is sent again if the response was lost.
package struct UsageReport: Sendable, Equatable {
  /// The toggles by name, with the values that the app got: its own default if the contract has none.
  package var toggles: [String: JSON]
  /// The recorded values that were read, as ordinals by key.
  package var strings: [String: OrdinalRanges]

  package init(toggles: [String: JSON] = [:], strings: [String: OrdinalRanges] = [:]) {
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
      throw CodedError(.broken, "toggles and strings are both missing")
    }
    toggles = try container.decodeIfPresent([String: JSON].self, forKey: .toggles) ?? [:]
    strings = try container.decodeIfPresent([String: OrdinalRanges].self, forKey: .strings) ?? [:]
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if !toggles.isEmpty || strings.isEmpty { try container.encode(toggles, forKey: .toggles) }
    if !strings.isEmpty { try container.encode(strings, forKey: .strings) }
  }
}
