import Basics
import Foundation
import HTTPMessages

/// Sends requests at a constant rate, however slow the server is. A request's latency is measured from the time it was
/// due.
///
/// wrk sends the next request after the last response, so a slow response delays and hides the ones behind it.
struct PacedLoad {
  let rate: Int
  let seconds: Int
  let path: String

  private static let connections = 16

  /// Runs load on a server.
  ///
  /// - Returns: the 99th percentile of the requests' times, in milliseconds.
  func slowest(of server: Server) throws -> Double {
    let outcome = Guarded<(times: [Double], failure: CodedError?)>(([], nil))
    let done = DispatchGroup()
    let start = Self.now() + 0.05
    let share = rate / Self.connections
    for index in 0..<Self.connections {
      let connection = try PlainConnection(port: server.port)
      let first = start + Double(index) / Double(rate)
      done.enter()
      let sender = Sender(
        connection: connection, path: path, first: first, gap: 1 / Double(share), count: share * seconds)
      let thread = Thread {
        let times = Swift.Result { try sender.run() }
        outcome.withLock { outcome in
          switch times {
          case .success(let times): outcome.times += times
          case .failure(let error): outcome.failure = CodedError(.inputOutput, "\(error)")
          }
        }
        done.leave()
      }
      thread.start()
    }
    done.wait()
    return try outcome.withLock { outcome in
      if let failure = outcome.failure { throw failure }
      return outcome.times.sorted()[outcome.times.count * 99 / 100] * 1000
    }
  }

  /// Seconds of the monotonic clock.
  fileprivate static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// The work of a thread with its connection.
private struct Sender: @unchecked Sendable {
  let connection: PlainConnection
  let path: String
  let first: Double
  let gap: Double
  let count: Int

  /// The time of each request, in seconds.
  func run() throws -> [Double] {
    var times: [Double] = []
    for index in 0..<count {
      let due = first + Double(index) * gap
      var time = timespec(tv_sec: Int(due), tv_nsec: Int((due - due.rounded(.down)) * 1e9))
      // An overdue request is sent at once.
      while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
      let status = try connection.exchange("GET \(path) HTTP/1.1").status
      guard status == 200 else { throw CodedError(.inputOutput, "a response has status \(status)") }
      times.append(PacedLoad.now() - due)
    }
    return times
  }
}
