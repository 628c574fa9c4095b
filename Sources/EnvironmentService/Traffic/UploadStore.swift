import Basics
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Holds a body until it is complete: in memory while it is short, then in an unnamed file.
///
/// The file is accessible to its owner only, is unlinked at once, and disappears with the process, so that no secret in
/// the body stays on disk. It is created in `TMPDIR`, or else in `/var/tmp`, which is on disk even if `/tmp` is in
/// memory.
final class UploadStore {
  /// The maximum size in bytes of a body that is held in memory.
  static let memoryLimit = 1 << 20

  private let folder: String
  private var bytes: [UInt8] = []
  private var descriptor: Int32 = -1
  private var length = 0

  init(folder: String = UploadStore.usualFolder) { self.folder = folder }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// The folder for the files of large bodies.
  static var usualFolder: String {
    if let folder = ProcessInfo.processInfo.environment["TMPDIR"], !folder.isEmpty { return folder }
    return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp"
  }

  /// Adds bytes to the body.
  ///
  /// - Throws: a ``Problem`` if they cannot be stored.
  func append(_ chunk: [UInt8]) throws(Problem) {
    guard !chunk.isEmpty else { return }
    guard descriptor >= 0 || bytes.count + chunk.count > Self.memoryLimit else { return bytes += chunk }
    do {
      if descriptor < 0 {
        try open()
        try write(bytes)
        bytes = []
      }
      try write(chunk)
    } catch {
      throw Problem(
        status: 507, title: "The body cannot be stored",
        detail: "\(error.message); a body of more than \(Self.memoryLimit) bytes waits in \(folder) until complete; "
          + "set TMPDIR to a folder with enough space")
    }
  }

  private func open() throws(CodedError) {
    let path = "\(folder)/diorama-\(getpid())-\(UUID().uuidString)"
    descriptor = try FileWriting.open(
      path, O_RDWR | O_CREAT | O_EXCL, mode: 0o600, isRecording: false)
    unlink(path)
  }

  private func write(_ chunk: [UInt8]) throws(CodedError) {
    try FileWriting.write(chunk, to: descriptor, path: folder, isRecording: false)
    length += chunk.count
  }

  /// Returns the complete body, which can be read repeatedly. Nothing can be added afterwards.
  func finish() -> Body {
    guard descriptor >= 0 else { return .bytes(bytes) }
    let file = FileBody(owning: descriptor, length: length)
    descriptor = -1
    return .file(file)
  }
}
