import EnvironmentConfiguration
import Foundation

/// The folders that may hold cassettes.
struct CassetteRoots: Sendable {
  private let roots: [String]

  /// - Parameter roots: absolute paths; if empty, any folder is allowed.
  init(_ roots: [String]) { self.roots = roots }

  /// Checks the cassette path of a request.
  ///
  /// - Parameter path: with or without `.har`.
  /// - Throws: ``DaemonError`` if the path is relative, contains `..`, or is outside the roots once links are resolved.
  func check(_ path: String) throws(DaemonError) {
    guard path.isAbsolutePath else {
      throw refusal("'\(path)' is relative; give an absolute path, since the daemon runs in another folder")
    }
    guard !path.leadsUp else {
      throw refusal("'\(path)' contains '..'; give the resolved path")
    }
    guard !path.unicodeScalars.contains(where: { $0.value < 0x20 }), path.utf8.count < 4000 else {
      throw refusal("the path contains control characters, or is 4000 bytes or longer; give another path")
    }
    guard path.utf8.last != UInt8(ascii: "/") else {
      throw refusal("'\(path)' is a folder; append the cassette's name")
    }
    guard !roots.isEmpty else { return }
    let base = path.hasSuffix(".har") ? String(path.dropLast(4)) : path
    // Each file of a cassette could be a symbolic link.
    for ending in [".har", ".strings.json", ".bodies", ".har.partial"] {
      let place = ResolvedPath(base + ending)
      guard roots.contains(where: { place.isBelow(ResolvedPath($0)) }) else {
        throw refusal(
          "'\(path)' is outside the allowed cassette folders ( \(roots.joined(separator: ", "))); use one of them, or add "
            + "its folder to cassetteRoots in the daemon's configuration")
      }
    }
  }

  /// Checks the path of stubs, collections, an OpenAPI document or .proto files, which responses and errors show.
  ///
  /// - Parameters:
  ///   - path: the path.
  ///   - setting: the setting.
  /// - Throws: ``DaemonError`` if the path is relative, contains `..`, or is outside the roots once links are resolved.
  func check(_ path: String, of setting: String) throws(DaemonError) {
    func refusal(_ reason: String) -> DaemonError { DaemonError(422, "Path not allowed", "\(setting): \(reason)") }
    guard path.isAbsolutePath, !path.leadsUp else {
      throw refusal("'\(path)' is relative or contains '..'; give the absolute path")
    }
    guard roots.isEmpty || roots.contains(where: { ResolvedPath(path).isBelow(ResolvedPath($0)) }) else {
      throw refusal(
        "'\(path)' is outside the folders that the daemon may use (\(roots.joined(separator: ", "))); use one of them, or "
          + "add its folder to cassetteRoots in the daemon's configuration")
    }
  }

  private func refusal(_ reason: String) -> DaemonError {
    DaemonError(422, "Cassette path not allowed", "cassette: \(reason)")
  }
}

/// A path with its links resolved. Components that don't exist yet are kept as they are.
package struct ResolvedPath: Sendable, Hashable {
  package let text: String

  /// - Parameter path: an absolute path.
  package init(_ path: String) { text = Self.resolve(path, links: 0) }

  private static func resolve(_ path: String, links: Int) -> String {
    var rest: [Substring] = []
    var head = path.pathSegments
    while rest.count < 4096 {
      let place = joined(head)
      if let real = realpath(place, nil) {
        defer { free(real) }
        return appending(rest.reversed(), to: String(cString: real))
      }
      // A dangling link still determines the location. The kernel gives up after 40 links, too.
      if links < 40, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: place) {
        let start = target.isAbsolutePath ? [] : head.dropLast()
        return resolve(joined(start + target.pathSegments + rest.reversed()), links: links + 1)
      }
      guard let name = head.popLast() else { break }
      rest.append(name)
    }
    return path
  }

  private static func appending(_ names: [Substring], to path: String) -> String {
    var segments = path.pathSegments
    for name in names where name != "." {
      if name == ".." { _ = segments.popLast() } else { segments.append(name) }
    }
    return joined(segments)
  }

  private static func joined(_ segments: [Substring]) -> String { "/" + segments.joined(separator: "/") }

  /// Whether the path is inside a folder.
  func isBelow(_ folder: ResolvedPath) -> Bool {
    let root = folder.text == "/" ? "/" : folder.text + "/"
    return text.utf8.starts(with: root.utf8)
  }
}
