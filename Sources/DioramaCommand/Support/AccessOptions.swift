import ControlAPI
import EnvironmentService
import Foundation
import LaunchContract

/// The options by which backends are reached where their URLs do not say it all.
///
/// `diorama run`, `diorama env create` and `diorama cassette check --live` share them.
struct AccessOptions {
  /// For a command's own table.
  static let table: [Options.Option] = [
    .init("--ca", "UPSTREAM=FILE", "the only authorities to trust there, in PEM"),
    .init(
      "--client-certificate", "UPSTREAM=FILE[,KEY]",
      "the certificate by which it knows us, in PEM; KEY where its key\nis in another file"),
    .init("--insecure", "UPSTREAM", "take any certificate there"),
  ]
  static let header = Options.Option(
    "--header", "UPSTREAM/NAME=SOURCE",
    "a header field that each request to it gets, repeatable:\nUPSTREAM/NAME=env:VAR, =file:PATH, or the value itself\nwhere it is no secret"
  )

  /// By upstream.
  private(set) var access: [String: UpstreamAccess] = [:]
  /// Names of header fields whose values came from a secret place, and have to be kept out of recordings.
  private(set) var secretHeaders: [String] = []
  /// What was given, as it was written, for advice.
  private(set) var words: [String] = []

  /// - Parameters:
  ///   - options: the command's.
  ///   - variables: the process's.
  ///   - command: the command whose help an error names.
  ///   - withHeaders: whether `--header` is one of them.
  /// - Throws: ``UsageError``; a `CodedError` for a secret that cannot be read, or what makes no sense.
  init(_ options: Options, variables: [String: String], command: String, withHeaders: Bool = true) throws {
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
        throw UsageError("--client-certificate takes UPSTREAM=FILE[,KEY], not '\(text)'", command: command)
      }
      access[name, default: .init()].clientCertificate = Self.absolute(parts[0])
      access[name, default: .init()].clientKey = parts.count == 2 ? Self.absolute(parts[1]) : nil
    }
    for name in options.all("--insecure") {
      guard !name.isEmpty else { throw UsageError("--insecure needs an upstream's name", command: command) }
      access[name, default: .init()].insecure = true
    }
    if withHeaders { try readHeaders(options, variables, command) }
    for (name, one) in access.sorted(by: { $0.key < $1.key }) { try one.check("upstream \(name)") }
    words = ["--ca", "--client-certificate", "--insecure"].flatMap { option in
      options.all(option).map { "\(option) \(ShellWord.quoted($0))" }
    }
    if withHeaders { words += options.all("--header").map { "--header \(ShellWord.quoted($0))" } }
  }

  private mutating func readHeaders(_ options: Options, _ variables: [String: String], _ command: String) throws {
    for text in options.all("--header") {
      let header = try HeaderOption(text, variables: variables, command: command, allowsPlain: true)
      var headers = access[header.upstream]?.headers ?? [:]
      guard headers.updateValue(Secret(header.value), forKey: header.name) == nil else {
        throw Self.twice("--header", "\(header.upstream)/\(header.name)", command)
      }
      access[header.upstream, default: .init()].headers = headers
      if header.isSecret { secretHeaders.append(header.name) }
    }
  }

  private static func file(
    _ text: String, _ option: String, _ form: String, _ command: String
  ) throws(UsageError) -> (name: String, path: String) {
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex, text.index(after: equals) < text.endIndex
    else { throw UsageError("\(option) takes \(form), not '\(text)'", command: command) }
    return (String(text[..<equals]), String(text[text.index(after: equals)...]))
  }

  private static func twice(_ option: String, _ name: String, _ command: String) -> UsageError {
    UsageError("\(option) is given twice for \(name)", command: command)
  }

  private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }
}

/// `--header UPSTREAM/NAME=env:VAR`, `…=file:PATH`, or with the value itself where it is no secret.
struct HeaderOption {
  let upstream: String
  let name: String
  let value: String
  /// Whether it came from where secrets come from.
  let isSecret: Bool

  /// - Parameters:
  ///   - text: the option's value.
  ///   - variables: the process's.
  ///   - command: the command whose help an error names.
  ///   - allowsPlain: whether the option may contain the value itself, as for a header without a secret.
  /// - Throws: ``UsageError`` for another form; a `CodedError` for a file that cannot be read.
  init(_ text: String, variables: [String: String], command: String, allowsPlain: Bool) throws {
    let form =
      "--header takes UPSTREAM/NAME=env:VAR or UPSTREAM/NAME=file:PATH"
      + (allowsPlain ? ", or UPSTREAM/NAME=VALUE where that is no secret" : "")
    guard let slash = text.firstIndex(of: "/"), slash != text.startIndex,
      let equals = text[slash...].firstIndex(of: "="), text.index(after: slash) < equals
    else { throw UsageError(form, command: command) }
    let source = text[text.index(after: equals)...]
    isSecret = source.hasPrefix("env:") || source.hasPrefix("file:")
    guard isSecret else {
      upstream = String(text[..<slash])
      name = String(text[text.index(after: slash)..<equals])
      value = String(source)
      guard allowsPlain else { throw UsageError(form, command: command) }
      // All users can read a command line.
      guard !EnvironmentSpecification.isSecretHeader(name) else {
        throw UsageError(
          "--header \(upstream)/\(name): a secret has no place on a command line; give it as env:VAR or file:PATH",
          command: command)
      }
      return
    }
    let secret = try CredentialOption.read(
      text, variables: variables, command: command, option: "--header", form: "UPSTREAM/NAME")
    upstream = secret.service
    name = secret.account
    value = String(decoding: secret.secret, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
