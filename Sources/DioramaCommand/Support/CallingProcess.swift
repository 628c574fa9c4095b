import Foundation

/// The process that has called this command, and for which it holds things.
///
/// For `$(…)` a shell makes a copy of itself. Mostly the copy becomes the command, whose parent is then the shell. In a
/// pipeline, after `cd` or in a function it stays the command's parent, and is gone right after it: nothing must be held
/// for that one. It has called no program (execve(2)), so that its memory is laid out as its parent's, and it writes
/// into a pipe that its parent reads. A shell's `( … )` does not, and counts as a caller of its own.
enum CallingProcess {
  /// Shells in shells; more than anybody has written.
  private static let mostCopies = 16

  /// Its id.
  static var pid: Int32 {
    var pid = getppid()
    #if os(Linux)
      for _ in 0..<mostCopies {
        guard let parent = ProcessImage(pid).flatMap({ $0.isSubstitution ? $0.parent : nil }) else { break }
        pid = parent
      }
    #endif
    return pid
  }
}

#if os(Linux)
  /// What proc(5) tells of a process: whose copy it is.
  private struct ProcessImage {
    let parent: Int32
    private let pid: Int32
    /// The program, and where its stack and its arguments begin: all are drawn anew when a program is called.
    private let marks: [String]

    /// Nil where there is no such process, or it is another user's.
    init?(_ pid: Int32) {
      self.pid = pid
      guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat"),
        let program = Self.target(of: "/proc/\(pid)/exe")
      else { return nil }
      // The fields behind the name, which may hold anything: the first of them is number 3.
      let fields = String(decoding: data, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
      guard fields.count > 45, let parent = Int32(fields[1]), fields[25] != "0" else { return nil }
      self.parent = parent
      marks = [program, String(fields[25]), String(fields[45])]
    }

    /// Whether it is the copy that a shell has made of itself for `$(…)`.
    var isSubstitution: Bool {
      guard parent > 1, let shell = ProcessImage(parent), shell.marks == marks,
        let output = Self.target(of: "/proc/\(pid)/fd/1"), output.hasPrefix("pipe:")
      else { return false }
      return shell.holds(output)
    }

    private func holds(_ target: String) -> Bool {
      let folder = "/proc/\(pid)/fd"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return names.contains { Self.target(of: "\(folder)/\($0)") == target }
    }

    private static func target(of link: String) -> String? {
      try? FileManager.default.destinationOfSymbolicLink(atPath: link)
    }
  }
#endif
