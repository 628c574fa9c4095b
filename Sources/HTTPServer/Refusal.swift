import HTTPMessages

/// A short answer that the server gives itself: `application/problem+json` (RFC 9457), since what serves here answers
/// so, too.
///
/// libmicrohttpd has answers of its own, in HTML, for what it cannot read at all: a broken request line (400), a head
/// that is far beyond the limit (414, 431).
struct Refusal: Sendable {
  let status: UInt32
  /// As in the status line.
  let reason: String
  /// What is wrong, and what to do next.
  let detail: String

  static let targetTooLong = Refusal(
    status: 414, reason: "URI Too Long",
    detail: "the request's target is longer than a head may be; send what is long in a body")
  static let headTooLarge = Refusal(
    status: 431, reason: "Request Header Fields Too Large",
    detail: "the request's head has more bytes than one may have; send fewer or shorter fields")
  static let fieldFolded = Refusal(
    status: 400, reason: "Bad Request",
    detail: "a header field of the request goes on in a further line (RFC 9112, 5.2); send its value in one line")
  static let bodyTooLarge = Refusal(
    status: 413, reason: "Content Too Large",
    detail: "the request's body has more bytes than one may have; send less")
  static let codingUnknown = Refusal(
    status: 501, reason: "Not Implemented",
    detail: "the only transfer coding that is known here is chunked; send the body so, or with its Content-Length")
  static let tooManyConnections = Refusal(
    status: 503, reason: "Service Unavailable",
    detail: "the server has all the connections that it may have; close some, then ask again")

  /// The server, or what serves here, has failed.
  static func failure(_ detail: String) -> Refusal {
    Refusal(status: 500, reason: "Internal Server Error", detail: detail)
  }

  var headers: Headers { ["Content-Type": "application/problem+json"] }

  var body: [UInt8] {
    let title = Self.quoted(reason)
    let members = "\"type\":\"about:blank\",\"title\":\(title),\"status\":\(status),\"detail\":\(Self.quoted(detail))"
    return Array("{\(members)}\n".utf8)
  }

  /// A text in JSON (RFC 8259, 7).
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case "\u{0}"..<"\u{20}":
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u00" + (digits.count == 1 ? "0" : "") + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// Puts the answer into the socket and ends that direction.
  ///
  /// If it does not fit, it is lost.
  func send(to descriptor: Int32) {
    let body = body
    let head =
      "HTTP/1.1 \(status) \(reason)\r\nContent-Type: application/problem+json\r\n"
      + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    Socket.sendAndEndWriting(descriptor, Array(head.utf8) + body)
  }
}

extension ServerError {
  /// What the reader of a request's body gets when there is more of it than allowed.
  init(bodyLimit: Int) {
    self.init(
      what: "the body has more than \(bodyLimit) bytes", where: "request", next: "raise the server's body limit")
  }
}
