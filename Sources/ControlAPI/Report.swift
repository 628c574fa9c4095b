package import Basics
package import EnvironmentConfiguration
import Foundation

/// The summary of an environment's journal. `/openapi.json` describes its JSON.
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
    /// The time of the environment's clock at the end, in RFC 3339.
    package var now: String
    /// Seconds of the clock in a real second; nil unless it is scaled.
    package var rate: Double?

    package init(kind: String, start: String?, now: String, rate: Double? = nil) {
      self.kind = kind
      self.start = start
      self.now = now
      self.rate = rate
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
    /// Requests that the app cancelled, during its upload or before it had the complete response; nil for none.
    package var left: Int?
    /// Requests that faults of the environment answered or broke; nil for none.
    package var faulted: Int?

    package init() {}
  }

  /// How the command was isolated.
  package struct Isolation: Codable, Sendable {
    /// One of ``kinds``. Of several commands, the weakest.
    package var kind: String
    /// Why the better kind was not available, and what would allow it; nil if it was.
    package var reason: String?
    /// Connections whose bytes were relayed and not recorded, one line each.
    package var relayed: [String]
    /// What was asked for and had no effect, such as a clock that the command's programs do not have, one line each; nil
    /// for nothing.
    package var missing: [String]?
    /// Commands of `diorama env enter` that were running when the environment ended, and were ended; nil for none.
    package var interrupted: [String]?

    /// The kinds of isolation, strongest first.
    package static let kinds = ["namespaces", "seccomp", "proxy"]

    package init(kind: String, reason: String? = nil, relayed: [String] = []) {
      self.kind = kind
      self.reason = reason
      self.relayed = relayed
    }
  }

  /// A fault of the environment, and how many requests it has affected.
  package struct Fault: Codable, Sendable {
    package var fault: String
    package var requests: Int

    package init(fault: String, requests: Int) {
      self.fault = fault
      self.requests = requests
    }
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

  /// Why a request missed, and what to do.
  package struct Fix: Codable, Sendable {
    package struct Cause: Codable, Sendable {
      /// What differs, as in `nearest.differences`.
      package var location: String
      /// `instant`, `uuid`, `nonce`, `counter`, `signature`, `redacted`, `partOrder`, `notation`, `order`, `exhausted`,
      /// or `other` if the app asked for something else.
      package var kind: String

      package init(location: String, kind: String) {
        self.location = location
        self.kind = kind
      }
    }

    /// The index of the interaction that the request was compared with; nil if none is similar.
    package var interaction: Int?
    package var causes: [Cause]
    /// What to do, in one line.
    package var advice: String
    /// The entry for `matching.rules` in `diorama.json` that makes the request match; nil if none does.
    package var rule: MatchingRules.Rule?
    /// The `redaction` in `diorama.json` that makes the request match in place of the rule; nil if none does.
    package var redaction: RedactionRules?
    /// Whether mode `extend` records the request so that the next replay has it.
    package var isRecordable: Bool

    package init(
      interaction: Int?, causes: [Cause], advice: String, rule: MatchingRules.Rule? = nil,
      redaction: RedactionRules? = nil, isRecordable: Bool
    ) {
      self.interaction = interaction
      self.causes = causes
      self.advice = advice
      self.rule = rule
      self.redaction = redaction
      self.isRecordable = isRecordable
    }

    /// A `diorama.json` with the setting that makes the request match; nil if none does.
    package var setting: JSON? {
      redaction.map { .object(["redaction": $0.document]) }
        ?? rule.map { .object(["matching": .object(["rules": .array([$0.document])])]) }
    }
  }

  /// A stub that nearly matches a request.
  package struct NearestStub: Codable, Sendable {
    package var stub: String
    package var differences: [String]

    package init(stub: String, differences: [String]) {
      self.stub = stub
      self.differences = differences
    }
  }

  /// A request that nothing answered.
  package struct Unmatched: Codable, Sendable {
    package var method: String
    package var url: String
    package var nearest: [Nearest]
    /// The stubs that nearly match; nil without stubs.
    package var nearestStubs: [NearestStub]?
    /// Why it missed; nil if it was refused, and in mode `mock`.
    package var fix: Fix?
    /// Why the request was refused without being matched, such as an undeclared host, and what to do; nil for a miss.
    package var refusal: String?

    package init(
      method: String, url: String, nearest: [Nearest], nearestStubs: [NearestStub]? = nil, fix: Fix? = nil,
      refusal: String? = nil
    ) {
      self.nearestStubs = nearestStubs
      self.method = method
      self.url = url
      self.nearest = nearest
      self.fix = fix
      self.refusal = refusal
    }
  }

  /// Requests whose responses did not arrive, or not completely.
  package struct FailedRequest: Codable, Sendable, Equatable {
    package var method: String
    package var url: String
    /// What happened, and what to do.
    package var cause: String
    /// How many equal requests failed this way.
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
    /// How to save the recording although it lacks responses; nil if it lacks none.
    package var permission: String?

    /// The cassette could not be saved.
    package static let unsealed = Recording(outcome: .unsealed, interactions: 0)

    package init(outcome: Outcome, interactions: Int, file: String? = nil, permission: String? = nil) {
      self.outcome = outcome
      self.interactions = interactions
      self.file = file
      self.permission = permission
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
  /// The requests that upstreams failed to answer; nil for none. They fail a recording unless a setting permits them.
  package var upstreamFailures: [FailedRequest]?
  /// The requests whose responses the app cancelled, which are therefore not recorded; nil for none. They fail a
  /// recording unless a setting permits them.
  package var brokenOff: [FailedRequest]?
  /// How many interactions the replayed cassette has; nil without one.
  package var interactions: Int?
  /// Whether the environment has ended, so that this report is final; nil while it is running.
  package var ended: Bool?
  /// The exit status of the command in `diorama run`; nil without one.
  package var commandStatus: Int32?
  /// The variables by which the command of `diorama run` found its environment, such as `DIORAMA_ENDPOINT_API`, without
  /// the token and the contract; nil without a command.
  package var variables: [String: String]?
  /// The leased resources, one line each, such as `patient = patients/anna, fence 4`; nil for none.
  package var resources: [String]?
  package var strings: Strings
  package var toggles: Toggles
  package var durationSeconds: Double
  /// Failures other than requests, such as a recording that could not be written or a timeout.
  package var failures: [String]
  /// One line for each body that decodes to more than the limit. Such bodies are kept as sent, and secrets in them are
  /// not redacted. Nil for none.
  package var keptAsSent: [String]?
  /// One line for each value that a rule ignores, while an answer contains it as it was recorded. Nil for none.
  package var unechoed: [String]?
  /// The stubs that answered no request; nil for none.
  package var unusedStubs: [String]?
  /// The environment's faults; nil for none.
  package var faults: [Fault]?
  /// Violations of the OpenAPI document by stub responses, and by requests that were not rejected, one line each. Nil
  /// for none.
  package var contractViolations: [String]?
  /// Violations of the OpenAPI document by requests that were rejected, and contradictions within the document, one
  /// line each. Nil for none.
  package var contractNotes: [String]?
  /// How the command was isolated; nil if it was not.
  package var isolation: Isolation?
  /// Where something was redacted in the recording, such as `request header Authorization` and
  /// `response body: access_token`, without values; nil for nowhere.
  package var redacted: [String]?
  /// Nil while the environment is running, and if nothing is recorded.
  package var recording: Recording?
  /// The command that records what is missing; nil if nothing is.
  package var advice: String?
  /// Whether the run succeeded: nothing unmatched, no string missing, no failures, no violation of the OpenAPI
  /// document, and no response lost in a recording.
  package var ok: Bool

  package init(
    environment: Environment, mode: String, cassette: String?, recordedAt: String?, clock: Clock, requests: Requests,
    unmatched: [Unmatched], unused: [Unused], upstreamFailures: [FailedRequest]? = nil,
    brokenOff: [FailedRequest]? = nil, interactions: Int? = nil, ended: Bool? = nil, resources: [String]? = nil,
    strings: Strings, toggles: Toggles, durationSeconds: Double, failures: [String], keptAsSent: [String]? = nil,
    unechoed: [String]? = nil, unusedStubs: [String]? = nil, faults: [Fault]? = nil,
    contractViolations: [String]? = nil,
    contractNotes: [String]? = nil, isolation: Isolation? = nil, redacted: [String]? = nil, recording: Recording? = nil,
    advice: String? = nil,
    ok: Bool
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
    self.brokenOff = brokenOff
    self.interactions = interactions
    self.ended = ended
    self.resources = resources
    self.strings = strings
    self.toggles = toggles
    self.durationSeconds = durationSeconds
    self.failures = failures
    self.keptAsSent = keptAsSent
    self.unechoed = unechoed
    self.unusedStubs = unusedStubs
    self.faults = faults
    self.contractViolations = contractViolations
    self.contractNotes = contractNotes
    self.isolation = isolation
    self.redacted = redacted
    self.recording = recording
    self.advice = advice
    self.ok = ok
  }
}

extension Report {
  /// The failure of a program that made no request although upstreams were declared. Such a program probably used the
  /// live backends.
  ///
  /// - Parameters:
  ///   - connection: how to make the program use its endpoints.
  ///   - permission: how to permit it.
  /// - Returns: the message.
  package static func noRequests(connection: String, permission: String) -> String {
    "\(noRequestsBeginning), so the program may have talked to the live backend instead: \(connection); "
      + "if it needs no requests, permit that with \(permission)"
  }

  /// The failure of a program that made no request although it could not bypass its environment.
  ///
  /// - Parameters:
  ///   - check: what to check.
  ///   - permission: how to permit it.
  /// - Returns: the message.
  package static func noRequests(check: String, permission: String) -> String {
    "\(noRequestsBeginning): \(check); if it needs no requests, permit that with \(permission)"
  }

  /// How the failure of a program without requests begins.
  static let noRequestsBeginning = "no request reached the environment"

  /// The report of an environment that ended with its process, about which little is known.
  ///
  /// - Parameters:
  ///   - id: its id.
  ///   - name: its display name.
  ///   - mode: its mode.
  ///   - cassette: the HAR file.
  ///   - recording: the outcome of its recording, if known.
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

extension [String: String] {
  /// The variables by which a program finds its environment, such as `DIORAMA_ENDPOINT_API`, without the token and the
  /// contract.
  package var namingEnvironment: [String: String] {
    filter { $0.key.hasPrefix("DIORAMA_") && !["DIORAMA_TOKEN", "DIORAMA_CONTRACT"].contains($0.key) }
  }
}
