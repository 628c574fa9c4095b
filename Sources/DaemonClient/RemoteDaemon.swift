import Basics
package import Foundation
import LaunchContract

/// A daemon on another machine: `DIORAMA_DAEMON=https://host:port`, with a token of `diorama token create`.
package struct RemoteDaemon: Sendable, Hashable {
  /// How the daemon's certificate is checked.
  package enum Trust: Sendable, Hashable {
    /// By the system's certificate authorities.
    case system
    /// By the certificates in this PEM file.
    case authorities(path: String)
    /// By the SHA-256 digest of its public key. Its names and its issuer don't matter.
    case publicKey([UInt8])
  }

  /// The host as in the URL.
  package let host: String
  package let port: Int
  package let trust: Trust
  let token: Secret

  package func hash(into hasher: inout Hasher) {
    hasher.combine(host)
    hasher.combine(port)
  }

  /// `https://host:port`.
  package var url: String { "https://\(host):\(port)" }

  /// Reads the variables; nil if `DIORAMA_DAEMON` is not a URL.
  ///
  /// - Parameters:
  ///   - variables: `DIORAMA_DAEMON`, `DIORAMA_DAEMON_TOKEN` or `DIORAMA_DAEMON_TOKEN_FILE`, and `DIORAMA_DAEMON_CA` or
  ///     `DIORAMA_DAEMON_FINGERPRINT`.
  ///   - read: reads a file.
  /// - Throws: ``DaemonClientError`` if a variable is missing or not valid. Never contains the token.
  package init?(
    variables: [String: String], reading read: (String) throws -> Data = { try InputFile($0).read(atMost: 65_536) }
  ) throws(DaemonClientError) {
    func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
    guard let text = value("DIORAMA_DAEMON"), text.contains("://") else { return nil }
    guard let url = URLComponents(string: text), url.scheme?.lowercased() == "https", let host = url.host,
      !host.isEmpty,
      url.user == nil, url.query == nil, url.fragment == nil, ["", "/"].contains(url.path)
    else {
      throw DaemonClientError(
        .unusable,
        "DIORAMA_DAEMON is '\(text)', which is not the URL of a daemon such as https://ci.example.com:4011; daemons on "
          + "other machines accept only https")
    }
    self.host = host
    port = url.port ?? 443
    switch (value("DIORAMA_DAEMON_CA"), value("DIORAMA_DAEMON_FINGERPRINT")) {
    case (nil, nil): trust = .system
    case (let path?, nil): trust = .authorities(path: path)
    case (nil, let fingerprint?):
      guard let digest = Self.digest(fingerprint) else {
        throw DaemonClientError(
          .unusable,
          "DIORAMA_DAEMON_FINGERPRINT is '\(fingerprint)'; set it to sha256: and 64 hexadecimal digits, as diorama token "
            + "create prints it")
      }
      trust = .publicKey(digest)
    case (.some, .some):
      throw DaemonClientError(
        .unusable, "DIORAMA_DAEMON_CA and DIORAMA_DAEMON_FINGERPRINT are both set; unset one of them")
    }
    token = try Self.token(value("DIORAMA_DAEMON_TOKEN"), value("DIORAMA_DAEMON_TOKEN_FILE"), read)
  }

  private static func token(
    _ text: String?, _ path: String?, _ read: (String) throws -> Data
  ) throws(DaemonClientError) -> Secret {
    var token = text ?? ""
    if text == nil {
      guard let path else {
        throw DaemonClientError(
          .unusable,
          "DIORAMA_DAEMON is a URL, but there is no token for it; set DIORAMA_DAEMON_TOKEN or DIORAMA_DAEMON_TOKEN_FILE to one "
            + "of: diorama token create NAME (on the daemon's machine)")
      }
      do { token = String(decoding: try read(path), as: UTF8.self) } catch {
        throw DaemonClientError(
          .unusable, "cannot read \(path) (\(error)); set DIORAMA_DAEMON_TOKEN_FILE to the file with the daemon's token"
        )
      }
    }
    token = token.trimmingCharacters(in: .whitespacesAndNewlines)
    // Anything else could add lines to the request.
    guard !token.isEmpty, token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw DaemonClientError(
        .unusable, "the daemon's token is empty or has characters that no token has; copy it again, or create a new one"
      )
    }
    return Secret(token)
  }

  /// The bytes of `sha256:` and 64 hexadecimal digits, which colons may separate.
  static func digest(_ text: String) -> [UInt8]? {
    guard text.lowercased().hasPrefix("sha256:") else { return nil }
    let digits = text.dropFirst(7).filter { $0 != ":" }.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
    guard digits.count == 64 else { return nil }
    let bytes = stride(from: 0, to: 64, by: 2).compactMap { index -> UInt8? in
      guard let high = digits[index], let low = digits[index + 1] else { return nil }
      return UInt8(high * 16 + low)
    }
    return bytes.count == 32 ? bytes : nil
  }
}

// Errors about daemons on other machines, with the next step.
extension RemoteDaemon {
  func unreachable(_ reason: String) -> DaemonClientError {
    DaemonClientError(
      .dead, "cannot reach the daemon at \(url): \(reason); check DIORAMA_DAEMON, and that it runs with --listen")
  }

  func untrusted(_ reason: String) -> DaemonClientError {
    let next =
      switch trust {
      case .system:
        "set DIORAMA_DAEMON_FINGERPRINT to the fingerprint that diorama token create prints, or DIORAMA_DAEMON_CA to its "
          + "certificate"
      case .authorities(let path): "check that \(path) has the daemon's certificate or its authority"
      case .publicKey:
        "it has another key than DIORAMA_DAEMON_FINGERPRINT says; compare it with the daemon's before you trust it"
      }
    return DaemonClientError(.unusable, "the daemon at \(url) is not trusted (\(reason)); \(next)")
  }

  func unresponsive(_ patience: Duration) -> DaemonClientError {
    DaemonClientError(
      .unresponsive, "the daemon at \(url) has not responded for \(patience); check it on its machine")
  }
}
