import Foundation

/// A temporary folder with schema files.
final class ProtoFiles {
  let path = FileManager.default.temporaryDirectory.appending(path: "protos-\(UUID().uuidString)").path

  init(_ files: [String: String]) throws {
    for (name, text) in files { try write(Array(text.utf8), to: name) }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ bytes: [UInt8], to name: String) throws {
    let url = URL(filePath: "\(path)/\(name)")
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }
}
