import ControlAPI
@testable import Transforms
import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Recording many concurrent requests")
struct ConcurrentRecordingTests {
  @Test("acknowledges each, mixes none, and replays each byte for byte")
  func many() async throws {
    let upstream = try TestUpstream { request in
      let number = Int(request.target.dropFirst()) ?? 0
      let body = Array(noise(number % 10 == 0 ? 300_000 : number * 10).reversed())
      return Response(
        status: 200,
        headers: ["Content-Type": number.isMultiple(of: 2) ? "text/plain" : "image/png", "X-N": "\(number)"],
        body: number.isMultiple(of: 3) ? .stream(BytePipe(holding: body), length: nil) : .bytes(body))
    }
    try await withService(upstream) { fixture in
      let ask = { (environment: Environment) async throws -> [Int: [UInt8]] in
        let port = environment.upstreams[0].port
        return try await withThrowingTaskGroup(of: [Int: [UInt8]].self) { group in
          for worker in 0..<8 {
            group.addTask {
              try await onThread {
                let client = try RawClient(port: port)
                var answers: [Int: [UInt8]] = [:]
                for number in stride(from: worker, to: 160, by: 8) {
                  let answer = try client.exchange(request("GET", "/\(number)"))
                  guard answer.headers["X-N"] == "\(number)" else { throw RawClient.Failure(description: "mixed up") }
                  answers[number] = answer.body
                }
                return answers
              }
            }
          }
          return try await group.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
        }
      }
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      let recorded = try await ask(environment)
      #expect(try fixture.acknowledged().count == 160)
      let (report, sealed) = await environment.end()
      #expect(report.requests.recorded == 160)
      #expect(try sealed.get()?.interactions == 160)
      #expect(!fixture.bodies.contains { $0.hasPrefix(".") })
      let replay = try fixture.provision(.replay)
      #expect(try await ask(replay) == recorded)
      let (played, _) = await replay.end()
      #expect(played.requests.replayed == 160)
      #expect(played.unused.isEmpty)
    }
  }
}
