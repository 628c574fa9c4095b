package import Basics
import EnvironmentConfiguration
import Foundation

/// The summary of an environment's journal. Its JSON is described in INTERFACE.md, "Report".
package struct Report: Codable, Sendable {
  package struct Environment: Codable, Sendable {
    package var id: String
    package var name: String

    package init(id: String, name: String) {
      self.id = id
      self.name = name
    }
  }

  package struct Clock: Codable, Sendable {
    package var kind: String
    /// RFC 3339; nil for a system clock.
    package var start: String?
    /// RFC 3339: what the environment's clock showed at the end.
    package var now: String

    package init(kind: String, start: String?, now: String) {
      self.kind = kind
      self.start = start
      self.now = now
    }
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

    package init() {}
  }

  /// A recorded interaction that is similar to a request.
  package struct Nearest: Codable, Sendable {
    package var index: Int
    package var method: String
    package var url: String
    package var differences: [String]
    /// Descriptions of the rules it was compared by; nil without rules.
    package var rules: [String]?

    package init(index: Int, method: String, url: String, differences: [String], rules: [String]?) {
      self.index = index
      self.method = method
      self.url = url
      self.differences = differences
      self.rules = rules
    }
  }

  /// A request that nothing answered.
  package struct Unmatched: Codable, Sendable {
    package var method: String
    package var url: String
    package var nearest: [Nearest]
    /// Why the request was refused without being matched, such as an undeclared host, and what to do; nil for a miss.
    package var refusal: String?

    package init(method: String, url: String, nearest: [Nearest], refusal: String? = nil) {
      self.method = method
      self.url = url
      self.nearest = nearest
      self.refusal = refusal
    }
  }

  /// Requests that an upstream did not answer, or not completely.
  package struct UpstreamFailure: Codable, Sendable, Equatable {
    package var method: String
    package var url: String
    /// What went wrong, and what to do.
    package var cause: String
    /// How many equal requests failed in this way.
    package var count: Int

    package init(method: String, url: String, cause: String, count: Int = 1) {
      self.method = method
      self.url = url
      self.cause = cause
      self.count = count
    }
  }

  /// An interaction that was never requested.
  package struct Unused: Codable, Sendable {
    package var method: String
    package var url: String
    package var index: Int

    package init(method: String, url: String, index: Int) {
      self.method = method
      self.url = url
      self.index = index
    }
  }

  /// A random value by its key and ordinal.
  package struct StringUse: Codable, Sendable, Equatable {
    package var key: String
    package var ordinal: Int

    package init(key: String, ordinal: Int) {
      self.key = key
      self.ordinal = ordinal
    }
  }

  package struct Strings: Codable, Sendable {
    package var read: Int
    package var recorded: Int
    package var missing: [StringUse]
    package var unused: [StringUse]

    package init(read: Int = 0, recorded: Int = 0, missing: [StringUse] = [], unused: [StringUse] = []) {
      self.read = read
      self.recorded = recorded
      self.missing = missing
      self.unused = unused
    }
  }

  package struct Toggles: Codable, Sendable {
    package var read: [String: JSON]
    package var unread: [String]

    package init(read: [String: JSON] = [:], unread: [String] = []) {
      self.read = read
      self.unread = unread
    }
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
      /// Saved beside the cassette, because the run failed.
      case aside
    }

    package var outcome: Outcome
    /// How many interactions the cassette has now; 0 if it was not written.
    package var interactions: Int
    /// The HAR file if it is not the cassette's.
    package var file: String?

    /// The cassette could not be saved.
    package static let unsealed = Recording(outcome: .unsealed, interactions: 0)

    package init(outcome: Outcome, interactions: Int, file: String? = nil) {
      self.outcome = outcome
      self.interactions = interactions
      self.file = file
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
  /// What upstreams failed to answer; nil for nothing. A recording fails by it, unless a setting permits it.
  package var upstreamFailures: [UpstreamFailure]?
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
  /// Whether the run succeeded: nothing unmatched, no string missing, no failures, and no upstream failure in a
  /// recording.
  package var ok: Bool

  package init(
    environment: Environment, mode: String, cassette: String?, recordedAt: String?, clock: Clock, requests: Requests,
    unmatched: [Unmatched], unused: [Unused], upstreamFailures: [UpstreamFailure]? = nil, interactions: Int? = nil,
    ended: Bool? = nil, strings: Strings,
    toggles: Toggles, durationSeconds: Double, failures: [String], keptAsSent: [String]? = nil,
    recording: Recording? = nil, advice: String? = nil, ok: Bool
  ) {
    self.environment = environment
    self.mode = mode
    self.cassette = cassette
    self.recordedAt = recordedAt
    self.clock = clock
    self.requests = requests
    self.unmatched = unmatched
    self.unused = unused
    self.upstreamFailures = upstreamFailures
    self.interactions = interactions
    self.ended = ended
    self.strings = strings
    self.toggles = toggles
    self.durationSeconds = durationSeconds
    self.failures = failures
    self.keptAsSent = keptAsSent
    self.recording = recording
    self.advice = advice
    self.ok = ok
  }
}

extension Report {
  /// Fails the report of a program that has succeeded without making a request though upstreams were declared: it
  /// probably talked to the live backends.
  ///
  /// - Parameters:
  ///   - upstreams: the names of the upstreams.
  ///   - permission: how to permit it.
  package mutating func expectRequests(of upstreams: [String], permission: String) {
    guard requests.total == 0, let first = upstreams.min() else { return }
    let variable = "DIORAMA_ENDPOINT_" + EnvironmentConfiguration.variableName(first)
    failures.append(
      "no request reached the environment, so the program may have talked to the live backend instead: let it read "
        + "\(variable) or use the environment as its proxy; if it needs no requests, permit that with \(permission)")
    ok = false
  }

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
