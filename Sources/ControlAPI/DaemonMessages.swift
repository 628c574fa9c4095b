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

  package init(control: String, socket: String, tokenFile: String, pid: Int32) {
    self.control = control
    self.socket = socket
    self.tokenFile = tokenFile
    self.pid = pid
  }
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
