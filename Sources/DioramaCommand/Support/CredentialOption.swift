import Basics
import EnvironmentService
import Foundation
import LaunchContract

/// `--credential SERVICE/ACCOUNT=env:VAR` or `…=file:PATH`: a secret never stands on a command line, which all users can
/// read.
enum CredentialOption {
  /// Reads the secret.
  ///
  /// - Parameters:
  ///   - text: the option's value.
  ///   - variables: the process's.
  ///   - command: the command whose help an error names.
  ///   - option: the option's name.
  ///   - form: what it takes before the `=`.
  /// - Returns: the credential.
  /// - Throws: ``UsageError`` for another form; a `CodedError` for a file that cannot be read.
  static func read(
    _ text: String, variables: [String: String], command: String, option: String = "--credential",
    form: String = "SERVICE/ACCOUNT"
  ) throws -> EnvironmentSpecification.Credential {
    let form = "\(option) takes \(form)=env:VAR or \(form)=file:PATH"
    guard let equals = text.lastIndex(of: "="), let slash = text[..<equals].firstIndex(of: "/"),
      slash != text.startIndex
    else { throw UsageError(form, command: command) }
    let service = String(text[..<slash])
    let account = String(text[text.index(after: slash)..<equals])
    let source = text[text.index(after: equals)...]
    guard !account.isEmpty else { throw UsageError(form, command: command) }
    if source.hasPrefix("env:") {
      let name = String(source.dropFirst(4))
      guard let secret = variables[name] else {
        throw UsageError("\(option) \(service)/\(account): the variable \(name) is not set", command: command)
      }
      return .init(service: service, account: account, secret: Array(secret.utf8))
    }
    guard source.hasPrefix("file:") else { throw UsageError(form, command: command) }
    let path = String(source.dropFirst(5))
    do throws(CodedError) {
      let secret = try InputFile(path, acceptsPipes: true).read(atMost: WholeFiles.smallLimit)
      return .init(service: service, account: account, secret: Array(secret))
    } catch {
      throw CodedError(
        .inputOutput, "\(option) \(service)/\(account): cannot read \(path): \(error); name a file with the secret")
    }
  }
}
