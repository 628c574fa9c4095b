import Basics
import CassetteChecks
import Foundation

extension Report {
  /// Of an environment that ended with its process: all that is known of it is what it was.
  ///
  /// - Parameters:
  ///   - id: its id.
  ///   - name: what a person calls it.
  ///   - mode: its mode.
  ///   - cassette: the HAR.
  ///   - recording: what became of what it had recorded, where that is known.
  ///   - reason: why there is no more to tell, the report's one failure.
  package init(
    ended id: String, name: String, mode: String, cassette: String?, recording: Recording? = nil, because reason: String
  ) {
    self.init(
      environment: .init(id: id, name: name), mode: mode, cassette: cassette, recordedAt: nil,
      clock: .init(kind: "system", start: nil, now: RFC3339.format(Date())), requests: .init(), unmatched: [],
      unused: [], strings: .init(), toggles: .init(), durationSeconds: 0, failures: [reason],
      recording: recording, ok: false)
  }
}
