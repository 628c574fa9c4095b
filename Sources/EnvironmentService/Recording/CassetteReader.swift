package import Cassettes
import Foundation
package import HTTPMessages

/// A cassette as it lies on the disk, read whole.
package struct StoredCassette: Sendable {
  /// Interactions and the world in which they were recorded.
  package var cassette: Cassette
  /// The string store beside it; an empty one where there is none.
  package var strings: StringStoreFile
  /// Whether a seal was killed after it had replaced the string store and before the HAR: ``strings`` is the old one
  /// then, as the HAR is.
  var isTorn = false
}

/// Reads cassettes.
package enum CassetteReader {
  /// Reads the HAR and its string store.
  ///
  /// - Throws: an ``EnvironmentError``: `noCassette` when there is no HAR, `broken` when a file is damaged or the two
  ///   do not belong together, `inputOutput` when reading fails.
  package static func read(_ location: CassetteLocation) throws(EnvironmentError) -> StoredCassette {
    guard location.exists else { throw missing(location) }
    try checkIsFile(location)
    let cassette: Cassette
    do {
      cassette = try readHAR(location.har)
    } catch let error as CassetteError {
      throw EnvironmentError(.broken, "\(error)")
    } catch {
      throw unreadable(location.har, error)
    }
    var isTorn = false
    var strings = try readStrings(location.strings, seed: cassette.header.seed)
    if cassette.header.recording != strings.recording,
      FileManager.default.fileExists(atPath: location.stringsBefore),
      let before = try? readStrings(location.stringsBefore, seed: cassette.header.seed),
      before.recording == cassette.header.recording
    {
      // A seal was killed after it had replaced the one file and before the other.
      strings = before
      isTorn = true
    }
    if let ours = cassette.header.recording, let theirs = strings.recording, ours != theirs {
      throw EnvironmentError(
        .broken,
        "\(location.har) and \(location.strings) are of different recordings (\(ours), \(theirs)); "
          + "take both from the same commit, run diorama cassette check --recover \(location), or record anew")
    }
    return StoredCassette(cassette: cassette, strings: strings, isTorn: isTorn)
  }

  /// The bytes of a recorded body.
  ///
  /// - Throws: an ``EnvironmentError`` when its file is missing or not as long as recorded.
  package static func bytes(of body: RecordedBody, in location: CassetteLocation) throws(EnvironmentError) -> [UInt8] {
    switch body {
    case .bytes(let bytes): return bytes
    case .file(let name, let length):
      let file = try Self.file(name, length: length, in: location)
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

  /// Opens a recorded body that lies in a file.
  ///
  /// - Parameters:
  ///   - name: as in ``RecordedBody/file(name:length:)``.
  ///   - length: as recorded.
  ///   - location: the cassette.
  /// - Returns: the file, from its beginning.
  /// - Throws: an ``EnvironmentError`` when it is missing or not as long as recorded.
  package static func file(
    _ name: String, length: Int, in location: CassetteLocation
  ) throws(EnvironmentError) -> FileBody {
    let path = "\(location.folder)/\(name)"
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw EnvironmentError(
        .broken, "\(path) is missing, a body that \(location.har) needs; take it from version control or record anew")
    }
    let file = FileBody(owning: descriptor, length: length)
    var status = stat()
    guard fstat(descriptor, &status) == 0, Int(status.st_size) == length else {
      throw EnvironmentError(
        .broken,
        "\(path) has \(status.st_size) bytes and not \(length) as recorded; restore it or record anew")
    }
    return file
  }

  static func missing(_ location: CassetteLocation, advice record: String? = nil) -> EnvironmentError {
    let partial = try? PartialFile(of: location)
    let isUnfinished = partial.map { !$0.places.isEmpty || !$0.strings.isEmpty } ?? false
    let advice =
      isUnfinished
      ? "an unfinished recording is there: diorama cassette check --recover \(location) makes it a cassette"
      : "record it with "
        + (record ?? "diorama run --mode record --cassette \(location) --upstream NAME=URL -- COMMAND")
    return EnvironmentError(.noCassette, "there is no cassette \(location.har); \(advice)")
  }

  private static func readStrings(
    _ path: String, seed: String?
  ) throws(EnvironmentError) -> StringStoreFile {
    guard FileManager.default.fileExists(atPath: path) else {
      return StringStoreFile(seed: seed ?? "", recording: nil, entries: [:])
    }
    do {
      let data = try WholeFiles.contents(of: path)
      return try data.withUnsafeBytes { try StringStoreFile.read($0, name: path) }
    } catch let error as CassetteError {
      throw EnvironmentError(.broken, "\(error)")
    } catch {
      throw unreadable(path, error)
    }
  }

  private static func unreadable(_ path: String, _ error: any Error) -> EnvironmentError {
    EnvironmentError(
      .inputOutput, "cannot read \(path): \(error.systemReason); mend that, or name another cassette")
  }

  /// - Throws: an ``EnvironmentError`` when a folder has the name of the HAR.
  static func checkIsFile(_ location: CassetteLocation) throws(EnvironmentError) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: location.har, isDirectory: &isFolder), isFolder.boolValue else {
      return
    }
    throw EnvironmentError(.broken, "\(location.har) is a folder, not a HAR; move it away or name another cassette")
  }

  /// Reads a HAR with little more memory than its interactions take.
  private static func readHAR(_ path: String) throws -> Cassette {
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
      let file = try ConsumedFile(path)
      if let cassette = try? HAR.read(file.bytes, name: path, isDone: { file.giveBack($0) }) { return cassette }
    }
    // Once more in one piece: the error's line and column are counted from the beginning.
    return try WholeFiles.contents(of: path).withUnsafeBytes { try HAR.read($0, name: path) }
  }
}
