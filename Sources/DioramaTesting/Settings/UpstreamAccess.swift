import EnvironmentConfiguration
import LaunchContract

extension TestEnvironment {
  /// How to reach a backend if its URL is not enough: an API key that the app does not have, a private CA, a client
  /// certificate.
  ///
  /// These settings are not recorded and do not affect matching. In replay they have no effect, and the files need not
  /// exist.
  ///
  /// ```swift
  /// .environment(
  ///   upstreams: ["api": "https://staging.example.com"],
  ///   access: ["api": .init(headers: ["X-Api-Key": key], ca: "Certificates/staging.pem")])
  /// ```
  public struct UpstreamAccess: Sendable {
    let access: ConfiguredAccess

    /// Creates access settings. Relative paths start at the folder of the test's file.
    ///
    /// - Parameters:
    ///   - headers: header fields to set on every request to the backend, replacing the app's fields of the same name.
    ///     The values of fields that carry keys or tokens, or are named by ``RedactionRules``, are redacted wherever
    ///     they occur in recordings.
    ///   - ca: the path of a PEM file with the only trusted CAs; nil for the machine's.
    ///   - clientCertificate: the path of a PEM file with the client certificate.
    ///   - clientKey: the path of a PEM file with the client certificate's key, without a password; nil if the key is
    ///     in the certificate's file.
    ///   - insecure: whether to skip certificate verification.
    public init(
      headers: [String: String] = [:], ca: String? = nil, clientCertificate: String? = nil, clientKey: String? = nil,
      insecure: Bool = false
    ) {
      access = ConfiguredAccess(
        headers: headers.isEmpty ? nil : headers.mapValues { Secret($0) }, ca: ca,
        clientCertificate: clientCertificate, clientKey: clientKey, insecure: insecure ? true : nil)
    }
  }
}

// Inside `TestEnvironment`, `UpstreamAccess` is the type above.
typealias ConfiguredAccess = UpstreamAccess
