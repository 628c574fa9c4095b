import ControlAPI
import HTTPMessages
import Foundation
import LaunchContract

/// An environment's journal as it grows, sent to one client.
struct JournalStream: Sendable {
  /// Entries that are read at a time: what a slow reader makes us hold.
  private static let portion = 100

  private let call: Call
  private let after: Int

  init(_ call: Call, after: Int) {
    self.call = call
    self.after = after
  }

  /// The answer, once it is clear that there is such a journal.
  ///
  /// - Throws: a `DaemonError` where there is not; a ``Problem`` when the daemon is ending.
  func response() async throws -> Response {
    let first = try await page(after: after, timeout: .zero)
    let pipe = BytePipe()
    guard call.surface.streams.run({ await send(first, into: pipe) }, for: pipe) else { throw Problem.closing }
    return Response(
      status: 200, headers: ["Content-Type": "text/event-stream", "Cache-Control": "no-store"],
      body: .stream(pipe, length: nil))
  }

  private func page(after: Int, timeout: Duration) async throws(DaemonError) -> JournalPage {
    try await call.operations.waitForJournal(call.id, after: after, limit: Self.portion, timeout: timeout)
  }

  private func send(_ first: JournalPage, into pipe: BytePipe) async {
    do {
      try await pipe.write(ServerSentEvent.retry)
      var page = first
      var last = after
      while !Task.isCancelled {
        try await pipe.write(try events(of: page))
        last = max(last, page.last)
        page = try await self.page(after: last, timeout: call.surface.keepAlive)
        if page.entries.isEmpty { try await pipe.write(ServerSentEvent.comment) }
      }
    } catch let error as DaemonError {
      let data = (try? ContractJSON.encode(["detail": error.detail])) ?? Data()
      let end = ServerSentEvent(name: "end", data: String(decoding: data, as: UTF8.self))
      try? await pipe.write(end.bytes)
    } catch {
      // The reader has gone, or the stream was cancelled.
    }
    pipe.finish()
  }

  private func events(of page: JournalPage) throws -> [UInt8] {
    try page.entries.flatMap { entry in
      let data = String(decoding: try ContractJSON.encode(entry), as: UTF8.self)
      return ServerSentEvent(id: entry.number, name: "entry", data: data).bytes
    }
  }
}
