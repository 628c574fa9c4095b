import Basics
package import Foundation
package import HTTPMessages

/// The requests of an environment, kept to count and find them: the last 10,000, with at most 64 MiB of bodies, their responses' included.
package struct RequestLog: Sendable {
  /// A request, and how it was answered.
  package struct Entry: Sendable {
    /// Counts the environment's requests, from 1.
    package var number: Int
    /// When it arrived.
    package var time: Date
    package var request: LoggedRequest
    /// The id of the stub that answered; nil if none did.
    package var stub: String?
    package var status: Int
    /// The response as sent; nil until it is known, and if something other than a stub answered.
    package var response: Response?

    /// The approximate size in memory, in bytes.
    fileprivate var size: Int { request.size + (response?.body.count ?? 0) }

    package init(
      number: Int, time: Date, request: LoggedRequest, stub: String? = nil, status: Int = 0, response: Response? = nil
    ) {
      self.number = number
      self.time = time
      self.request = request
      self.stub = stub
      self.status = status
      self.response = response
    }
  }

  /// The head and the body of a stub's response.
  package struct Response: Sendable {
    package var headers: Headers
    package var body: [UInt8]

    package init(headers: Headers, body: [UInt8]) {
      self.headers = headers
      self.body = body
    }
  }

  /// The most entries kept by default.
  package static let defaultCapacity = 10_000
  private static let byteLimit = 64 << 20

  /// The most entries to keep; 0 to keep none.
  package var capacity = RequestLog.defaultCapacity
  /// What was dropped is removed from the beginning of the array from time to time.
  private var all: [Entry] = []
  private var dropped = 0
  private var size = 0
  private var last = 0

  package init() {}

  /// The entries in order.
  package var entries: ArraySlice<Entry> { all[dropped...] }

  package subscript(_ number: Int) -> Entry? { entries.first { $0.number == number } }

  /// Adds an entry.
  ///
  /// - Returns: its number.
  @discardableResult
  package mutating func add(
    _ request: LoggedRequest, at time: Date, stub: String? = nil, status: Int = 0, response: Response? = nil
  ) -> Int {
    last += 1
    guard capacity > 0 else { return last }
    all.append(Entry(number: last, time: time, request: request, stub: stub, status: status, response: response))
    size += all[all.count - 1].size
    trim()
    return last
  }

  /// Drops the oldest entries that exceed the limits.
  private mutating func trim() {
    while all.count - dropped > capacity || (size > Self.byteLimit && all.count - dropped > 1) {
      size -= all[dropped].size
      all[dropped].request = .empty
      all[dropped].response = nil
      dropped += 1
    }
    if dropped > 1000, dropped > all.count / 2 {
      all.removeFirst(dropped)
      dropped = 0
    }
  }

  /// Completes an entry that is still kept.
  package mutating func complete(_ number: Int, stub: String?, status: Int, response: Response?) {
    // Almost always one of the last.
    guard let index = entries.lastIndex(where: { $0.number == number }) else { return }
    size -= all[index].size
    all[index].stub = stub
    all[index].status = status
    all[index].response = response
    size += all[index].size
    trim()
  }

  /// Removes the entries that fulfil a condition.
  ///
  /// - Returns: the removed ones.
  @discardableResult
  package mutating func removeAll(where isRemoved: (Entry) -> Bool = { _ in true }) -> [Entry] {
    let known = entries
    all = known.filter { !isRemoved($0) }
    dropped = 0
    size = all.reduce(0) { $0 + $1.size }
    return known.filter(isRemoved)
  }
}

/// A request in one piece of memory: a fast path logs every request.
package struct LoggedRequest: Sendable {
  /// Method, target, and each header's name and value, each followed by a zero byte.
  private let head: [UInt8]
  package let body: [UInt8]
  package let origin: Origin
  /// The name of the upstream; nil on an environment's main port.
  package let upstream: String?

  /// - Parameters:
  ///   - head: method, target, and the names and values of the headers, each followed by a zero byte.
  ///   - body: the body.
  ///   - origin: the origin in the request's URL.
  ///   - upstream: the name of the upstream.
  package init(head: [UInt8], body: [UInt8], origin: Origin, upstream: String?) {
    self.head = head
    self.body = body
    self.origin = origin
    self.upstream = upstream
  }

  package init(_ request: StubRequest) {
    var head: [UInt8] = []
    for text in [request.method, request.target] + request.headers.fields.flatMap({ [$0.name, $0.value] }) {
      head += text.utf8
      head.append(0)
    }
    self.init(
      head: head, body: request.body,
      origin: Origin(scheme: request.scheme, host: request.host, port: request.port), upstream: request.upstream)
  }

  fileprivate static let empty = LoggedRequest(
    head: [], body: [], origin: Origin(scheme: "", host: "", port: 0), upstream: nil)

  /// The approximate size in memory, in bytes.
  var size: Int { head.count + body.count + 128 }

  /// The request as conditions see it.
  package var request: StubRequest {
    let texts = head.split(separator: 0, omittingEmptySubsequences: false).dropLast()
      .map { slice in slice.withUnsafeBytes { String(wire: $0) } }
    let fields = stride(from: 2, to: texts.count - 1, by: 2).map { Headers.Field(texts[$0], texts[$0 + 1]) }
    let headers = Headers(fields)
    var (host, port) = (origin.host, origin.port)
    // On the main port, the client says what it takes the host for.
    if upstream == nil, let named = headers["Host"].flatMap({ Origin.split(authority: $0) }) {
      (host, port) = (named.host, named.port ?? 80)
    }
    return StubRequest(
      method: texts.first ?? "", target: texts.count > 1 ? texts[1] : "", headers: headers, body: body,
      scheme: origin.scheme, host: host, port: port, upstream: upstream)
  }
}
