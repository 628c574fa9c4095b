import CassetteChecks
import Cassettes
import EnvironmentService

/// Exit statuses of comparisons, beside those of errors: as diff(1) has them.
enum DriftStatus {
  /// Something changed in shape, or contradicts the document.
  static let changed: Int32 = 1
}

/// Changes for programs, and as lines for people.
struct ChangeListing: Encodable {
  struct Item: Encodable {
    /// `gone`, `added`, `type`, `status`, `contentType` or `value`.
    var what: String
    var place: String
    var was: String?
    var now: String?
    /// The line for people.
    var text: String

    init(_ change: Change) {
      what = change.kind.rawValue
      place = change.place
      was = change.was
      now = change.now
      text = change.description
    }
  }

  var shape: [Item]
  /// How many values changed.
  var valueCount: Int
  /// Nil where they are not asked for.
  var values: [Item]?

  init(_ changes: Changes, withValues: Bool) {
    shape = changes.shape.map(Item.init)
    valueCount = changes.valueCount
    values = withValues ? changes.values.map(Item.init) : nil
  }

  /// The lines for people, indented below their interaction's.
  ///
  /// - Parameter title: what stands before each, such as `request `.
  /// - Returns: those of shape first.
  func lines(_ title: String = "") -> [String] {
    var lines = shape.map { "  \(title)\($0.text)" }
    guard valueCount > 0 else { return lines }
    guard let values else {
      return lines + ["  \(title)\(counted(valueCount, "value")) changed (--values shows them)"]
    }
    lines += values.map { "  \(title)value: \($0.text)" }
    if values.count < valueCount { lines.append("  \(title)\(counted(valueCount - values.count, "more value"))") }
    return lines
  }
}
