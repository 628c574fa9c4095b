import CGnuTLS
import Foundation
import TestSupport

@testable import Interception

/// A folder for one test, removed with this object, and the programs that read certificates in it.
final class CertificateFolder: Sendable {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let path = FileManager.default.temporaryDirectory.path + "/diorama-certificates-\(UUID().uuidString)"

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file and returns its path.
  @discardableResult
  func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
    let file = path + "/" + name
    try FileManager.default.createDirectory(
      atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: file))
    return file
  }

  /// Runs a program in this folder.
  ///
  /// - Returns: its output.
  /// - Throws: a failure with both outputs unless its status is 0.
  @discardableResult
  func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> String {
    try await run(arguments, environment: environment)
  }

  @discardableResult
  func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
    let command = ["sh", "-c", "cd \"$0\" && exec \"$@\" 2>&1", path] + arguments
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let outcome = try await onThread {
      try Child(command.map { Array($0.utf8) }, environment: variables).finish()
    }
    guard outcome.status != 127 else {
      throw Failure(description: "\(arguments[0]) is missing; install it as Config/system-packages says")
    }
    guard outcome.status == 0 else {
      throw Failure(description: "\(arguments.joined(separator: " ")): status \(outcome.status): \(outcome.text)")
    }
    return outcome.text
  }
}

extension ServerCredentials {
  /// The chain as DER.
  var certificates: [[UInt8]] {
    var certificates: [[UInt8]] = []
    var datum = gnutls_datum_t()
    while gnutls_certificate_get_crt_raw(handle, 0, UInt32(certificates.count), &datum) == 0 {
      certificates.append(Array(UnsafeBufferPointer(start: datum.data, count: Int(datum.size))))
    }
    return certificates
  }
}
