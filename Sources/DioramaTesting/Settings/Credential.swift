import EnvironmentConfiguration
public import Foundation
import LaunchContract

extension TestEnvironment {
  /// A secret in the app's credential store, which is in memory during the test.
  ///
  /// The secret never appears on a command line, in a journal or in a failure message. Printing a credential shows only
  /// its service, account and group.
  ///
  /// ```swift
  /// .environment(credentials: [.init(service: "clinic", account: "auth-token", secret: "t-1")])
  /// ```
  public struct Credential: Sendable, CustomStringConvertible, CustomReflectable {
    let service: String
    let account: String
    let group: String?
    let secret: [UInt8]

    /// Creates a credential.
    ///
    /// - Parameters:
    ///   - service: the service that the secret gives access to.
    ///   - account: the account that the secret belongs to.
    ///   - group: the access group that shares the secret; nil for the app's own.
    ///   - secret: the secret as text, stored as UTF-8.
    public init(service: String, account: String, group: String? = nil, secret: String) {
      self.init(service: service, account: account, group: group, secret: Data(secret.utf8))
    }

    /// Creates a credential.
    ///
    /// - Parameters:
    ///   - service: the service that the secret gives access to.
    ///   - account: the account that the secret belongs to.
    ///   - group: the access group that shares the secret; nil for the app's own.
    ///   - secret: the secret's bytes.
    public init(service: String, account: String, group: String? = nil, secret: Data) {
      self.service = service
      self.account = account
      self.group = group
      self.secret = Array(secret)
    }

    var configuration: EnvironmentConfiguration.Credential {
      .init(service: service, account: account, group: group, secret: Secret(Data(secret).base64EncodedString()))
    }

    /// Service and account, such as `clinic/auth-token`, followed by the group in parentheses; never the secret.
    public var description: String { "\(service)/\(account)" + (group.map { " (\($0))" } ?? "") }

    /// Service and account. The secret is hidden from debuggers and from `dump`.
    public var customMirror: Mirror { Mirror(self, children: ["service": service, "account": account]) }
  }
}
