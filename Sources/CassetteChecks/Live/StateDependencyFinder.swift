import Cassettes
import HTTPMessages
import LaunchContract

/// Which earlier request may have brought about the state that an answer was recorded in.
///
/// A `GET` after a `POST` answers what the `POST` has made; asked today, without it, it may answer something else though
/// nothing is wrong. Not every `POST` before it has to do with it, or no drift could ever be told: it has if it was
/// answered with success, was for the same backend, and
/// - one of the two paths begins with the other (`POST /appointments`, `GET /appointments/7`), or
/// - its answer gave an id that the later request has in its path or query.
///
/// A token or a cookie that it gave says who asks: without it the answer is a refusal, and only a refusal comes of that.
struct StateDependencyFinder {
  private let recording: Recording

  init(_ recording: Recording) {
    self.recording = recording
  }

  /// The latest such request before an interaction.
  ///
  /// - Parameters:
  ///   - index: the interaction.
  ///   - isRefused: whether the live answer says that nobody is signed in: then what gave the credentials counts too.
  /// - Returns: its index; nil where there is none.
  /// - Throws: what reading a body throws.
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
      // Ids stand near the beginning; a large download is no answer that gives one.
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

  /// The token of a request's `Authorization`, and its cookies.
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

/// The methods that a request may be repeated with, since they ask for no change (RFC 9110, 9.2.1).
enum SafeMethod {
  static func contains(_ method: String) -> Bool { ["GET", "HEAD", "OPTIONS"].contains(method) }
}

/// Marks that stand where a recording has left out a secret: `<redacted>`, `<redacted:clinic/token>`, also
/// percent-encoded.
enum RedactedPart {
  static func isIn(_ text: String) -> Bool {
    ["<redacted", "%3Credacted", "%3credacted"].contains { text.utf8.firstRange(of: $0.utf8) != nil }
  }
}
