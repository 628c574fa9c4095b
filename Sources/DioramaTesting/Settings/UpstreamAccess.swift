import ControlAPI
import Foundation
import LaunchContract

extension TestEnvironment {
  /// How a backend is reached where its URL does not say it all: an API key that the app does not have, an authority of
  /// one's own, a client certificate.
  ///
  /// None of it gets into a recording or counts when requests are matched, and in replay it has no effect: the files
  /// need not be there.
  ///
  /// ```swift
  /// .environment(
  ///   upstreams: ["api": "https://staging.example.com"],
  ///   access: ["api": .init(headers: ["X-Api-Key": key], ca: "Certificates/staging.pem")])
  /// ```
  public struct UpstreamAccess: Sendable {
    let access: ControlAPI.UpstreamAccess

    /// - Parameters:
    ///   - headers: fields that every request to the backend gets, in place of the app's own of that name. The values of
    ///     those that carry keys and tokens (and of those that ``RedactionRules`` name) are taken out of recordings
    ///     wherever they occur.
    ///   - ca: the path of a PEM file with the authorities that are trusted there, alone; nil: the machine's. A relative
    ///     path begins at the folder of the test's file.
    ///   - clientCertificate: the path of a PEM file with the certificate by which the backend knows us.
    ///   - clientKey: the path of a PEM file with its key, without a password; nil: it is in the certificate's file.
    ///   - insecure: whether any certificate will do there.
    public init(
      headers: [String: String] = [:], ca: String? = nil, clientCertificate: String? = nil, clientKey: String? = nil,
      insecure: Bool = false
    ) {
      access = ControlAPI.UpstreamAccess(
        headers: headers.isEmpty ? nil : headers.mapValues { Secret($0) }, ca: ca,
        clientCertificate: clientCertificate, clientKey: clientKey, insecure: insecure ? true : nil)
    }

    /// The same with absolute paths, for a process in another folder.
    func resolved(in folder: String) -> ControlAPI.UpstreamAccess {
      let absolute: (String) -> String = { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" }
      var resolved = access
      resolved.ca = access.ca.map(absolute)
      resolved.clientCertificate = access.clientCertificate.map(absolute)
      resolved.clientKey = access.clientKey.map(absolute)
      return resolved
    }
  }
}
