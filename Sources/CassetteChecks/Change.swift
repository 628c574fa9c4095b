import Cassettes

/// One difference in a response or a request, with a readable description.
package struct Change: Sendable, Equatable, CustomStringConvertible {
  /// The kind of change. All kinds except `value` are shape changes.
  package enum Kind: String, Sendable, Encodable {
    /// A field, header or query item was removed.
    case gone
    /// A field, header or query item was added.
    case added
    /// The type changed, for example from a string to a number.
    case type
    /// The status changed.
    case status
    /// The media type changed.
    case contentType
    /// Only the value changed.
    case value
  }

  package let kind: Kind
  /// The place: `status`, `content type`, ``header `ETag` ``, `body $.clinics[].name`. In shape changes, `[]` stands
  /// for the elements of an array and `.*` for the values of a map with ids as keys.
  package let place: String
  /// The old value or type, such as `a string` or `200`; nil if there was none.
  package let was: String?
  /// The new value or type; nil if there is none.
  package let now: String?

  init(_ kind: Kind, _ place: String, was: String? = nil, now: String? = nil) {
    self.kind = kind
    self.place = place
    self.was = was
    self.now = now
  }

  package var description: String {
    switch (was, now) {
    case (let was?, let now?): "\(place): was \(was), is \(now)"
    case (let was?, nil): "\(place): gone, was \(was)"
    case (nil, let now?): "\(place): new, \(now)"
    case (nil, nil): "\(place): \(kind == .gone ? "gone" : "new")"
    }
  }
}

/// The differences, with shape changes separate from value changes.
package struct Changes: Sendable, Equatable {
  /// Shape changes, which may break a program that reads the message.
  package var shape: [Change]
  /// Value changes, at most ``most``.
  package var values: [Change]
  /// The number of all value changes.
  package var valueCount: Int

  /// The maximum number of value changes that are kept. Further ones are only counted.
  static let most = 1000

  package init(shape: [Change] = [], values: [Change] = [], valueCount: Int? = nil) {
    self.shape = shape
    self.values = Array(values.prefix(Self.most))
    self.valueCount = valueCount ?? values.count
  }

  package var isEmpty: Bool { shape.isEmpty && valueCount == 0 }

  static func += (left: inout Changes, right: Changes) {
    left.shape += right.shape
    left.values += right.values.prefix(max(0, most - left.values.count))
    left.valueCount += right.valueCount
  }
}
