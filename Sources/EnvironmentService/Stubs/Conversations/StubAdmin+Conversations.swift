import Basics
import Foundation
import HTTPMessages
import Stubs

// A test's side of conversations with its apps. WireMock's API has no such calls.
extension StubAdmin {
  /// The maximum time in seconds that a request waits.
  private static let longestWait = 60.0

  /// Answers the calls that can wait; nil for other calls.
  ///
  /// - `POST /__admin/events`: sends an event, or ends streams.
  /// - `GET /__admin/events?path=PATH`: how many apps are connected. `untilClosed=true&timeout=SECONDS` waits until
  ///   none is.
  /// - `POST /__admin/sockets`: sends a message or a close.
  /// - `GET /__admin/sockets?path=PATH&after=NUMBER&timeout=SECONDS`: the apps' messages; `untilClosed=true` as above.
  /// - `GET /__admin/callbacks?stub=ID&timeout=SECONDS`: requests that are waiting for a response, each returned once.
  /// - `POST /__admin/callbacks/NUMBER`: the response to one of them, as in a mapping.
  /// - `GET /__admin/collections/NAME/changes?after=NUMBER&timeout=SECONDS`: the changes of items.
  func waitingAnswer(_ request: Request, _ body: [UInt8]) async throws -> Response? {
    let (target, parts) = Self.parse(request)
    switch (request.method, parts.first, parts.count) {
    case ("POST", "events", 1): return try await sendEvent(Members(Self.json(in: body)))
    case ("GET", "events", 1):
      let path = try path(target)
      _ = try stub(at: path, \.events, ".events()", #"{"events": []}"#)
      try await waitUntilClosed(.events, path, target)
      let (total, open) = stubs.conversations.connections(.events, path)
      return Self.json(["connections": .int(total), "open": .int(open)])
    case ("POST", "sockets", 1): return try await sendMessage(Members(Self.json(in: body)))
    case ("GET", "sockets", 1): return try await messages(target)
    case ("GET", "callbacks", 1): return try await takeCallbacks(target)
    case ("POST", "callbacks", 2): return try answerCallback(parts[1], Self.json(in: body))
    case (_, "events", _), (_, "sockets", _), (_, "callbacks", _): throw methodRefused(target)
    case ("GET", "collections", 3) where parts[2] == "changes":
      return try await changes(of: parts[1], target)
    default: return nil
    }
  }

  // MARK: Events

  private func sendEvent(_ members: Members) async throws -> Response {
    let wait = try Wait(members)
    let object = try members.object("event")
    let event = try object.flatMap { (object) throws(CodedError) in try ServerSentEvent(object) }
    try object?.end()
    let closes = try members.bool("close") ?? false
    try members.end()
    guard event != nil || closes else {
      throw members.error("event", "missing; add an object with 'data', or \"close\": true")
    }
    let stub = try stub(at: wait.path, \.events, #".events()"#, #"{"events": []}"#)
    try await self.wait(wait, .events)
    var members: [JSON.Member] = []
    var clients = 0
    if let event {
      let sent = stubs.conversations.send(event, to: wait.path, scripted: stub.response.events?.count ?? 0)
      note(sent.dropped, wait.path, stub)
      clients = sent.clients
      if let id = sent.id { members.append(.init("id", .string(id))) }
    }
    if closes { clients = stubs.conversations.finish(at: wait.path) }
    return Self.document(.object(members + [.init("clients", .int(clients))]))
  }

  // MARK: WebSockets

  private func sendMessage(_ members: Members) async throws -> Response {
    // Unlike events, messages are not kept for an app that connects later.
    let wait = try Wait(members, apps: members["close"] == nil ? 1 : 0)
    let message = try WebSocketScript.message(members)
    try members.end()
    guard let message else { throw members.error("send", "missing; add 'send', 'sendBase64' or 'close'") }
    guard message.payload.count <= WebSocketReader.usualLimit else {
      throw members.error("send", "has more than \(WebSocketReader.usualLimit) bytes; send less")
    }
    let stub = try stub(at: wait.path, \.webSocket, ".webSocket()", #"{"webSocket": {}}"#)
    try await self.wait(wait, .webSocket)
    let sent = stubs.conversations.send(message, to: wait.path)
    note(sent.dropped, wait.path, stub)
    return Self.json(["clients": .int(sent.clients)])
  }

  private func messages(_ target: StubRequest) async throws -> Response {
    let path = try path(target)
    _ = try stub(at: path, \.webSocket, ".webSocket()", #"{"webSocket": {}}"#)
    let (after, deadline) = try poll(target)
    if try await !waitUntilClosed(.webSocket, path, target) {
      try await waiting {
        try await stubs.conversations.waitForMessage(at: path, after: after, until: deadline)
      }
    }
    let (all, count) = stubs.conversations.messages(at: path, after: after)
    let messages = Self.page(all) { $0.message.payload.count }
    let last = messages.count == all.count ? count : messages.last?.number ?? count
    let (total, open) = stubs.conversations.connections(.webSocket, path)
    return Self.json([
      "messages": .array(messages.map(\.json)), "last": .int(last), "connections": .int(total), "open": .int(open),
    ])
  }

  // MARK: Callbacks

  private func takeCallbacks(_ target: StubRequest) async throws -> Response {
    let deadline = try poll(target).until
    guard let id = target.queryValues("stub").first?.lowercased(),
      let stub = stubs.state.withLock({ $0.store[id] }), stub.response.isCallback
    else { throw Problem(status: 404, title: "Unknown stub", detail: "no stub with a callback response has this id") }
    let taken = try await waiting { try await stubs.callbacks.take(of: id, until: deadline) }
    return Self.json([
      "requests": .array(
        taken.map { .object([.init("number", .int($0.number)), .init("request", logged($0.request, at: Date()))]) }),
      "ended": .bool(stubs.conversations.isOver),
    ])
  }

  private func answerCallback(_ number: String, _ json: JSON) throws -> Response {
    let response = try MappingReader.response(json)
    guard !response.isCallback, response.events == nil, response.webSocket == nil else {
      throw CodedError(.broken, "a callback cannot return another callback, events or a WebSocket")
    }
    guard let number = Int(number), stubs.callbacks.answer(number, response) else {
      throw Problem(
        status: 404, title: "Unknown request",
        detail: "no request with the number \(number.prefix(40)) is waiting; the app may have disconnected")
    }
    return Self.json([:])
  }

  // MARK: Collections

  private func changes(of name: String, _ target: StubRequest) async throws -> Response {
    let (after, deadline) = try poll(target)
    var known = after
    while true {
      let (changes, count) = try stubs.state.withLock { state in
        guard state.collections[name] != nil else { throw Self.unknownCollection(name) }
        return (state.collections.changes(after: after, in: name), state.collections.changeCount)
      }
      guard after <= count else {
        throw Problem(
          status: 400, title: "Unknown change",
          detail: "after=\(after), but the last change is \(count); use a number from an earlier response")
      }
      guard changes.isEmpty, ContinuousClock.now < deadline, !stubs.conversations.isOver else {
        let page = Self.page(changes, \.size)
        let last = page.count == changes.count ? count : page.last?.number ?? count
        return Self.json(["changes": .array(page.map(\.json)), "last": .int(last)])
      }
      known = max(known, count)
      try await waiting { [known] in
        try await stubs.conversations.waitForCollectionChange(after: known, until: deadline)
      }
    }
  }

  /// The first elements, about 1 MiB in total, which limits the size of a response.
  private static func page<Element>(_ all: [Element], _ size: (Element) -> Int) -> ArraySlice<Element> {
    var total = 0
    return all.prefix { element in
      defer { total += size(element) }
      return total < 1 << 20
    }
  }

  // MARK: Parts of requests

  /// A path, and whether to wait until apps are connected there.
  private struct Wait {
    let path: String
    let connections: Int
    let seconds: Double

    init(_ members: Members, apps: Int = 0) throws(CodedError) {
      guard let path = try members.string("path") else { throw members.error("path", "missing; add the app's path") }
      if let problem = Self.problem(path) { throw members.error("path", problem) }
      self.path = path
      connections = try members.int("afterConnections", in: 0...100_000) ?? apps
      seconds = try members.number("timeoutSeconds") ?? 10
      guard (0...StubAdmin.longestWait).contains(seconds) else {
        throw members.error("timeoutSeconds", "expected 0 to \(Int(StubAdmin.longestWait)) seconds")
      }
    }

    static func problem(_ path: String) -> String? {
      guard path.hasPrefix("/"), !path.contains("?"), !path.contains("#") else {
        return "'\(path.prefix(100))' is not a path; begin with '/', and leave out the query"
      }
      return nil
    }
  }

  private func path(_ target: StubRequest) throws -> String {
    guard let path = target.queryValues("path").first else {
      throw CodedError(.usage, "missing; add ?path= with the app's path", at: "path")
    }
    if let problem = Wait.problem(path) { throw CodedError(.usage, problem, at: "path") }
    return path
  }

  /// The number after which elements are requested, and the deadline for waiting.
  private func poll(_ target: StubRequest) throws -> (after: Int, until: ContinuousClock.Instant) {
    let (after, timeout) = (target.queryValues("after").first ?? "0", target.queryValues("timeout").first ?? "0")
    guard let number = Int(after), number >= 0 else {
      throw CodedError(.usage, "'\(after)' is not a whole number, 0 or greater", at: "after")
    }
    guard let seconds = Double(timeout), (0...Self.longestWait).contains(seconds) else {
      throw CodedError(.usage, "'\(timeout)' is not a number of seconds, 0 to \(Int(Self.longestWait))", at: "timeout")
    }
    return (number, .now + .seconds(seconds))
  }

  /// The stub at a path. Without one, no app could ever connect.
  private func stub<Script>(
    at path: String, _ part: KeyPath<StubResponse, Script?>, _ swift: String, _ json: String
  ) throws -> StubMapping {
    let (stub, others) = stubs.state.withLock {
      ($0.store.conversation(at: path, part), $0.store.conversationURLs(part).prefix(5))
    }
    if let stub { return stub }
    let known = others.isEmpty ? "" : "; stubs that do: \(others.joined(separator: ", "))"
    throw CodedError(
      .usage, "no stub for GET \(path) has the response \(swift) (in a mapping: \(json)); add one\(known)", at: "path")
  }

  // MARK: Waiting

  /// Waits until apps are connected.
  private func wait(_ wait: Wait, _ kind: Conversations.Kind) async throws {
    guard wait.connections > 0 else { return }
    let isMet = try await waiting {
      try await stubs.conversations.wait(
        for: wait.connections, kind, at: wait.path, until: .now + .seconds(wait.seconds))
    }
    guard !isMet else { return }
    let (total, open) = stubs.conversations.connections(kind, wait.path)
    let expected = wait.connections == 1 ? "no app is" : "\(open) of \(wait.connections) apps are"
    throw Problem(
      status: 408, title: "No app is connected",
      detail: "\(expected) connected to \(wait.path); \(total) connected so far; launch the app first, or wait longer")
  }

  /// Waits until no app is connected at a path, if the request has `untilClosed=true`.
  @discardableResult
  private func waitUntilClosed(
    _ kind: Conversations.Kind, _ path: String, _ target: StubRequest
  ) async throws -> Bool {
    guard target.queryValues("untilClosed").first == "true" else { return false }
    let deadline = try poll(target).until
    guard try await !waiting({ try await stubs.conversations.waitForLeaving(kind, at: path, until: deadline) }) else {
      return true
    }
    let open = stubs.conversations.connections(kind, path).open
    throw Problem(
      status: 408, title: "Apps are still connected",
      detail: "\(open) still connected to \(path); end the app first, or wait longer")
  }

  /// Waits, unless too many requests are already waiting.
  private func waiting<Result>(_ wait: () async throws -> Result) async throws -> Result {
    if let waits = environment.stateWaits, !waits.enter() {
      throw Problem(
        status: 429, title: "Too many waiting requests",
        detail:
          "\(waits.most) requests are waiting; end environments that are not in use, or raise limits.stateWaits in "
          + "the daemon's configuration")
    }
    defer { environment.stateWaits?.leave() }
    return try await wait()
  }

  private func note(_ dropped: [Int], _ path: String, _ stub: StubMapping) {
    for connection in dropped {
      environment.note(
        .note, status: 200, method: "GET", url: path,
        text: "\(stub.label): connection \(connection) was dropped because the app did not read \(Outbox.limit) bytes")
    }
  }

  static func unknownCollection(_ name: String) -> Problem {
    Problem(status: 404, title: "Unknown collection", detail: "there is no collection '\(name.prefix(80))'")
  }
}

extension Conversations.Message {
  fileprivate var json: JSON {
    let content =
      message.kind == .text
      ? JSON.Member("text", .string(String(decoding: message.payload, as: UTF8.self)))
      : JSON.Member("base64", .string(Data(message.payload).base64EncodedString()))
    return .object([.init("number", .int(number)), .init("connection", .int(connection)), content])
  }
}

extension CollectionChange {
  fileprivate var json: JSON {
    var members: [JSON.Member] = [
      .init("number", .int(number)), .init("kind", .string(kind.rawValue)), .init("id", .string(id)),
    ]
    if kind != .removed { members.append(.init("item", item)) }
    if let old { members.append(.init("old", old)) }
    return .object(members)
  }
}
