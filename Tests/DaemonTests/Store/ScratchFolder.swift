import Foundation

/// A folder that is removed, with all in it, when nobody holds this any more.
final class ScratchFolder: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "diorama-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    chmod(path, 0o700)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The state folder in it.
  var state: String { path + "/state" }
  var database: String { state + "/state.sqlite" }

  /// All files of the state folder by name.
  func files() throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: state)
    return try Dictionary(
      uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(state)/\($0)"))) })
  }

  func mode(of path: String) -> Int {
    var status = stat()
    return lstat(path, &status) == 0 ? Int(status.st_mode & 0o777) : -1
  }
}

extension Data {
  init(_ text: String) { self.init(text.utf8) }
}
