import Transforms
import EnvironmentService
import HTTPMessages

/// URLs in bodies, rewritten for the app and for the upstream.
enum Rewriting {
  private static let origins = [
    ("api", "https://api.example.com"), ("short", "https://example.com"), ("port", "https://api.example.com:8443"),
    ("plain", "http://files.test"), ("six", "http://[::1]:9000"), ("local", "http://127.0.0.1:5000"),
  ]

  /// - Parameter bytes: a byte for the form of endpoint, then the body.
  /// - Throws: never, because all origins are valid.
  static func body(_ bytes: [UInt8]) throws {
    let map = try AddressMap(
      upstreams: origins.enumerated().map { number, pair in
        AddressMap.Upstream(name: pair.0, origin: try Origin(parsing: pair.1), port: UInt16(20013 + number))
      }, mainPort: 20011)
    let forms = [AddressMap.Form.ownPort, .pathSegment, .absolute]
    let form = forms[Int(bytes.first ?? 0) % forms.count]
    let body = Array(bytes.dropFirst())
    let upstream = Int(bytes.first ?? 0) / forms.count % origins.count
    guard let fresh = map.responseBodyRewriter(contentType: "text/plain", upstream: upstream, form: form) else {
      return
    }
    var rewriter = fresh
    let whole = rewriter.push(body) + rewriter.finish()
    // The result must not depend on how the body is split.
    rewriter = fresh
    var pieces: [UInt8] = []
    for byte in body { pieces += rewriter.push([byte]) }
    pieces += rewriter.finish()
    precondition(pieces == whole, "the result differs for a body in single bytes")
    let half = body.count / 2
    rewriter = fresh
    let halves = rewriter.push(Array(body[..<half])) + rewriter.push(Array(body[half...])) + rewriter.finish()
    precondition(halves == whole, "the result differs for a body in two halves")
    // In the other direction, text that no upstream sent has no defined result, but it must not trap.
    _ = map.requestBody(body, contentType: "text/plain", form: form)
    _ = map.requestTarget(String(decoding: body, as: UTF8.self), form: form)
  }
}
