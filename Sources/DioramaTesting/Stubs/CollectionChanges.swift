import Basics

extension ItemCollection {
  /// A change to an item, by the app or by the test.
  public struct Change: Sendable {
    /// What happened to an item.
    public enum Kind: String, Sendable {
      /// A new item was added by POST or PUT.
      case created
      /// The item was replaced by PUT.
      case replaced
      /// The item was changed by PATCH.
      case patched
      /// The item was removed by DELETE.
      case removed
    }

    /// What happened to the item.
    public let kind: Kind
    /// The item's id as a string.
    public let id: String
    /// The item after the change; nil if it was removed.
    public let item: Item?
    /// The item before the change; nil if it was created.
    public let old: Item?
  }

  /// The changes to a collection's items, in order.
  public struct Changes: AsyncSequence, Sendable {
    let collection: ItemCollection
    let timeout: Duration

    /// Creates an iterator that starts at the first change since the collection was added.
    public func makeAsyncIterator() -> Iterator { Iterator(collection: collection, timeout: timeout) }

    /// Returns one change after another, and waits for each.
    public struct Iterator: AsyncIteratorProtocol {
      let collection: ItemCollection
      let timeout: Duration
      private var last = 0
      private var ready: ArraySlice<Change> = []
      private var seen: [Change] = []

      init(collection: ItemCollection, timeout: Duration) {
        self.collection = collection
        self.timeout = timeout
      }

      /// The next change; never nil.
      public mutating func next() async throws -> Change? { try await next(isolation: nil) }

      /// The next change; never nil.
      ///
      /// - Parameter actor: the caller's actor isolation.
      /// - Returns: the change.
      /// - Throws: ``DioramaTestingError`` of kind `timedOut` if no change arrives in time; of another kind if the
      ///   collection was removed or the environment cannot be reached.
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(DioramaTestingError) -> Change? {
        let deadline = ContinuousClock.now + timeout
        while true {
          if let change = ready.popFirst() {
            seen = seen.suffix(9) + [change]
            return change
          }
          let rest = Swift.max(.zero, ContinuousClock.now.duration(to: deadline))
          let (changes, last) = try await collection.changes(
            after: last, wait: Swift.min(rest, TestEnvironment.longestWait))
          self.last = Swift.max(last, self.last)
          ready = changes[...]
          guard ready.isEmpty, ContinuousClock.now >= deadline else { continue }
          let before = seen.map { "\($0.kind) \($0.id)" }.joined(separator: ", ")
          throw DioramaTestingError(
            .timedOut,
            "no change to the collection '\(collection.name)' within \(timeout)"
              + (before.isEmpty ? "" : "; earlier changes: \(before)"))
        }
      }
    }
  }

  /// The changes to items since the collection was added, by the app and by the test, in order. Waits up to ten seconds
  /// for each.
  ///
  /// ```swift
  /// let booked = try await appointments.changes.first { $0.kind == .created }
  /// #expect(booked?.item?.patient == "7")
  /// ```
  ///
  /// Each iteration starts at the first change that the environment still has. It keeps the newest 10,000.
  public var changes: Changes { changes(timeout: .seconds(10)) }

  /// The changes to items since the collection was added, like ``changes``, with a time limit.
  ///
  /// - Parameter timeout: how long to wait for each change.
  /// - Returns: the changes.
  public func changes(timeout: Duration) -> Changes { Changes(collection: self, timeout: timeout) }

  fileprivate func changes(
    after number: Int, wait: Duration
  ) async throws(DioramaTestingError) -> ([Change], last: Int) {
    let answer = try await environment.admin(
      "GET", "\(path())/changes?after=\(number)&timeout=\(wait / .seconds(1))", nil)
    var changes: [Change] = []
    for json in answer["changes"]?.array ?? [] {
      changes.append(
        Change(
          kind: Change.Kind(rawValue: json["kind"]?.string ?? "") ?? .replaced, id: json["id"]?.string ?? "",
          item: try json["item"].map { item throws(DioramaTestingError) in try decode(item) },
          old: try json["old"].map { item throws(DioramaTestingError) in try decode(item) }))
    }
    return (changes, answer["last"]?.int ?? number)
  }
}
