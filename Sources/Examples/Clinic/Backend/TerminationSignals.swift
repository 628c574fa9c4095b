import Dispatch

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// SIGTERM and SIGINT as something to wait for, instead of the sudden end that they are by default.
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

  /// Returns when one has come, also one that came before.
  func first() async {
    for await _ in arrivals { return }
  }
}
