import Foundation
import HTTPServer

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A clinic's backend, for the example: real sockets, and ids, tokens and slots that are others with every run.
@main
struct ClinicBackend {
  static func main() async {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      // Before anything listens, so that no signal is lost.
      let signals = TerminationSignals()
      let server = try HTTPServer()
      let listener = try server.listen(
        on: options.port, handler: ClinicHandler(clock: BelievedClock(options.now), release: options.release))
      print("clinic-backend listening on http://127.0.0.1:\(listener.port)")
      fflush(nil)
      await signals.first()
      await server.stop()
    } catch let error as Options.Problem {
      complain("\(error.description)\n\(Options.usage)")
      exit(64)
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  private static func complain(_ text: String) {
    FileHandle.standardError.write(Data("clinic-backend: \(text)\n".utf8))
  }
}
