import Basics
import HTTPMessages
import LaunchContract

/// Why OFREP evaluates nothing, in its words.
struct EvaluationError: Sendable {
  enum Code: String, Sendable {
    case flagNotFound = "FLAG_NOT_FOUND"
    case parseError = "PARSE_ERROR"
    case invalidContext = "INVALID_CONTEXT"
  }

  let code: Code
  let details: String

  init(_ code: Code, _ details: String) {
    self.code = code
    self.details = details
  }

  /// What is wrong with a request's body, of which nothing has to be there.
  ///
  /// - Returns: nil where nothing is wrong.
  init?(body: [UInt8]) {
    guard !body.isEmpty else { return nil }
    let document: JSON
    do throws(JSONError) {
      document = try JSON.parse(body)
    } catch {
      self.init(.parseError, "the body is not valid JSON: \(error)")
      return
    }
    guard case .object = document else {
      self.init(.parseError, "the body is to be an object, as in {\"context\": {}}")
      return
    }
    switch document["context"] {
    case nil, .null?: return nil
    case .object?:
      guard let key = document["context"]?["targetingKey"], key != .null, key.string == nil else { return nil }
      self.init(.invalidContext, "context.targetingKey is to be a string")
    default: self.init(.invalidContext, "context is to be an object")
    }
  }

  func response(key: String?) throws -> Response {
    var members: [String: JSON] = ["errorCode": .string(code.rawValue), "errorDetails": .string(details)]
    if let key { members["key"] = .string(key) }
    return try OFREP.json(code == .flagNotFound ? 404 : 400, .object(members))
  }
}
