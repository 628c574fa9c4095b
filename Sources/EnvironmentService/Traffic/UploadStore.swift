import Basics
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Keeps a body until it has come whole: in memory while it is short, else in a file that nobody else
/// can find.
///
/// The file is for its owner alone, has no name from the moment at which it was made, and is gone with the process, however
/// that ends: what is secret in the body lies nowhere afterwards. It is made in `TMPDIR`, else in `/var/tmp`, which is a disk
/// also where `/tmp` is memory.
final class UploadStore {
  /// The most bytes in memory.
  static let memoryLimit = 1 << 20

  private let folder: String
  private var bytes: [UInt8] = []
  private var descriptor: Int32 = -1
  private var length = 0

  init(folder: String = UploadStore.usualFolder) { self.folder = folder }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Where the files of large bodies are made.
  static var usualFolder: String {
    if let folder = ProcessInfo.processInfo.environment["TMPDIR"], !folder.isEmpty { return folder }
    return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp"
  }

  /// Adds bytes.
  ///
  /// - Throws: ``Problem`` where there is no room for them.
  func append(_ chunk: [UInt8]) throws(Problem) {
    guard !chunk.isEmpty else { return }
    guard descriptor >= 0 || bytes.count + chunk.count > Self.memoryLimit else { return bytes += chunk }
    do throws(CodedError) {
      if descriptor < 0 {
        try open()
        try write(bytes)
        bytes = []
      }
      try write(chunk)
    } catch {
      throw Problem(
        status: 507, title: "The body cannot be kept",
        detail: "\(error.message); a body of more than \(Self.memoryLimit) bytes waits in \(folder) until it is whole: "
          + "set TMPDIR to a folder with room for it")
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

  /// The body, whole, to be read from its beginning as often as one likes. Nothing can be added after that.
  func finish() -> Body {
    guard descriptor >= 0 else { return .bytes(bytes) }
    let file = FileBody(owning: descriptor, length: length)
    descriptor = -1
    return .file(file)
  }
}
