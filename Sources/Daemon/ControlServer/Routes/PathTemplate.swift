import Foundation

/// A path with places for parameters: `/v1/environments/{id}/clock`.
struct PathTemplate: Sendable, ExpressibleByStringLiteral {
  let text: String
  private let segments: [Substring]

  init(stringLiteral value: String) {
    text = value
    segments = value.split(separator: "/", omittingEmptySubsequences: false)
  }

  /// The values of its parameters in a path; nil where the path is another.
  func match(_ path: [String]) -> [String: String]? {
    guard path.count == segments.count else { return nil }
    var values: [String: String] = [:]
    for (segment, given) in zip(segments, path) {
      if segment.first == "{" {
        guard !given.isEmpty else { return nil }
        values[String(segment.dropFirst().dropLast())] = given
      } else if segment != given {
        return nil
      }
    }
    return values
  }

  /// The segments of a request's path, without percent-encoding; nil where that is broken.
  static func segments(of path: String) -> [String]? {
    var segments: [String] = []
    for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
      guard let text = segment.removingPercentEncoding else { return nil }
      segments.append(text)
    }
    return segments
  }
}
