@testable import Transforms
import HTTPMessages

/// The addresses in these tests: main port 20011, and upstreams whose names contain each other.
enum Sample {
  static let mainPort: UInt16 = 20011

  static func map() throws -> AddressMap {
    let origins = [
      ("api", "https://dev.api1.com"), ("api-port", "https://dev.api1.com:8443"), ("short", "https://api1.com"),
      ("plain", "http://files.test"), ("both-http", "http://both.test"), ("both-https", "https://both.test"),
      ("six", "http://[::1]:9000"), ("local", "http://127.0.0.1:5000"),
    ]
    return try AddressMap(
      upstreams: origins.enumerated().map { number, pair in
        AddressMap.Upstream(
          name: pair.0, origin: try Origin(parsing: pair.1), port: UInt16(20013 + number))
      }, mainPort: mainPort)
  }

  /// A response body in one chunk, as the app gets it.
  static func toApp(
    _ text: String, form: AddressMap.Form = .ownPort, upstream: Int = 0, type: String = "application/json"
  ) throws -> String {
    guard var rewriter = try map().responseBodyRewriter(contentType: type, upstream: upstream, form: form) else {
      return text
    }
    return String(decoding: rewriter.push(Array(text.utf8)) + rewriter.finish(), as: UTF8.self)
  }

  /// A request body as the upstream gets it.
  static func toUpstream(
    _ text: String, form: AddressMap.Form = .ownPort, type: String? = "application/json"
  ) throws -> String {
    let body = try map().requestBody(Array(text.utf8), contentType: type, form: form)
    return body.map { String(decoding: $0, as: UTF8.self) } ?? text
  }
}
