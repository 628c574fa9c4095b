import Cassettes
import Foundation
import HTTPMessages

/// A cassette as diorama records it, with bodies of JSON.
enum LargeCassette {
  /// The bytes of a body: beside padding all that JSON in a HAR has to escape, and text beyond ASCII.
  static func body(_ index: Int, padding: Int) -> [UInt8] {
    let slots = (0..<4).map { #"{"id":\#(index * 4 + $0),"name":"Dr Pixel \#($0)","note":"Zürich\nfree","free":true}"# }
    let padding = String(repeating: "x", count: max(0, padding))
    return Array(#"{"clinician":\#(index),"slots":[\#(slots.joined(separator: ","))],"padding":"\#(padding)"}"#.utf8)
  }

  /// The body that has the length of another.
  static func body(_ index: Int, padding like: [UInt8]) -> [UInt8] {
    body(index, padding: like.count - body(index, padding: 0).count)
  }

  private static func interaction(_ index: Int, padding: Int) -> Interaction {
    let body = body(index, padding: padding)
    return Interaction(
      upstream: "api", startedAt: "2018-10-08T09:00:00.000Z", milliseconds: 1.25,
      request: RecordedRequest(
        method: "GET", url: "http://127.0.0.1:9\(path(index))",
        headers: ["Host": "127.0.0.1:9", "User-Agent": "clinic/1.0", "Accept": "application/json"], body: .empty),
      response: RecordedResponse(
        status: 200, reason: "OK",
        headers: [
          "Server": "nginx", "Date": "Mon, 08 Oct 2018 09:00:00 GMT", "Content-Type": "application/json",
          "Content-Length": "\(body.count)", "Cache-Control": "no-store", "X-Request-Id": "request-\(index)-of-many",
        ], body: .bytes(body)))
  }

  /// Writes it.
  ///
  /// - Returns: its path without the ending.
  static func write(of count: Int, bytes: Int, in scratch: Scratch) throws -> URL {
    let base = scratch.file("large")
    let file = base.appendingPathExtension("har")
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    let origin = Origin(scheme: "http", host: "127.0.0.1", port: 9)
    let header = CassetteHeader(
      recordedAt: "2018-10-08T09:00:00Z", upstreams: [CassetteHeader.Upstream(name: "api", origin: origin)])
    let padding = bytes / count - HAR.entry(interaction(count, padding: 0), isFirst: false).count
    try handle.write(contentsOf: HAR.prologue(header))
    var chunk: [UInt8] = []
    for index in 0..<count {
      chunk += HAR.entry(interaction(index, padding: padding), isFirst: index == 0)
      guard chunk.count > 1 << 20 else { continue }
      try handle.write(contentsOf: chunk)
      chunk = []
    }
    try handle.write(contentsOf: chunk + HAR.epilogue())
    try handle.close()
    return base
  }
}
