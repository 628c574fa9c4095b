package import Cassettes
import Foundation
import LaunchContract

extension MatchingRules {
  /// Matching rules, and the name of their source for messages.
  struct InForce: Sendable, Equatable {
    var rules: MatchingRules
    /// Such as `cassettes/login.rules.json`.
    var source: String
    /// Whether other cassettes use them too.
    var isShared = false

    /// No rules: requests are matched by the defaults.
    static let none = Self(rules: MatchingRules(), source: "")

    /// Warnings about rules that match no request here. Shared rules may be for other cassettes' upstreams, so they get
    /// none.
    func notes(for upstreams: [CassetteHeader.Upstream]) -> [String] {
      guard !isShared else { return [] }
      let names = upstreams.map(\.name)
      return rules.rules.enumerated().compactMap { number, rule in
        guard let name = rule.upstream, !names.contains(name) else { return nil }
        let near = EditDistance.nearest(to: name, among: names).first.map { "; did you mean '\($0)'?" } ?? ""
        return "rule \(number + 1) of \(source) is for the upstream '\(name)', which is not declared" + near
      }
    }
  }
}

extension EnvironmentSpecification {
  /// The rules that apply: those of the request; else those beside the cassette, `NAME.rules.json`; else those of its
  /// folder, `rules.json`. They are not combined.
  ///
  /// - Throws: an ``EnvironmentError`` for rules that cannot be read, in any mode, so that mistakes show up early.
  func rulesInForce() throws(EnvironmentError) -> MatchingRules.InForce {
    if let rules {
      do throws(ContractError) {
        _ = try RuleBook(rules, upstreams: [])
      } catch {
        throw EnvironmentError(.usage, "rules: \(error.problem)")
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
  ///   - path: the file's path.
  ///   - acceptsPipes: whether the path may be a pipe, as on a command line.
  /// - Returns: the rules.
  /// - Throws: an ``EnvironmentError`` with the JSON path of what is wrong.
  package static func readRules(_ path: String, acceptsPipes: Bool = false) throws(EnvironmentError) -> MatchingRules {
    let data: Data
    do throws(InputFileError) {
      data = try InputFile(path, acceptsPipes: acceptsPipes).read(atMost: WholeFiles.smallLimit)
    } catch {
      throw EnvironmentError(
        error.isMissing ? .noCassette : .inputOutput, "cannot read the rules \(path): \(error); name a rules file")
    }
    do throws(CassetteError) {
      return try MatchingRules.read([UInt8](data), name: path)
    } catch {
      throw EnvironmentError(.broken, error.description)
    }
  }
}

extension CassetteLocation {
  /// The rules file for this cassette if nothing else is requested; nil if there is none.
  package var declaredRules: String? { declared("rules").first }
}
