package import Basics
import Transforms
import CassetteChecks
import LaunchContract

/// The summary of an environment's journal. Its JSON is described in INTERFACE.md, "Report".
package struct Report: Codable, Sendable {
  package struct Environment: Codable, Sendable {
    package var id: String
    package var name: String
  }

  package struct Clock: Codable, Sendable {
    package var kind: String
    /// RFC 3339; nil for a system clock.
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
    /// Requests that an upstream did not answer, or not completely.
    package var failed = 0
    /// Requests that the app itself broke off, during its upload or before it had the whole answer; nil for none.
    package var left: Int?
  }

  /// A recorded interaction that is similar to a request.
  package struct Nearest: Codable, Sendable {
    package var index: Int
    package var method: String
    package var url: String
    package var differences: [String]
    /// Descriptions of the rules it was compared by; nil without rules.
    package var rules: [String]?
  }

  /// A request that nothing answered.
  package struct Unmatched: Codable, Sendable {
    package var method: String
    package var url: String
    package var nearest: [Nearest]
    /// Why the request was refused without being matched, such as an undeclared host, and what to do; nil for a miss.
    package var refusal: String?
  }

  /// An interaction that was never requested.
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

  /// What happened to the recording, once the environment has ended.
  package struct Recording: Codable, Sendable, Equatable {
    package enum Outcome: String, Codable, Sendable {
      /// Saved as the cassette.
      case written
      /// Nothing was recorded, and the cassette is unchanged.
      case unchanged
      /// Nothing was recorded, and there is no cassette.
      case nothing
      /// The cassette could not be saved; `failures` has the reason.
      case unsealed
    }

    package var outcome: Outcome
    /// How many interactions the cassette has now; 0 if it was not written.
    package var interactions: Int

    /// The cassette could not be saved.
    package static let unsealed = Recording(outcome: .unsealed, interactions: 0)

    init(outcome: Outcome, interactions: Int) {
      self.outcome = outcome
      self.interactions = interactions
    }

    /// The cassette was saved with this many interactions in all.
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
  /// How many interactions the replayed cassette has; nil without one.
  package var interactions: Int?
  /// Whether the environment has ended, so that this report is final; nil while it is running.
  package var ended: Bool?
  /// The exit status of the command in `diorama run`; nil without one.
  package var commandStatus: Int32?
  package var strings: Strings
  package var toggles: Toggles
  package var durationSeconds: Double
  /// Failures other than requests, such as a recording that could not be written or a timeout.
  package var failures: [String]
  /// One line for each body that decodes to too much. Such bodies are kept as they were sent, without redacting secrets
  /// in them. Nil for none.
  package var keptAsSent: [String]?
  /// Nil while the environment is running, and if nothing is recorded.
  package var recording: Recording?
  /// The command that records what is missing; nil if nothing is.
  package var advice: String?
  /// Whether the run succeeded: nothing unmatched in `replay` and `mock`, no string missing, no failures.
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

  /// The approximate size in memory, in bytes.
  var size: Int {
    nearest.reduce(100 + method.utf8.count + url.utf8.count + (refusal?.utf8.count ?? 0)) { size, nearest in
      (nearest.differences + (nearest.rules ?? [])).reduce(size + 100 + nearest.url.utf8.count) {
        $0 + 16 + $1.utf8.count
      }
    }
  }
}
