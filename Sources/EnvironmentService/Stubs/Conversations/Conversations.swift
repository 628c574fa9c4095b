import Basics
import Foundation
import HTTPMessages
import Stubs

/// The open event streams and WebSockets of stubs, by path: connected clients, and messages from tests and apps.
final class Conversations: Sendable {
  /// The maximum number and size in bytes of events kept for apps that reconnect, and of app messages kept for tests.
  static let keptCount = 10_000
  static let keptSize = 16 << 20

  enum Kind: Hashable, Sendable {
    case events, webSocket
  }

  private struct Key: Hashable, Sendable {
    let kind: Kind
    let path: String
  }

  /// An event that a test has sent.
  private struct Event: Sendable {
    let id: String?
    let bytes: [UInt8]
    /// How many steps of its script a client had received when it got the event.
    var step: Int
  }

  private struct Client: Sendable {
    let outbox: Outbox
    let way: StubWay?
    /// How many steps of its script it has received.
    var step = 0
  }

  /// A message from an app.
  struct Message: Sendable {
    /// The number of the message at its path, from 1.
    let number: Int
    /// The number of the connection at its path, from 1.
    let connection: Int
    let message: WebSocketMessage
  }

  /// The most recently added elements.
  private struct Kept<Element: Sendable>: Sendable {
    private(set) var elements: [(element: Element, size: Int)] = []
    /// How many were added.
    private(set) var count = 0
    private var size = 0

    mutating func add(_ element: Element, size: Int) {
      elements.append((element, size))
      count += 1
      self.size += size
      // Not every time, because the remaining elements have to be moved.
      guard elements.count >= 2 * Conversations.keptCount || self.size >= 2 * Conversations.keptSize else { return }
      var surplus = 0
      while elements.count - surplus > Conversations.keptCount || self.size > Conversations.keptSize,
        surplus < elements.count - 1
      {
        self.size -= elements[surplus].size
        surplus += 1
      }
      elements.removeFirst(surplus)
    }

    /// Changes the elements after a number.
    mutating func update(after number: Int, _ change: (inout Element) -> Void) {
      for index in elements.indices.suffix(max(0, min(elements.count, count - number))) {
        change(&elements[index].element)
      }
    }

    /// The elements after a number that are still kept.
    func after(_ number: Int) -> [Element] {
      elements.suffix(max(0, min(elements.count, Conversations.keptCount, count - max(0, number)))).map(\.element)
    }

    mutating func removeAll() {
      elements = []
      size = 0
    }
  }

  private struct Channel: Sendable {
    /// How many apps have connected so far.
    var connections = 0
    var clients: [Int: Client] = [:]
    /// Events from tests. Those after `delivered` were sent while no app was connected.
    var events = Kept<Event>()
    var delivered = 0
    /// How many numbers are used by scripts' events and by tests' events.
    var scripted = 0
    var numbered = 0
    /// How many test events and script steps a client had received, by the id of the last script event it received.
    var marks: [String: (events: Int, step: Int)] = [:]

    mutating func mark(_ id: String?, step: Int, events: Int) {
      guard let id else { return }
      // Ids may be templates.
      if marks.count >= Conversations.keptCount { marks = [:] }
      marks[id] = (events, step)
    }
    var messages = Kept<Message>()
  }

  private struct State: Sendable {
    var channels: [Key: Channel] = [:]
    /// Counts changes of collections.
    var collectionChanges = 0
    var isOver = false
  }

  private let state = Monitor(State())

  // MARK: Connections

  /// How many apps have connected at a path so far, and how many are connected now.
  func connections(_ kind: Kind, _ path: String) -> (total: Int, open: Int) {
    let channel = state.withLock { $0.channels[Key(kind: kind, path: path)] }
    return (channel?.connections ?? 0, channel?.clients.count ?? 0)
  }

  /// Waits until a number of apps are connected, the deadline passes, or the environment ends.
  ///
  /// - Returns: whether that many are connected.
  /// - Throws: `CancellationError`.
  func wait(
    for count: Int, _ kind: Kind, at path: String, until deadline: ContinuousClock.Instant
  ) async throws -> Bool {
    let key = Key(kind: kind, path: path)
    try await state.wait(until: deadline) { $0.isOver || $0.channels[key]?.clients.count ?? 0 >= count }
    return connections(kind, path).open >= count
  }

  /// How many requests are waiting.
  var waiting: Int { state.waiting }

  /// Waits until no app is connected at a path, the deadline passes, or the environment ends.
  ///
  /// - Returns: whether none is connected.
  /// - Throws: `CancellationError`.
  func waitForLeaving(
    _ kind: Kind, at path: String, until deadline: ContinuousClock.Instant
  ) async throws -> Bool {
    let key = Key(kind: kind, path: path)
    return try await state.wait(until: deadline) { $0.channels[key]?.clients.isEmpty ?? true }
  }

  var isOver: Bool { state.withLock { $0.isOver } }

  /// A client has disconnected.
  func left(_ kind: Kind, _ path: String, _ connection: Int) {
    state.withLock { _ = $0.channels[Key(kind: kind, path: path)]?.clients.removeValue(forKey: connection) }
  }

  /// Registers a WebSocket client.
  ///
  /// - Returns: the number of the connection; nil if the environment has ended.
  func accept(at path: String, _ outbox: Outbox, by way: StubWay?) -> Int? {
    state.withLock { state in
      guard !state.isOver else { return nil }
      // Taken out, so that it is changed in place.
      var channel = state.channels.removeValue(forKey: Key(kind: .webSocket, path: path)) ?? Channel()
      channel.connections += 1
      channel.clients[channel.connections] = Client(outbox: outbox, way: way)
      state.channels[Key(kind: .webSocket, path: path)] = channel
      return channel.connections
    }
  }

  /// Sends data to all clients, and drops those that are too slow.
  ///
  /// - Returns: the number of clients, and the connections that were dropped.
  private static func push(
    to channel: inout Channel, _ bytes: (StubWay?) -> [UInt8]
  ) -> (sent: Int, dropped: [Int]) {
    let slow = channel.clients.filter { !$0.value.outbox.push(bytes($0.value.way)) }
    for (number, client) in slow {
      channel.clients[number] = nil
      client.outbox.drop()
    }
    return (channel.clients.count, slow.keys.sorted())
  }

  // MARK: Events

  /// Sends an event to all clients of a path, or keeps it for the first one.
  ///
  /// - Parameters:
  ///   - event: the event.
  ///   - path: the path.
  ///   - scripted: how many events the stub's script has. They use the first numbers.
  /// - Returns: the event's id, how many clients get it, and the connections that were dropped because they are too slow.
  func send(
    _ event: ServerSentEvent, to path: String, scripted: Int
  ) -> (id: String?, clients: Int, dropped: [Int]) {
    state.withLock { state in
      let key = Key(kind: .events, path: path)
      var channel = state.channels.removeValue(forKey: key) ?? Channel()
      defer { state.channels[key] = channel }
      channel.scripted = max(channel.scripted, scripted)
      var id = event.id
      if event.data != nil {
        channel.numbered += 1
        id = id ?? String(channel.scripted + channel.numbered)
      }
      let bytes = event.encoded(id: id)
      let pushed = Self.push(to: &channel) { $0?.event(bytes) ?? bytes }
      let step = channel.clients.values.map(\.step).max() ?? 0
      channel.events.add(Event(id: id, bytes: bytes, step: step), size: bytes.count)
      if pushed.sent > 0 { channel.delivered = channel.events.count }
      return (id, pushed.sent, pushed.dropped)
    }
  }

  /// Ends the streams of all clients of a path.
  ///
  /// - Returns: the number of clients.
  func finish(at path: String) -> Int {
    let clients = state.withLock { state in
      state.channels[Key(kind: .events, path: path)]?.clients.values.map(\.self) ?? []
    }
    for client in clients { client.outbox.finish() }
    return clients.count
  }

  /// Where a client of an event stream continues.
  struct Resumption: Sendable {
    let connection: Int
    /// The first step of the script to play.
    let step: Int
    /// Whether the client named an event that is not known.
    let isLost: Bool
  }

  /// Registers an event stream client, and sends it the events that it has missed.
  ///
  /// - Parameters:
  ///   - path: the path.
  ///   - outbox: the client's outbox.
  ///   - way: the URL translation for its request.
  ///   - lastID: the client's `Last-Event-ID`; nil if it has none.
  ///   - script: the stub's script.
  ///   - begin: the script's first events with their ids. They are sent before the tests' events.
  /// - Returns: where to continue; nil if the environment has ended.
  func listen(
    at path: String, _ outbox: Outbox, by way: StubWay?, lastID: String?, _ script: EventScript,
    begin: [(id: String?, bytes: [UInt8])]
  ) -> Resumption? {
    state.withLock { state in
      guard !state.isOver else { return nil }
      let key = Key(kind: .events, path: path)
      var channel = state.channels.removeValue(forKey: key) ?? Channel()
      defer { state.channels[key] = channel }
      channel.scripted = max(channel.scripted, script.count)
      channel.connections += 1
      let kept = channel.events
      let first = kept.count - kept.elements.count
      var (step, missed, isLost) = (0, channel.delivered, false)
      if let lastID {
        if let index = kept.elements.lastIndex(where: { $0.element.id == lastID }) {
          (step, missed) = (kept.elements[index].element.step, first + index + 1)
        } else if let mark = channel.marks[lastID] {
          (step, missed) = (mark.step, mark.events)
        } else {
          isLost = true
        }
      }
      for (id, bytes) in begin.dropFirst(step) {
        step += 1
        channel.mark(id, step: step, events: missed)
        outbox.write(bytes)
      }
      channel.clients[channel.connections] = Client(outbox: outbox, way: way, step: step)
      for event in kept.after(missed) { outbox.write(way?.event(event.bytes) ?? event.bytes) }
      channel.events.update(after: missed) { $0.step = step }
      channel.delivered = channel.events.count
      return Resumption(connection: channel.connections, step: step, isLost: isLost)
    }
  }

  /// Sends a script's event to one client.
  ///
  /// - Parameters:
  ///   - bytes: the event.
  ///   - id: its id.
  ///   - step: how many steps of the script the client has then received.
  ///   - connection: the number of the connection.
  ///   - path: the path.
  func write(_ bytes: [UInt8], id: String?, step: Int, to connection: Int, at path: String) {
    state.withLock { state in
      let key = Key(kind: .events, path: path)
      guard let client = state.channels[key]?.clients[connection], var channel = state.channels.removeValue(forKey: key)
      else { return }
      channel.clients[connection]?.step = step
      channel.mark(id, step: step, events: channel.events.count)
      state.channels[key] = channel
      client.outbox.write(bytes)
    }
  }

  // MARK: WebSockets

  /// Sends a message to all clients of a path. A close ends their WebSockets.
  ///
  /// - Returns: how many clients get it, and the connections that were dropped because they are too slow.
  func send(_ message: WebSocketMessage, to path: String) -> (clients: Int, dropped: [Int]) {
    state.withLock { state in
      let key = Key(kind: .webSocket, path: path)
      guard var channel = state.channels.removeValue(forKey: key) else { return (0, []) }
      defer { state.channels[key] = channel }
      guard message.kind == .close else {
        let pushed = Self.push(to: &channel) { ($0?.toApp(message) ?? message).frame() }
        return (pushed.sent, pushed.dropped)
      }
      defer { channel.clients = [:] }
      for client in channel.clients.values { client.outbox.finish(message.frame()) }
      return (channel.clients.count, [])
    }
  }

  /// Keeps a message that an app has sent.
  ///
  /// - Returns: its number.
  @discardableResult
  func receive(_ message: WebSocketMessage, at path: String, from connection: Int) -> Int {
    state.withLock { state in
      let key = Key(kind: .webSocket, path: path)
      var channel = state.channels.removeValue(forKey: key) ?? Channel()
      defer { state.channels[key] = channel }
      let number = channel.messages.count + 1
      channel.messages.add(
        Message(number: number, connection: connection, message: message), size: message.payload.count)
      return number
    }
  }

  /// The kept app messages at a path after a number, and the total number of messages.
  func messages(at path: String, after number: Int) -> (messages: [Message], last: Int) {
    let messages = state.withLock { $0.channels[Key(kind: .webSocket, path: path)]?.messages }
    return (messages?.after(number) ?? [], messages?.count ?? 0)
  }

  /// Waits until there are app messages after a number, the deadline passes, or the environment ends.
  func waitForMessage(at path: String, after number: Int, until deadline: ContinuousClock.Instant) async throws {
    let key = Key(kind: .webSocket, path: path)
    try await state.wait(until: deadline) { $0.isOver || $0.channels[key]?.messages.count ?? 0 > number }
  }

  // MARK: Collections

  /// Notes that items of collections have changed.
  func noteCollectionChanges(_ count: Int) {
    // Others wait for other things.
    state.withLock { $0.collectionChanges = max($0.collectionChanges, count) }
  }

  /// Waits until there are collection changes after a number, the deadline passes, or the environment ends.
  func waitForCollectionChange(after number: Int, until deadline: ContinuousClock.Instant) async throws {
    try await state.wait(until: deadline) { $0.isOver || $0.collectionChanges > number }
  }

  // MARK: The end

  /// Discards the kept events and messages. Connections stay open, and numbering continues.
  func reset() {
    state.withLock { state in
      for key in state.channels.keys {
        state.channels[key]?.events.removeAll()
        state.channels[key]?.messages.removeAll()
      }
    }
  }

  /// Ends all connections and pending waits.
  func end() {
    let clients = state.withLock { state in
      state.isOver = true
      defer { for key in state.channels.keys { state.channels[key]?.clients = [:] } }
      return state.channels.flatMap { key, channel in channel.clients.values.map { (key.kind, $0.outbox) } }
    }
    for (kind, client) in clients {
      client.end(kind == .events ? [] : WebSocketMessage.close(1001, Self.goodbye).frame())
    }
  }

  /// The close reason that WebSockets get when the environment ends.
  static let goodbye = "the environment has ended"
}
