import CMicroHTTPD
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
  static let requestLineInvalid = badRequest(
    "the request line is not a method, one space, and a target without spaces and control characters (RFC 9112, 3); "
      + "send a path, or an absolute URL")
  static let codingInOldVersion = badRequest(
    "Transfer-Encoding is not part of HTTP/1.0 (RFC 9112, 6.1); send Content-Length, or use HTTP/1.1")
  static let chunkSizeTooLong = badRequest(
    "a chunk's size line is too long (RFC 9112, 7.1.1); send shorter chunk extensions")
  static let bodyTooLarge = Refusal(
    status: 413, reason: "Content Too Large",
    detail: "the request's body has more bytes than one may have; send less")
  static let codingUnknown = Refusal(
    status: 501, reason: "Not Implemented",
    detail: "the only transfer coding that is known here is chunked; send the body so, or with its Content-Length")

  /// Why a request whose head libmicrohttpd has taken is refused all the same; nil where nothing is wrong with it.
  ///
  /// These are the faults by which two readers of one stream of bytes come to disagree on where a request ends, and what
  /// it says (request smuggling): RFC 9112, 5.1, 5.2, 6.3, and RFC 9110, 5.5.
  static func fault(
    inHeadOf connection: OpaquePointer, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>
  ) -> Refusal? {
    let detail: String
    switch diorama_connection_head_fault(connection, method, version) {
    case DIORAMA_FIELD_FOLDED:
      detail = "a header field continues on another line (RFC 9112, 5.2); send its value in one line"
    case DIORAMA_FIELD_NAME_INVALID:
      detail =
        "a header field's name contains a character that is not allowed there, such as a space before the colon "
        + "(RFC 9112, 5.1); remove it"
    case DIORAMA_FIELD_VALUE_INVALID:
      detail = "a header field's value contains NUL or a bare CR (RFC 9110, 5.5); remove it"
    case DIORAMA_LENGTH_REPEATED:
      detail = "Content-Length is present more than once (RFC 9112, 6.3); send it once"
    case DIORAMA_CODING_REPEATED:
      detail = "Transfer-Encoding is present more than once (RFC 9112, 6.1); send it once"
    case DIORAMA_LENGTH_AND_CODING:
      detail = "Content-Length and Transfer-Encoding are both present (RFC 9112, 6.3); send one of them"
    case DIORAMA_HOST_INVALID:
      detail = "Host is not a host with an optional port (RFC 9112, 3.2); correct it"
    case DIORAMA_HOST_MISSING:
      detail = "Host is missing (RFC 9112, 3.2); send it"
    case DIORAMA_HOST_REPEATED:
      detail = "Host is present more than once (RFC 9112, 3.2); send it once"
    default: return nil
    }
    return badRequest(detail)
  }

  private static func badRequest(_ detail: String) -> Refusal {
    Refusal(status: 400, reason: "Bad Request", detail: detail)
  }

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
