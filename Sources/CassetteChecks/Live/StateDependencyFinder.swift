import Cassettes
import HTTPMessages
import LaunchContract

/// Finds the earlier request that may have created the state that a response was recorded in.
///
/// A `GET` after a `POST` may return what the `POST` created. Sent today without the `POST`, it may return something
/// else although nothing is wrong. If every earlier `POST` counted, drift could never be reported. So a request counts
/// only if it succeeded, was sent to the same backend, and
/// - one of the two paths begins with the other (`POST /appointments`, `GET /appointments/7`), or
/// - its response contains an id that the later request has in its path or query.
///
/// A response that contains the later request's token or cookie counts only if the live request was refused: missing
/// credentials cause a refusal and nothing else.
struct StateDependencyFinder {
  private let recording: Recording

  init(_ recording: Recording) {
    self.recording = recording
  }

  /// The latest such request before an interaction.
  ///
  /// - Parameters:
  ///   - index: the index of the interaction.
  ///   - isRefused: whether the live response is a refusal for missing credentials. Then requests that returned the
  ///   credentials count too.
  /// - Returns: the index of the request's interaction, or nil.
  /// - Throws: errors from reading a body.
  func writer(before index: Int, isRefused: Bool) throws -> Int? {
    let used = ids(in: index).union(isRefused ? credentials(of: index) : [])
    let path = segments(index)
    for earlier in (0..<index).reversed() {
      let interaction = recording.interactions[earlier]
      guard !SafeMethod.contains(interaction.request.method), interaction.response.status < 400,
        recording.backends[earlier] == recording.backends[index]
      else { continue }
      let other = segments(earlier)
      if !path.isEmpty, !other.isEmpty, path.starts(with: other) || other.starts(with: path) { return earlier }
      guard !used.isEmpty else { continue }
      let answer = try recording.answer(earlier)
      // Ids are usually near the beginning of a response, so large downloads are not searched completely.
      let body = String(decoding: answer.body.prefix(1 << 20), as: UTF8.self)
      let given = [body] + answer.headers.fields.map(\.value)
      if used.contains(where: { token in given.contains { $0.utf8.firstRange(of: token.utf8) != nil } }) {
        return earlier
      }
    }
    return nil
  }

  private func segments(_ index: Int) -> [Substring] { recording.url(index).path.split(separator: "/") }

  /// The ids in a request's path and query.
  private func ids(in index: Int) -> Set<String> {
    var ids = Set(segments(index).filter { $0.count >= 8 && ChangingName.matches($0) }.map(String.init))
    let query = Array((recording.url(index).query ?? "").utf8).withUnsafeBytes { QueryItems($0) }
    for value in query.items.compactMap(\.value) {
      let text = String(decoding: query.text[value], as: UTF8.self)
      if text.utf8.count >= 8, ChangingName.matches(text) { ids.insert(text) }
    }
    return ids.filter { !RedactedPart.isIn($0) }
  }

  /// The token in a request's `Authorization` field, and its cookies.
  private func credentials(of index: Int) -> Set<String> {
    var tokens: Set<String> = []
    let headers = recording.interactions[index].request.headers
    for value in headers.all("Authorization") {
      if let token = value.split(separator: " ").last, token.utf8.count >= 8 { tokens.insert(String(token)) }
    }
    for cookie in headers.all("Cookie").flatMap({ $0.split(separator: ";") }) {
      if let equals = cookie.firstIndex(of: "="), cookie[equals...].utf8.count > 8 {
        tokens.insert(String(cookie[cookie.index(after: equals)...]))
      }
    }
    return tokens.filter { !RedactedPart.isIn($0) }
  }
}

/// Methods that can be repeated because they are safe (RFC 9110, section 9.2.1).
enum SafeMethod {
  static func contains(_ method: String) -> Bool { ["GET", "HEAD", "OPTIONS"].contains(method) }
}

/// Detects the marks that replace redacted secrets in a recording: `<redacted>`, `<redacted:clinic/token>`, also
/// percent-encoded.
enum RedactedPart {
  static func isIn(_ text: String) -> Bool {
    ["<redacted", "%3Credacted", "%3credacted"].contains { text.utf8.firstRange(of: $0.utf8) != nil }
  }
}
