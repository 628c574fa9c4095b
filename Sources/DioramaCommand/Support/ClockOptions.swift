import Basics
import EnvironmentService
import Foundation
import LaunchContract

/// How time is to run, as a command line says it; what is nil was not said.
struct ClockOptions {
  var kind: LaunchContract.Clock.Kind?
  /// For a scaled clock.
  var rate: Double?
  var start: Date?
  var timeZone: String?
  var locale: String?

  /// Whether no option was given.
  var isEmpty: Bool { kind == nil && start == nil && timeZone == nil && locale == nil }

  init(_ options: Options, command: String) throws(UsageError) {
    if let text = options.value("--clock") {
      let parts = text.split(separator: ":", maxSplits: 1)
      let name = parts.first.map(String.init) ?? ""
      kind = LaunchContract.Clock.Kind(rawValue: name)
      guard kind != nil else {
        throw UsageError(
          "there is no clock '\(text)'"
            + suggestion(for: name, among: LaunchContract.Clock.Kind.allCases.map(\.rawValue))
            + "; choose from system, frozen, ticking, scaled:RATE, manual", command: command)
      }
      if kind == .scaled {
        guard parts.count == 2, let rate = Double(parts[1]), rate >= 1e-6, rate <= 1e6 else {
          throw UsageError(
            "a scaled clock needs a rate from 0.000001 to 1000000, such as scaled:60, not '\(text)'", command: command)
        }
        self.rate = rate
      } else if parts.count == 2 {
        throw UsageError("only a scaled clock has a rate, not '\(text)'", command: command)
      }
    }
    start = try Self.instant(options, "--start", command: command)
    timeZone = options.value("--time-zone")
    locale = options.value("--locale")
  }

  /// An option that takes an instant.
  static func instant(_ options: Options, _ option: String, command: String) throws(UsageError) -> Date? {
    guard let text = options.value(option) else { return nil }
    guard let instant = RFC3339.parse(text) else {
      throw UsageError(
        "\(option) takes an RFC 3339 instant such as 2018-10-08T09:00:00Z, not '\(text)'", command: command)
    }
    return instant
  }
}
