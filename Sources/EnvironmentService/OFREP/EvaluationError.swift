import Basics
import HTTPMessages
import LaunchContract

/// An OFREP evaluation error, with the protocol's error codes.
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

  /// Checks the body of an evaluation request. All of its members are optional.
  ///
  /// - Returns: nil if the body is valid.
  init?(body: [UInt8]) {
    guard !body.isEmpty else { return nil }
    let document: JSON
    do { document = try JSON.parse(body) } catch {
      self.init(.parseError, "the body is not valid JSON: \(error)")
      return
    }
    guard case .object = document else {
      self.init(.parseError, "the body must be an object, such as {\"context\": {}}")
      return
    }
    switch document["context"] {
    case nil, .null?: return nil
    case .object?:
      guard let key = document["context"]?["targetingKey"], key != .null, key.string == nil else { return nil }
      self.init(.invalidContext, "context.targetingKey must be a string")
    default: self.init(.invalidContext, "context must be an object")
    }
  }

  func response(key: String?) throws -> Response {
    var members: [String: JSON] = ["errorCode": .string(code.rawValue), "errorDetails": .string(details)]
    if let key { members["key"] = .string(key) }
    return try OFREP.json(code == .flagNotFound ? 404 : 400, .object(members))
  }
}
