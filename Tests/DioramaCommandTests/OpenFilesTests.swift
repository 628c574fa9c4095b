import TestSupport
import Testing

@Suite("The limit of open files", .timeLimit(.minutes(5)))
struct OpenFilesTests {
  @Test("is the hard one in diorama run, and for its command what it was")
  func limits() async throws {
    // The command's own soft limit, then that of its parent, which has the lower one while it starts the command.
    let script = "ulimit -Sn; until grep '^Max open files  *300 ' /proc/$PPID/limits; do :; done"
    let words = try Diorama.words(["run", "--mode", "mock", "--", "sh", "-c", script])
    let outcome = try await onThread {
      try Child(
        ["sh", "-c", "ulimit -Sn 100; ulimit -Hn 300; exec \"$@\"", "sh"].map { Array($0.utf8) } + words,
        environment: Diorama.environment()
      ).finish()
    }
    #expect(outcome.text.hasPrefix("100\nMax open files"))
  }
}
