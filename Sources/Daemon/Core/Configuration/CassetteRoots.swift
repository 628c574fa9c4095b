import EnvironmentConfiguration
import Foundation

/// The folders in which cassettes may lie.
struct CassetteRoots: Sendable {
  private let roots: [String]

  /// - Parameter roots: absolute paths; none allow every place.
  init(_ roots: [String]) { self.roots = roots }

  /// Looks at what a program gave as a cassette's path.
  ///
  /// - Parameter path: with or without `.har`.
  /// - Throws: a ``DaemonError`` for a relative path, one with `..`, and one that leads out of the roots, be it by a
  ///   link.
  func check(_ path: String) throws(DaemonError) {
    guard path.isAbsolutePath else {
      throw refusal("'\(path)' is relative, and the daemon's folder is not yours; give an absolute path")
    }
    guard !path.leadsUp else {
      throw refusal("'\(path)' has '..' in it; give the path that it stands for")
    }
    guard !path.unicodeScalars.contains(where: { $0.value < 0x20 }), path.utf8.count < 4000 else {
      throw refusal("the path has control characters, or 4000 bytes or more; give another")
    }
    guard path.utf8.last != UInt8(ascii: "/") else {
      throw refusal("'\(path)' names a folder; add the cassette's name")
    }
    guard !roots.isEmpty else { return }
    let base = path.hasSuffix(".har") ? String(path.dropLast(4)) : path
    // Each file of a cassette could be a link of its own.
    for ending in [".har", ".strings.json", ".bodies", ".har.partial"] {
      let place = ResolvedPath(base + ending)
      guard roots.contains(where: { place.isBelow(ResolvedPath($0)) }) else {
        throw refusal(
          "'\(path)' is in none of the folders for cassettes: \(roots.joined(separator: ", ")); choose one of them, or add "
            + "its folder to cassetteRoots in the daemon's configuration")
      }
    }
  }

  private func refusal(_ reason: String) -> DaemonError {
    DaemonError(422, "The cassette's path is refused", "cassette: \(reason)")
  }
}
