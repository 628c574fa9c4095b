package import Basics
import Foundation
import HTTPMessages
package import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The folder `NAME.bodies` beside a cassette, opened for changes. Neither the folder nor a file in it may be a link,
/// because the cassette may come from an untrusted source.
struct BodiesFolder: ~Copyable {
  let path: String
  private let descriptor: Int32

  /// Opens the folder.
  ///
  /// - Returns: nil if there is none.
  /// - Throws: a ``CodedError`` if it is a link or not a folder.
  init?(of location: CassetteLocation) throws(CodedError) {
    let descriptor = open(location.bodies, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code = errno
      var status = stat()
      // A file in place of a parent folder means that there is no folder either.
      if lstat(location.bodies, &status) != 0, errno == ENOENT || errno == ENOTDIR { return nil }
      throw Self.failure(location.bodies, code)
    }
    path = location.bodies
    self.descriptor = descriptor
  }

  /// Opens the folder, creating it if needed.
  ///
  /// - Throws: a ``CodedError`` if it is a link or not a folder, or cannot be created.
  init(creating location: CassetteLocation) throws(CodedError) {
    try FileWriting.createFolder(location.folder, for: location.har)
    guard mkdir(location.bodies, 0o755) == 0 || errno == EEXIST else {
      throw FileWriting.failure("write", location.bodies)
    }
    guard let folder = try Self(of: location) else { throw FileWriting.failure("write", location.bodies) }
    self = folder
  }

  deinit { close(descriptor) }

  private static func failure(_ path: String, _ code: Int32) -> CodedError {
    errno = code
    return switch code {
    case ELOOP, ENOTDIR:
      CodedError(
        .cannotWrite, "\(path) is not a folder, or is a link; remove it")
    default: FileWriting.failure("read", path)
    }
  }

  /// The names of body files, finished or still being written. Other files in the folder are ignored.
  var names: [String] {
    // A separate descriptor, since closedir(3) closes it. One from dup(2) would share the read position.
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let stream = fdopendir(copy) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if BodySpool.isName(name) { names.append(name) }
    }
    return names
  }

  /// Creates a file, replacing an existing one.
  func create(_ name: String) throws(CodedError) -> Int32 {
    remove(name)
    let new = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard new >= 0 else { throw FileWriting.failure("write", "\(path)/\(name)") }
    return new
  }

  /// Renames a file atomically, replacing an existing one.
  func rename(_ old: String, to new: String) throws(CodedError) {
    guard renameat(descriptor, old, descriptor, new) == 0 else { throw FileWriting.failure("write", "\(path)/\(new)") }
  }

  func remove(_ name: String) { unlinkat(descriptor, name, 0) }

  /// Adds a file of another cassette's folder as a hard link, or as a copy if the file system has no links. An existing
  /// file is kept.
  func link(_ name: String, from location: CassetteLocation) throws(CodedError) {
    guard let folder = try BodiesFolder(of: location) else { throw FileWriting.failure("read", location.bodies) }
    if linkat(folder.descriptor, name, descriptor, name, 0) == 0 || errno == EEXIST { return }
    let file = try location.openBody("\(location.bodiesName)/\(name)")
    let copy = try create(name)
    defer { close(copy) }
    do {
      let size = file.size
      try FileBody(owning: file.release(), length: size).forEachPiece {
        try FileWriting.write($0, to: copy, path: "\(path)/\(name)")
      }
    } catch {
      throw CodedError(.cannotWrite, "cannot copy \(location.bodies)/\(name) to \(path): \(error)")
    }
  }

  /// Makes the names in the folder survive a power failure.
  func synchronize() throws(CodedError) {
    // Some file systems cannot synchronize a folder (EINVAL); a rename is then as safe as they make it.
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw FileWriting.failure("write", path) }
  }
}

extension CassetteLocation {
  /// Opens the file of a recorded body without following links. The file must be in ``bodies``, or beside the HAR with
  /// a name as Playwright gives it: the 40 digits of a SHA-1 and an extension.
  ///
  /// The cassette may come from an untrusted source, and must not make any other file readable.
  ///
  /// - Parameter name: the name in `RecordedBody.file`.
  /// - Returns: the open file.
  /// - Throws: a ``CodedError`` of kind `broken`, which reveals nothing about the contents of a refused file.
  package func openBody(_ name: String) throws(CodedError) -> InputFile {
    let path = "\(folder)/\(name)"
    // By bytes, as the system does. In Swift, a slash and a combining mark after it are one character.
    let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
      String(Substring($0))
    }
    let isOurs = parts.count == 2 && parts[0] == bodiesName && !["", ".", ".."].contains(parts[1])
    guard isOurs || Self.isPlaywrights(name) else {
      throw CodedError(
        .broken,
        "\(har) refers to '\(name)' as a body; only files in \(bodiesName)/, or with a SHA-1 name beside the HAR, are "
          + "read; fix the name, or re-record the cassette")
    }
    let place = open(isOurs ? bodies : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (isOurs ? O_NOFOLLOW : 0))
    guard place >= 0 else {
      if errno == ENOENT { throw missingBody(path) }
      let isFolder = errno != ELOOP && errno != ENOTDIR
      let reason = isFolder ? String(cString: strerror(errno)) : "\(bodies) is a link or not a folder"
      throw CodedError(.broken, "\(path), a body of \(har), cannot be read: \(reason); restore the folder")
    }
    defer { close(place) }
    do { return try InputFile(parts[parts.count - 1], in: place, followsLinks: false) } catch {
      if error.isMissing { throw missingBody(path) }
      throw CodedError(
        .broken, "\(path), a body of \(har), cannot be read: \(error); restore it or re-record the cassette")
    }
  }

  private func missingBody(_ path: String) -> CodedError {
    CodedError(
      .broken, "\(path) is missing, but \(har) needs it; restore it from version control or re-record the cassette")
  }

  /// Whether a name has Playwright's form: `calculateSha1(buffer) + '.' + (mime.getExtension(mimeType) || 'dat')`.
  private static func isPlaywrights(_ name: String) -> Bool {
    let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == 40, !parts[1].isEmpty else { return false }
    return parts[0].allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
      && parts[1].allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 || 0x41...0x5A ~= $0 }
  }
}
