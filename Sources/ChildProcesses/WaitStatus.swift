/// What wait(2) says of a child, by its macros, which Swift does not import.
package struct WaitStatus: Sendable, Equatable {
  private let raw: Int32

  package init(_ raw: Int32) {
    self.raw = raw
  }

  /// The signal by which it was stopped; nil when it was not.
  package var stopSignal: Int32? { raw & 0xFF == 0x7F ? (raw >> 8) & 0xFF : nil }

  /// The signal that ended it; nil when none did.
  package var signal: Int32? {
    let signal = raw & 0x7F
    return signal == 0 || signal == 0x7F ? nil : signal
  }

  /// As a shell has it: the exit status, or 128 + the signal that ended it.
  package var shellStatus: Int32 { signal.map { 128 + $0 } ?? (raw >> 8) & 0xFF }
}
