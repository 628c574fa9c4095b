import ControlAPI
import Foundation
import LaunchContract

/// What the state folder has for those who look for the daemon, and for its own next start.
struct ControlFiles: Sendable {
  /// The state folder.
  let folder: String

  var control: String { "\(folder)/control.json" }
  var socket: String { "\(folder)/control.sock" }
  var contracts: String { "\(folder)/contracts" }
  /// The most bytes of any of them.
  private static let limit = 1 << 20
  private var port: String { "\(folder)/control.port" }

  /// What a daemon that was killed has left, so that those who know it go on: its port and its token.
  func left() -> ControlFile? {
    guard let data = try? InputFile(control).read(atMost: Self.limit) else { return nil }
    return try? JSONDecoder().decode(ControlFile.self, from: data)
  }

  /// The port of the last daemon on this folder.
  var lastPort: UInt16? {
    (try? InputFile(port).read(atMost: Self.limit)).flatMap {
      UInt16(String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }
  }

  /// Says where the daemon is: a reader finds the old file or the new one, and only this user finds any.
  func write(_ file: ControlFile, port: UInt16) throws(FileFailure) {
    do {
      try write(try ContractJSON.encode(file) + Data("\n".utf8), to: control)
      try write(Data("\(port)\n".utf8), to: self.port)
    } catch let failure as FileFailure {
      throw failure
    } catch {
      throw FileFailure(description: "\(control): \(error)")
    }
  }

  /// Nobody is there any more.
  func remove() { unlink(control) }

  /// Makes the folder of launch contracts, which only this user may enter.
  func makeContracts() throws(FileFailure) {
    guard mkdir(contracts, 0o700) == 0 || errno == EEXIST, chmod(contracts, 0o700) == 0 else {
      throw FileFailure(contracts, errno)
    }
  }

  private func write(_ data: Data, to path: String) throws(FileFailure) {
    let new = "\(path).new"
    unlink(new)
    let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileFailure(new, errno) }
    let count = data.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
    let code = count == data.count ? 0 : errno
    close(descriptor)
    guard code == 0, count == data.count, rename(new, path) == 0 else {
      let failure = FileFailure(path, code == 0 ? errno : code)
      unlink(new)
      throw failure
    }
  }
}

/// A file of the state folder that cannot be made or written.
struct FileFailure: Error, CustomStringConvertible {
  let description: String

  init(description: String) { self.description = description }

  init(_ path: String, _ code: Int32) {
    description = "\(path): \(String(cString: strerror(code))); name another folder with --state"
  }
}
