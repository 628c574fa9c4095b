import EnvironmentConfiguration
public import Foundation
import LaunchContract

extension TestEnvironment {
  /// A secret that the app finds in its credential store, which for the test is one in memory.
  ///
  /// It never stands on a command line, in a journal or in a failure's text: printing a credential shows its service and
  /// account only.
  ///
  /// ```swift
  /// .environment(credentials: [.init(service: "clinic", account: "auth-token", secret: "t-1")])
  /// ```
  public struct Credential: Sendable, CustomStringConvertible, CustomReflectable {
    let service: String
    let account: String
    let group: String?
    let secret: [UInt8]

    /// - Parameters:
    ///   - service: what the secret opens.
    ///   - account: whose it is.
    ///   - group: the access group that shares it; nil for the app's own.
    ///   - secret: the secret as text.
    public init(service: String, account: String, group: String? = nil, secret: String) {
      self.init(service: service, account: account, group: group, secret: Data(secret.utf8))
    }

    /// - Parameters:
    ///   - service: what the secret opens.
    ///   - account: whose it is.
    ///   - group: the access group that shares it; nil for the app's own.
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

    /// `clinic/auth-token`, with a group in brackets: never the secret.
    public var description: String { "\(service)/\(account)" + (group.map { " (\($0))" } ?? "") }

    /// Shows nothing of the secret to a debugger's or a test's dump.
    public var customMirror: Mirror { Mirror(self, children: ["service": service, "account": account]) }
  }
}
