import Basics
import CassetteChecks
import Foundation
import HTTPMessages
import Stubs

/// A folder of stubs in WireMock's layout: `mappings/**/*.json`, and `__files` for bodies.
struct StubFolder: Sendable {
  /// The largest mapping file in bytes.
  private static let fileLimit = 64 << 20

  let path: String

  private var mappingsPath: String { "\(path)/mappings" }
  private var filesPath: String { "\(path)/__files" }

  /// - Throws: ``CodedError`` if there is no such folder.
  init(_ path: String) throws(CodedError) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
      throw CodedError(.noCassette, "no such folder; create it with a folder 'mappings' in it", at: path)
    }
    self.path = path
  }

  /// A note if the folder has no mappings.
  var emptiness: String? {
    if names(in: mappingsPath).contains(where: { $0.hasSuffix(".json") }) { return nil }
    let isInner = (path as NSString).lastPathComponent == "mappings"
    return "\(path) has no files mappings/**/*.json, so there are no stubs"
      + (isInner ? "; name the folder that contains 'mappings'" : "")
  }

  /// Reads all mapping files, sorted by path.
  ///
  /// - Throws: ``CodedError`` that names the file and the member.
  /// - Returns: the mappings, and what to tell the user about them.
  func mappings(
    isTemplate: Bool, makeID: () -> String
  ) throws(CodedError) -> (mappings: [StubMapping], notes: [String]) {
    var all: [StubMapping] = []
    var notes: [String] = []
    /// The file of each id.
    var files: [String: String] = [:]
    for name in names(in: mappingsPath) where name.hasSuffix(".json") {
      let file = "\(mappingsPath)/\(name)"
      let bytes = try Self.read(file, in: mappingsPath)
      let json = try JSON.parse(bytes, name: file)
      let mappings: [StubMapping]
      do { mappings = try MappingReader.mappings(json, isTemplate: isTemplate, makeID: makeID) } catch {
        throw CodedError(error.kind, error.message, at: file)
      }
      for var mapping in mappings {
        // WireMock serves both stubs, too.
        if let other = files[mapping.id] {
          notes.append(
            "\(file): the id \(mapping.id) is also in \(other), so this stub gets a new id; change one of them")
          mapping = MappingReader.mapping(mapping, withID: makeID())
        }
        files[mapping.id] = file
        // A stub with a helper from a WireMock extension may never be used.
        if let problem = mapping.response.templates?.unknownHelper {
          notes.append("\(file): this stub responds with 500 because its template is not valid: \(problem.message)")
        }
        all.append(mapping)
      }
    }
    return (all, notes)
  }

  /// Reads a file of collections.
  ///
  /// - Throws: ``CodedError`` that names the file and the member.
  static func collections(_ path: String) throws(CodedError) -> CollectionSet {
    let json = try JSON.parse(try read(path), name: path)
    do throws(CodedError) { return try CollectionSet(json) } catch {
      throw CodedError(error.kind, error.message, at: path)
    }
  }

  /// Reads an OpenAPI document.
  ///
  /// - Throws: ``CodedError`` that names the file and the place in it.
  static func openAPI(_ path: String) throws(CodedError) -> OpenAPIMock { try OpenAPIMock(try read(path), name: path) }

  /// The names of all files below a folder, sorted.
  private func names(in folder: String) -> [String] {
    guard let names = FileManager.default.enumerator(atPath: folder) else { return [] }
    return names.compactMap { $0 as? String }.sorted()
  }

  /// The names of the files in `__files`, sorted.
  var fileNames: [String] {
    names(in: filesPath).filter { name in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(filesPath)/\(name)", isDirectory: &isFolder)
        && !isFolder.boolValue
    }
  }

  /// The media type of a file, by its extension.
  static func contentType(of name: String) -> String {
    let types = [
      "txt": "text/plain", "html": "text/html", "htm": "text/html", "json": "application/json",
      "xml": "application/xml",
      "css": "text/css", "js": "application/javascript", "csv": "text/csv", "png": "image/png", "jpg": "image/jpeg",
      "jpeg": "image/jpeg", "gif": "image/gif", "svg": "image/svg+xml", "pdf": "application/pdf",
    ]
    guard name.contains(".") else { return "application/json" }
    return types[name.split(separator: ".").last?.lowercased() ?? ""] ?? "application/octet-stream"
  }

  /// Whether there is a file with this name in `__files`.
  func hasFile(_ name: String) -> Bool {
    var isFolder: ObjCBool = false
    guard !name.isEmpty, let location = try? location(name) else { return false }
    return FileManager.default.fileExists(atPath: location, isDirectory: &isFolder) && !isFolder.boolValue
  }

  /// Checks that a place in `__files` is not reached by a link.
  private func checkIsInside(_ location: String) throws(CodedError) {
    var folder = (location as NSString).deletingLastPathComponent
    while !FileManager.default.fileExists(atPath: folder), folder.count > 1 {
      folder = (folder as NSString).deletingLastPathComponent
    }
    guard let real = realpath(folder, nil), let root = realpath(filesPath, nil) ?? realpath(path, nil) else { return }
    defer {
      free(real)
      free(root)
    }
    let (place, allowed) = (String(cString: real), String(cString: root))
    guard place == allowed || place.hasPrefix(allowed + "/") else {
      throw CodedError(.usage, "leads out of \(filesPath) by a link", at: location)
    }
  }

  /// The content of a file in `__files`.
  ///
  /// - Throws: ``CodedError`` if there is none, or if the name leads out of the folder.
  func file(_ name: String) throws(CodedError) -> [UInt8] { try Self.read(location(name), in: filesPath) }

  /// Replaces a file in `__files`.
  func write(_ bytes: [UInt8], to name: String) throws(CodedError) {
    let location = try location(name)
    try checkIsInside(location)
    try Self.write(bytes, location)
  }

  /// Removes a file in `__files`.
  func removeFile(_ name: String) throws(CodedError) {
    let location = try location(name)
    guard hasFile(name) else { throw CodedError(.usage, "no such file", at: location) }
    try checkIsInside(location)
    try CodedError.translating(to: .cannotWrite, at: location, try FileManager.default.removeItem(atPath: location))
  }

  /// Saves a mapping as a file of its own.
  func save(_ mapping: StubMapping) throws(CodedError) {
    let name = (mapping.name ?? "mapping").map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
    var text = mapping.source.encoded(.pretty)
    text.append(0x0A)
    try Self.write(text, "\(mappingsPath)/\(String(name).lowercased())-\(mapping.id).json")
  }

  /// Removes the file of a mapping that was saved. A file that was not written here, or has other mappings, is kept.
  func removeSaved(_ mapping: StubMapping) throws(CodedError) {
    for name in names(in: mappingsPath) where name.hasSuffix("-\(mapping.id).json") {
      let file = "\(mappingsPath)/\(name)"
      try CodedError.translating(to: .cannotWrite, at: file, try FileManager.default.removeItem(atPath: file))
    }
  }

  private func location(_ name: String) throws(CodedError) -> String {
    let parts = name.split(separator: "/")
    guard !parts.isEmpty, !parts.contains(".."), !parts.contains("."), !name.utf8.contains(0) else {
      throw CodedError(.usage, "'\(name)' is not a name of a file in \(filesPath)")
    }
    return "\(filesPath)/\(parts.joined(separator: "/"))"
  }

  /// Reads a file that lies in a folder once links are resolved.
  private static func read(_ file: String, in folder: String) throws(CodedError) -> [UInt8] {
    if let real = realpath(file, nil), let root = realpath(folder, nil) {
      defer {
        free(real)
        free(root)
      }
      guard String(cString: real).hasPrefix(String(cString: root) + "/") else {
        throw CodedError(.broken, "leads out of \(folder) by a link; put the file there", at: file)
      }
    }
    return try read(file)
  }

  private static func read(_ file: String) throws(CodedError) -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: file) else {
      throw CodedError(.noCassette, "cannot be read; check that it exists", at: file)
    }
    guard data.count <= fileLimit else {
      throw CodedError(.broken, "has \(data.count) bytes, more than the \(fileLimit) that a stub can have", at: file)
    }
    return Array(data)
  }

  private static func write(_ bytes: [UInt8], _ file: String) throws(CodedError) {
    let url = URL(fileURLWithPath: file)
    try CodedError.translating(
      to: .cannotWrite, at: file,
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true))
    try CodedError.translating(to: .cannotWrite, at: file, try Data(bytes).write(to: url, options: .atomic))
  }
}
