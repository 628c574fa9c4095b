import Basics
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A new folder that is a copy of another one with some files added or replaced.
///
/// Its files are readable by all users, like those of the system.
struct FolderCopy {
  let path: String

  /// Creates an empty folder, or uses an existing one.
  ///
  /// - Throws: `CodedError` of kind `cannotWrite`.
  init(_ path: String) throws(CodedError) {
    self.path = path
    try Self.makeFolder(path)
  }

  /// The absolute path without links.
  var resolved: String { Self.resolve(path) ?? path }

  /// Copies what is in a folder and its folders: links as links, and files that can be read.
  ///
  /// - Parameter source: the folder.
  /// - Returns: the files that cannot be read.
  /// - Throws: `CodedError` of kind `cannotWrite`.
  func copy(_ source: String) throws(CodedError) -> [String] {
    guard let folder = opendir(source) else { return [source] }
    defer { closedir(folder) }
    var unreadable: [String] = []
    while let entry = readdir(folder) {
      let name = Self.name(entry)
      guard name != ".", name != ".." else { continue }
      let from = source + "/" + name
      switch FileKind(entry, at: from) {
      case .link:
        guard let target = Self.target(from) else { continue }
        try make(name) { symlink(target, $0) }
      case .folder:
        unreadable += try FolderCopy(path + "/" + name).copy(from)
      case .file:
        if let bytes = Self.read(from) { try write(bytes, to: name) } else { unreadable.append(from) }
      case .other:
        // Sockets and the like are not certificates.
        continue
      }
    }
    return unreadable
  }

  /// Writes a file in this folder, and creates its folders. It replaces a file or link of its name.
  ///
  /// - Parameters:
  ///   - bytes: the contents.
  ///   - name: the path relative to this folder; the part before the last slash must not lead through links.
  /// - Throws: `CodedError` of kind `cannotWrite`.
  func write(_ bytes: some ContiguousBytes, to name: String) throws(CodedError) {
    let parents = name.split(separator: "/").dropLast()
    for index in parents.indices { try Self.makeFolder(path + "/" + parents[...index].joined(separator: "/")) }
    try make(name) { path in
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
      guard descriptor >= 0 else { return -1 }
      // Whatever the umask is.
      fchmod(descriptor, 0o644)
      let isComplete = bytes.withUnsafeBytes { bytes in
        var position = 0
        while position < bytes.count, let start = bytes.baseAddress {
          let count = Foundation.write(descriptor, start + position, bytes.count - position)
          if count < 0, errno == EINTR { continue }
          guard count > 0 else { return false }
          position += count
        }
        return true
      }
      let code = errno
      close(descriptor)
      errno = code
      return isComplete ? 0 : -1
    }
  }

  /// Creates a link in this folder.
  ///
  /// - Throws: `CodedError` of kind `cannotWrite`.
  func link(_ name: String, to target: String) throws(CodedError) {
    try make(name) { symlink(target, $0) }
  }

  /// Whether there is something of this name, even a link to nothing.
  func contains(_ name: String) -> Bool { FileKind(path: path + "/" + name) != nil }

  /// Creates something new, and does not write through a link that is there.
  private func make(_ name: String, _ create: (String) -> Int32) throws(CodedError) {
    let path = path + "/" + name
    if create(path) == 0 { return }
    if errno == EEXIST, unlink(path) == 0, create(path) == 0 { return }
    throw Self.failure(path)
  }

  private static func makeFolder(_ path: String) throws(CodedError) {
    if mkdir(path, 0o755) == 0 {
      guard chmod(path, 0o755) == 0 else { throw failure(path) }
    } else {
      guard errno == EEXIST, FileKind(path: path) == .folder else { throw failure(path) }
    }
  }

  private static func failure(_ path: String) -> CodedError {
    CodedError(
      .cannotWrite,
      "cannot write the environment's certificates to \(path): \(String(cString: strerror(errno))); check the rights and "
        + "the free space of its folder")
  }

  // MARK: Reading

  /// Returns the contents of a file, or nil if it is not a regular file that can be read. Links are followed.
  static func read(_ path: String) -> [UInt8]? {
    var status = stat()
    // A pipe could block.
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return FileManager.default.contents(atPath: path).map(Array.init)
  }

  /// Returns the first of some files that can be read.
  static func firstReadable(_ paths: [String]) -> (path: String, bytes: [UInt8])? {
    for path in paths { if let bytes = read(path) { return (path, bytes) } }
    return nil
  }

  /// Returns the names of what is in a folder, in the order of their bytes; none if it cannot be read.
  static func names(in path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) { names.append(name(entry)) }
    return names.filter { $0 != "." && $0 != ".." }.sorted()
  }

  /// Returns the absolute path without links, or nil if there is nothing.
  static func resolve(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func name(_ entry: UnsafeMutablePointer<dirent>) -> String {
    withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: entry.pointee.d_name)) {
        String(cString: $0)
      }
    }
  }

  private static func target(_ link: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { buffer in
      guard let start = buffer.baseAddress else { return nil }
      let count = readlink(link, start, Int(PATH_MAX))
      guard count > 0 else { return nil }
      start[count] = 0
      return String(cString: start)
    }
  }
}

/// What a path leads to, without following a link.
enum FileKind {
  case file
  case folder
  case link
  case other

  init?(path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    switch status.st_mode & S_IFMT {
    case S_IFREG: self = .file
    case S_IFDIR: self = .folder
    case S_IFLNK: self = .link
    default: self = .other
    }
  }

  fileprivate init(_ entry: UnsafeMutablePointer<dirent>, at path: @autoclosure () -> String) {
    switch Int(entry.pointee.d_type) {
    case Int(DT_REG): self = .file
    case Int(DT_DIR): self = .folder
    case Int(DT_LNK): self = .link
    // Some file systems do not say.
    case Int(DT_UNKNOWN): self = Self(path: path()) ?? .other
    default: self = .other
    }
  }
}
