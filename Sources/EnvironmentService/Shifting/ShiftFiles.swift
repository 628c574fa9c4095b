package import Basics
import Cassettes
package import ControlAPI
import Foundation
import LaunchContract

/// Rules of how dates move in files: `NAME.shift.json` beside a cassette, `shift.json` for all cassettes in its folder.
package enum ShiftFiles {
  /// The file that holds for a cassette where nothing else is asked for; nil where there is none.
  package static func declared(for location: CassetteLocation) -> String? {
    location.declared("shift").first
  }

  /// The rules in a file, with the keys that it names.
  ///
  /// - Parameters:
  ///   - path: of the file; a key's `file:PATH` counts from its folder.
  ///   - variables: the process's, for keys given as `env:VAR`.
  ///   - acceptsPipes: whether it may be a pipe, as a person may name one.
  /// - Returns: the rules, keys as texts.
  /// - Throws: a ``CodedError``: `inputOutput` where it, or a key's file, cannot be read, `usage` for what cannot be
  ///   used, with its JSON path and what is allowed there.
  package static func read(
    _ path: String, variables: [String: String], acceptsPipes: Bool = false
  ) throws(CodedError) -> ShiftRules {
    var rules = try ShiftRules(file: path, "rules", acceptsPipes: acceptsPipes)
    for (number, key) in rules.jwt.enumerated() {
      guard let source = key.key else { continue }
      let place = "\(path): $.jwt[\(number)].key"
      rules.jwt[number].text = Secret(try text(of: source, beside: path, variables, at: place))
      rules.jwt[number].key = nil
    }
    _ = try rules.compiled(from: path)
    return rules
  }

  /// Reads the rules in a file without the keys that stand elsewhere: those may be at hand for replay alone.
  ///
  /// - Parameter path: of the file.
  /// - Throws: a ``CodedError`` as ``read(_:variables:)`` does.
  package static func check(_ path: String) throws(CodedError) {
    var rules = try ShiftRules(file: path, "rules", acceptsPipes: false)
    for (number, key) in rules.jwt.enumerated() {
      guard let source = key.key else { continue }
      guard source.hasPrefix("env:") || source.hasPrefix("file:") else {
        throw noSource(source, at: "\(path): $.jwt[\(number)].key")
      }
      // Stands for the key.
      rules.jwt[number].text = Secret("key")
      rules.jwt[number].key = nil
    }
    _ = try rules.compiled(from: path)
  }

  private static func noSource(_ source: String, at place: String) -> CodedError {
    CodedError(.usage, "\(place): '\(source.prefix(20))' is neither env:VAR nor file:PATH; or use text")
  }

  private static func text(
    of source: String, beside path: String, _ variables: [String: String], at place: String
  ) throws(CodedError) -> String {
    if source.hasPrefix("env:") {
      let name = String(source.dropFirst(4))
      guard let text = variables[name], !text.isEmpty else {
        throw CodedError(.usage, "\(place): the variable \(name) is not set; set it to the key")
      }
      return text
    }
    guard source.hasPrefix("file:") else { throw noSource(source, at: place) }
    let name = String(source.dropFirst(5))
    let file = name.hasPrefix("/") ? name : (path as NSString).deletingLastPathComponent + "/" + name
    let data: Data
    do throws(CodedError) {
      data = try InputFile(file).read(atMost: WholeFiles.smallLimit)
    } catch {
      throw CodedError(.inputOutput, "\(place): cannot read \(file): \(error); name a file with the key")
    }
    guard let text = String(data: data, encoding: .utf8) else {
      throw CodedError(.inputOutput, "\(place): cannot read \(file): it is not text; name a file with the key")
    }
    return text
  }
}
