import Foundation
import FuzzedParsers

// libFuzzer's own loop, linked if FUZZING is set (Tests/Fuzzing/fuzz.py). A plain build runs files in order instead, for
// debugging a crash.
#if FUZZING
  @_silgen_name("LLVMFuzzerRunDriver")
  private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
  ) -> Int32
#endif

/// `Fuzzing PARSER [ARGUMENT…]`: runs a parser on fuzzed bytes. The arguments are libFuzzer's; in a plain build, files.
@main
enum Fuzzing {
  static func main() throws {
    guard CommandLine.arguments.count > 1, let parser = FuzzedParser(rawValue: CommandLine.arguments[1]) else {
      let names = FuzzedParser.allCases.map(\.rawValue).joined(separator: " ")
      // Also used by `fuzz.py`.
      print(names)
      exit(CommandLine.arguments.count > 1 ? 64 : 0)
    }
    #if FUZZING
      chosen = parser
      var count = CommandLine.argc - 1
      // libFuzzer expects the program's name as the first argument.
      var arguments = CommandLine.unsafeArgv + 1
      exit(runDriver(&count, &arguments) { Fuzzing.run($0, $1) })
    #else
      for path in CommandLine.arguments.dropFirst(2) {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        do {
          try parser.parse(bytes)
          print("\(path): read")
        } catch {
          print("\(path): \(error)")
        }
      }
    #endif
  }

  #if FUZZING
    /// Global because libFuzzer's callback has no context. Set once, before its loop begins.
    nonisolated(unsafe) private static var chosen = FuzzedParser.har

    private static func run(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
      let start = clock()
      try? chosen.parse(Array(UnsafeBufferPointer(start: bytes, count: count)))
      // CPU time of this process; libFuzzer's limit includes the time of other programs.
      let seconds = Double(clock() - start) / Double(CLOCKS_PER_SEC)
      precondition(seconds < 5, "\(count) bytes took \(seconds) s of processor time; the limit is 5")
      return 0
    }
  #endif
}
