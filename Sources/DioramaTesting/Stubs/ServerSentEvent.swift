import Basics

/// An event that a test sends to an app's open event stream.
///
/// ```swift
/// try await environment.stub(.get("/appointments/events")) { .events() }
/// try await app.launch()
/// try await environment.send(.json(appointment, event: "booked"), to: "/appointments/events")
/// ```
public struct ServerSentEvent: Sendable {
  private var members: [JSON.Member] = []
  private var failure: DioramaTestingError?

  /// An event with text, which may have several lines.
  ///
  /// - Parameters:
  ///   - data: the text.
  ///   - event: the event's type; nil for `message`.
  ///   - id: the event's id; by default the number of the event at its path, from 1.
  /// - Returns: the event.
  public static func text(_ data: String, event: String? = nil, id: String? = nil) -> Self {
    Self(.string(data), event, id)
  }

  /// An event with a JSON value.
  ///
  /// - Parameters:
  ///   - value: the value, encoded with a `JSONEncoder` with default settings.
  ///   - event: the event's type; nil for `message`.
  ///   - id: the event's id; by default the number of the event at its path, from 1.
  /// - Returns: the event.
  public static func json(_ value: some Encodable, event: String? = nil, id: String? = nil) -> Self {
    switch TestEnvironment.Value(value).content {
    case .success(let json): return Self(.string(String(decoding: json.encoded(), as: UTF8.self)), event, id)
    case .failure(let error):
      var event = Self(.null, event, id)
      event.failure = error
      return event
    }
  }

  /// A comment, which apps ignore. Servers send comments to keep connections open.
  ///
  /// - Parameter text: the comment.
  /// - Returns: the comment as an event.
  public static func comment(_ text: String) -> Self {
    var event = Self()
    event.members = [.init("comment", .string(text))]
    return event
  }

  /// Sets the time that the app waits before it reconnects.
  ///
  /// - Parameter time: the time, in whole milliseconds.
  /// - Returns: an event without data.
  public static func retry(after time: Duration) -> Self {
    var event = Self()
    event.members = [.init("retry", .int(Int((time / .milliseconds(1)).rounded())))]
    return event
  }

  /// Delays the event on the environment's timeline. Only for the initial events of a stub.
  ///
  /// - Parameter duration: the time since the previous event, at most a day.
  /// - Returns: the delayed event.
  public func delayed(by duration: Duration) -> Self {
    var event = self
    event.members.append(.init("delayMilliseconds", .double(duration / .milliseconds(1))))
    return event
  }

  private init() {}

  private init(_ data: JSON, _ event: String?, _ id: String?) {
    members.append(.init("data", data))
    if let event { members.append(.init("event", .string(event))) }
    if let id { members.append(.init("id", .string(id))) }
  }

  func json() throws(DioramaTestingError) -> JSON {
    if let failure { throw failure }
    return .object(members)
  }
}

extension TestEnvironment {
  /// Sends an event to all apps with an open event stream at a path. A stub must open the stream:
  /// `stub(.get(path)) { .events() }`.
  ///
  /// ```swift
  /// let count = try await environment.send(.text("room 3", event: "called"), to: "/queue/events", afterConnections: 1)
  /// ```
  ///
  /// Events that are sent while no app is connected are kept until an app connects. An app that reconnects with the
  /// header
  /// `Last-Event-ID` gets the events it missed. An app that doesn't read is disconnected once 1 MiB is pending.
  ///
  /// - Parameters:
  ///   - event: the event.
  ///   - path: the path that the app requests, without a query.
  ///   - count: how many apps must be connected before the event is sent.
  ///   - timeout: how long to wait for them.
  /// - Returns: how many apps the event was sent to.
  /// - Throws: ``DioramaTestingError`` of kind `timedOut` if fewer apps connect in time; of another kind if no stub
  ///   opens event streams at this path, the event is not valid, or the environment cannot be reached.
  @discardableResult
  public func send(
    _ event: ServerSentEvent, to path: String, afterConnections count: Int = 0, timeout: Duration = .seconds(10)
  ) async throws(DioramaTestingError) -> Int {
    try await send(
      "/events", [.init("path", .string(path)), .init("event", try event.json())], afterConnections: count, timeout)
  }

  /// Ends the open event streams at a path, like a server that restarts. Apps can reconnect.
  ///
  /// - Parameter path: the path that the app requests, without a query.
  /// - Returns: how many streams were open.
  /// - Throws: ``DioramaTestingError`` if no stub opens event streams at this path, or the environment cannot be
  ///   reached.
  @discardableResult
  public func closeEvents(at path: String) async throws(DioramaTestingError) -> Int {
    try await send(
      "/events", [.init("path", .string(path)), .init("close", .bool(true))], afterConnections: 0, .zero)
  }

  /// How long one request to the environment waits. Longer waits take several requests.
  static let longestWait = Duration.seconds(20)

  /// Sends data to the apps that are connected at a path.
  ///
  /// - Returns: how many apps it was sent to.
  func send(
    _ call: String, _ members: [JSON.Member], afterConnections count: Int, _ timeout: Duration
  ) async throws(DioramaTestingError) -> Int {
    let deadline = ContinuousClock.now + timeout
    while true {
      let rest = max(.zero, ContinuousClock.now.duration(to: deadline))
      let wait: [JSON.Member] = [
        .init("afterConnections", .int(count)),
        .init("timeoutSeconds", .double(min(rest, Self.longestWait) / .seconds(1))),
      ]
      do {
        return try await admin("POST", call, .object(members + wait))["clients"]?.int ?? 0
      } catch  where error.kind == .timedOut && rest > Self.longestWait {
        // Nothing was sent.
        continue
      }
    }
  }
}
