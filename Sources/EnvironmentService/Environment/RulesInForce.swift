package import Basics
package import Cassettes
import Foundation
import LaunchContract

extension MatchingRules {
  /// Rules, and what a person calls the place where they stand.
  struct InForce: Sendable, Equatable {
    var rules: MatchingRules
    /// Such as `cassettes/login.rules.json`.
    var source: String
    /// Whether they hold for other cassettes, too.
    var isShared = false

    /// INTERFACE.md's own.
    static let none = Self(rules: MatchingRules(), source: "")

    /// What a person should know of rules that no request fits here. Shared ones may mean other cassettes' upstreams.
    func notes(for upstreams: [CassetteHeader.Upstream]) -> [String] {
      guard !isShared else { return [] }
      let names = upstreams.map(\.name)
      return rules.rules.enumerated().compactMap { number, rule in
        guard let name = rule.upstream, !names.contains(name) else { return nil }
        let near = EditDistance.nearest(to: name, among: names).first.map { "; did you mean '\($0)'?" } ?? ""
        return "rule \(number + 1) of \(source) is for the upstream '\(name)', which is not here" + near
      }
    }
  }
}

extension EnvironmentSpecification {
  /// The rules that count: those that were asked for; else those beside the cassette, `NAME.rules.json`; else those of
  /// its folder, `rules.json`. The nearest alone counts, nothing is put together.
  ///
  /// - Throws: a ``CodedError`` for rules that cannot be read, whatever the mode: who has declared some is told at
  ///   once that they are broken.
  func rulesInForce() throws(CodedError) -> MatchingRules.InForce {
    if let rules {
      do throws(CodedError) {
        _ = try RuleBook(rules, upstreams: [])
      } catch {
        throw CodedError(.usage, "rules: \(error.problem)")
      }
      return .init(rules: rules, source: rulesFile ?? "the rules given")
    }
    guard let path = cassette?.declaredRules else { return .none }
    return .init(
      rules: try Self.readRules(path), source: (path as NSString).lastPathComponent,
      isShared: (path as NSString).lastPathComponent == "rules.json")
  }

  /// Reads a rules file.
  ///
  /// - Parameters:
  ///   - path: of the file.
  ///   - acceptsPipes: whether it may be a pipe, as a person may name one.
  /// - Returns: the rules.
  /// - Throws: a ``CodedError`` that says what is wrong at which JSON path.
  package static func readRules(_ path: String, acceptsPipes: Bool = false) throws(CodedError) -> MatchingRules {
    let data: Data
    do throws(CodedError) {
      data = try InputFile(path, acceptsPipes: acceptsPipes).read(atMost: WholeFiles.smallLimit)
    } catch {
      throw CodedError(
        error.isMissing ? .noCassette : .inputOutput, "cannot read the rules \(path): \(error); name a file of rules")
    }
    return try MatchingRules.read([UInt8](data), name: path)
  }
}

extension CassetteLocation {
  /// The file of rules that holds for this cassette where nothing else is asked for; nil where there is none.
  package var declaredRules: String? { declared("rules").first }
}
