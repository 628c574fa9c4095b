package import LaunchContract

/// How a backend is reached where its URL does not say it all: a member of `access`.
///
/// None of it gets into a recording, and none of it counts when requests are matched. Where nothing is reached, in
/// replay, it has no effect, and the files need not be there.
package struct UpstreamAccess: Codable, Sendable, Equatable {
  /// Header fields that every request to it gets, in place of the app's own of that name.
  package var headers: [String: Secret]?
  /// The path of a PEM file with the authorities that are trusted there, and no others.
  package var ca: String?
  /// The path of a PEM file with the certificate by which we are known there, and its key unless `clientKey` has it.
  package var clientCertificate: String?
  /// The path of a PEM file with the key of `clientCertificate`; it has no password.
  package var clientKey: String?
  /// Whether any certificate will do there.
  package var insecure: Bool?

  package init(
    headers: [String: Secret]? = nil, ca: String? = nil, clientCertificate: String? = nil, clientKey: String? = nil,
    insecure: Bool? = nil
  ) {
    self.headers = headers
    self.ca = ca
    self.clientCertificate = clientCertificate
    self.clientKey = clientKey
    self.insecure = insecure
  }
}
