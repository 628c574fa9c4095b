import Basics
import Dispatch
import Foundation
import HTTPServer

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A clinic's backend for the example. Its IDs, tokens and slots change with every run.
@main
struct ClinicBackend {
  static func main() async {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      // Before the server listens, so that no signal is lost.
      let signals = TerminationSignals()
      let server = try HTTPServer()
      let listener = try server.listen(
        on: options.port, handler: ClinicHandler(clock: BackendClock(options.now), release: options.release))
      print("clinic-backend listening on http://127.0.0.1:\(listener.port)")
      fflush(nil)
      await signals.first()
      await server.stop()
    } catch let error as CodedError where error.kind == .usage {
      printError("\(error)\n\(Options.usage)")
      exit(64)
    } catch {
      printError("\(error)")
      exit(1)
    }
  }

  private static func printError(_ text: String) {
    FileHandle.standardError.write(Data("clinic-backend: \(text)\n".utf8))
  }
}

/// The command line.
struct Options {
  static let usage = "usage: clinic-backend [--port N] [--now INSTANT, such as 2018-10-08T09:00:00Z] [--release 1|2]"

  /// Nil for a free port.
  var port: UInt16?
  /// The backend's date at its start.
  var now = Date()
  /// Nil for the first release with clinic IDs that change with every run.
  var release: Release?

  init(_ arguments: [String]) throws(CodedError) {
    var rest = arguments[...]
    while let option = rest.popFirst() {
      guard ["--port", "--now", "--release"].contains(option) else {
        throw CodedError(.usage, "unknown option '\(option)'")
      }
      guard let value = rest.popFirst() else { throw CodedError(.usage, "\(option) requires a value") }
      switch option {
      case "--port":
        guard let number = UInt16(value) else { throw CodedError(.usage, "--port: '\(value)' is not a port") }
        port = number == 0 ? nil : number
      case "--release":
        guard let number = Int(value), let release = Release(rawValue: number) else {
          throw CodedError(.usage, "--release: '\(value)' is not a release; use 1 or 2")
        }
        self.release = release
      default:
        guard let date = try? Date(value, strategy: .iso8601) else {
          throw CodedError(.usage, "--now: '\(value)' is not a date; expected, for example, 2018-10-08T09:00:00Z")
        }
        now = date
      }
    }
  }
}

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Waits for SIGTERM and SIGINT, which by default end the process at once.
final class TerminationSignals {
  private let sources: [any DispatchSourceSignal]
  private let arrivals: AsyncStream<Void>

  init() {
    let (arrivals, continuation) = AsyncStream<Void>.makeStream()
    self.arrivals = arrivals
    sources = [SIGTERM, SIGINT].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { continuation.yield() }
      source.resume()
      return source
    }
  }

  deinit {
    for source in sources { source.cancel() }
  }

  /// Returns when a signal has arrived, possibly before the call.
  func first() async {
    for await _ in arrivals { return }
  }
}
