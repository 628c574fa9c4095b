package import Basics
import Foundation
import HTTPMessages
package import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The folder `NAME.bodies` beside a cassette, opened to be changed. No link in it is followed, nor is it one itself: a
/// cassette may come from somebody who is not trusted.
struct BodiesFolder: ~Copyable {
  let path: String
  private let descriptor: Int32

  /// Opens the folder.
  ///
  /// - Returns: nil if there is none.
  /// - Throws: a ``CodedError`` when it is a link or no folder.
  init?(of location: CassetteLocation) throws(CodedError) {
    let descriptor = open(location.bodies, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code = errno
      var status = stat()
      // Nor is there one where a folder above it is a file.
      if lstat(location.bodies, &status) != 0, errno == ENOENT || errno == ENOTDIR { return nil }
      throw Self.failure(location.bodies, code)
    }
    path = location.bodies
    self.descriptor = descriptor
  }

  /// Opens the folder, and creates it if needed.
  ///
  /// - Throws: a ``CodedError`` when it is a link or no folder, or cannot be made.
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
        .cannotWrite, "\(path) is not a folder, or is a link; remove it so that bodies can be stored there")
    default: FileWriting.failure("read", path)
    }
  }

  /// The names in it that bodies get here, on their way or for good: what else a user has put there is not ours.
  var names: [String] {
    // Of its own, since closing the stream closes it. Not dup(2), which would share the place in the folder.
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

  /// Makes a file, in the place of one that is there.
  func create(_ name: String) throws(CodedError) -> Int32 {
    remove(name)
    let new = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard new >= 0 else { throw FileWriting.failure("write", "\(path)/\(name)") }
    return new
  }

  /// Puts a file in another's place, in one step.
  func rename(_ old: String, to new: String) throws(CodedError) {
    guard renameat(descriptor, old, descriptor, new) == 0 else { throw FileWriting.failure("write", "\(path)/\(new)") }
  }

  func remove(_ name: String) { unlinkat(descriptor, name, 0) }

  /// Gives a file of another folder a name here too; a copy where the file system has no links. One that is there stays.
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

  /// Makes the names in it survive a power cut.
  func synchronize() throws(CodedError) {
    // Some file systems cannot synchronise a folder (EINVAL); there a rename is as safe as they make it.
    guard fsync(descriptor) == 0 || errno == EINVAL else { throw FileWriting.failure("write", path) }
  }
}

extension CassetteLocation {
  /// Opens a file in which a recorded body lies, without following a link: in ``bodies``, or as Playwright names files
  /// beside its HAR, the 40 digits of a SHA-1 and an ending.
  ///
  /// The cassette may come from somebody who is not trusted, and must not make any other file readable.
  ///
  /// - Parameter name: as in `RecordedBody.file`.
  /// - Returns: the open file.
  /// - Throws: a ``CodedError`` of kind `broken` that says nothing of what is in a file that is refused.
  package func openBody(_ name: String) throws(CodedError) -> InputFile {
    let path = "\(folder)/\(name)"
    // By bytes, as the system does: for Swift a slash may be one character with what stands beside it.
    let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
      String(Substring($0))
    }
    let isOurs = parts.count == 2 && parts[0] == bodiesName && !["", ".", ".."].contains(parts[1])
    guard isOurs || Self.isPlaywrights(name) else {
      throw CodedError(
        .broken,
        "\(har) refers to '\(name)' as a body: only files in \(bodiesName)/, or named by a SHA-1 beside the HAR, are "
          + "read; correct the name, or re-record the cassette")
    }
    let place = open(isOurs ? bodies : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (isOurs ? O_NOFOLLOW : 0))
    guard place >= 0 else {
      if errno == ENOENT { throw missingBody(path) }
      let isFolder = errno != ELOOP && errno != ENOTDIR
      let reason = isFolder ? String(cString: strerror(errno)) : "\(bodies) is a link or no folder"
      throw CodedError(.broken, "\(path), a body of \(har), cannot be read: \(reason); restore the folder")
    }
    defer { close(place) }
    do throws(CodedError) {
      return try InputFile(parts[parts.count - 1], in: place, followsLinks: false)
    } catch {
      if error.isMissing { throw missingBody(path) }
      throw CodedError(
        .broken, "\(path), a body of \(har), cannot be read: \(error); restore it or re-record the cassette")
    }
  }

  private func missingBody(_ path: String) -> CodedError {
    CodedError(
      .broken, "\(path) is missing, but \(har) needs it; restore it from version control or re-record the cassette")
  }

  /// Playwright's `calculateSha1(buffer) + '.' + (mime.getExtension(mimeType) || 'dat')`.
  private static func isPlaywrights(_ name: String) -> Bool {
    let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == 40, !parts[1].isEmpty else { return false }
    return parts[0].allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
      && parts[1].allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 || 0x41...0x5A ~= $0 }
  }
}
