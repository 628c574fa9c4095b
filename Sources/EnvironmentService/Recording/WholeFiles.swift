package import Basics
import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Writes files completely or not at all: each is written under a temporary name, then renamed.
package enum WholeFiles {
  /// The maximum size in bytes of a file that a user names, except those of settings and keys.
  package static let limit = 1 << 30

  /// Reads a file that a user names.
  ///
  /// - Parameters:
  ///   - path: the file's path.
  ///   - acceptsPipes: whether it may be a pipe.
  /// - Returns: its bytes.
  /// - Throws: a ``CodedError``: `noCassette` if it does not exist, `inputOutput` if reading fails.
  package static func read(_ path: String, acceptsPipes: Bool = false) throws(CodedError) -> [UInt8] {
    do {
      return [UInt8](try InputFile(path, acceptsPipes: acceptsPipes).read(atMost: limit))
    } catch {
      if error.isMissing { throw CodedError(.noCassette, "there is no file \(path); check the name") }
      throw CodedError(.inputOutput, "cannot read \(path): \(error); fix it, or name another file")
    }
  }

  /// Writes files, and creates their folders.
  ///
  /// - Parameters:
  ///   - files: paths and contents.
  ///   - isReplacing: whether existing files may be replaced.
  /// - Throws: a ``CodedError`` of kind `cannotWrite`. Nothing has changed then, unless a rename failed.
  package static func write(
    _ files: [(path: String, bytes: [UInt8])], isReplacing: Bool
  ) throws(CodedError) {
    for (path, _) in files {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { continue }
      guard !isFolder.boolValue else {
        throw CodedError(.cannotWrite, "\(path) is a folder; name a file with --to")
      }
      // A rename would replace a pipe or a device with a file.
      let kind = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
      guard kind == .typeRegular || kind == .typeSymbolicLink else {
        throw CodedError(.cannotWrite, "\(path) is not a regular file; name another one with --to")
      }
      guard isReplacing else {
        throw CodedError(
          .cannotWrite, "\(path) already exists; name another file with --to, or replace it with --force")
      }
    }
    var written: [String] = []
    do {
      for (path, bytes) in files {
        try FileWriting.createFolder(folder(of: path), for: path)
        let new = "\(path).new-\(getpid())"
        var file = try BufferedFile(new)
        written.append(new)
        try file.write(bytes)
        try file.finish()
      }
      for (index, (path, _)) in files.enumerated() { try FileWriting.rename(written[index], to: path) }
    } catch {
      for path in written { unlink(path) }
      throw error
    }
    for folder in Set(files.map { folder(of: $0.path) }) { try FileWriting.synchronizeFolder(folder) }
  }

  private static func folder(of path: String) -> String {
    let folder = (path as NSString).deletingLastPathComponent
    return folder.isEmpty ? "." : folder
  }
}
