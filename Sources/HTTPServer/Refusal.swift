import HTTPMessages

/// A short answer that the server gives itself, after which the connection ends.
struct Refusal: Sendable {
  let status: UInt32
  let reason: String
  let text: String

  static let targetTooLong = Refusal(
    status: 414, reason: "URI Too Long", text: "the request's target is longer than the header limit\n")
  static let headTooLarge = Refusal(
    status: 431, reason: "Request Header Fields Too Large",
    text: "the request's head has more bytes than the header limit\n")
  static let bodyTooLarge = Refusal(
    status: 413, reason: "Content Too Large", text: "the request's body has more bytes than the body limit\n")
  static let codingUnknown = Refusal(
    status: 501, reason: "Not Implemented", text: "the only transfer coding that is known here is chunked\n")
  static let tooManyConnections = Refusal(
    status: 503, reason: "Service Unavailable", text: "the server has all the connections that it may have\n")

  var headers: Headers { ["Content-Type": "text/plain; charset=utf-8"] }
  var body: [UInt8] { Array(text.utf8) }

  /// Puts the answer into the socket and ends that direction.
  ///
  /// If it does not fit, it is lost.
  func send(to descriptor: Int32) {
    let message =
      "HTTP/1.1 \(status) \(reason)\r\nContent-Type: text/plain; charset=utf-8\r\n"
      + "Content-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)"
    Socket.sendAndEndWriting(descriptor, Array(message.utf8))
  }
}

extension ServerError {
  /// What the reader of a request's body gets when there is more of it than allowed.
  init(bodyLimit: Int) {
    self.init(
      what: "the body has more than \(bodyLimit) bytes", where: "request", next: "raise the server's body limit")
  }
}
