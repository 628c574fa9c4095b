import ControlAPI
import HTTPMessages
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
  func response() throws -> Response {
    let follower = try call.operations.followJournal(call.id)
    let pipe = BytePipe()
    guard call.server.streams.run({ await send(follower, into: pipe) }, for: pipe) else { throw Problem.closing }
    return Response(
      status: 200, headers: ["Content-Type": "text/event-stream", "Cache-Control": "no-store"],
      body: .stream(pipe, length: nil))
  }

  private func send(_ follower: JournalFollower, into pipe: BytePipe) async {
    do {
      try await pipe.write(ServerSentEvent.retry)
      var last = after
      while let page = try await follower.next(after: last, limit: Self.portion, timeout: call.server.keepAlive) {
        try Task.checkCancellation()
        try await pipe.write(page.entries.isEmpty ? ServerSentEvent.comment : try events(of: page))
        last = max(last, page.last)
      }
      try await pipe.write(try end(last).bytes)
    } catch {
      // The reader has gone, or the stream was cancelled.
    }
    pipe.finish()
  }

  /// Nothing comes after it, and nothing was left out before it that was not said by the entries' numbers.
  private func end(_ last: Int) throws -> ServerSentEvent {
    let data = try ContractJSON.encode(JournalEnd(last: last, report: "/v1/environments/\(call.id)/report"))
    return ServerSentEvent(name: "end", data: String(decoding: data, as: UTF8.self))
  }

  private func events(of page: JournalPage) throws -> [UInt8] {
    try page.entries.flatMap { entry in
      let data = String(decoding: try ContractJSON.encode(entry), as: UTF8.self)
      return ServerSentEvent(id: entry.number, name: "entry", data: data).bytes
    }
  }
}

/// What the last event of a stream says.
private struct JournalEnd: Encodable {
  /// The number of the last entry.
  var last: Int
  /// Where the environment's report is to be had for a while.
  var report: String
}
