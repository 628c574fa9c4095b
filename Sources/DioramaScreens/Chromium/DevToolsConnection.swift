import Basics
import ChildProcesses
import DioramaScenarios
import Foundation

/// A connection to Chromium by its remote debugging pipe: JSON messages that end with NUL, in both directions.
///
/// The protocol is described at https://chromedevtools.github.io/devtools-protocol/.
final class DevToolsConnection: Sendable {
  private struct State {
    var lastID = 0
    /// The commands that wait for an answer.
    var pending: Set<Int> = []
    var answers: [Int: JSON] = [:]
    /// Why no command can be answered any more.
    var failure: ScreenError?
  }

  private let state = Monitor(State())
  /// Guards writing, and is -1 when closed.
  private let socket: Guarded<Int32>

  /// - Parameter socket: our end of a socket pair; closed by this object.
  init(socket: Int32) { self.socket = Guarded(socket) }

  deinit { close() }

  /// Reads on a new thread until the other side closes.
  ///
  /// - Parameters:
  ///   - onEvent: called on that thread with the method and the parameters of each event.
  ///   - onEnd: called on that thread at the end; returns the error of commands without an answer.
  func start(
    onEvent: @escaping @Sendable (_ method: String, _ parameters: JSON) -> Void,
    onEnd: @escaping @Sendable () -> ScreenError
  ) {
    // Duplicated, so that closing does not hand the number to another file while it is read from.
    let descriptor = socket.withLock { fcntl($0, F_DUPFD_CLOEXEC, 0) }
    // The thread keeps only the state alive, not the connection.
    let state = state
    Thread.detachNewThread {
      defer { if descriptor >= 0 { Foundation.close(descriptor) } }
      var reader = MessageReader(descriptor: descriptor)
      while let message = reader.next() {
        guard let json = try? JSON.parse(message) else { continue }
        if let id = json["id"]?.int {
          state.withLock { state in if state.pending.contains(id) { state.answers[id] = json } }
        } else if let method = json["method"]?.string {
          onEvent(method, json["params"] ?? .object([]))
        }
      }
      let failure = onEnd()
      state.withLock { state in if state.failure == nil { state.failure = failure } }
    }
  }

  /// Lets all commands fail from now on.
  func fail(_ error: ScreenError) { state.withLock { state in if state.failure == nil { state.failure = error } } }

  /// Sends a command without waiting for its answer.
  func post(_ method: String, _ parameters: [String: JSON] = [:], session: String?) {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    write(id, method, parameters, session)
  }

  /// Sends a command, and waits for its answer.
  ///
  /// - Throws: ``ScreenError`` of kind `timedOut`, `ended`, or `script` for a command that the browser refuses.
  func send(
    _ method: String, _ parameters: [String: JSON] = [:], session: String?, timeout: Duration
  ) async throws -> JSON {
    let id = try state.withLock { state throws(ScreenError) in
      if let failure = state.failure { throw failure }
      state.lastID += 1
      state.pending.insert(state.lastID)
      return state.lastID
    }
    defer {
      state.withLock { state in
        state.pending.remove(id)
        state.answers[id] = nil
      }
    }
    write(id, method, parameters, session)
    let isDone = try await state.wait(until: .now + timeout) { $0.answers[id] != nil || $0.failure != nil }
    let (answer, failure) = state.withLock { ($0.answers[id], $0.failure) }
    if let answer {
      if let error = answer["error"]?["message"]?.string {
        throw ScreenError(.script, "Chromium refused \(method): \(error)")
      }
      return answer["result"] ?? .object([])
    }
    if isDone, let failure { throw failure }
    let advice =
      session == nil ? "the machine may be busy" : "the page may be busy with a script; look for endless loops"
    throw ScreenError(
      .timedOut, "Chromium did not answer \(method) within \(timeout); \(advice), or raise the timeout")
  }

  private func write(_ id: Int, _ method: String, _ parameters: [String: JSON], _ session: String?) {
    var message: [String: JSON] = ["id": .int(id), "method": .string(method), "params": .object(parameters)]
    message["sessionId"] = session.map { .string($0) }
    let bytes = JSON.object(message).encoded() + [0]
    // If the other side has closed, the reader notices it.
    socket.withLock { if $0 >= 0 { DescriptorPair.send(bytes, to: $0) } }
  }

  func close() {
    socket.withLock { descriptor in
      guard descriptor >= 0 else { return }
      shutdown(descriptor, Int32(SHUT_RDWR))
      Foundation.close(descriptor)
      descriptor = -1
    }
  }
}

/// Splits what a descriptor delivers at NUL bytes.
struct MessageReader {
  let descriptor: Int32
  private var bytes: [UInt8] = []
  /// The number of bytes that contain no NUL.
  private var scanned = 0

  init(descriptor: Int32) { self.descriptor = descriptor }

  /// The next message, without its NUL; nil at the end.
  mutating func next() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      if let end = bytes[scanned...].firstIndex(of: 0) {
        defer {
          bytes.removeSubrange(...end)
          scanned = 0
        }
        return Array(bytes[..<end])
      }
      scanned = bytes.count
      let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return nil }
      bytes += buffer[..<count]
    }
  }
}
