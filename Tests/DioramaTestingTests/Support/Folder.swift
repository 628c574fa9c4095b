import Foundation

/// A folder of one test, gone with this value.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/diorama-testing-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in it.
  func file(_ name: String) -> String { "\(path)/\(name)" }

  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }

  func read(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: file(name))), as: UTF8.self)
  }
}
