import HTTPMessages

/// One event of a `text/event-stream` (the HTML standard, "Server-sent events").
struct ServerSentEvent: Sendable {
  var id: Int?
  var name: String
  /// One line.
  var data: String

  var bytes: [UInt8] {
    let id = id.map { "id: \($0)\n" } ?? ""
    return Array("\(id)event: \(name)\ndata: \(data)\n\n".utf8)
  }

  /// How long a client waits before it takes up a stream that broke off, in milliseconds.
  static let retry = Array("retry: 1000\n\n".utf8)
  /// Nothing has happened, and the stream is still there.
  static let comment = Array(": nothing new\n\n".utf8)

  /// Whether a client names the type among those that it takes.
  static func isAskedFor(_ headers: Headers) -> Bool {
    headers.all("Accept").flatMap { $0.split(separator: ",") }.contains { range in
      let type = range.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
      return String(type).equalsIgnoringASCIICase("text/event-stream")
    }
  }
}
