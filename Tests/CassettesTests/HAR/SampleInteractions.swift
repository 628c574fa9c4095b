import HTTPMessages
import TestSupport

@testable import Cassettes

extension Interaction {
  /// An interaction with defaults for everything that a test does not set.
  static func sample(
    method: String = "GET", url: String = "https://dev.api1.com/", requestHeaders: Headers = [:],
    requestBody: RecordedBody = .empty, status: Int = 200, reason: String = "OK", headers: Headers = [:],
    body: RecordedBody = .empty, milliseconds: Double = 12.5
  ) -> Interaction {
    Interaction(
      upstream: "api", startedAt: "2018-10-08T09:00:00.125Z", milliseconds: milliseconds,
      request: RecordedRequest(method: method, url: url, headers: requestHeaders, body: requestBody),
      response: RecordedResponse(status: status, reason: reason, headers: headers, body: body))
  }
}

extension CassetteHeader {
  static let sampleWithSchemas: CassetteHeader = {
    var header = sample
    header.grpcSchemas = ["pets.Store": [0x0A, 0xFF], "a.B": [1]]
    header.resources = [
      "patient": Resource(pool: "patients", name: "Zo\u{EB}", attributes: ["plan": "a\"b"], secrets: ["pin"]),
      "b": Resource(pool: "p", name: "n", attributes: [:], secrets: []),
    ]
    return header
  }()

  static let sample = CassetteHeader(
    recording: "3f2a", recordedAt: "2018-10-08T09:00:00Z", timeZone: "Europe/London", locale: "en_GB",
    seed: "recording-2018",
    upstreams: [
      Upstream(name: "b", origin: Origin(scheme: "https", host: "dev.api1.com", port: 443)),
      Upstream(name: "a", origin: Origin(scheme: "http", host: "127.0.0.1", port: 8080)),
    ])
}

extension SeededGenerator {
  mutating func bytes(upTo length: Int) -> [UInt8] {
    (0..<upTo(length)).map { _ in UInt8(upTo(255)) }
  }

  mutating func body() -> RecordedBody {
    switch upTo(5) {
    case 0: .empty
    case 1: .bytes(bytes(upTo: 100))
    case 2: .file(name: "x.bodies/\(upTo(99)).bin", length: 1 + upTo(1_000_000))
    default: .bytes(Array(text(upTo: 100).utf8))
    }
  }

  /// Valid header values: visible characters separated by single spaces.
  mutating func headers() -> Headers {
    Headers(
      (0..<upTo(6)).map { _ in
        Headers.Field(
          pick(["Set-Cookie", "set-cookie", "Content-Type", "X-\u{E9}", "Cookie", "Location", "Via"]),
          pick(["", "a=1; b=\"2\"", "text/html; charset=iso-8859-1", "Z\u{FC}rich \u{1F642}", "a=1; Expires=x; Path"]))
      })
  }

  mutating func interaction() -> Interaction {
    Interaction(
      upstream: pick(["api", "b \u{1F642}", nil]), startedAt: "2018-10-08T09:00:\(10 + upTo(49)).\(upTo(999))Z",
      milliseconds: Double(upTo(100_000)) / 8,
      request: RecordedRequest(
        method: pick(["GET", "POST", "PROPFIND"]),
        url: "https://h.example/a%7Eb//c;d?x=%C3%A9&x=+&=&y=%FF%zz&\(upTo(99))", headers: headers(), body: body()),
      response: RecordedResponse(
        status: pick([200, 204, 301, 404, 599]), reason: pick(["", "OK", "Tr\u{E8}s bien"]), headers: headers(),
        body: body()))
  }
}

extension Interaction {
  /// The whole value as text, for readable comparisons.
  var everything: String {
    """
    \(upstream ?? "-") \(startedAt) \(milliseconds) \(request.method) \(request.url) \(request.headers.fields) \
    \(request.body) \(response.status) \(response.reason) \(response.headers.fields) \(response.body)
    """
  }
}
