import Basics
import Transforms
import Cassettes
import ControlAPI
import Foundation
package import HTTPMessages
import LaunchContract

/// The paths under `/__diorama/` on an environment's main port. Apps report through them, and programs in any language
/// get random values from them, and move the clock.
struct Control: Sendable {
  /// The maximum size of a body in bytes, enough for the longest random string in any alphabet.
  private static let bodyLimit = 8 << 20

  let environment: Environment

  func respond(to request: Request, path: String) async throws -> Response {
    try LocalAccess.check(request.headers, port: environment.mainPort, host: environment.host)
    let name = path.prefix { $0 != "?" }
    if let flags = OFREP.Flags(path: name) {
      return try await OFREP(environment: environment).respond(to: request, flags: flags)
    }
    guard isAuthorized(request.headers["Authorization"]) else {
      throw Problem(
        status: 401, title: "The token is missing or wrong",
        detail: "send Authorization: Bearer with DIORAMA_TOKEN", headers: ["WWW-Authenticate": "Bearer"])
    }
    switch (request.method, name) {
    case ("POST", "/strings"): return try await strings(decode(request))
    case ("POST", "/clock"): return try await moveClock(decode(request))
    case ("POST", "/usage"): return try await usage(decode(request))
    case ("GET", "/state"): return try await state(request, query: String(path.dropFirst(name.count + 1)))
    case ("POST", "/acknowledge"): return try await acknowledge(decode(request))
    #if os(Linux)
      case ("GET", "/isolation"): return try isolation()
      case ("POST", "/isolation"): return try await note(decode(request))
      case ("GET", "/tunnel"): return try tunnel(request, query: String(path.dropFirst(name.count + 1)))
    #endif
    case (_, "/strings"), (_, "/clock"), (_, "/usage"), (_, "/acknowledge"):
      throw Problem(
        status: 405, title: "Method not allowed", detail: "use POST for \(path)", headers: ["Allow": "POST"])
    case (_, "/state"):
      throw Problem(status: 405, title: "Method not allowed", detail: "use GET for \(path)", headers: ["Allow": "GET"])
    default:
      throw Problem(status: 404, title: "Unknown path", detail: "the API includes POST /__diorama/strings")
    }
  }

  /// `POST /strings`, for callers that already have the request's body.
  fileprivate func strings(body: [UInt8]) -> Response {
    do {
      guard body.count <= Self.bodyLimit else { throw BodyTooLarge(limit: Self.bodyLimit) }
      return try strings(Self.decode(body))
    } catch {
      return environment.response(to: error)
    }
  }

  /// Returns one value: the next one of its key, or the one for the ordinal that the request names.
  private func strings(_ request: StringRequest) throws -> Response {
    let parameters = request.parameters
    // Keys are stored in the string store unredacted.
    guard environment.recorder == nil || environment.redactor.secrets.redact(request.key) == request.key else {
      throw Problem(
        status: 400, title: "The key contains a secret",
        detail: "the key '\(environment.redactor.redact(request.key))' would be recorded; use another key")
    }
    let outcome = try environment.state.withLock { state -> (StringLedger.Answer, Int) in
      let ordinal = request.ordinal ?? state.ledger.nextOrdinal(of: request.key)
      let answer: StringLedger.Answer
      do {
        answer =
          request.status == .missing
          ? .missing(try state.ledger.reportMissing(key: request.key, ordinal: ordinal, shape: parameters))
          : try state.ledger.value(key: request.key, ordinal: ordinal, shape: parameters)
      } catch {
        throw Problem(status: 400, title: "Invalid value request", detail: "\(error)")
      }
      // Only now, so that a refused request does not use up an ordinal.
      if request.ordinal == nil {
        state.ledger.advance(request.key)
        environment.changes.note()
      }
      return (answer, ordinal)
    }
    if request.ordinal == nil { try keepUse(of: request.key, outcome.1) }
    switch outcome.0 {
    case .stored(let value), .derived(let value): return try answer(value, outcome.1)
    case .new(let value):
      // Record the value before it is used, so that the recording survives whatever the app does with it.
      try record(StringEntry(value: value, parameters: parameters), key: request.key, ordinal: outcome.1)
      environment.state.withLock {
        $0.ledger.keep(value, key: request.key, ordinal: outcome.1, shape: parameters)
      }
      return try answer(value, outcome.1)
    case .missing(let text):
      environment.note(.note, status: 409, method: "", url: "", text: text)
      throw Problem(status: 409, title: "The value is not recorded", detail: text)
    }
  }

  /// Stores the use of an ordinal, so that no other request gets it, even after this process is killed.
  private func keepUse(of key: String, _ ordinal: Int) throws {
    do { try environment.changes.keep() } catch {
      // A retry gets the same ordinal.
      environment.state.withLock { $0.ledger.takeBack(key, ordinal) }
      throw Problem(status: 507, title: "The use of the key could not be stored", detail: error.message)
    }
  }

  private func record(_ entry: StringEntry, key: String, ordinal: Int) throws {
    do { try environment.recorder?.append(entry, key: key, ordinal: ordinal) } catch {
      environment.failRecording(error)
      throw Problem(status: 507, title: "The value cannot be recorded", detail: error.message)
    }
  }

  /// Moves the clock of all programs, and returns once apps that follow it have applied the move.
  private func moveClock(_ request: ClockMoveRequest) async throws -> Response {
    let seconds = request.timeoutSeconds ?? 30
    guard 0...3600 ~= seconds else {
      throw Problem(
        status: 422, title: "Invalid timeout", detail: "timeoutSeconds: \(seconds) is not between 0 and 3600")
    }
    let moved: Environment.Moved
    do throws(CodedError) {
      moved = try await environment.moveClock(
        try Environment.ClockMove(request), afterSleepers: request.sleepers, timeout: .seconds(seconds))
    } catch {
      let status = error.kind == .usage ? 422 : error.kind == .unanswered ? 409 : 507
      throw Problem(status: status, title: "The clock was not moved", detail: error.message)
    }
    let answer = ClockMoveAnswer(
      now: RFC3339.format(moved.now, exactly: true), revision: moved.revision, woken: moved.woken)
    return Response(
      status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Array(try JSON.encode(answer))))
  }

  private func usage(_ report: UsageReport) throws -> Response {
    environment.state.withLock { state in
      state.noteReading(report.toggles)
      state.ledger.noteReading(report.strings)
    }
    return Response(status: 204)
  }

  private func answer(_ value: String, _ ordinal: Int) throws -> Response {
    let data = try JSON.encode(StringUseAnswer(value: value, ordinal: ordinal))
    return Response(status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Array(data)))
  }

  private func decode<Value: Decodable>(_ request: Request) async throws -> Value {
    try Self.decode(try await request.body.collect(upTo: Self.bodyLimit))
  }

  private static func decode<Value: Decodable>(_ body: [UInt8]) throws -> Value {
    do { return try JSON.decode(Value.self, from: Data(body), source: "the request's body") } catch {
      throw Problem(status: 400, title: "The body cannot be read", detail: error.problem)
    }
  }

  private func isAuthorized(_ header: String?) -> Bool {
    ConstantTime.areEqual(Array((header ?? "").utf8), Array("Bearer \(environment.token)".utf8))
  }

  /// Checks that a client of the main port as a proxy has the token as its password (RFC 7617).
  ///
  /// - Parameter headers: the request's headers.
  /// - Throws: a ``Problem`` if it has not.
  func checkProxyUser(_ headers: Headers) throws(Problem) {
    let words = (headers["Proxy-Authorization"] ?? "").split(separator: " ")
    let isBasic = words.count == 2 && words[0].lowercased() == "basic"
    let password = isBasic ? Base64.decode(String(words[1]))?.split(separator: 0x3A, maxSplits: 1).last : nil
    guard ConstantTime.areEqual(Array(password ?? []), Array("\(environment.token)".utf8)) else {
      throw Problem(
        status: 407, title: "Proxy authentication required",
        detail: "run the program with diorama env enter, or give the token as the proxy's password "
          + "(http://diorama:$DIORAMA_TOKEN@\(environment.host):\(environment.mainPort))",
        headers: ["Proxy-Authenticate": "Basic realm=\"diorama\""])
    }
  }
}

extension Environment {
  /// Answers the body of `POST /__diorama/strings` with a random value or a problem document.
  package func strings(requestBody: [UInt8]) -> Response {
    Control(environment: self).strings(body: requestBody)
  }
}

extension Environment.State {
  /// The most toggles that are remembered as read.
  private static let readLimit = 10_000

  /// The app has read toggles. The first value read of each counts.
  mutating func noteReading(_ toggles: [String: JSON]) {
    for (name, value) in toggles where togglesRead[name] == nil && togglesRead.count < Self.readLimit {
      togglesRead[name] = value
    }
  }
}

/// A request for a random value. A program that does not count its own uses leaves out the ordinal.
struct StringRequest: Decodable {
  var key: String
  var ordinal: Int?
  var status: StringUse.Status?
  var parameters: StringParameters

  private enum CodingKeys: String, CodingKey {
    case key, ordinal, status
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    key = try container.decode(String.self, forKey: .key)
    ordinal = try container.decodeIfPresent(Int.self, forKey: .ordinal)
    status = try container.decodeWordIfPresent(StringUse.Status.self, forKey: .status)
    parameters = try StringParameters(request: decoder)
  }
}
