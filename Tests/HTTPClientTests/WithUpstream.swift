import Foundation
import HTTPClient
import TestSupport

/// Runs a test with an upstream and a client, and ends both.
func withUpstream<Result>(
  _ configuration: HTTPClient.Configuration = .init(environment: [:]), script: @escaping ScriptedUpstream.Script,
  _ body: (HTTPClient, ScriptedUpstream) async throws -> Result
) async throws -> Result {
  let upstream = try ScriptedUpstream(script)
  defer { upstream.stop() }
  let client = try HTTPClient(configuration)
  defer { client.shutdown() }
  return try await body(client, upstream)
}

/// Values sent by one side, perhaps a thread, and awaited by a task.
final class Signal<Value: Sendable>: Sendable {
  private let stream: AsyncStream<Value>
  private let continuation: AsyncStream<Value>.Continuation

  init() {
    (stream, continuation) = AsyncStream.makeStream(of: Value.self)
  }

  func send(_ value: Value) { continuation.yield(value) }

  func next() async throws -> Value {
    for await value in stream { return value }
    throw CancellationError()
  }
}

/// Blocks an upstream's thread until the test opens it, once.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func open() { semaphore.signal() }

  func wait() { semaphore.wait() }
}
