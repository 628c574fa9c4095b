import Foundation

/// What happened in an environment, in order: the last 10,000 entries in memory, exact counters for all, everything
/// in a file where one is asked for.
///
/// A replayed request costs a few machine words here; its text stands in the cassette already.
struct Journal: Sendable {
  /// Entries kept in memory.
  static let capacity = 10_000

  /// What became of a request, or what else happened.
  enum Kind: UInt8, Sendable, CaseIterable {
    case replayed, recorded, forwarded, mocked, unmatched, failed, note

    var name: String {
      switch self {
      case .replayed: "replayed"
      case .recorded: "recorded"
      case .forwarded: "forwarded"
      case .mocked: "mocked"
      case .unmatched: "unmatched"
      case .failed: "failed"
      case .note: "note"
      }
    }
  }

  /// What the cassette does not already say of a request.
  final class Detail: Sendable {
    let method: String
    let url: String
    let text: String?

    init(method: String, url: String, text: String? = nil) {
      self.method = method
      self.url = url
      self.text = text
    }
  }

  struct Entry: Sendable {
    var number: Int
    /// Seconds since 1970.
    var time: Double
    var kind: Kind
    var status: Int16
    /// The interaction that was played, or -1.
    var interaction: Int32
    var detail: Detail?
  }

  private(set) var counts = [Int](repeating: 0, count: Kind.allCases.count)
  private(set) var last = 0
  private var ring: [Entry] = []

  func count(_ kind: Kind) -> Int { counts[Int(kind.rawValue)] }

  /// Adds an entry.
  ///
  /// - Returns: the entry with its number, from 1.
  @discardableResult
  mutating func add(_ kind: Kind, status: Int, interaction: Int = -1, detail: Detail? = nil) -> Entry {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    last += 1
    counts[Int(kind.rawValue)] += 1
    let entry = Entry(
      number: last, time: Double(now.tv_sec) + Double(now.tv_nsec) / 1e9, kind: kind,
      status: Int16(truncatingIfNeeded: status),
      interaction: Int32(truncatingIfNeeded: interaction), detail: detail)
    if ring.count < Self.capacity {
      ring.append(entry)
    } else {
      ring[(last - 1) % Self.capacity] = entry
    }
    return entry
  }

  /// What is still in memory after entry `number`, in order.
  func entries(after number: Int = 0) -> [Entry] {
    guard ring.count == Self.capacity else { return ring.filter { $0.number > number } }
    let oldest = last % Self.capacity
    return (ring[oldest...] + ring[..<oldest]).filter { $0.number > number }
  }
}
