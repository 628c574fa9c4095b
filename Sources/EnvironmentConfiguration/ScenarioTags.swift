import Basics
import Foundation

/// Reads the settings of a scenario's environment from its tags, such as `@frozen:2018-10-08`.
///
/// A tag is `@key:value`, where the value is percent-encoded. `@manual` and `@frozen` can have no value. Tags with other
/// keys are ignored, unless the key looks misspelled.
///
/// | tag | setting |
/// |---|---|
/// | `@cassette:NAME` | `cassette`, as it is written |
/// | `@mode:MODE` | `mode` |
/// | `@frozen:INSTANT` | a clock that stands still: `2018-10-08`, or with a time, `2018-10-08T09:00Z` |
/// | `@manual` | a clock that the test moves; `@frozen:INSTANT` gives its start |
/// | `@toggle:NAME=VALUE` | a toggle, JSON or a bare word; without a value, true |
/// | `@seed:TEXT` | `seed` |
/// | `@port:NAME` | a port of `ports` |
/// | `@stubs:DIR` | `stubs`, as it is written |
/// | `@fault:FAULT` | a fault of `faults`, as for the option `--fault` |
///
/// ```swift
/// let tags = ["@cassette:booking", "@frozen:2018-10-08T09:00Z", "@toggle:currency=GBP", "@smoke"]
/// let configuration = try ScenarioTags.configuration(from: tags)
/// ```
package enum ScenarioTags {
  /// What is wrong with a tag.
  package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The index of the tag.
    package var index: Int
    /// The tag, what is wrong with it, and what to write, in one line.
    package var message: String

    package var description: String { message }
  }

  /// The problems of all tags; at least one.
  package struct Problems: Error, Hashable, Sendable, CustomStringConvertible {
    package var problems: [Problem]

    package var description: String { problems.map(\.message).joined(separator: "\n") }
  }

  /// What belongs after each key, for messages.
  private static let forms: KeyValuePairs = [
    "cassette": "@cassette:booking", "mode": "@mode:replay", "frozen": "@frozen:2018-10-08T09:00Z", "manual": "@manual",
    "toggle": "@toggle:never-ask-for-pin", "seed": "@seed:42", "port": "@port:web", "stubs": "@stubs:gp-portal",
    "fault": "@fault:reset,path=/orders,nth=1", "retry": "@retry:2",
  ]

  /// Reads tags.
  ///
  /// A later tag takes precedence: it replaces a single value, such as the cassette. Toggles and ports are combined by
  /// name, and the faults of later tags come first. Paths stay relative; they start at the folder of the feature file.
  ///
  /// - Parameter tags: the tags with their `@`, the feature's first, those of the examples last.
  /// - Returns: the settings; nil if no tag has any.
  /// - Throws: ``Problems`` for tags that are misspelled, have an invalid value, or hold credentials.
  package static func configuration(from tags: [String]) throws(Problems) -> EnvironmentConfiguration? {
    var all = EnvironmentConfiguration()
    var problems: [Problem] = []
    for (index, tag) in tags.enumerated() {
      do throws(CodedError) {
        guard let own = try settings(of: tag, with: all.clock) else { continue }
        let combined = own.inside(all)
        do { try combined.check() } catch { throw CodedError(.broken, "\(tag): \(withoutPlace(error.problem))") }
        all = combined
      } catch {
        problems.append(Problem(index: index, message: error.problem))
      }
    }
    guard problems.isEmpty else { throw Problems(problems: problems) }
    return all == EnvironmentConfiguration() ? nil : all
  }

  /// The settings of one tag; nil for a tag that is not about the environment.
  private static func settings(
    of tag: String, with clock: EnvironmentConfiguration.Clock?
  ) throws(CodedError) -> EnvironmentConfiguration? {
    let parts = tag.drop { $0 == "@" }.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let key = String(parts[0])
    let text = parts.count == 2 ? String(parts[1]) : nil
    var settings = EnvironmentConfiguration()
    func value() throws(CodedError) -> String { try decoded(text ?? "", of: tag) }
    switch (key, text) {
    case ("manual", nil): settings.clock = .init(kind: "manual", start: clock?.start)
    case ("frozen", nil): settings.clock = .init(kind: clock?.kind ?? "frozen", start: clock?.start)
    case (_, nil): return nil
    case ("manual", _):
      throw CodedError(
        .broken, "\(tag): @manual takes no value; to set the clock's start, add @frozen:2018-10-08T09:00Z")
    case (_, "") where forms.contains { $0.key == key }:
      throw CodedError(.broken, "\(tag): the value is missing; write it as in \(example(key))")
    case ("frozen", _): settings.clock = .init(kind: clock?.kind ?? "frozen", start: try start(value(), of: tag))
    case ("cassette", _): settings.cassette = try value()
    case ("mode", _): settings.mode = try value()
    case ("seed", _): settings.seed = try value()
    case ("stubs", _): settings.stubs = try value()
    case ("port", _): settings.ports = [try value()]
    case ("fault", _):
      settings.faults = [.string(try value())]
      do { _ = try FaultSettings(.string(try value()), at: "") } catch {
        throw CodedError(.broken, "\(tag): \(error.message.drop { ".: ".contains($0) })")
      }
    case ("toggle", let text?):
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = try decoded(String(parts[0]), of: tag)
      let value = parts.count == 2 ? try decoded(String(parts[1]), of: tag) : nil
      settings.toggles = [name: value.map { JSON(argument: $0) } ?? .bool(true)]
    case ("retry", let text?):
      // The runtime repeats scenarios; here only the number is checked.
      guard let count = Int(text), (0...100).contains(count) else {
        throw CodedError(
          .broken, "\(tag): '\(text)' is not a number of extra attempts from 0 to 100; write it as in @retry:2")
      }
      return nil
    case ("credential", _), ("credentials", _):
      // The value is not repeated.
      throw CodedError(
        .broken,
        "@\(key): feature files are shared and must not hold secrets; set credentials in the configuration of Features, "
          + "or in diorama.json with \"from\": \"env:VAR\"")
    default:
      // Short keys resemble too many words that teams use: @part:, @node:, @feed:.
      guard let likely = EditDistance.likely(key, among: forms.map(\.key).filter { $0.count > 4 }) else { return nil }
      throw CodedError(
        .broken, "\(tag): '\(key)' is not valid; did you mean \(example(likely))? If it is your own tag, rename it")
    }
    return settings
  }

  private static func example(_ key: String) -> String { forms.first { $0.key == key }?.value ?? "@\(key)" }

  private static func decoded(_ text: String, of tag: String) throws(CodedError) -> String {
    guard let decoded = text.removingPercentEncoding else {
      throw CodedError(.broken, "\(tag): invalid percent-encoding; write % as %25, and a space as %20")
    }
    return decoded
  }

  private static func start(_ text: String, of tag: String) throws(CodedError) -> String {
    guard let instant = Instant(text) ?? Instant(text + "T00:00Z") else {
      throw CodedError(
        .broken, "\(tag): '\(text)' is not a time; write it as in @frozen:2018-10-08 or @frozen:2018-10-08T09:00Z")
    }
    return instant.rfc3339
  }

  /// The problem without the name of the setting, which the tag already says.
  private static func withoutPlace(_ problem: String) -> String {
    guard let colon = problem.firstRange(of: ": ") else { return problem }
    return String(problem[colon.upperBound...])
  }
}
