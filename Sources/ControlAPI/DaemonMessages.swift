package import LaunchContract

/// `control.json` in the state folder, mode 0600: how a program finds the daemon.
package struct ControlFile: Codable, Sendable, Equatable {
  /// Such as `http://127.0.0.1:12345`.
  package var control: String
  /// Absolute path of the Unix socket.
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

/// The one line that `diorama serve` prints when it is ready.
package struct ReadyLine: Codable, Sendable {
  package var control: String
  package var socket: String
  /// Where the token is: `control.json`.
  package var tokenFile: String
  package var pid: Int32

  package init(control: String, socket: String, tokenFile: String, pid: Int32) {
    self.control = control
    self.socket = socket
    self.tokenFile = tokenFile
    self.pid = pid
  }
}

/// The answer of `GET /v1/health`, for which no token is needed.
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
  /// What, where, and what to do next.
  package var detail: String
  /// The kind of trouble, in a word; nil where the status says it all.
  ///
  /// `usage`, `broken`, `noCassette`, `noUpstream`, `cannotWrite`, `inputOutput` or `unanswered`: the command's exit
  /// status follows from it.
  package var kind: String?

  package init(type: String = "about:blank", title: String, status: Int, detail: String, kind: String? = nil) {
    self.type = type
    self.title = title
    self.status = status
    self.detail = detail
    self.kind = kind
  }
}
