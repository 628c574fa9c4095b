import ControlAPI
@testable import Transforms
import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A body that does not match its content coding")
struct FalseCodingTests {
  @Test("is passed on and replayed unchanged", arguments: [2_000, 400_000], ["text/plain", "image/png"])
  func asSent(size: Int, type: String) async throws {
    let body = noise(size)
    let upstream = try TestUpstream { request in
      Response(
        status: 200, headers: ["Content-Type": type, "Content-Encoding": "gzip"],
        body: request.target == "/chunked" ? .stream(BytePipe(holding: body), length: nil) : .bytes(body))
    }
    try await withService { fixture in
      let ask = { (environment: Environment) in
        for path in ["/whole", "/chunked"] {
          let answer = try await environment.get(path, ["Accept-Encoding": "gzip"])
          #expect(answer.headers["Content-Encoding"] == "gzip")
          #expect(answer.body == body)
        }
      }
      try await fixture.record(["api": upstream.origin], ask)
      try await fixture.run(.replay, use: ask)
    }
    await upstream.stop()
  }

  /// How a coded body is damaged that can be decoded in part.
  enum Damage: CaseIterable {
    /// It was flushed, but never ended.
    case unfinished
    case cut, cutShort
    case trailing

    func coded(_ text: String, _ coding: String) throws -> [UInt8] {
      let encoder = try #require(ContentCodings(header: coding)).encoder()
      let begun = try encoder.push(Array(text.utf8), flush: true)
      let whole = try begun + encoder.finish()
      return switch self {
      case .unfinished: begun
      case .cut: Array(whole.dropLast())
      case .cutShort: Array(begun.dropLast(9))
      case .trailing: whole + Array("}garbage".utf8)
      }
    }
  }

  @Test(
    "and can be decoded in part is recorded as that part, redacted, in requests too, and replayed",
    arguments: Damage.allCases, ["gzip", "deflate", "br"])
  func redacted(damage: Damage, coding: String) async throws {
    let secret = "hunter2-and-more"
    let text = "\(secret) \(noise(3000).map { String(UnicodeScalar($0)) }.joined())"
    let coded = try damage.coded(text, coding)
    let upstream = try TestUpstream { request in
      let body = try await request.body.collect(upTo: 1 << 20)
      #expect(body == coded)
      return Response(
        status: 200, headers: ["Content-Type": "text/plain", "Content-Encoding": coding],
        body: request.target == "/chunked" ? .stream(BytePipe(holding: body), length: nil) : .bytes(body))
    }
    func send(_ environment: Environment, _ path: String) async throws -> RawClient.Answer {
      let head = request(
        "POST", path,
        [
          "Content-Type": "text/plain", "Content-Encoding": coding, "Accept-Encoding": coding,
          "Content-Length": "\(coded.count)",
        ])
      let port = environment.upstreams[0].port
      return try await onThread {
        let client = try RawClient(port: port)
        try client.send(Array(head.utf8) + coded)
        return try client.receiveAnswer()
      }
    }
    let credentials = { (specification: inout EnvironmentSpecification) in
      specification.credentials = [.init(service: "s", account: "a", secret: Array(secret.utf8))]
    }
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin], with: credentials) { environment in
        for path in ["/whole", "/chunked"] {
          let answer = try await send(environment, path)
          // A body in several pieces is streamed, and encoded again as far as it goes.
          guard path == "/chunked", answer.body != coded else {
            #expect(answer.body == coded)
            continue
          }
          let part = try CodedUpstream.decode(answer.body, coding)
          #expect(text.utf8.starts(with: part.utf8) && part.hasPrefix(secret))
        }
      }
      var parts: [[UInt8]] = []
      for interaction in try fixture.cassette().interactions {
        #expect(!interaction.response.isBodyAsSent)
        guard case .bytes(let part) = interaction.response.body else { continue }
        #expect(interaction.request.body == .bytes(part))
        #expect(Array(text.replacing(secret, with: "<redacted:s/a>").utf8).starts(with: part))
        #expect(part.starts(with: Array("<redacted:s/a> ".utf8)))
        parts.append(part)
      }
      let report = try await fixture.run(.replay, with: credentials) { environment in
        for (path, part) in zip(["/whole", "/chunked"], parts) {
          let answer = try await send(environment, path)
          #expect(answer.status == 200)
          #expect(Array(try CodedUpstream.decode(answer.body, coding).utf8) == part)
        }
      }
      #expect(report.ok && report.requests.replayed == 2)
    }
  }

  @Test("and can be decoded in part has rewritten addresses in that part", arguments: Damage.allCases)
  func rewritten(damage: Damage) async throws {
    let upstream = try TestUpstream { request in
      let text = "http://\(request.headers["Host"] ?? "")/next " + String(repeating: "and so on ", count: 50)
      let coded = try damage.coded(text, "gzip")
      return Response(
        status: 200, headers: ["Content-Type": "text/plain", "Content-Encoding": "gzip"],
        body: request.target == "/chunked" ? .stream(BytePipe(holding: coded), length: nil) : .bytes(coded))
    }
    try await withService(upstream) { fixture in
      let ask = { (environment: Environment) in
        for path in ["/whole", "/chunked"] {
          let answer = try await environment.get(path, ["Accept-Encoding": "gzip"])
          let text = try CodedUpstream.decode(answer.body, "gzip")
          #expect(text.hasPrefix("http://127.0.0.1:\(environment.upstreams[0].port)/next and"))
        }
      }
      try await fixture.record(["api": upstream.origin], ask)
      try await fixture.run(.replay, use: ask)
    }
  }
}
