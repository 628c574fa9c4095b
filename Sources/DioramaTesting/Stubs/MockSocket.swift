import Basics
public import Foundation

/// The server side of an app's WebSockets at a path. Sends messages to the app, and receives messages from it.
///
/// ```swift
/// try await environment.stub(.get("/chat")) { .webSocket() }
/// let chat = environment.socket("/chat")
///
/// try await app.launch()
/// try await chat.send("How can I help?")
/// #expect(try await chat.received().text == "My head hurts")
/// ```
public struct MockSocket: Sendable {
  /// A message from the app.
  public struct Message: Sendable, Equatable {
    /// The text; nil for a binary message.
    public let text: String?
    /// The text in UTF-8, or the bytes of a binary message.
    public let data: Data
    /// The number of the connection at this path, from 1.
    public let connection: Int
    let number: Int

    init(_ json: JSON) {
      text = json["text"]?.string
      data = text.map { Data($0.utf8) } ?? json["base64"]?.string.flatMap { Data(base64Encoded: $0) } ?? Data()
      connection = json["connection"]?.int ?? 0
      number = json["number"]?.int ?? 0
    }

    fileprivate var excerpt: String {
      text.map { "`\($0.prefix(200))\($0.count > 200 ? "…" : "")`".escapedForTerminal } ?? "\(data.count) bytes"
    }
  }

  let environment: TestEnvironment
  /// The path that the app requests.
  public let path: String
  /// The number of the last message that ``received(timeout:)`` has returned.
  private let last = Guarded(0)

  init(environment: TestEnvironment, path: String) {
    self.environment = environment
    self.path = path
  }

  // MARK: Sending

  /// Sends a text message to all connected apps. Waits until an app is connected.
  ///
  /// - Parameters:
  ///   - text: the message.
  ///   - count: how many apps must be connected before the message is sent.
  ///   - timeout: how long to wait for them.
  /// - Returns: how many apps the message was sent to.
  /// - Throws: ``DioramaTestingError`` of kind `timedOut` if fewer apps connect in time; of another kind if no stub
  ///   accepts WebSockets at this path or the environment cannot be reached.
  @discardableResult
  public func send(
    _ text: String, afterConnections count: Int = 1, timeout: Duration = .seconds(10)
  ) async throws(DioramaTestingError) -> Int {
    try await send(.init("send", .string(text)), count, timeout)
  }

  /// Sends a JSON value as a text message to all connected apps. Waits until an app is connected.
  ///
  /// - Parameters:
  ///   - value: the value, encoded with a `JSONEncoder` with default settings.
  ///   - count: how many apps must be connected before the message is sent.
  ///   - timeout: how long to wait for them.
  /// - Returns: how many apps the message was sent to.
  /// - Throws: ``DioramaTestingError``, as ``send(_:afterConnections:timeout:)`` does, or if the value can't be
  ///   encoded.
  @discardableResult
  public func send(
    json value: some Encodable, afterConnections count: Int = 1, timeout: Duration = .seconds(10)
  ) async throws(DioramaTestingError) -> Int {
    let json = try TestEnvironment.Value(value).content.get()
    return try await send(.init("send", .string(String(decoding: json.encoded(), as: UTF8.self))), count, timeout)
  }

  /// Sends a binary message to all connected apps. Waits until an app is connected.
  ///
  /// - Parameters:
  ///   - data: the message.
  ///   - count: how many apps must be connected before the message is sent.
  ///   - timeout: how long to wait for them.
  /// - Returns: how many apps the message was sent to.
  /// - Throws: ``DioramaTestingError``, as ``send(_:afterConnections:timeout:)`` does.
  @discardableResult
  public func send(
    data: Data, afterConnections count: Int = 1, timeout: Duration = .seconds(10)
  ) async throws(DioramaTestingError) -> Int {
    try await send(.init("sendBase64", .string(data.base64EncodedString())), count, timeout)
  }

  /// Closes the WebSockets of all connected apps. Apps can reconnect.
  ///
  /// - Parameters:
  ///   - code: the close code: 1000 to 1003, 1007 to 1014, or 3000 to 4999.
  ///   - reason: the reason, at most 123 bytes.
  /// - Returns: how many WebSockets were open.
  /// - Throws: ``DioramaTestingError`` if the code is reserved, no stub accepts WebSockets at this path, or the
  ///   environment cannot be reached.
  @discardableResult
  public func close(code: Int = 1000, reason: String = "") async throws(DioramaTestingError) -> Int {
    let close: [JSON.Member] = [.init("code", .int(code)), .init("reason", .string(reason))]
    return try await send(.init("close", .object(close)), 0, .zero)
  }

  private func send(
    _ member: JSON.Member, _ count: Int, _ timeout: Duration
  ) async throws(DioramaTestingError) -> Int {
    try await environment.send("/sockets", [.init("path", .string(path)), member], afterConnections: count, timeout)
  }

  // MARK: Receiving

  /// Returns the app's next message, and waits for it if necessary. The first call returns the first message, even if
  /// it arrived earlier.
  ///
  /// - Parameter timeout: how long to wait for it.
  /// - Returns: the message.
  /// - Throws: ``DioramaTestingError`` of kind `timedOut` if no message arrives in time, listing earlier messages; of
  ///   another kind if no stub accepts WebSockets at this path or the environment cannot be reached.
  public func received(timeout: Duration = .seconds(10)) async throws(DioramaTestingError) -> Message {
    let deadline = ContinuousClock.now + timeout
    while true {
      let rest = max(.zero, ContinuousClock.now.duration(to: deadline))
      let answer = try await poll(after: last.withLock { $0 }, wait: min(rest, TestEnvironment.longestWait))
      for message in answer.messages {
        // Another task may have taken it.
        let isNext = last.withLock { last in
          guard message.number > last else { return false }
          last = message.number
          return true
        }
        if isNext { return message }
      }
      guard ContinuousClock.now >= deadline else { continue }
      let (connections, open) = (try await connections, try await openConnections)
      let all = try await messages
      var text = "no message from the app at \(path) within \(timeout)"
      let shown = all.suffix(10)
      text +=
        all.isEmpty
        ? "; it has sent none so far" : "; so far it has sent \(shown.map(\.excerpt).joined(separator: ", "))"
      text += "; \(connections) connected so far, \(open) now"
      throw DioramaTestingError(.timedOut, text)
    }
  }

  /// Returns the app's next message, decoded from JSON.
  ///
  /// - Parameters:
  ///   - type: the type to decode, with a `JSONDecoder` with default settings.
  ///   - timeout: how long to wait for it.
  /// - Returns: the value.
  /// - Throws: ``DioramaTestingError``, as ``received(timeout:)`` does, or of kind `usage` if the message cannot be
  ///   decoded.
  public func received<Value: Decodable>(
    as type: Value.Type = Value.self, timeout: Duration = .seconds(10)
  ) async throws(DioramaTestingError) -> Value {
    let message = try await received(timeout: timeout)
    do { return try JSONDecoder().decode(type, from: message.data) } catch {
      throw DioramaTestingError(
        .usage, "the app's message \(message.excerpt) at \(path) is not a valid \(type): \(error)")
    }
  }

  /// All messages from the app so far: at most the newest 10,000, or the newest 16 MiB.
  public var messages: [Message] {
    get async throws(DioramaTestingError) {
      var all: [Message] = []
      while true {
        // A response contains about 1 MiB.
        let next = try await poll(after: all.last?.number ?? 0, wait: .zero).messages
        if next.isEmpty { return all }
        all += next
      }
    }
  }

  /// How many apps have connected so far, including those that have disconnected.
  public var connections: Int {
    get async throws(DioramaTestingError) { try await poll(after: .max, wait: .zero).connections }
  }

  /// How many apps are connected now.
  public var openConnections: Int {
    get async throws(DioramaTestingError) { try await poll(after: .max, wait: .zero).open }
  }

  /// Waits until no app is connected, because all apps have closed their WebSockets or exited.
  ///
  /// - Parameter timeout: how long to wait.
  /// - Throws: ``DioramaTestingError`` of kind `timedOut` if an app is still connected at that time; of another kind if
  ///   no stub accepts WebSockets at this path or the environment cannot be reached.
  public func disconnected(timeout: Duration = .seconds(10)) async throws(DioramaTestingError) {
    let deadline = ContinuousClock.now + timeout
    while true {
      let rest = max(.zero, ContinuousClock.now.duration(to: deadline))
      do {
        _ = try await poll(after: .max, wait: min(rest, TestEnvironment.longestWait), "&untilClosed=true")
        return
      } catch  where error.kind == .timedOut && rest > TestEnvironment.longestWait {
        continue
      }
    }
  }

  private func poll(
    after number: Int, wait: Duration, _ more: String = ""
  ) async throws(DioramaTestingError) -> (messages: [Message], connections: Int, open: Int) {
    let path = path.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? path
    let answer = try await environment.admin(
      "GET", "/sockets?path=\(path)&after=\(number)&timeout=\(wait / .seconds(1))\(more)", nil)
    return (
      (answer["messages"]?.array ?? []).map(Message.init), answer["connections"]?.int ?? 0, answer["open"]?.int ?? 0
    )
  }
}

extension TestEnvironment {
  /// The server side of the app's WebSockets at a path. A stub must accept them: `stub(.get(path)) { .webSocket() }`.
  ///
  /// - Parameter path: the path that the app requests, without a query.
  /// - Returns: the server side. Each instance receives all messages, starting with the first.
  public func socket(_ path: String) -> MockSocket { MockSocket(environment: self, path: path) }
}
