import HTTPMessages

/// How often each operation was answered with which status.
final class CallCounts: Sendable {
  struct Key: Hashable, Sendable {
    let operation: String
    let status: Int
  }

  private let counts = Guarded<[Key: Int]>([:])

  func count(_ operation: String, status: Int) {
    counts.withLock { $0[Key(operation: operation, status: status), default: 0] += 1 }
  }

  /// In the order of operations and statuses.
  var all: [(key: Key, count: Int)] {
    counts.withLock { $0 }.map { (key: $0.key, count: $0.value) }
      .sorted { ($0.key.operation, $0.key.status) < ($1.key.operation, $1.key.status) }
  }
}
