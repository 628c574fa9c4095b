import Foundation
import TestSupport
import Testing

/// A folder of one test, gone with this value.
final class Folder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/diorama-command-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in it.
  func file(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ text: String, to name: String, mode: Int = 0o644) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(name))
  }

  /// A script, written by another process: while a file of ours is open for writing in a child that another test is
  /// just starting, it could not be run (ETXTBSY).
  func writeScript(_ text: String, to name: String) throws {
    let words = ["sh", "-c", "printf %s \"$1\" >\"$2\"; chmod +x \"$2\"", "sh", text, file(name)]
    _ = try Child(words.map { Array($0.utf8) }, environment: Diorama.environment()).finish()
  }

  func read(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: file(name))), as: UTF8.self)
  }

  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }

  /// The names of all files in it.
  var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

  /// A file of it as JSON.
  func json(_ name: String) throws -> [String: Any] { try object(read(name)) }
}

/// A text as a JSON object.
func object(_ text: String) throws -> [String: Any] {
  try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}
