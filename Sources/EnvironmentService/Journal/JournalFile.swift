import Cassettes
import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The journal as NDJSON: one entry a line, in order.
final class JournalFile: @unchecked Sendable {
  // Reached only under the lock of the environment's state.
  private var buffer: [UInt8] = []
  private let descriptor: Int32
  private let path: String
  private(set) var failure: EnvironmentError?

  init(_ path: String) throws(EnvironmentError) {
    self.path = path
    descriptor = try FileWriting.open(path, O_WRONLY | O_CREAT | O_TRUNC)
  }

  deinit {
    flush()
    close(descriptor)
  }

  /// Adds an entry. Lines reach the file in pieces of 32 KiB while it replays, else one by one.
  func write(_ entry: Journal.Entry, replay: Replay?) {
    let request = replay.flatMap { replay in
      entry.interaction >= 0 ? replay.interactions[Int(entry.interaction)].request : nil
    }
    let line = Line(
      number: entry.number, time: RFC3339.format(Date(timeIntervalSince1970: entry.time)), kind: entry.kind.name,
      method: entry.detail?.method ?? request?.method ?? "", url: entry.detail?.url ?? request?.url ?? "",
      status: Int(entry.status), interaction: entry.interaction >= 0 ? Int(entry.interaction) : nil,
      detail: entry.detail?.text)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(line) else { return }
    buffer += data
    buffer.append(0x0A)
    if buffer.count > 32_768 || entry.kind != .replayed { flush() }
  }

  func flush() {
    guard !buffer.isEmpty, failure == nil else { return }
    do throws(EnvironmentError) {
      try FileWriting.write(buffer, to: descriptor, path: path)
    } catch {
      failure = error
    }
    buffer.removeAll(keepingCapacity: true)
  }

  private struct Line: Encodable {
    let number: Int
    let time: String
    let kind: String
    let method: String
    let url: String
    let status: Int
    let interaction: Int?
    let detail: String?
  }
}
