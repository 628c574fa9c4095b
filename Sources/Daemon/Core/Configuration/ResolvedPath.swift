import EnvironmentConfiguration
import Foundation

/// A path without links: as much of it as is there is resolved, the rest follows as it is.
package struct ResolvedPath: Sendable, Hashable {
  package let text: String

  /// - Parameter path: an absolute one.
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
      // A link whose target is not there yet leads there all the same. 40 is where the system gives up, too.
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

  /// Whether it lies below a folder.
  func isBelow(_ folder: ResolvedPath) -> Bool {
    let root = folder.text == "/" ? "/" : folder.text + "/"
    return text.utf8.starts(with: root.utf8)
  }
}
