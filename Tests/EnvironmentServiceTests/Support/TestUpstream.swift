import Basics
@testable import CassetteChecks
import HTTPMessages
import HTTPServer

/// A real backend on a free port, made from a closure.
final class TestUpstream: Sendable {
  typealias Answer = @Sendable (Request) async throws -> Response

  let origin: Origin
  private let server: HTTPServer
  private let counter: Counter

  init(_ answer: @escaping Answer) throws {
    var configuration = HTTPServer.Configuration()
    configuration.threads = 1
    server = try HTTPServer(configuration)
    counter = Counter()
    let listener = try server.listen(handler: Handler(counter: counter, answer: answer))
    origin = Origin(scheme: "http", host: "127.0.0.1", port: Int(listener.port))
  }

  /// How many requests have arrived.
  var requestCount: Int { counter.value }

  func stop() async { await server.stop(grace: .zero) }

  private struct Handler: RequestHandler {
    let counter: Counter
    let answer: Answer

    func respond(to request: Request) async throws -> Response {
      counter.increment()
      return try await answer(request)
    }
  }
}

/// Counts events of several threads.
final class Counter: Sendable {
  private let count = Guarded(0)

  var value: Int { count.withLock { $0 } }

  /// Increments the counter and returns the old value.
  @discardableResult
  func increment() -> Int {
    count.withLock {
      $0 += 1
      return $0 - 1
    }
  }
}

/// Answers each request with its number: `/a: 0`, then `/a: 1`.
func numbered() throws -> TestUpstream {
  let counter = Counter()
  return try TestUpstream { request in text("\(request.target): \(counter.increment())") }
}

func text(_ text: String, type: String = "text/plain", status: Int = 200, headers: Headers = [:]) -> Response {
  var headers = headers
  headers.append("Content-Type", type)
  return Response(status: status, headers: headers, body: .bytes(Array(text.utf8)))
}
