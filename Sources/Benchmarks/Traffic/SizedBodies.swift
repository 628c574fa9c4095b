import Cassettes
import Foundation
import HTTPMessages

/// The same bodies for nginx, as files, and for diorama, in a cassette: those above 256 KiB are files there too.
struct SizedBodies {
  static let sizes = [1 << 10, 10 << 10, 100 << 10, 1 << 20, 10 << 20]

  /// nginx's `root`.
  let folder: URL
  /// Without the ending.
  let cassette: URL

  init(in scratch: Scratch) throws {
    folder = scratch.file("sized.bodies")
    cassette = scratch.file("sized")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var interactions: [Interaction] = []
    for size in Self.sizes {
      let body = [UInt8](repeating: UInt8(ascii: "x"), count: size)
      try Data(body).write(to: folder.appendingPathComponent("\(size)"))
      interactions.append(
        Interaction(
          upstream: "api", startedAt: "2018-10-08T09:00:00Z", milliseconds: 1,
          request: RecordedRequest(
            method: "GET", url: "http://127.0.0.1:9/\(size)", headers: [:], body: .empty),
          response: RecordedResponse(
            status: 200, reason: "OK",
            headers: ["Content-Type": "application/octet-stream", "Content-Length": "\(size)"],
            body: size > 256 << 10 ? .file(name: "sized.bodies/\(size)", length: size) : .bytes(body))))
    }
    let origin = Origin(scheme: "http", host: "127.0.0.1", port: 9)
    let header = CassetteHeader(
      recordedAt: "2018-10-08T09:00:00Z", upstreams: [CassetteHeader.Upstream(name: "api", origin: origin)])
    let file = HAR.write(Cassette(header: header, interactions: interactions))
    try Data(file).write(to: cassette.appendingPathExtension("har"))
  }
}
