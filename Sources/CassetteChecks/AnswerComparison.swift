import Cassettes
package import HTTPMessages

/// A response with its body in memory, to be compared.
package struct Answer: Sendable {
  package var status: Int
  package var headers: Headers
  /// The body without transfer coding and content coding.
  package var body: [UInt8]
  /// Whether the body was read to its end; false for an endless stream.
  package var isWhole: Bool

  package init(status: Int, headers: Headers, body: [UInt8], isWhole: Bool = true) {
    self.status = status
    self.headers = headers
    self.body = body
    self.isWhole = isWhole
  }
}

extension Answer {
  /// Compares this response with another response to the same request.
  ///
  /// If the statuses are in different classes (for example success and redirect), the contents are expected to differ,
  /// and only the status is reported.
  ///
  /// - Parameters:
  ///   - live: the other response.
  ///   - method: the request method; responses to `HEAD` have no body.
  ///   - known: the combined shape of all recordings of this kind.
  /// - Returns: the changes in order: status, content type, headers by name, body by path.
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
    // A changed content type is already reported; body changes would add nothing.
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
