import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Files that are there whole or not at all: each is written beside its place, and takes it by one rename.
package enum WholeFiles {
  /// Reads a file.
  ///
  /// - Throws: an ``EnvironmentError``: `noCassette` when there is none, `inputOutput` when reading fails.
  package static func read(_ path: String) throws(EnvironmentError) -> [UInt8] {
    guard FileManager.default.fileExists(atPath: path) else {
      throw EnvironmentError(.noCassette, "there is no file \(path); check the name")
    }
    do {
      return [UInt8](try contents(of: path))
    } catch {
      throw EnvironmentError(
        .inputOutput, "cannot read \(path): \(error.systemReason); mend that, or name another file")
    }
  }

  /// All that a file, or a pipe, has. Read, not mapped: a file that shrinks under a map would end the process.
  static func contents(of path: String) throws -> Data {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    defer { try? file.close() }
    return try file.readToEnd() ?? Data()
  }

  /// Writes files, and the folders that they need.
  ///
  /// - Parameters:
  ///   - files: paths and contents.
  ///   - isReplacing: whether files that are there may go.
  /// - Throws: an ``EnvironmentError`` of kind `cannotWrite`; nothing has been changed then, unless a rename itself failed.
  package static func write(
    _ files: [(path: String, bytes: [UInt8])], isReplacing: Bool
  ) throws(EnvironmentError) {
    for (path, _) in files {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { continue }
      guard !isFolder.boolValue else {
        throw EnvironmentError(.cannotWrite, "\(path) is a folder; name a file with --to")
      }
      // A rename would put a file in the place of a pipe or a device.
      let kind = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
      guard kind == .typeRegular || kind == .typeSymbolicLink else {
        throw EnvironmentError(.cannotWrite, "\(path) is no regular file; name another with --to")
      }
      guard isReplacing else {
        throw EnvironmentError(
          .cannotWrite, "\(path) is there already; name another place with --to, or replace it with --force")
      }
    }
    var written: [String] = []
    do throws(EnvironmentError) {
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
