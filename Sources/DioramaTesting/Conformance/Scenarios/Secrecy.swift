import Diorama
import Foundation

extension Scenario {
  static let secrecy = [
    Scenario("a store that is printed") { trial in
      let text = "geheim-\(UUID().uuidString)"
      let key = trial.key("account")
      trial.run(.add(Data(text.utf8), key), .read(key), .set(Data(text.utf8), key), .add(Data(text.utf8), key))
      let forms = [text, Data(text.utf8).base64EncodedString()]
      for (way, printed) in [
        ("String(describing:)", String(describing: trial.store)),
        ("String(reflecting:)", String(reflecting: trial.store)),
      ] where forms.contains(where: printed.contains) {
        trial.note(way, "no secret", "the secret")
      }
      var dumped = ""
      dump(trial.store, to: &dumped)
      // A Data among the members is dumped byte by byte.
      let bytes = Data(text.utf8).map { "- \($0)" }
      let lines = dumped.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }
      if forms.contains(where: dumped.contains) || lines.contains(bytes) {
        trial.note("dump(_:)", "no secret", "the secret")
      }
      var search = MirrorSearch(forms.map { Data($0.utf8) })
      if search.finds(trial.store) { trial.note("Mirror(reflecting:)", "no secret", "the secret") }
    }
  ]
}

extension Array where Element: StringProtocol {
  /// Whether these lines come in a row.
  fileprivate func contains(_ others: [String]) -> Bool {
    guard count >= others.count else { return false }
    return (0...(count - others.count)).contains { start in
      zip(self[start...], others).allSatisfy { $0 == $1 }
    }
  }
}

/// Looks through all that reflection shows of a value.
private struct MirrorSearch {
  private let wanted: [Data]
  private var seen: Set<ObjectIdentifier> = []

  init(_ wanted: [Data]) { self.wanted = wanted }

  mutating func finds(_ value: Any, depth: Int = 0) -> Bool {
    guard depth < 16 else { return false }
    let bytes: Data? =
      switch value {
      case let text as String: Data(text.utf8)
      case let data as Data: data
      case let bytes as [UInt8]: Data(bytes)
      default: nil
      }
    if let bytes { return wanted.contains { bytes.range(of: $0) != nil } }
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .class, !seen.insert(ObjectIdentifier(value as AnyObject)).inserted { return false }
    var level: Mirror? = mirror
    while let current = level {
      for child in current.children where finds(child.value, depth: depth + 1) { return true }
      level = current.superclassMirror
    }
    return false
  }
}
