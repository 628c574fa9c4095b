import Basics
import Transforms
import Cassettes
import ControlAPI
import Foundation
import LaunchContract

/// What happened in an environment, in order: the last 10,000 entries in memory, exact counters for all entries, and
/// everything in a file if requested.
///
/// A replayed request takes only a few machine words, because its text is in the cassette. Texts of other entries are
/// kept up to 4 MiB in all.
struct Journal: Sendable {
  /// Entries kept in memory.
  static let capacity = 10_000
  /// Bytes of text kept in memory.
  static let textLimit = 4 << 20

  /// The outcome of a request, or another event.
  enum Kind: UInt8, Sendable, CaseIterable {
    case replayed, recorded, forwarded, mocked, unmatched, failed, note, left, faulted

    var name: String {
      switch self {
      case .replayed: "replayed"
      case .recorded: "recorded"
      case .forwarded: "forwarded"
      case .mocked: "mocked"
      case .unmatched: "unmatched"
      case .failed: "failed"
      case .note: "note"
      case .left: "left"
      case .faulted: "faulted"
      }
    }
  }

  /// The texts of an entry that are not in the cassette. They are redacted when the entry is read, or before.
  final class Detail: Sendable {
    let method: String
    let url: String
    let text: String?

    init(method: String, url: String, text: String? = nil) {
      self.method = method
      self.url = url
      self.text = text
    }

    func redacted(by redactor: Redactor) -> Detail {
      Detail(method: redactor.redact(method), url: redactor.redactURL(url), text: text.map(redactor.redact))
    }

    /// The approximate size in memory, in bytes.
    var size: Int { 64 + method.utf8.count + url.utf8.count + (text?.utf8.count ?? 0) }
  }

  struct Entry: Sendable {
    var number: Int
    /// Seconds since 1970.
    var time: Double
    var kind: Kind
    var status: Int16
    /// The index of the replayed interaction, or -1.
    var interaction: Int32
    var detail: Detail?
    /// Whether the test itself sent the request.
    var isOfSetup = false
  }

  private(set) var counts = [Int](repeating: 0, count: Kind.allCases.count)
  private(set) var last: Int
  /// The number of the first entry in memory, if there is any.
  private var first: Int
  /// The number before that of the first entry in the ring.
  private let base: Int
  private var ring: [Entry] = []
  private var textSize = 0

  init() {
    (last, first, base) = (0, 1, 0)
  }

  /// Continues another journal's numbers and counters, without its entries.
  init(counts: [Int], last: Int) {
    let last = max(0, last)
    (self.last, first, base) = (last, last + 1, last)
    for (kind, count) in zip(self.counts.indices, counts) { self.counts[kind] = max(0, count) }
  }

  func count(_ kind: Kind) -> Int { counts[Int(kind.rawValue)] }

  /// Adds an entry.
  ///
  /// - Returns: the entry with its number, from 1.
  @discardableResult
  mutating func add(
    _ kind: Kind, status: Int, interaction: Int = -1, detail: Detail? = nil, isOfSetup: Bool = false
  ) -> Entry {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    last += 1
    counts[Int(kind.rawValue)] += 1
    let entry = Entry(
      number: last, time: Double(now.tv_sec) + Double(now.tv_nsec) / 1e9, kind: kind,
      status: Int16(truncatingIfNeeded: status),
      interaction: Int32(truncatingIfNeeded: interaction), detail: detail, isOfSetup: isOfSetup)
    if ring.count < Self.capacity {
      ring.append(entry)
    } else {
      if first == last - Self.capacity { dropFirst() }
      ring[place(of: last)] = entry
    }
    if let detail {
      textSize += detail.size
      while textSize > Self.textLimit, first < last { dropFirst() }
    }
    return entry
  }

  /// The entries after `number` that are still in memory, in order.
  func entries(after number: Int = 0, limit: Int = .max) -> [Entry] {
    let start = max(number < .max ? number + 1 : number, first)
    guard start <= last else { return [] }
    return (start...min(last, start + min(limit, Self.capacity) - 1)).map { ring[place(of: $0)] }
  }

  private func place(of number: Int) -> Int { (number - base - 1) % Self.capacity }

  private mutating func dropFirst() {
    textSize -= ring[place(of: first)].detail?.size ?? 0
    ring[place(of: first)].detail = nil
    first += 1
  }
}

extension Journal.Entry {
  /// The entry in the form that clients read.
  ///
  /// - Parameters:
  ///   - replay: what is replayed; nil for nothing.
  ///   - redactor: redacts secrets.
  ///   - sent: the request itself, for a journal file with requests.
  /// - Returns: the entry.
  func spelledOut(
    _ replay: Replay?, _ redactor: Redactor, sent: JournalPage.Entry.Request? = nil
  ) -> JournalPage.Entry {
    let request = replay.flatMap { replay in
      interaction >= 0 ? replay.interactions[Int(interaction)].request : nil
    }
    // A recorded URL may be older than the rule for its secret.
    let detail =
      detail?.redacted(by: redactor)
      ?? Journal.Detail(method: request?.method ?? "", url: request.map { redactor.redactURL($0.url) } ?? "")
    return JournalPage.Entry(
      number: number, time: RFC3339.format(Date(timeIntervalSince1970: time)), kind: kind.name, method: detail.method,
      url: detail.url, status: Int(status), interaction: interaction >= 0 ? Int(interaction) : nil,
      detail: detail.text, setup: isOfSetup ? true : nil, request: sent)
  }
}
