package import Basics
package import Cassettes
import Foundation
package import HTTPMessages
import LaunchContract

/// A cassette with its string store.
package struct StoredCassette: Sendable {
  /// The interactions, and the environment in which they were recorded.
  package var cassette: Cassette
  /// The string store beside it; empty if there is none.
  package var strings: StringStoreFile
  /// Whether saving the cassette was interrupted after the string store was replaced and before the HAR. ``strings`` is
  /// then the old store, which belongs to the HAR.
  var isTorn = false
}

/// Reads cassettes.
package enum CassetteReader {
  /// Reads the HAR and its string store.
  ///
  /// - Throws: a ``CodedError``: `noCassette` if there is no HAR, `broken` if a file is corrupt or the two do
  ///   not belong together, `inputOutput` if reading fails.
  package static func read(_ location: CassetteLocation) throws(CodedError) -> StoredCassette {
    try checkIsFile(location)
    guard location.exists else { throw missing(location) }
    let cassette: Cassette
    do {
      cassette = try readHAR(location.har)
    } catch let error as CodedError where error.kind == .broken {
      throw error
    } catch {
      throw unreadable(location.har, error)
    }
    var isTorn = false
    var strings = try readStrings(location.strings, of: location, seed: cassette.header.seed)
    if cassette.header.recording != strings.recording,
      FileManager.default.fileExists(atPath: location.stringsBefore),
      let before = try? readStrings(location.stringsBefore, of: location, seed: cassette.header.seed),
      before.recording == cassette.header.recording
    {
      // Saving was interrupted after the first of the two files was replaced.
      strings = before
      isTorn = true
    }
    if let ours = cassette.header.recording, let theirs = strings.recording, ours != theirs {
      throw CodedError(
        .broken,
        "\(location.har) and \(location.strings) are of different recordings (\(ours), \(theirs)); "
          + "take both from the same commit, run diorama cassette check --recover \(location), or re-record")
    }
    return StoredCassette(cassette: cassette, strings: strings, isTorn: isTorn)
  }

  /// The bytes of a recorded body.
  ///
  /// - Throws: a ``CodedError`` if its file is missing or not as long as recorded.
  package static func bytes(of body: RecordedBody, in location: CassetteLocation) throws(CodedError) -> [UInt8] {
    switch body {
    case .bytes(let bytes): return bytes
    case .file(let name, let length):
      let file = try Self.file(name, length: length, in: location)
      let length = file.length
      guard length <= WholeFiles.limit else {
        throw CodedError(
          .broken,
          "\(location.folder)/\(name) has \(length) bytes; the limit for this is \(WholeFiles.limit); it can only be "
            + "replayed")
      }
      do {
        return try [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
          while count < length {
            count += try file.read(at: count, into: .init(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...]))
          }
        }
      } catch {
        throw unreadable("\(location.folder)/\(name)", error)
      }
    }
  }

  /// Opens a recorded body that is in a file.
  ///
  /// - Parameters:
  ///   - name: the name in ``RecordedBody/file(name:length:)``.
  ///   - length: the recorded length.
  ///   - location: the cassette.
  /// - Returns: the file, from its beginning.
  /// - Throws: a ``CodedError`` if it is missing or not as long as recorded.
  package static func file(
    _ name: String, length: Int, in location: CassetteLocation
  ) throws(CodedError) -> FileBody {
    let file = try location.openBody(name)
    // Some tools leave the length out.
    guard length == 0 || file.size == length else {
      throw CodedError(
        .broken,
        "\(location.folder)/\(name) has \(file.size) bytes, but \(length) were recorded; restore it or re-record the "
          + "cassette")
    }
    let size = file.size
    return FileBody(owning: file.release(), length: size)
  }

  static func missing(
    _ location: CassetteLocation, because reason: String = "", advice record: String? = nil
  ) -> CodedError {
    let unfinished = (try? CassetteSealer.unfinished(location)).flatMap { $0.isRunning || !$0.isEmpty ? $0 : nil }
    let failed = location.recoverable.first.map {
      "\($0.har) has the recording of a failed run; make it the cassette with: "
        + "diorama cassette check --recover \(location); or re-record with "
    }
    let command = record ?? "diorama run --mode record --cassette \(location) --upstream NAME=URL -- COMMAND"
    let advice = unfinished?.text(location) ?? "\(failed ?? "record it with ")\(command)"
    return CodedError(.noCassette, "there is no cassette \(location.har)\(reason); \(advice)")
  }

  private static func readStrings(
    _ path: String, of location: CassetteLocation, seed: String?
  ) throws(CodedError) -> StringStoreFile {
    do {
      guard let data = try stringsData(path, of: location) else {
        return StringStoreFile(seed: seed ?? "", recording: nil, entries: [:])
      }
      return try data.withUnsafeBytes { try StringStoreFile.read($0, name: path) }
    } catch let error as CodedError where error.kind == .broken {
      throw error
    } catch {
      throw unreadable(path, error)
    }
  }

  /// Reads a string store; nil if there is none. It may be a link only if the HAR is one.
  static func stringsData(_ path: String, of location: CassetteLocation) throws(CodedError) -> Data? {
    do { return try InputFile(path, followsLinks: isLink(location.har)).read(atMost: WholeFiles.limit) } catch {
      if error.isMissing { return nil }
      throw error
    }
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  private static func unreadable(_ path: String, _ error: any Error) -> CodedError {
    CodedError(
      .inputOutput, "cannot read \(path): \(error.systemReason); fix it, or name another cassette")
  }

  /// - Throws: a ``CodedError`` if the HAR's path is a folder, pipe, device or socket.
  static func checkIsFile(_ location: CassetteLocation) throws(CodedError) {
    guard let kind = InputFile.refusedKind(location.har) else { return }
    throw CodedError(.broken, "\(location.har) is \(kind), not a HAR; move it away or name another cassette")
  }

  /// The maximum size of a HAR in bytes, because it is read into memory. Large bodies have their own files.
  private static let limit = 2 << 30

  /// Reads a HAR, with little more memory than its interactions take.
  private static func readHAR(_ path: String) throws -> Cassette {
    let file = try ConsumedFile(path, atMost: limit)
    if let cassette = try? HAR.read(file.bytes, name: path, isDone: { file.giveBack($0) }) { return cassette }
    // Read it again in one piece, so that the error's line and column are right.
    return try InputFile(path).read(atMost: limit).withUnsafeBytes { try HAR.read($0, name: path) }
  }
}
