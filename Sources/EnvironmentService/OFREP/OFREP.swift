import Basics
import Foundation
import HTTPMessages
import LaunchContract

/// OpenFeature's remote evaluation protocol, version 0.3: the environment's toggles as flags, for providers in any
/// language.
///
/// A toggle has one value for everybody, so that the context of an evaluation is read and does not count.
///
/// The report takes a flag that is asked for by its key as read. An evaluation of all flags reads none of them: that is
/// how a web provider loads whatever there is, and a toggle that nothing depends on would never be told.
struct OFREP: Sendable {
  /// What is asked for.
  enum Flags: Equatable {
    case all
    /// Its key as sent.
    case one(String)

    /// - Parameter path: after `/__diorama`, without the query; nil for a path that is not of this protocol.
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

  /// Contexts are small.
  private static let bodyLimit = 1 << 20

  let environment: Environment

  func respond(to request: Request, flags: Flags) async throws -> Response {
    guard request.method == "POST" else {
      throw Problem(
        status: 405, title: "Only POST works here", detail: "OFREP evaluates flags by POST", headers: ["Allow": "POST"])
    }
    // What a page can send without asking first (a form, a text) is not taken for a context.
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

  /// One flag, by its key; by the key as sent where that is a name with a percent sign.
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
        .flagNotFound, "the environment has no toggle '\(key)'; give it when you provision, or PATCH it")
      return try error.response(key: key)
    }
    return try Self.json(200, Self.evaluation(key, value))
  }

  /// All flags. Clients ask again and again: what has not changed is answered with a 304.
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

  /// Takes toggles that are handed out.
  private func read<Toggles>(_ choose: (inout Environment.State) -> Toggles) -> Toggles {
    let toggles = environment.state.withLock { choose(&$0) }
    // A change that was made just now is told only once it is stored.
    environment.changes.keepIfPossible()
    return toggles
  }

  private static func evaluation(_ key: String, _ value: JSON) -> JSON {
    // Providers want a variant and a reason that they know.
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
