import EnvironmentConfiguration
import Foundation
import HTTPMessages

extension Route {
  /// - Throws: a ``Problem`` where a value in the path does not fit.
  func read(path values: [String: String]) throws(Problem) -> [String: String] {
    for parameter in parameters where parameter.place == .path {
      if let text = values[parameter.name] { try parameter.check(text) }
    }
    return values
  }

  /// - Throws: a ``Problem`` where an item of the query is not known, is there twice, or does not fit.
  func read(query: String) throws(Problem) -> [String: String] {
    let known = parameters.filter { $0.place == .query }
    var values: [String: String] = [:]
    for item in query.split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = parts[0].removingPercentEncoding,
        let value = (parts.dropFirst().first ?? "").removingPercentEncoding
      else { throw Problem(400, "The query cannot be read", "an item is not percent-encoded") }
      guard let parameter = known.first(where: { $0.name == name }) else {
        let names = known.map(\.name).joined(separator: " and ")
        throw Problem(
          400, "The query cannot be read",
          "'\(name.prefix(80))' is not known; \(names.isEmpty ? "this call takes no query" : "there is \(names)")")
      }
      try parameter.check(value)
      guard values.updateValue(value, forKey: name) == nil else {
        throw Problem(400, "The query cannot be read", "\(name): it is there twice")
      }
    }
    return values
  }

  /// - Throws: a ``Problem`` where a header field that is a parameter does not fit.
  func read(headers: Headers) throws(Problem) -> [String: String] {
    var values: [String: String] = [:]
    for parameter in parameters where parameter.place == .header {
      guard let text = headers[parameter.name] else { continue }
      try parameter.check(text)
      values[parameter.name] = text
    }
    return values
  }
}
