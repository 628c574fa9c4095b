import Cassettes

/// One point in which an answer, or a request, is not what it was: a line as a person would say it.
package struct Change: Sendable, Equatable, CustomStringConvertible {
  /// What became of it. All but `value` are changes of shape.
  package enum Kind: String, Sendable, Encodable {
    /// A field, a header or an item of a query is not there any more.
    case gone
    /// It was not there before.
    case added
    /// It is something else: a number where a string was.
    case type
    /// Another status.
    case status
    /// Another media type.
    case contentType
    /// Only its value is another.
    case value
  }

  package let kind: Kind
  /// Where: `status`, `content type`, ``header `ETag` ``, `body $.clinics[].name`. In a change of shape `[]` stands for
  /// the elements of an array and `.*` for the values of a map whose keys are ids.
  package let place: String
  /// What was there, such as `a string` or `200`; nil where nothing was.
  package let was: String?
  /// What is there; nil where nothing is.
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

/// What is not as it was, shape apart from values.
package struct Changes: Sendable, Equatable {
  /// Of shape: what a program that reads it can stumble over.
  package var shape: [Change]
  /// Of values, the first ``most`` of them.
  package var values: [Change]
  /// How many values changed in all.
  package var valueCount: Int

  /// Values that are kept; more are only counted.
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
