import Basics
import ControlAPI
import HTTPMessages
import LaunchContract

/// Sends an environment's journal to one client as it grows.
struct JournalStream: Sendable {
  /// Entries read at a time, which bounds the memory that a slow client takes.
  private static let portion = 100

  private let call: Call
  private let after: Int

  init(_ call: Call, after: Int) {
    self.call = call
    self.after = after
  }

  /// Starts the stream.
  ///
  /// - Throws: `DaemonError` if the environment doesn't exist; ``DaemonError`` if the daemon is ending.
  func response() throws -> Response {
    let follower = try call.operations.followJournal(call.id)
    let pipe = BytePipe()
    guard call.server.streams.run({ await send(follower, into: pipe) }, for: pipe) else { throw DaemonError.closing }
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
      // The client has disconnected, or the stream was cancelled.
    }
    pipe.finish()
  }

  /// The event after the last entry. The stream is complete only if the client receives it.
  private func end(_ last: Int) throws -> ServerSentEvent {
    let data = try JSON.encode(JournalEnd(last: last, report: "/v1/environments/\(call.id)/report"))
    return ServerSentEvent(name: "end", data: String(decoding: data, as: UTF8.self))
  }

  private func events(of page: JournalPage) throws -> [UInt8] {
    try page.entries.flatMap { entry in
      let data = String(decoding: try JSON.encode(entry), as: UTF8.self)
      return ServerSentEvent(id: entry.number, name: "entry", data: data).bytes
    }
  }
}

/// The data of a stream's last event.
private struct JournalEnd: Encodable {
  /// The number of the last entry.
  var last: Int
  /// The path of the environment's report.
  var report: String
}

/// The open event streams. Each ends when its client disconnects or the daemon stops.
final class EventStreams: Sendable {
  private struct State {
    var tasks: [Int: Task<Void, Never>] = [:]
    /// Streams that ended before their task was stored.
    var ended: Set<Int> = []
    var number = 0
    var isClosed = false
  }

  private let state = Guarded(State())

  var count: Int { state.withLock { $0.tasks.count } }

  /// Runs the task that feeds a pipe, until it finishes, the client disconnects, or all streams end.
  ///
  /// - Returns: false if all streams have ended.
  func run(_ feed: @escaping @Sendable () async -> Void, for pipe: BytePipe) -> Bool {
    let number = state.withLock { state -> Int? in
      guard !state.isClosed else { return nil }
      state.number += 1
      return state.number
    }
    guard let number else { return false }
    let task = Task {
      await feed()
      self.ended(number)
    }
    let isLate = state.withLock { state in
      if state.ended.remove(number) == nil { state.tasks[number] = task }
      return state.isClosed
    }
    if isLate { task.cancel() }
    pipe.onAbandoned { task.cancel() }
    return true
  }

  /// Ends all streams and refuses new ones.
  func close() {
    let tasks = state.withLock { state in
      state.isClosed = true
      return Array(state.tasks.values)
    }
    for task in tasks { task.cancel() }
  }

  private func ended(_ number: Int) {
    state.withLock { state in
      if state.tasks.removeValue(forKey: number) == nil { state.ended.insert(number) }
    }
  }
}

/// An event of `text/event-stream` (the HTML standard, "Server-sent events").
struct ServerSentEvent: Sendable {
  var id: Int?
  var name: String
  /// The data, on one line.
  var data: String

  var bytes: [UInt8] {
    let id = id.map { "id: \($0)\n" } ?? ""
    return Array("\(id)event: \(name)\ndata: \(data)\n\n".utf8)
  }

  /// Tells clients to wait 1,000 ms before they reconnect.
  static let retry = Array("retry: 1000\n\n".utf8)
  /// A comment that keeps a silent stream open.
  static let comment = Array(": nothing new\n\n".utf8)

  /// Whether the client accepts `text/event-stream`.
  static func isAskedFor(_ headers: Headers) -> Bool {
    headers.all("Accept").flatMap { $0.split(separator: ",") }.contains { range in
      let type = range.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
      return String(type).equalsIgnoringASCIICase("text/event-stream")
    }
  }
}
