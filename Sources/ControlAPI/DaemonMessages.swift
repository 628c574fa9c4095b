package import LaunchContract

/// `control.json` in the state folder, with mode 0600, through which programs find the daemon.
package struct ControlFile: Codable, Sendable, Equatable {
  /// The URL of the control API, such as `http://127.0.0.1:12345`.
  package var control: String
  /// The absolute path of the Unix socket.
  package var socket: String
  package var token: Secret
  package var pid: Int32

  package init(control: String, socket: String, token: Secret, pid: Int32) {
    self.control = control
    self.socket = socket
    self.token = token
    self.pid = pid
  }
}

/// The line that `diorama serve` prints when it is ready.
package struct ReadyLine: Codable, Sendable {
  package var control: String
  package var socket: String
  /// The path of the file with the token, `control.json`.
  package var tokenFile: String
  package var pid: Int32
  /// How programs on other machines reach the daemon; nil if they can't.
  package var remote: RemoteAddress?

  package init(control: String, socket: String, tokenFile: String, pid: Int32, remote: RemoteAddress? = nil) {
    self.control = control
    self.socket = socket
    self.tokenFile = tokenFile
    self.pid = pid
    self.remote = remote
  }
}

/// How programs on other machines reach a daemon.
package struct RemoteAddress: Codable, Sendable, Equatable {
  /// Such as `https://ci.example.com:4011`.
  package var url: String
  /// `sha256:` and the digest of the certificate's public key in hexadecimal.
  package var fingerprint: String
  /// The path of the certificate.
  package var certificate: String

  package init(url: String, fingerprint: String, certificate: String) {
    self.url = url
    self.fingerprint = fingerprint
    self.certificate = certificate
  }
}

/// The body of `POST /v1/tokens`.
package struct TokenRequest: Codable, Sendable {
  package var name: String

  package init(name: String) { self.name = name }
}

/// The response to `POST /v1/tokens`.
package struct CreatedToken: Codable, Sendable {
  package var name: String
  package var token: Secret
  package var remote: RemoteAddress?

  package init(name: String, token: Secret, remote: RemoteAddress?) {
    self.name = name
    self.token = token
    self.remote = remote
  }
}

/// The response to `GET /v1/tokens`.
package struct TokenList: Codable, Sendable, Equatable {
  package struct Token: Codable, Sendable, Equatable {
    package var name: String
    /// In RFC 3339.
    package var createdAt: String
    package var lastUsedAt: String?

    package init(name: String, createdAt: String, lastUsedAt: String?) {
      self.name = name
      self.createdAt = createdAt
      self.lastUsedAt = lastUsedAt
    }
  }

  package var tokens: [Token]

  package init(tokens: [Token]) { self.tokens = tokens }
}

/// The response to `GET /v1/health`, which requires no token.
package struct Health: Codable, Sendable {
  /// `ok`.
  package var status: String
  package var version: String
  package var pid: Int32

  package init(status: String = "ok", version: String, pid: Int32) {
    self.status = status
    self.version = version
    self.pid = pid
  }
}

/// An error (RFC 9457, `application/problem+json`).
package struct ProblemDocument: Codable, Sendable {
  /// `about:blank`.
  package var type: String
  package var title: String
  package var status: Int
  /// What happened, where, and what to do next.
  package var detail: String
  /// The kind of error; nil if the status is enough.
  ///
  /// One of `usage`, `broken`, `noCassette`, `noUpstream`, `cannotWrite`, `inputOutput` and `unanswered`. It determines
  /// the exit status of the command.
  package var kind: String?

  package init(type: String = "about:blank", title: String, status: Int, detail: String, kind: String? = nil) {
    self.type = type
    self.title = title
    self.status = status
    self.detail = detail
    self.kind = kind
  }
}
