import Foundation
import Synchronization

/// The output of a program on one stream.
///
/// The last megabyte is in memory, where it can be searched. Longer output is also in an unnamed file, up to 64 MiB;
/// beyond that, the beginning and the end are kept.
struct CapturedOutput {
  private let memoryLimit: Int
  private let fileLimit: Int

  /// The last bytes.
  private var recent: [UInt8] = []
  /// The number of bytes before those.
  private var dropped = 0
  /// The end of the last match.
  private var taken = 0
  /// All bytes from the first one, if there are more than in `recent`.
  private var file: ScratchFile?

  init(memoryLimit: Int = 1 << 20, fileLimit: Int = 1 << 26) {
    self.memoryLimit = memoryLimit
    self.fileLimit = fileLimit
  }

  /// The total number of bytes.
  var count: Int { dropped + recent.count }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    file?.write(bytes, upTo: fileLimit)
    recent.append(contentsOf: bytes)
    // By halves, to avoid moving all bytes for each new one.
    guard recent.count > 2 * memoryLimit else { return }
    if file == nil, dropped == 0 {
      file = ScratchFile()
      recent.withUnsafeBytes { file?.write($0, upTo: fileLimit) }
    }
    let excess = recent.count - memoryLimit
    recent.removeFirst(excess)
    dropped += excess
  }

  /// Finds a text after the last match. The next search starts after it.
  ///
  /// - Parameters:
  ///   - text: the text to find; an empty text is always found.
  ///   - scanned: the position up to which this text was not found; updated.
  /// - Returns: whether the text was found.
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

  /// Finds a pattern after the last match. The next search starts after it.
  ///
  /// - Returns: the matching text.
  mutating func take(_ pattern: some RegexComponent) -> String? {
    let window = recent[max(taken - dropped, 0)...]
    let text = String(decoding: window, as: UTF8.self)
    guard let match = text.firstMatch(of: pattern) else { return nil }
    let end = text.utf8.distance(from: text.startIndex, to: match.range.upperBound)
    // Invalid UTF-8 has a different length in the text than in the bytes.
    taken = text.utf8.count == window.count ? dropped + recent.count - window.count + end : count
    return String(text[match.range])
  }

  /// All bytes that are kept.
  var bytes: [UInt8] {
    guard let head = file?.bytes else { return recent }
    let lost = dropped - head.count
    guard lost > 0 else { return head + recent[(head.count - dropped)...] }
    return head + Array("\n… \(lost) bytes omitted …\n".utf8) + recent
  }

  /// The last lines, as text.
  func tail(lines: Int) -> [String] {
    // A line can have any length.
    let text = String(decoding: recent.suffix(16_384), as: UTF8.self)
    return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).drop { $0.isEmpty }
      .reversed().drop { $0.isEmpty }.prefix(lines).reversed().map(String.init)
  }
}

/// An unnamed file, removed with this value.
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
      // The disk is full: the file has the beginning, and memory has the end.
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

/// Reads a program's output on the thread that calls ``run(_:)``.
///
/// It polls both pipes and a third one that signals the end of the program. The end of the output pipes is not enough:
/// processes that the program has started may keep them open.
final class OutputReader {
  /// The maximum content of a pipe: the largest size without privileges.
  private static let largestPipe = 1 << 20
  /// The time for the program's process group to disappear after it is killed.
  private static let grace = Duration.seconds(1)

  private let descriptors: [Int32]
  private let group: pid_t
  private var waiting: [pollfd]
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)

  /// - Parameters:
  ///   - output: the reading end of standard output; closed by the reader, like the others.
  ///   - errors: the reading end of standard error.
  ///   - bell: becomes readable when the program has ended and its process group has been killed.
  ///   - group: the program's process group.
  init(output: Int32, errors: Int32, bell: Int32, group: pid_t) {
    descriptors = [output, errors, bell]
    self.group = group
    waiting = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  }

  deinit {
    for descriptor in descriptors { close(descriptor) }
    buffer.deallocate()
  }

  /// Reads until the program and its process group have ended and all of their output is read.
  ///
  /// - Parameter take: receives the bytes.
  func run(_ take: (LaunchedProcess.Stream, UnsafeRawBufferPointer) -> Void) {
    while waiting[2].revents == 0 { readOnce(timeout: -1, take) }
    waiting[2].fd = -1
    // Killed processes take a moment to end and to close their ends of the pipes.
    let limit = ContinuousClock.now + Self.grace
    while isOpen, kill(-group, 0) == 0, ContinuousClock.now < limit { readOnce(timeout: 10, take) }
    // At most what fits into a pipe, because other processes may hold the pipes and still write.
    var rest = Self.largestPipe
    while isOpen, rest > 0 {
      let count = readOnce(timeout: 0, take)
      if count == 0 { return }
      rest -= count
    }
  }

  /// Whether a pipe has not reached its end.
  private var isOpen: Bool { waiting[0].fd >= 0 || waiting[1].fd >= 0 }

  /// Waits for data and reads once from each pipe, so that endless output on one stream does not delay the rest.
  ///
  /// - Returns: the number of bytes.
  @discardableResult
  private func readOnce(timeout: Int32, _ take: (LaunchedProcess.Stream, UnsafeRawBufferPointer) -> Void) -> Int {
    // A signal interrupts poll(2) without data.
    guard poll(&waiting, nfds_t(waiting.count), timeout) > 0 else { return 0 }
    var all = 0
    for (place, stream) in [LaunchedProcess.Stream.output, .errors].enumerated() where waiting[place].revents != 0 {
      let count = read(waiting[place].fd, buffer.baseAddress, buffer.count)
      if count > 0 {
        take(stream, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        all += count
      } else if count == 0 || errno != EINTR {
        // Excludes the pipe from poll(2) after its end.
        waiting[place].fd = -1
      }
    }
    return all
  }
}
