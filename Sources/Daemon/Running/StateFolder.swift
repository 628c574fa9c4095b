package import Basics
import ControlAPI
import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The folder of a daemon's state. Only its owner can enter it, and only one daemon uses it at a time.
///
/// The lock (`flock(2)`) ends with the process. The file `lock` stays; it holds the daemon's process id for error
/// messages.
package final class StateFolder: Sendable {
  package let path: String
  private let lock: Int32

  /// Creates the folder and its parents if needed, and locks it.
  ///
  /// - Parameter path: an absolute path.
  /// - Throws: ``CodedError``: `noUpstream` if another daemon uses it, `cannotWrite` if it belongs to another user, or is
  ///   accessible to others and not empty. Nothing has changed then.
  package init(_ path: String) throws(CodedError) {
    self.path = path
    try Self.makeFolder(path)
    try Self.makePrivate(path)
    lock = try Self.lock(in: path)
  }

  deinit {
    // Removes the process id, which is no longer that of a running daemon.
    ftruncate(lock, 0)
    // Explicitly, since a child between fork and exec still holds the descriptor, and with it the lock.
    flock(lock, LOCK_UN)
    close(lock)
  }

  /// Whether the locked folder is still the one at this path. It may have been removed, and created again by another
  /// daemon.
  package var isThere: Bool {
    var opened = stat()
    var named = stat()
    return fstat(lock, &opened) == 0 && stat(self.path(of: "lock"), &named) == 0 && opened.st_ino == named.st_ino
      && opened.st_dev == named.st_dev
  }

  /// Returns the path of a file in the folder.
  package func path(of name: String) -> String { "\(path)/\(name)" }

  private static func makeFolder(_ path: String) throws(CodedError) {
    guard mkdir(path, 0o700) != 0 else { return }
    switch errno {
    case EEXIST: return
    case ENOENT:
      let parent = (path as NSString).deletingLastPathComponent
      guard !parent.isEmpty, parent != path else { throw failure(path, "cannot be created") }
      try makeFolder(parent)
      guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure(path, "cannot be created") }
    default: throw failure(path, "cannot be created")
    }
  }

  private static func makePrivate(_ path: String) throws(CodedError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path, "cannot be opened") }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure(path, "cannot be examined") }
    guard status.st_uid == geteuid() else {
      throw CodedError(
        .cannotWrite,
        "the state folder '\(path)' belongs to user \(status.st_uid), not to you (\(geteuid())); choose another folder "
          + "with --state or DIORAMA_HOME")
    }
    guard status.st_mode & 0o077 != 0 else { return }
    guard isEmpty(path), fchmod(descriptor, 0o700) == 0 else {
      throw CodedError(
        .cannotWrite,
        "the state folder '\(path)' is accessible to other users (mode \(String(status.st_mode & 0o777, radix: 8))); check "
          + "that all files in it are yours, then run: chmod 700 '\(path)'")
    }
  }

  private static func isEmpty(_ path: String) -> Bool {
    (try? FileManager.default.contentsOfDirectory(atPath: path))?.isEmpty ?? false
  }

  private static func lock(in path: String) throws(CodedError) -> Int32 {
    let file = "\(path)/lock"
    let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure(path, "cannot be written to") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let isInUse = errno == EWOULDBLOCK
      let error = isInUse ? inUse(path, pid: pid(in: descriptor)) : failure(path, "cannot be locked")
      close(descriptor)
      throw error
    }
    let text = "\(getpid())\n"
    guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, text, text.utf8.count, 0) == text.utf8.count else {
      let error = failure(path, "cannot be written to")
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// The process id in the lock file; nil if the other daemon hasn't written it yet.
  private static func pid(in descriptor: Int32) -> Int32? {
    var text = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &text, text.count, 0)
    return Int32(String(decoding: text.prefix(max(0, count)).prefix { $0 != 0x0A }, as: UTF8.self))
  }

  private static func inUse(_ path: String, pid: Int32?) -> CodedError {
    CodedError(
      .noUpstream,
      "the state folder '\(path)' is in use by another daemon\(pid.map { ", process \($0)" } ?? ""); stop it with "
        + "'diorama serve --stop', or choose another folder with --state")
  }

  private static func failure(_ path: String, _ what: String) -> CodedError {
    let code = errno
    let isFull = code == ENOSPC || code == EDQUOT
    // Any error but EIO means that the folder can't be used.
    return CodedError(
      code == EIO ? .inputOutput : .cannotWrite,
      "the state folder '\(path)' \(what): \(String(cString: strerror(code))); "
        + (isFull ? "free some space" : "choose another folder with --state or DIORAMA_HOME"))
  }
}

/// The files with which clients find the daemon, and with which the next daemon continues.
struct ControlFiles: Sendable {
  /// The state folder.
  let folder: String

  var control: String { "\(folder)/control.json" }
  var socket: String { "\(folder)/control.sock" }
  var contracts: String { "\(folder)/contracts" }
  /// The tokens of programs on other machines.
  var tokens: String { "\(folder)/tokens.json" }
  /// The daemon's pools and leases, if it shares them with no other.
  var fleet: String { "\(folder)/fleet.sqlite" }
  /// The key for the secrets in it.
  var storeKey: String { "\(folder)/store.key" }
  /// The self-signed certificate for them, and its key.
  var certificate: String { "\(folder)/tls.pem" }
  var certificateKey: String { "\(folder)/tls.key" }
  /// The maximum size of each file, in bytes.
  private static let limit = 1 << 20
  private var port: String { "\(folder)/control.port" }

  /// The control file of a daemon that was killed. Its token and port stay valid, so that clients can continue.
  func left() -> ControlFile? {
    guard let data = try? InputFile(control).read(atMost: Self.limit) else { return nil }
    return try? JSONDecoder().decode(ControlFile.self, from: data)
  }

  /// The port of the last daemon in this folder.
  var lastPort: UInt16? {
    (try? InputFile(port).read(atMost: Self.limit)).flatMap {
      UInt16(String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }
  }

  /// Writes the control file atomically, readable by this user only.
  func write(_ file: ControlFile, port: UInt16) throws(CodedError) {
    do {
      try write(try JSON.encode(file) + Data("\n".utf8), to: control)
      try write(Data("\(port)\n".utf8), to: self.port)
    } catch {
      throw error as? CodedError ?? CodedError(.inputOutput, "\(control): \(error)")
    }
  }

  /// Removes the control file.
  func remove() { unlink(control) }

  /// The daemon's identity in its fleet, which stays the same across restarts.
  func hostID() throws(CodedError) -> String {
    let path = "\(folder)/host.id"
    if let data = try? InputFile(path).read(atMost: 100) {
      let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      if UUID(uuidString: text) != nil { return text }
    }
    let id = UUID().uuidString.lowercased()
    try write(Data("\(id)\n".utf8), to: path)
    return id
  }

  /// Creates the folder of launch contracts, which only this user may enter.
  func makeContracts() throws(CodedError) {
    guard mkdir(contracts, 0o700) == 0 || errno == EEXIST, chmod(contracts, 0o700) == 0 else {
      throw CodedError(contracts, errno: errno)
    }
  }

  /// Replaces a file atomically; only this user can read it.
  func write(_ data: Data, to path: String) throws(CodedError) {
    let new = "\(path).new"
    unlink(new)
    let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw CodedError(new, errno: errno) }
    let count = data.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
    let code = count == data.count ? 0 : errno
    close(descriptor)
    guard code == 0, count == data.count, rename(new, path) == 0 else {
      let failure = CodedError(path, errno: code == 0 ? errno : code)
      unlink(new)
      throw failure
    }
  }
}

extension CodedError {
  /// A file in the state folder that can't be created or written.
  fileprivate init(_ path: String, errno code: Int32) {
    self.init(.inputOutput, "\(path): \(String(cString: strerror(code))); choose another folder with --state")
  }
}
