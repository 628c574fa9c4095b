import Basics
import Cassettes
import Foundation
import HTTPMessages

/// JSON full of URLs, in several sizes: as files for nginx, and in a cassette for diorama, which rewrites each URL.
struct LargeTexts {
  /// 1 MB is sent with its length, 10 MB in chunks.
  static let sizes = [100_000, 1_000_000, 10_000_000]
  static let origin = Origin(scheme: "https", host: "api.example.com", port: 443)

  /// nginx's `root`.
  let folder: URL
  /// The cassette's path without extension.
  let cassette: URL

  init(in scratch: Scratch) throws {
    folder = scratch.file("large.bodies")
    cassette = scratch.file("large")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var interactions: [Interaction] = []
    for size in Self.sizes {
      let text = Self.text(of: size)
      try Data(text).write(to: folder.appendingPathComponent("\(size)"))
      interactions.append(
        Interaction(
          upstream: "api", startedAt: "2018-10-08T09:00:00Z", milliseconds: 1,
          request: RecordedRequest(method: "GET", url: "\(Self.origin)/\(size)", headers: [:], body: .empty),
          response: RecordedResponse(
            status: 200, reason: "OK", headers: ["Content-Type": "application/json", "Content-Length": "\(size)"],
            body: size > 256 << 10 ? .file(name: "large.bodies/\(size)", length: size) : .bytes(text))))
    }
    let header = CassetteHeader(
      recordedAt: "2018-10-08T09:00:00Z", upstreams: [CassetteHeader.Upstream(name: "api", origin: Self.origin)])
    try Data(HAR.write(Cassette(header: header, interactions: interactions)))
      .write(to: cassette.appendingPathExtension("har"))
  }

  /// An array of items with two URLs each, 10,000 items per megabyte.
  private static func text(of size: Int) -> [UInt8] {
    var text = Array("[".utf8)
    text.reserveCapacity(size)
    var number = 0
    while text.count < size - 300 {
      text +=
        """
        {"id":\(number),"self":"\(origin)/v1/items/\(number)","owner":{"href":"\(origin)/v1/users/\(number % 97)"},\
        "name":"Item number \(number)","note":"The quick brown fox jumps over the lazy dog, who was here when"},

        """.utf8
      number += 1
    }
    text += "null]".utf8
    return text + [UInt8](repeating: 0x20, count: size - text.count)
  }

  /// Checks that a server sends the texts with their URLs rewritten to that server.
  ///
  /// - Throws: ``CodedError`` if a response differs.
  func check(_ server: Server) throws {
    for size in Self.sizes {
      let text = try String(contentsOf: folder.appendingPathComponent("\(size)"), encoding: .utf8)
      let expected = text.replacingOccurrences(of: Self.origin.description, with: server.origin)
      guard try PlainConnection(port: server.port).readToEnd("/\(size)") == Array(expected.utf8) else {
        throw CodedError(
          .inputOutput, "the response of \(size) bytes is not the expected text, so the figures would be invalid")
      }
    }
  }
}
