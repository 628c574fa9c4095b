import Cassettes
import Foundation
import HTTPMessages

/// Messages from the network.
enum Messages {
  static func body(_ bytes: [UInt8]) {
    let (type, body) = line(bytes[...])
    compare(body, contentType: type)
  }

  static func multipart(_ bytes: [UInt8]) {
    let (boundary, body) = line(bytes[...])
    compare(body, contentType: Array("multipart/form-data; boundary=\"".utf8) + boundary + Array("\"".utf8))
  }

  static func miss(_ bytes: [UInt8]) {
    let (target, rest) = line(bytes[...])
    let (type, body) = line(rest)
    func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
    // Mostly like the recorded body, only cut. Whatever the two bodies are, their differences must be found.
    let recorded = Interaction(
      upstream: "api", startedAt: "", milliseconds: 0,
      request: RecordedRequest(
        method: "POST", url: "https://api.example\(text(target.dropLast(1)))",
        headers: ["Content-Type": text(type)], body: .bytes(Array(body.prefix(body.count / 2)))),
      response: RecordedResponse(status: 200, reason: "", headers: [:], body: .empty))
    let other = Interaction(
      upstream: "api", startedAt: "", milliseconds: 0,
      request: RecordedRequest(
        method: "POST", url: "https://api.example\(text(target))", headers: ["Content-Type": text(type)],
        body: .bytes(body.reversed())),
      response: RecordedResponse(status: 200, reason: "", headers: [:], body: .empty))
    let misses = nearMisses(
      method: "POST", target: text(target), upstreamName: "api", headers: ["Content-Type": text(type)],
      body: Array(body),
      in: [recorded, other], names: { $0.upstream }, at: MissTimes(now: Date(timeIntervalSince1970: 1_539_172_800)),
      body: { if case .bytes(let bytes) = $0 { bytes } else { [] } })
    for difference in misses.flatMap(\.differences) { _ = difference.description }
  }

  static func coding(_ bytes: [UInt8]) throws {
    let (name, body) = line(bytes[...])
    guard let codings = ContentCodings(header: String(decoding: name, as: UTF8.self)) else { return }
    let whole = try codings.decode(Array(body), limit: 1 << 20)
    // The result must not depend on how the body is split.
    let decoder = try codings.decoder(limit: 1 << 20)
    var pieces: [UInt8] = []
    for byte in body { pieces += try decoder.push([byte]) }
    pieces += try decoder.finish()
    precondition(pieces == whole, "the result differs for a body in single bytes")
  }

  private static func compare(_ body: ArraySlice<UInt8>, contentType: some Collection<UInt8>) {
    let method = Array("POST".utf8)
    let target = Array("/".utf8)
    let type = Array(contentType)
    // In its own allocation, to detect reads past the end.
    let body = Array(body)
    method.withUnsafeBytes { method in
      target.withUnsafeBytes { target in
        type.withUnsafeBytes { type in
          body.withUnsafeBytes { body in
            _ = MatchKeyMaker().key(method: method, upstream: 0, target: target, contentType: type, body: body)
          }
        }
      }
    }
  }

  /// The first line without its line end, and the rest.
  static func line(_ bytes: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, ArraySlice<UInt8>) {
    let end = bytes.firstIndex(of: 0x0A) ?? bytes.endIndex
    return (bytes[..<end], bytes[end...].dropFirst())
  }
}
