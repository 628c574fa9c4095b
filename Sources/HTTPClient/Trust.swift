/// Whom to trust at an upstream, and as whom to come: where it is not what holds for all upstreams.
package struct Trust: Sendable, Hashable {
  /// The path of a PEM file with the only authorities to trust; nil: those of the client.
  package var authorities: String?
  /// The path of a PEM file with a client certificate, and the authorities between it and its root.
  package var clientCertificate: String?
  /// The path of a PEM file with its key, which has no password; nil: it is in the certificate's file.
  package var clientKey: String?
  /// Whether any certificate will do, whoever has signed it and for whatever name.
  package var isInsecure: Bool

  package init(
    authorities: String? = nil, clientCertificate: String? = nil, clientKey: String? = nil, isInsecure: Bool = false
  ) {
    self.authorities = authorities
    self.clientCertificate = clientCertificate
    self.clientKey = clientKey
    self.isInsecure = isInsecure
  }

  /// What holds for all upstreams.
  package static let usual = Trust()
}
