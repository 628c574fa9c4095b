package import Basics
package import ControlAPI
import Foundation
import LaunchContract

extension UpstreamAccess {
  /// Looks at the files now, since nobody would understand it from the first request's failure.
  ///
  /// - Parameter upstream: its name, for errors.
  /// - Throws: a ``CodedError``: `inputOutput` for a file that cannot be read, `usage` for one without what it is to
  ///   have.
  package func checkFiles(of upstream: String) throws(CodedError) {
    if let ca {
      guard try Self.read(ca, "CA", of: upstream).contains(Self.certificate) else {
        throw Self.wrong(ca, "CA", of: upstream, "holds no certificate in PEM (-----BEGIN CERTIFICATE-----)")
      }
    }
    guard let clientCertificate else { return }
    let words = try Self.read(clientCertificate, "client certificate", of: upstream)
    guard words.contains(Self.certificate) else {
      throw Self.wrong(
        clientCertificate, "client certificate", of: upstream,
        "holds no certificate in PEM (-----BEGIN CERTIFICATE-----)")
    }
    let path = clientKey ?? clientCertificate
    let key = clientKey == nil ? words : try Self.read(path, "client key", of: upstream)
    guard key.contains("PRIVATE KEY-----") else {
      throw Self.wrong(
        path, "client key", of: upstream,
        "holds no key in PEM (-----BEGIN PRIVATE KEY-----)" + (clientKey == nil ? "; name the file that has it" : ""))
    }
    guard !key.contains("BEGIN ENCRYPTED PRIVATE KEY"), !key.contains("Proc-Type: 4,ENCRYPTED") else {
      throw Self.wrong(
        path, "client key", of: upstream,
        "has a password, which nobody is here to type; write it without: openssl pkey -in \(path) -out FILE")
    }
  }

  private static let certificate = "-----BEGIN CERTIFICATE-----"

  private static func read(_ path: String, _ what: String, of upstream: String) throws(CodedError) -> String {
    do throws(CodedError) {
      return String(decoding: try InputFile(path).read(atMost: WholeFiles.smallLimit), as: UTF8.self)
    } catch {
      throw CodedError(
        .inputOutput,
        "the \(what) of upstream '\(upstream)', \(path), "
          + (error.isMissing ? "is not there; correct the path" : "cannot be read: \(error); name another file"))
    }
  }

  private static func wrong(_ path: String, _ what: String, of upstream: String, _ problem: String) -> CodedError {
    CodedError(.usage, "the \(what) of upstream '\(upstream)', \(path), \(problem)")
  }
}
