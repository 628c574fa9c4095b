package import Basics
import Foundation
import LaunchContract

/// A reference to a secret in an environment variable or a file: `env:VAR` or `file:PATH`.
package struct SecretSource {
  private let source: String
  private let folder: String
  private let variables: [String: String]

  /// Creates a reference, without reading the secret.
  ///
  /// - Parameters:
  ///   - source: `env:VAR` or `file:PATH`.
  ///   - folder: the folder at which a relative path starts; empty for the current one.
  ///   - variables: the process's environment variables.
  package init(_ source: String, in folder: String = "", _ variables: [String: String]) {
    self.source = source
    self.folder = folder
    self.variables = variables
  }

  package static func isSource(_ text: String) -> Bool { text.hasPrefix("env:") || text.hasPrefix("file:") }

  package static func invalid(_ source: String, at place: String) -> CodedError {
    CodedError(.usage, "\(place): '\(source.prefix(20))' is neither env:VAR nor file:PATH")
  }

  /// Whether the source is a variable that is not set.
  var isUnset: Bool { source.hasPrefix("env:") && variables[String(source.dropFirst(4))] == nil }

  /// Reads the secret.
  ///
  /// - Parameter place: the setting, for errors.
  /// - Returns: the secret's bytes.
  /// - Throws: a ``CodedError``: `usage` for an invalid source or a variable that is not set, `inputOutput` for
  ///   a file that cannot be read.
  package func bytes(_ place: String) throws(CodedError) -> [UInt8] {
    if source.hasPrefix("env:") {
      let name = String(source.dropFirst(4))
      guard let text = variables[name] else {
        throw CodedError(.usage, "\(place): the variable \(name) is not set; set it to the secret")
      }
      return Array(text.utf8)
    }
    guard source.hasPrefix("file:") else { throw Self.invalid(source, at: place) }
    let name = String(source.dropFirst(5))
    let path = name.hasPrefix("/") || folder.isEmpty ? name : "\(folder)/\(name)"
    do { return [UInt8](try InputFile(path, acceptsPipes: true).read(atMost: InputFile.smallLimit)) } catch {
      throw CodedError(.inputOutput, "\(place): cannot read \(path): \(error); specify a file with the secret")
    }
  }

  /// Reads the secret as text.
  ///
  /// - Throws: a ``CodedError``, as ``bytes(_:)`` does, and for an empty secret or one that is not UTF-8.
  package func text(_ place: String) throws(CodedError) -> String {
    let bytes = try bytes(place)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw CodedError(.inputOutput, "\(place): the secret in \(source.dropFirst(5)) is not valid UTF-8")
    }
    guard !text.isEmpty else {
      throw CodedError(.usage, "\(place): \(source) is empty; set it to the secret")
    }
    return text
  }
}

extension EnvironmentConfiguration {
  /// Reads the secrets that the configuration refers to: credentials, headers, keys of tokens. Headers whose values are
  /// read are redacted in recordings, whatever their names.
  ///
  /// - Parameters:
  ///   - folder: the folder at which relative paths start; empty for the current one.
  ///   - variables: the process's environment variables.
  ///   - isContinuousIntegration: whether this is a continuous integration run, where mode `once` never records.
  /// - Returns: the configuration without references.
  /// - Throws: a ``CodedError`` that names the setting. An unset header variable or a missing key is not an
  ///   error if the mode does not use it.
  package func readingSecrets(
    in folder: String = "", _ variables: [String: String], isContinuousIntegration: Bool
  ) throws(CodedError) -> Self {
    var read = self
    for (index, item) in credentials.enumerated() {
      guard let source = item.from else { continue }
      let bytes = try SecretSource(source, in: folder, variables).bytes("credential \(item.service)/\(item.account)")
      read.credentials[index].secret = Secret(Data(bytes).base64EncodedString())
      read.credentials[index].from = nil
    }
    let mode = mode ?? "once"
    let replays = mode == "replay" || (mode == "once" && (isContinuousIntegration || cassetteExists))
    for (upstream, value) in upstreams.sorted(by: { $0.key < $1.key }) {
      for (name, secret) in (value.access.headers ?? [:]).sorted(by: { $0.key < $1.key }) {
        guard SecretSource.isSource(secret.revealed) else { continue }
        let source = SecretSource(secret.revealed, in: folder, variables)
        if (replays || mode == "mock") && source.isUnset {
          read.upstreams[upstream]?.access.headers?[name] = nil
          continue
        }
        let text = try source.text("header \(upstream)/\(name)")
        read.upstreams[upstream]?.access.headers?[name] = Secret(text.trimmingCharacters(in: .whitespacesAndNewlines))
        var rules = read.redaction ?? RedactionRules()
        if !rules.headers.contains(where: { $0.lowercased() == name.lowercased() }) { rules.headers.append(name) }
        read.redaction = rules
      }
    }
    for (index, key) in (dates?.jwt ?? []).enumerated() {
      guard let source = key.key else { continue }
      let place = "dates.jwt[\(index)].key"
      // Keys are needed only if dates are moved.
      let stays = clock?.kind == "frozen" && clock?.start == nil
      read.dates?.jwt[index].text = Secret(
        try replays && !stays ? SecretSource(source, in: folder, variables).text(place) : "unused")
      read.dates?.jwt[index].key = nil
    }
    return read
  }

  private var cassetteExists: Bool {
    cassette.map { FileManager.default.fileExists(atPath: $0.hasSuffix(".har") ? $0 : $0 + ".har") } ?? false
  }
}
