import Basics
import Foundation
import HTTPMessages
import LaunchContract

/// OpenFeature's remote evaluation protocol (OFREP), version 0.3: serves the environment's toggles as flags to
/// providers in any language.
///
/// A toggle has the same value for every context, so the context is validated and otherwise ignored.
///
/// The report counts a flag as read if it was requested by key. Evaluating all flags does not count: web providers load
/// all flags at once, and toggles that nothing uses would never be reported as unread.
struct OFREP: Sendable {
  /// The requested flags.
  enum Flags: Equatable {
    case all
    /// The flag's key as it is in the path.
    case one(String)

    /// - Parameter path: the path after `/__diorama`, without the query. The result is nil for a path outside this
    ///   protocol.
    init?(path: Substring) {
      let root = "/ofrep/v1/evaluate/flags"
      if path == root {
        self = .all
      } else if path.hasPrefix(root + "/") {
        self = .one(String(path.dropFirst(root.count + 1)))
      } else {
        return nil
      }
    }
  }

  /// The maximum size of a body in bytes. Contexts are small.
  private static let bodyLimit = 1 << 20

  let environment: Environment

  func respond(to request: Request, flags: Flags) async throws -> Response {
    guard request.method == "POST" else {
      throw Problem(
        status: 405, title: "Method not allowed", detail: "OFREP evaluates flags by POST", headers: ["Allow": "POST"])
    }
    // A content type that a page can send without a preflight request (a form, plain text) is refused.
    let types = request.headers.all("Content-Type").map { $0.prefix { $0 != ";" && $0 != " " }.lowercased() }
    let isEmpty = types.isEmpty && request.body.length == 0
    guard isEmpty || types == ["application/json"] else {
      throw Problem(
        status: 415, title: "Unsupported content type", detail: "send the context with Content-Type: application/json",
        headers: ["Accept": "application/json"])
    }
    let key: String? = if case .one(let name) = flags { name.removingPercentEncoding ?? name } else { nil }
    if let error = EvaluationError(body: try await request.body.collect(upTo: Self.bodyLimit)) {
      return try error.response(key: key)
    }
    switch flags {
    case .all: return try all(ifNoneMatch: request.headers.all("If-None-Match"))
    case .one(let name): return try one(key ?? name, asSent: name)
    }
  }

  /// Evaluates one flag. If there is no flag with the decoded key, the key is tried as it is in the path.
  private func one(_ key: String, asSent name: String) throws -> Response {
    let evaluation = read { state -> (String, JSON)? in
      for key in [key, name] {
        guard let value = state.live.state.toggles[key], value != .null else { continue }
        state.noteReading([key: value])
        return (key, value)
      }
      return nil
    }
    guard let (key, value) = evaluation else {
      let error = EvaluationError(
        .flagNotFound, "the environment has no toggle '\(key)'; set it when you provision the environment, or PATCH it")
      return try error.response(key: key)
    }
    return try Self.json(200, Self.evaluation(key, value))
  }

  /// Evaluates all flags. Clients poll, so an unchanged result gets a 304.
  private func all(ifNoneMatch: [String]) throws -> Response {
    let toggles = read { $0.live.state.toggles.filter { $0.value != .null } }
    let flags = toggles.sorted { $0.key < $1.key }.map { Self.evaluation($0.key, $0.value) }
    var response = try Self.json(200, .object(["flags": .array(flags)]))
    let digest = try ContentDigest()
    if case .bytes(let bytes) = response.body { bytes.withUnsafeBytes { digest.update($0) } }
    let tag = "\"\(digest.finish().prefix(32))\""
    let known = ifNoneMatch.joined(separator: ",").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    if known.contains(where: { ["*", tag, "W/" + tag].contains($0) }) {
      response = Response(status: 304)
    }
    response.headers.append("ETag", tag)
    return response
  }

  /// Reads toggles that are about to be sent.
  private func read<Toggles>(_ choose: (inout Environment.State) -> Toggles) -> Toggles {
    let toggles = environment.state.withLock { choose(&$0) }
    // A new value is stored before a client sees it.
    environment.changes.keepIfPossible()
    return toggles
  }

  private static func evaluation(_ key: String, _ value: JSON) -> JSON {
    // Providers expect one of the protocol's reasons, and a variant.
    let variant = value.bool.map { $0 ? "on" : "off" } ?? "value"
    return .object([
      "key": .string(key), "value": value, "reason": .string("STATIC"), "variant": .string(variant),
    ])
  }

  static func json(_ status: Int, _ value: JSON) throws -> Response {
    Response(
      status: status, headers: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      body: .bytes(Array(try JSON.encode(value))))
  }
}
