import Transforms
import EnvironmentService
import HTTPMessages

/// Addresses in bodies, on their way to the app and from it.
enum Rewriting {
  private static let origins = [
    ("api", "https://api.example.com"), ("short", "https://example.com"), ("port", "https://api.example.com:8443"),
    ("plain", "http://files.test"), ("six", "http://[::1]:9000"), ("local", "http://127.0.0.1:5000"),
  ]

  /// - Parameter bytes: the first tells the form of endpoint, the rest is the body.
  /// - Throws: never, since all origins are good.
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
    // However it is cut, it is the same.
    rewriter = fresh
    var pieces: [UInt8] = []
    for byte in body { pieces += rewriter.push([byte]) }
    pieces += rewriter.finish()
    precondition(pieces == whole, "a body is another one when it comes byte by byte")
    let half = body.count / 2
    rewriter = fresh
    let halves = rewriter.push(Array(body[..<half])) + rewriter.push(Array(body[half...])) + rewriter.finish()
    precondition(halves == whole, "a body is another one when it comes in two halves")
    // The other way no result is promised for text that no upstream sent, only one at all.
    _ = map.requestBody(body, contentType: "text/plain", form: form)
    _ = map.requestTarget(String(decoding: body, as: UTF8.self), form: form)
  }
}
