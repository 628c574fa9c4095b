@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Cached rewritten bodies")
struct KeptBodiesTests {
  private static func links(_ count: Int, to authority: String) -> String {
    (0..<count).map { "{\"href\": \"http://\(authority)/items/\($0)\"}" }.joined(separator: ",\n")
  }

  @Test("are the same each time, in every form and framing", arguments: [20_000, 60_000], [true, false])
  func repeated(count: Int, isChunked: Bool) async throws {
    let upstream = try TestUpstream { request in
      let body = Array(Self.links(count, to: request.headers["Host"] ?? "").utf8)
      return Response(
        status: 200, headers: ["Content-Type": "application/json"],
        body: isChunked ? .stream(BytePipe(holding: body), length: nil) : .bytes(body))
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await environment.get("/all")
      }
      #expect(fixture.bodies.count == 1)
      for _ in 0..<2 {
        let environment = try fixture.provision(.replay)
        let port = environment.upstreams[0].port
        let segment = "/\(upstream.origin.authority)"
        for (port, target, authority) in [
          (port, "/all", "127.0.0.1:\(port)"),
          (environment.mainPort, segment + "/all", "127.0.0.1:\(environment.mainPort)\(segment)"),
          (port, "/all", "127.0.0.1:\(port)"),
        ] {
          let answer = try await ask(port, request("GET", target))
          let expected = Self.links(count, to: authority)
          #expect(answer.text == expected)
          #expect(answer.headers["Transfer-Encoding"] == (isChunked ? "chunked" : nil))
          #expect(answer.headers["Content-Length"] == (isChunked ? nil : "\(expected.utf8.count)"))
        }
        _ = await environment.end()
      }
    }
  }

  @Test("are rewritten again if their file has changed")
  func changedFile() async throws {
    let upstream = try TestUpstream { request in
      text(Self.links(20_000, to: request.headers["Host"] ?? ""), type: "application/json")
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await environment.get("/all")
      }
      let environment = try fixture.provision(.replay)
      let before = try await environment.get("/all").text
      let name = "c.bodies/\(try #require(fixture.bodies.first))"
      try fixture.write(try fixture.read(name).replacingOccurrences(of: "items", with: "thing"), to: name)
      let after = try await environment.get("/all").text
      #expect(after == before.replacingOccurrences(of: "items", with: "thing"))
    }
  }

  @Test("are evicted in order of their last use")
  func limit() throws {
    let bodies = KeptBodies()
    let path = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
    try "x".write(toFile: path, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let version = try #require(FileVersion(of: FileBody(owning: open(path, O_RDONLY), length: 1)))
    func key(_ index: Int) -> KeptBodies.Key { .init(index: index, form: .ownPort, isCoded: false) }
    let third = Body.bytes([UInt8](repeating: 0, count: KeptBodies.limit / 3))
    for index in 0..<3 { bodies.keep(third, key(index), of: version) }
    #expect(bodies.body(key(0), of: version) != nil)
    bodies.keep(third, key(3), of: version)
    #expect([0, 1, 2, 3].map { bodies.body(key($0), of: version) != nil } == [true, false, true, true])
    // A body larger than the cache is not kept, and evicts nothing.
    bodies.keep(.bytes([UInt8](repeating: 0, count: KeptBodies.limit + 1)), key(4), of: version)
    #expect([0, 2, 3, 4].map { bodies.body(key($0), of: version) != nil } == [true, true, true, false])
  }
}
