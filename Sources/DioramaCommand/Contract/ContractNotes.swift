import EnvironmentService
import LaunchContract

/// What an app passes over in silence: a hand-written contract then is not what it looks like.
enum ContractNotes {
  /// - Parameters:
  ///   - contract: one that an app takes.
  ///   - document: its JSON.
  /// - Returns: a line for each thing.
  static func of(_ contract: LaunchContract, document: JSON) -> [String] {
    var notes = repeated(in: document, at: "").map { "\($0) stands there more than once; one of them counts" }
    let modes = Mode.allCases.map(\.rawValue)
    if !contract.mode.isEmpty, !modes.contains(contract.mode) {
      notes.append("mode: '\(contract.mode)' is not one of \(modes.joined(separator: ", "))")
    }
    if contract.clock.kind == .system, contract.clock.start != nil {
      notes.append("clock.start counts for no system clock, which shows the machine's time")
    }
    if contract.clock.kind != .scaled, contract.clock.rate != 1 {
      notes.append("clock.rate counts for a scaled clock only, this one is \(contract.clock.kind)")
    }
    if let strings = contract.strings {
      if strings.entries != nil, strings.file != nil {
        notes.append("strings.file does not count beside strings.entries")
      }
      if strings.policy == .derive, strings.entries != nil || strings.file != nil {
        notes.append("strings.policy is derive, so that no recorded value is read; write replay")
      }
    }
    return notes
  }

  private static func repeated(in value: JSON, at place: String) -> [String] {
    func inner(_ name: some CustomStringConvertible) -> String { place.isEmpty ? "\(name)" : "\(place).\(name)" }
    switch value {
    case .array(let elements):
      return elements.enumerated().flatMap { repeated(in: $0.element, at: inner($0.offset)) }
    case .object(let members):
      let names = Dictionary(grouping: members, by: \.key).filter { $0.value.count > 1 }.keys.sorted()
      return names.map(inner) + members.flatMap { repeated(in: $0.value, at: inner($0.key)) }
    default: return []
    }
  }
}
