import Basics
import ControlAPI
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The journal as NDJSON: one entry a line, in order.
final class JournalFile: @unchecked Sendable {
  // Accessed only under the lock of the environment's state.
  private var buffer: [UInt8] = []
  private let descriptor: Int32
  private let path: String
  private(set) var failure: CodedError?

  init(_ path: String) throws(CodedError) {
    self.path = path
    descriptor = try FileWriting.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
  }

  deinit {
    flush()
    close(descriptor)
  }

  /// Adds an entry.
  ///
  /// - Parameters:
  ///   - entry: the entry.
  ///   - isUrgent: whether to write it at once; other entries are written in batches of 32 KiB.
  func write(_ entry: JournalPage.Entry, isUrgent: Bool) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(entry) else { return }
    buffer += data
    buffer.append(0x0A)
    if buffer.count > 32_768 || isUrgent { flush() }
  }

  func flush() {
    guard !buffer.isEmpty, failure == nil else { return }
    do { try FileWriting.write(buffer, to: descriptor, path: path) } catch {
      failure = error
    }
    buffer.removeAll(keepingCapacity: true)
  }
}
