import Foundation
import FuzzedParsers

// The fuzzer's own loop, of libFuzzer: it is linked where FUZZING is set (Tests/Fuzzing/fuzz.py). A plain build runs
// files one after the other instead, which is how a crash is looked at in a debugger.
#if FUZZING
  @_silgen_name("LLVMFuzzerRunDriver")
  private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
  ) -> Int32
#endif

/// `Fuzzing PARSER [ARGUMENT…]`: throws bytes at a parser; the arguments are libFuzzer's, in a plain build files.
@main
enum Fuzzing {
  static func main() throws {
    guard CommandLine.arguments.count > 1, let parser = FuzzedParser(rawValue: CommandLine.arguments[1]) else {
      let names = FuzzedParser.allCases.map(\.rawValue).joined(separator: " ")
      // Asked for by `fuzz.py`, too.
      print(names)
      exit(CommandLine.arguments.count > 1 ? 64 : 0)
    }
    #if FUZZING
      chosen = parser
      var count = CommandLine.argc - 1
      // libFuzzer takes the first argument for its own name.
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
    /// libFuzzer's callback has no context. Set once, before its loop begins.
    nonisolated(unsafe) private static var chosen = FuzzedParser.har

    private static func run(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
      let start = clock()
      try? chosen.parse(Array(UnsafeBufferPointer(start: bytes, count: count)))
      // By its own time: libFuzzer's limit counts what other programs take, too.
      let seconds = Double(clock() - start) / Double(CLOCKS_PER_SEC)
      precondition(seconds < 5, "\(count) bytes took \(seconds) s of processor time; the limit is 5")
      return 0
    }
  #endif
}
