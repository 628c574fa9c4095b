import Cassettes
package import HTTPMessages

/// A response with its body in memory, to be compared.
package struct Answer: Sendable {
  package var status: Int
  package var headers: Headers
  /// Without transfer coding and content coding.
  package var body: [UInt8]
  /// Whether the body was read to its end: that of a stream that never ends is not.
  package var isWhole: Bool

  package init(status: Int, headers: Headers, body: [UInt8], isWhole: Bool = true) {
    self.status = status
    self.headers = headers
    self.body = body
    self.isWhole = isWhole
  }
}

extension Answer {
  /// In what another answer to the same request is not this one.
  ///
  /// An answer of another class (a success, a redirect, a refusal) has another content by nature: then only the status
  /// is told.
  ///
  /// - Parameters:
  ///   - live: the other answer.
  ///   - method: of the request; `HEAD` has no body.
  ///   - known: the shape of all recordings of things of this kind.
  /// - Returns: the changes in order: status, content type, headers by name, body by place.
  func changes(to live: Answer, method: String, known: JSONShape?) -> Changes {
    var changes = Changes()
    if status != live.status {
      changes += Changes(shape: [Change(.status, "status", was: "\(status)", now: "\(live.status)")])
      guard status / 100 == live.status / 100 else { return changes }
    }
    let type = headers["Content-Type"]
    let liveType = live.headers["Content-Type"]
    changes += Self.contentType(type, liveType)
    changes += HeaderComparison.changes(recorded: headers, live: live.headers)
    guard method != "HEAD", isWhole, live.isWhole else { return changes }
    // What is told already needs no second line.
    guard MediaType(type).essence == MediaType(liveType).essence else { return changes }
    changes += BodyComparison.changes(
      recorded: BodySide(body, contentType: type), live: BodySide(live.body, contentType: liveType), known: known)
    return changes
  }

  private static func contentType(_ was: String?, _ now: String?) -> Changes {
    let old = MediaType(was)
    let new = MediaType(now)
    guard old.essence == new.essence else {
      return Changes(
        shape: [
          Change(
            .contentType, "content type", was: old.essence.isEmpty ? "none" : old.essence,
            now: new.essence.isEmpty ? "none" : new.essence)
        ])
    }
    guard old.parameters.lowercased() != new.parameters.lowercased() else { return Changes() }
    return Changes(values: [Change(.value, "content type", was: was, now: now)])
  }
}
