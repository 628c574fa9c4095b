import Basics
import Cassettes
import LaunchContract

/// Compares a body with the recorded one.
enum BodyComparison {
  /// - Parameters:
  ///   - recorded: the recorded body.
  ///   - live: the other body.
  ///   - known: the combined shape of all recordings of this kind, for JSON bodies.
  /// - Returns: the changes, by field for structured bodies; otherwise a single change for the whole body.
  static func changes(recorded: BodySide, live: BodySide, known: JSONShape?) -> Changes {
    guard recorded.bytes != live.bytes else { return Changes() }
    switch (recorded.shape, live.shape) {
    case (.tree(let old, let format), .tree(let new, let other)) where format == other:
      let oldShape = JSONShape(old)
      let comparison = ShapeComparison(recorded: known?.union(oldShape) ?? oldShape, live: JSONShape(new))
      let values = ValueComparison(recorded: old, live: new, besides: comparison)
      return Changes(
        shape: comparison.changes.map { format.named($0) }, values: values.changes.map { format.named($0) },
        valueCount: values.count)
    case (.page(let old), .page(let new)):
      let gone = old.subtracting(new).sorted().map { Change(.gone, "body element \($0)") }
      let added = new.subtracting(old).sorted().map { Change(.added, "body element \($0)") }
      return Changes(shape: gone + added, values: [other(recorded, live)])
    case (.bytes, .bytes): return Changes(values: [other(recorded, live)])
    case (let old, let new): return Changes(shape: [Change(.type, "body", was: old.title, now: new.title)])
    }
  }

  private static func other(_ recorded: BodySide, _ live: BodySide) -> Change {
    func preview(_ body: [UInt8]) -> String { body.withUnsafeBytes { Preview.body($0).escapedForTerminal } }
    return Change(.value, "body", was: preview(recorded.bytes), now: preview(live.bytes))
  }
}

/// A body and its shape.
struct BodySide {
  let bytes: [UInt8]
  let shape: BodyShape

  init(_ bytes: [UInt8], contentType: String?) {
    self.bytes = bytes
    shape = BodyShape(bytes, contentType: contentType)
  }
}

extension BodyShape.Format {
  /// The change with its place in the notation of this format.
  fileprivate func named(_ change: Change) -> Change {
    switch self {
    case .json, .lines: Change(change.kind, "body \(change.place)", was: change.was, now: change.now)
    case .form:
      Change(
        change.kind, "form item `\(change.place.hasPrefix("$.") ? String(change.place.dropFirst(2)) : change.place)`",
        was: change.was, now: change.now)
    case .markup:
      Change(
        change.kind,
        "body "
          + change.place.dropFirst().replacing(##"["#text"]"##, with: "/text()").replacing("[]", with: "")
          .replacing(".", with: "/"), was: change.was, now: change.now)
    }
  }
}
