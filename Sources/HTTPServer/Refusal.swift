import CMicroHTTPD
package import HTTPMessages

/// A short error response of the server itself, as `application/problem+json` (RFC 9457), like those of its handlers.
///
/// libmicrohttpd sends its own HTML for requests it cannot parse at all: a broken request line (400) or a head far
/// beyond the limit (414, 431).
package struct Refusal: Sendable {
  /// The status code.
  package let status: UInt32
  /// The reason phrase of the status line.
  let reason: String
  /// The problem, and what to do about it.
  let detail: String

  /// The request target is too long.
  package static let targetTooLong = Refusal(
    status: 414, reason: "URI Too Long",
    detail: "the request target exceeds the size limit of a head; send long data in the body")
  /// The header section is too large.
  package static let headTooLarge = Refusal(
    status: 431, reason: "Request Header Fields Too Large",
    detail: "the request head exceeds the size limit; send fewer or shorter fields")
  static let requestLineInvalid = badRequest(
    "the request line is not a method, one space, and a target without spaces and control characters (RFC 9112, 3); "
      + "send a path, or an absolute URL")
  static let codingInOldVersion = badRequest(
    "Transfer-Encoding is not part of HTTP/1.0 (RFC 9112, 6.1); send Content-Length, or use HTTP/1.1")
  static let chunkSizeTooLong = badRequest(
    "a chunk's size line is too long (RFC 9112, 7.1.1); send shorter chunk extensions")
  /// The body is too large.
  package static let bodyTooLarge = Refusal(
    status: 413, reason: "Content Too Large",
    detail: "the request body exceeds the size limit; send less data")
  static let codingUnknown = Refusal(
    status: 501, reason: "Not Implemented",
    detail: "chunked is the only supported transfer coding; use it, or send the body with a Content-Length")

  /// Checks a request head that libmicrohttpd accepted; nil if it is valid.
  ///
  /// These faults make two readers of one byte stream disagree about where a request ends or what it says (request
  /// smuggling): RFC 9112, 5.1, 5.2, 6.3, and RFC 9110, 5.5.
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

  /// A request that is not valid.
  ///
  /// - Parameter detail: the problem, and what to do about it.
  /// - Returns: a 400.
  package static func badRequest(_ detail: String) -> Refusal {
    Refusal(status: 400, reason: "Bad Request", detail: detail)
  }

  /// An error of the server or its handler.
  ///
  /// - Parameter detail: the problem.
  /// - Returns: a 500.
  package static func failure(_ detail: String) -> Refusal {
    Refusal(status: 500, reason: "Internal Server Error", detail: detail)
  }

  /// The header fields of the response.
  package var headers: Headers { ["Content-Type": "application/problem+json"] }

  /// The body of the response.
  package var body: [UInt8] {
    let title = Self.quoted(reason)
    let members = "\"type\":\"about:blank\",\"title\":\(title),\"status\":\(status),\"detail\":\(Self.quoted(detail))"
    return Array("{\(members)}\n".utf8)
  }

  /// A JSON string (RFC 8259, 7).
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

  /// Writes the response to the socket and closes the sending side. The response is lost if it does not fit into the
  /// send buffer.
  func send(to descriptor: Int32) {
    let body = body
    let head =
      "HTTP/1.1 \(status) \(reason)\r\nContent-Type: application/problem+json\r\n"
      + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    Socket.sendAndEndWriting(descriptor, Array(head.utf8) + body)
  }
}
