import Foundation

/// A path without links: as much of it as is there is resolved, the rest follows as it is.
package struct ResolvedPath: Sendable, Hashable {
  package let text: String

  package init(_ path: String) { text = Self.resolve(path, links: 0) }

  private static func resolve(_ path: String, links: Int) -> String {
    var rest: [String] = []
    var head = path
    while !head.isEmpty, rest.count < 4096 {
      if let real = realpath(head, nil) {
        defer { free(real) }
        return appending(rest.reversed(), to: String(cString: real))
      }
      // A link whose target is not there yet leads there all the same. 40 is where the system gives up, too.
      if links < 40, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: head) {
        let parent = (head as NSString).deletingLastPathComponent
        let next = target.hasPrefix("/") ? target : "\(parent)/\(target)"
        return resolve(([next] + rest.reversed()).joined(separator: "/"), links: links + 1)
      }
      rest.append((head as NSString).lastPathComponent)
      head = (head as NSString).deletingLastPathComponent
    }
    return path
  }

  private static func appending(_ names: some Sequence<String>, to path: String) -> String {
    var components = path.split(separator: "/").map(String.init)
    for name in names where name != "." {
      if name == ".." { _ = components.popLast() } else { components.append(name) }
    }
    return "/" + components.joined(separator: "/")
  }
}
