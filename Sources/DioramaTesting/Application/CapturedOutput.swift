import Foundation
import Synchronization

/// What one stream of a program has said so far.
///
/// The last megabyte is in memory, where it can be waited for. A longer output is in a file without a name as well, up to
/// 64 MiB; of more than that the beginning and the end are kept.
struct CapturedOutput {
  private let memoryLimit: Int
  private let fileLimit: Int

  /// The last bytes.
  private var recent: [UInt8] = []
  /// How many came before those.
  private var dropped = 0
  /// How many have been waited for.
  private var taken = 0
  /// All from the first byte on, where that is more than `recent`.
  private var file: ScratchFile?

  init(memoryLimit: Int = 1 << 20, fileLimit: Int = 1 << 26) {
    self.memoryLimit = memoryLimit
    self.fileLimit = fileLimit
  }

  /// How much has come.
  var count: Int { dropped + recent.count }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    file?.write(bytes, upTo: fileLimit)
    recent.append(contentsOf: bytes)
    // By halves, so that not every byte moves all others.
    guard recent.count > 2 * memoryLimit else { return }
    if file == nil, dropped == 0 {
      file = ScratchFile()
      recent.withUnsafeBytes { file?.write($0, upTo: fileLimit) }
    }
    let excess = recent.count - memoryLimit
    recent.removeFirst(excess)
    dropped += excess
  }

  /// Finds a text that has not been waited for yet; the next search begins after it.
  ///
  /// - Parameters:
  ///   - text: what to find; an empty one is found at once.
  ///   - scanned: up to where this was searched for in vain; brought forward.
  /// - Returns: whether it was found.
  mutating func take(_ text: [UInt8], scanned: inout Int) -> Bool {
    let begin = max(max(taken, dropped), scanned) - dropped
    let found = recent.withUnsafeBytes { bytes -> Int? in
      guard text.count <= bytes.count - begin else { return nil }
      return (begin...(bytes.count - text.count)).first { start in
        text.indices.allSatisfy { bytes[start + $0] == text[$0] }
      }
    }
    guard let found else {
      scanned = max(scanned, count - text.count + 1)
      return false
    }
    taken = dropped + found + text.count
    return true
  }

  /// Finds a pattern in what has not been waited for yet; the next search begins after the match.
  ///
  /// - Returns: the text that matches.
  mutating func take(_ pattern: some RegexComponent) -> String? {
    let window = recent[max(taken - dropped, 0)...]
    let text = String(decoding: window, as: UTF8.self)
    guard let match = text.firstMatch(of: pattern) else { return nil }
    let end = text.utf8.distance(from: text.startIndex, to: match.range.upperBound)
    // What is not UTF-8 has other lengths in the text than in the bytes.
    taken = text.utf8.count == window.count ? dropped + recent.count - window.count + end : count
    return String(text[match.range])
  }

  /// All that is kept.
  var bytes: [UInt8] {
    guard let head = file?.bytes else { return recent }
    let lost = dropped - head.count
    guard lost > 0 else { return head + recent[(head.count - dropped)...] }
    return head + Array("\n… \(lost) bytes are not kept …\n".utf8) + recent
  }

  /// The last lines, as text.
  func tail(lines: Int) -> [String] {
    // A line may be endless.
    let text = String(decoding: recent.suffix(16_384), as: UTF8.self)
    return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).drop { $0.isEmpty }
      .reversed().drop { $0.isEmpty }.prefix(lines).reversed().map(String.init)
  }
}

/// A file without a name, gone with this value.
private final class ScratchFile: Sendable {
  private let descriptor: Int32
  private let size = Atomic(0)

  init?() {
    let path = FileManager.default.temporaryDirectory.path + "/diorama-output-" + UUID().uuidString
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    unlink(path)
  }

  deinit { close(descriptor) }

  func write(_ bytes: UnsafeRawBufferPointer, upTo limit: Int) {
    var rest = bytes[..<min(bytes.count, max(limit - size.load(ordering: .relaxed), 0))]
    while !rest.isEmpty {
      let written = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      // A disk that is full: the beginning is here, and what comes last in memory.
      guard written > 0 else { return }
      size.add(written, ordering: .relaxed)
      rest = rest.dropFirst(written)
    }
  }

  var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size.load(ordering: .relaxed))
    let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    return Array(bytes.prefix(max(count, 0)))
  }
}
