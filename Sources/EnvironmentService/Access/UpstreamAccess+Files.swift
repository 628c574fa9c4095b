package import ControlAPI
import Foundation
import LaunchContract

extension UpstreamAccess {
  /// Checks the files now, since the first request's failure would not explain the problem.
  ///
  /// - Parameter upstream: its name, for errors.
  /// - Throws: an ``EnvironmentError``: `inputOutput` for a file that cannot be read, `usage` for one without what it is to
  ///   have.
  package func checkFiles(of upstream: String) throws(EnvironmentError) {
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
        "has a password; write it without one: openssl pkey -in \(path) -out FILE")
    }
  }

  private static let certificate = "-----BEGIN CERTIFICATE-----"

  private static func read(_ path: String, _ what: String, of upstream: String) throws(EnvironmentError) -> String {
    do throws(InputFileError) {
      return String(decoding: try InputFile(path).read(atMost: WholeFiles.smallLimit), as: UTF8.self)
    } catch {
      throw EnvironmentError(
        .inputOutput,
        "the \(what) of upstream '\(upstream)', \(path), "
          + (error.isMissing ? "is not there; correct the path" : "cannot be read: \(error); name another file"))
    }
  }

  private static func wrong(_ path: String, _ what: String, of upstream: String, _ problem: String) -> EnvironmentError
  {
    EnvironmentError(.usage, "the \(what) of upstream '\(upstream)', \(path), \(problem)")
  }
}
