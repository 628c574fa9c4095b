import Basics
import CassetteChecks
import Foundation

extension Report {
  /// The report of an environment that ended with its process, so that little is known about it.
  ///
  /// - Parameters:
  ///   - id: its id.
  ///   - name: its display name.
  ///   - mode: its mode.
  ///   - cassette: the HAR file.
  ///   - recording: what happened to its recording, if that is known.
  ///   - reason: the report's only failure.
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
