import Basics
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import LaunchContract

/// The options for reaching upstreams: headers, trusted CAs, client certificates.
///
/// `diorama run`, `diorama env create` and `diorama cassette check --live` share them.
struct AccessOptions {
  /// The options without `--header`, for a command's own table.
  static let table = ConfigurationOptions.table.filter {
    ["--ca", "--client-certificate", "--insecure"].contains($0.name)
  }

  /// By upstream; headers may refer to their secrets.
  private(set) var access: [String: UpstreamAccess] = [:]

  /// - Parameters:
  ///   - options: the command's.
  ///   - command: the command whose help an error names.
  ///   - withHeaders: whether `--header` is one of them.
  /// - Throws: ``CodedError``.
  init(_ options: Options, command: String, withHeaders: Bool = true) throws(CodedError) {
    for text in options.all("--ca") {
      let (name, path) = try Self.file(text, "--ca", "UPSTREAM=FILE", command)
      guard access[name]?.ca == nil else { throw Self.twice("--ca", name, command) }
      access[name, default: .init()].ca = Self.absolute(path)
    }
    for text in options.all("--client-certificate") {
      let (name, paths) = try Self.file(text, "--client-certificate", "UPSTREAM=FILE[,KEY]", command)
      guard access[name]?.clientCertificate == nil else { throw Self.twice("--client-certificate", name, command) }
      let parts = paths.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }) else {
        throw CodedError(usage: "--client-certificate takes UPSTREAM=FILE[,KEY], not '\(text)'", command: command)
      }
      access[name, default: .init()].clientCertificate = Self.absolute(parts[0])
      access[name, default: .init()].clientKey = parts.count == 2 ? Self.absolute(parts[1]) : nil
    }
    for name in options.all("--insecure") {
      guard !name.isEmpty else { throw CodedError(usage: "--insecure needs an upstream's name", command: command) }
      access[name, default: .init()].insecure = true
    }
    for text in withHeaders ? options.all("--header") : [] {
      let header = try HeaderOption(text, command: command, allowsPlain: true)
      var headers = access[header.upstream]?.headers ?? [:]
      guard headers.updateValue(Secret(header.source), forKey: header.name) == nil else {
        throw Self.twice("--header", "\(header.upstream)/\(header.name)", command)
      }
      access[header.upstream, default: .init()].headers = headers
    }
    for (name, one) in access.sorted(by: { $0.key < $1.key }) {
      do { try one.check("upstreams.\(name)") } catch {
        throw CodedError(usage: ConfigurationOptions.inOptions(error.problem), command: command)
      }
    }
  }

  private static func file(
    _ text: String, _ option: String, _ form: String, _ command: String
  ) throws(CodedError) -> (name: String, path: String) {
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex, text.index(after: equals) < text.endIndex
    else { throw CodedError(usage: "\(option) takes \(form), not '\(text)'", command: command) }
    return (String(text[..<equals]), String(text[text.index(after: equals)...]))
  }

  private static func twice(_ option: String, _ name: String, _ command: String) -> CodedError {
    CodedError(usage: "\(option) is given twice for \(name)", command: command)
  }

  private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }
}

/// `--header UPSTREAM/NAME=env:VAR`, `…=file:PATH`, or with the value itself where it is not secret.
struct HeaderOption {
  let upstream: String
  let name: String
  /// The value, or where it is.
  let source: String

  /// - Parameters:
  ///   - text: the option's value.
  ///   - command: the command whose help an error names.
  ///   - allowsPlain: whether the option may contain the value itself, as for a header without a secret.
  /// - Throws: ``CodedError`` for another form.
  init(_ text: String, command: String, allowsPlain: Bool) throws(CodedError) {
    let form =
      "--header takes UPSTREAM/NAME=env:VAR or UPSTREAM/NAME=file:PATH"
      + (allowsPlain ? ", or UPSTREAM/NAME=VALUE if that is not secret" : "")
    // A name has no '='; a path or a value may.
    guard let slash = text.firstIndex(of: "/"), slash != text.startIndex,
      let equals = text[slash...].firstIndex(of: "="), text.index(after: slash) < equals
    else { throw CodedError(usage: form, command: command) }
    upstream = String(text[..<slash])
    name = String(text[text.index(after: slash)..<equals])
    source = String(text[text.index(after: equals)...])
    guard !SecretSource.isSource(source) else { return }
    guard allowsPlain else { throw CodedError(usage: form, command: command) }
    guard !EnvironmentSpecification.isSecretHeader(name) else {
      throw CodedError(
        usage:
          "--header \(upstream)/\(name): other users can read a secret in a command line; give it as env:VAR or file:PATH",
        command: command)
    }
  }

  /// The value itself.
  ///
  /// - Throws: a `CodedError` for a secret that cannot be read.
  func value(_ variables: [String: String]) throws(CodedError) -> String {
    try SecretSource(source, variables).text("--header \(upstream)/\(name)")
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
