package import Basics
import Transforms
import CassetteChecks
import LaunchContract

/// What the journal adds up to at the end of an environment. Its JSON is described in INTERFACE.md, "Report".
package struct Report: Codable, Sendable {
  package struct Environment: Codable, Sendable {
    package var id: String
    package var name: String
  }

  package struct Clock: Codable, Sendable {
    package var kind: String
    /// RFC 3339; nil where time is the machine's.
    package var start: String?
    /// RFC 3339: what the environment's clock showed at the end.
    package var now: String
  }

  package struct Requests: Codable, Sendable {
    package var total = 0
    package var replayed = 0
    package var recorded = 0
    package var forwarded = 0
    package var mocked = 0
    package var unmatched = 0
    /// Requests that an upstream did not answer, or not to the end.
    package var failed = 0
    /// Requests that the app itself broke off, by its upload or before it had the whole answer; nil for none.
    package var left: Int?
  }

  /// A recorded interaction close to a request.
  package struct Nearest: Codable, Sendable {
    package var index: Int
    package var method: String
    package var url: String
    package var differences: [String]
    /// The rules by which it was compared, as a person reads them; nil without any.
    package var rules: [String]?
  }

  /// A request that nothing answered.
  package struct Unmatched: Codable, Sendable {
    package var method: String
    package var url: String
    package var nearest: [Nearest]
    /// Why it could not even be looked for, such as a host that is not declared, and what to do; nil for a miss.
    package var refusal: String?
  }

  /// An interaction that was never asked for.
  package struct Unused: Codable, Sendable {
    package var method: String
    package var url: String
    package var index: Int
  }

  /// A random value by its key and ordinal.
  package struct StringUse: Codable, Sendable, Equatable {
    package var key: String
    package var ordinal: Int
  }

  package struct Strings: Codable, Sendable {
    package var read = 0
    package var recorded = 0
    package var missing: [StringUse] = []
    package var unused: [StringUse] = []
  }

  package struct Toggles: Codable, Sendable {
    package var read: [String: JSON] = [:]
    package var unread: [String] = []
  }

  /// What became of what was recorded, once the environment has ended.
  package struct Recording: Codable, Sendable, Equatable {
    package enum Outcome: String, Codable, Sendable {
      /// It is the cassette now.
      case written
      /// Nothing was recorded, and the cassette is as it was.
      case unchanged
      /// Nothing was recorded, and there is no cassette.
      case nothing
      /// It could not be written; `failures` says why.
      case unsealed
    }

    package var outcome: Outcome
    /// How many interactions the cassette has now; 0 where it was not written.
    package var interactions: Int

    /// What could not be written.
    package static let unsealed = Recording(outcome: .unsealed, interactions: 0)

    init(outcome: Outcome, interactions: Int) {
      self.outcome = outcome
      self.interactions = interactions
    }

    /// It is the cassette now, with so many interactions in all.
    package init(written interactions: Int) { self.init(outcome: .written, interactions: interactions) }
  }

  package var environment: Environment
  package var mode: String
  package var cassette: String?
  package var recordedAt: String?
  package var clock: Clock
  package var requests: Requests
  package var unmatched: [Unmatched]
  package var unused: [Unused]
  /// How many interactions the cassette that is replayed has; nil where none is.
  package var interactions: Int?
  /// Whether the environment has ended, and this is the last word; nil while it lives.
  package var ended: Bool?
  /// What the command of `diorama run` ended with; nil where there is none.
  package var commandStatus: Int32?
  package var strings: Strings
  package var toggles: Toggles
  package var durationSeconds: Double
  /// What failed beside requests: a recording that could not be written, a time-out.
  package var failures: [String]
  /// Bodies that decode to too much, a line for each message: they are kept as they were sent, and secrets in them are not
  /// redacted. Nil for none.
  package var keptAsSent: [String]?
  /// Nil while the environment lives, and where nothing is recorded.
  package var recording: Recording?
  /// What to run in order to record what is missing; nil where nothing is.
  package var advice: String?
  /// Whether the environment held: nothing unmatched in `replay` and `mock`, no string missing, nothing failed to be written.
  package var ok: Bool
}

extension Report.Unmatched {
  func redacted(_ redactor: Redactor) -> Self {
    Self(
      method: redactor.redact(method), url: redactor.redactURL(url),
      nearest: nearest.map {
        .init(
          index: $0.index, method: $0.method, url: redactor.redactURL($0.url),
          differences: $0.differences.map(redactor.redact), rules: $0.rules?.map(redactor.redact))
      }, refusal: refusal.map(redactor.redact))
  }

  /// About what it takes in memory.
  var size: Int {
    nearest.reduce(100 + method.utf8.count + url.utf8.count + (refusal?.utf8.count ?? 0)) { size, nearest in
      (nearest.differences + (nearest.rules ?? [])).reduce(size + 100 + nearest.url.utf8.count) {
        $0 + 16 + $1.utf8.count
      }
    }
  }
}
