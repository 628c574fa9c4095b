import Basics
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract

/// An operation of the control API: its request, its answers and its implementation.
///
/// Requests are dispatched, and `/openapi.json` is made, from the table of routes alone.
struct Route: Sendable {
  let method: String
  let path: PathTemplate
  /// The operation's name in the document and in the metrics, such as `provisionEnvironment`.
  let operation: String
  /// A one-sentence summary.
  let summary: String
  /// Whether it needs no token.
  var isOpen = false
  /// Whether programs on other machines are refused.
  var isLocal = false
  var parameters: [Parameter] = []
  var body: RequestBody?
  /// Successful answers.
  let answers: [Answer]
  /// The meaning of error statuses, in addition to those that every such route has (``Route/allProblems``).
  var problems: [Int: String] = [:]
  let perform: @Sendable (Call) async throws -> Response
}

/// A successful answer.
struct Answer: Sendable {
  let status: Int
  let note: String
  /// Schemas by media type; empty for an answer without a body.
  let content: [String: Schema]
  /// Descriptions of header fields.
  var headers: [String: String] = [:]

  static func json(_ status: Int, _ schema: String, _ note: String, headers: [String: String] = [:]) -> Answer {
    Answer(status: status, note: note, content: ["application/json": .reference(schema)], headers: headers)
  }
}

/// A request that has passed all checks.
struct Call: Sendable {
  let server: ControlServer
  let operations: any ControlOperations
  let parameters: ParameterValues
  let headers: Headers
  /// The body, which fits the route's schema.
  let body: [UInt8]

  /// The id in the path.
  var id: String { parameters["id"] ?? "" }

  /// Decodes the body.
  ///
  /// - Throws: ``DaemonError`` for values that the schema can't exclude, such as a number that doesn't fit a `Double`.
  func decode<Message: Decodable>() throws(DaemonError) -> Message {
    do { return try JSON.decode(Message.self, from: Data(body), source: "the body") } catch {
      throw DaemonError(400, "Invalid body", error.problem)
    }
  }
}

extension Route {
  /// All error statuses: those of the operation, of the checks before it, and of the HTTP server.
  var allProblems: [Int: String] {
    var all = problems
    func also(_ status: Int, _ note: String) { all[status] = all[status].map { "\($0); or \(note)" } ?? note }
    also(400, "a parameter\(body == nil ? "" : " or the body") is invalid")
    also(403, "the request comes from a web page or another user, or has a wrong Host header")
    also(429, "too many requests without a valid token came from this address of another machine")
    if !isOpen {
      also(401, "the token is missing or invalid")
      also(503, "the daemon is stopping")
    }
    if body != nil { also(415, "the body's type is not supported") }
    also(413, "the body is too long")
    also(414, "the target is too long")
    also(431, "the head is too long")
    also(500, "internal error; please report it")
    also(501, "the body has a transfer coding other than chunked")
    also(503, "too many connections")
    return all
  }

  /// All statuses that the document lists.
  var statuses: Set<Int> { Set(answers.map(\.status)).union(allProblems.keys) }
}

extension Route {
  /// - Throws: ``DaemonError`` if a value in the path is invalid.
  func read(path values: [String: String]) throws(DaemonError) -> [String: String] {
    for parameter in parameters where parameter.place == .path {
      if let text = values[parameter.name] { try parameter.check(text) }
    }
    return values
  }

  /// - Throws: ``DaemonError`` if a query item is unknown, invalid, or repeated.
  func read(query: String) throws(DaemonError) -> [String: String] {
    let known = parameters.filter { $0.place == .query }
    var values: [String: String] = [:]
    for item in query.split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = parts[0].removingPercentEncoding,
        let value = (parts.dropFirst().first ?? "").removingPercentEncoding
      else { throw DaemonError(400, "Invalid query", "an item is not valid percent-encoding") }
      guard let parameter = known.first(where: { $0.name == name }) else {
        let names = known.map(\.name).joined(separator: " and ")
        throw DaemonError(
          400, "Invalid query",
          "'\(name.prefix(80))' is not a query item; \(names.isEmpty ? "this call takes no query" : "this call takes \(names)")"
        )
      }
      try parameter.check(value)
      guard values.updateValue(value, forKey: name) == nil else {
        throw DaemonError(400, "Invalid query", "\(name): given twice")
      }
    }
    return values
  }

  /// - Throws: ``DaemonError`` if a header parameter is invalid.
  func read(headers: Headers) throws(DaemonError) -> [String: String] {
    var values: [String: String] = [:]
    for parameter in parameters where parameter.place == .header {
      guard let text = headers[parameter.name] else { continue }
      try parameter.check(text)
      values[parameter.name] = text
    }
    return values
  }
}

/// A parameter in a request's path, query or header.
struct Parameter: Sendable {
  enum Place: String, Sendable {
    case path, query, header
  }

  let name: String
  let place: Place
  let schema: Schema
  let note: String

  /// - Throws: ``DaemonError`` if the text is not a valid value.
  func check(_ text: String) throws(DaemonError) {
    let value: JSON
    switch schema {
    // JSON allows no leading zeros and no plus sign; parameters follow it.
    case .integer: value = Int(text).map { "\($0)" == text ? .number(text) : .string(text) } ?? .string(text)
    case .boolean: value = ["true": .bool(true), "false": .bool(false)][text] ?? .string(text)
    default: value = .string(text)
    }
    if let problem = schema.problem(with: value, at: name) {
      throw DaemonError(400, "Invalid \(place)", problem)
    }
  }
}

/// A request's parameters by name, all of them valid.
struct ParameterValues: Sendable {
  private var texts: [String: String]

  init(_ texts: [String: String]) { self.texts = texts }

  mutating func merge(_ others: [String: String]) { texts.merge(others) { first, _ in first } }

  subscript(_ name: String) -> String? { texts[name] }
  func int(_ name: String) -> Int? { texts[name].flatMap { Int($0) } }
  func bool(_ name: String) -> Bool? { texts[name].map { $0 == "true" } }
}

/// A path with parameters, such as `/v1/environments/{id}/clock`.
struct PathTemplate: Sendable, ExpressibleByStringLiteral {
  let text: String
  private let segments: [Substring]

  init(stringLiteral value: String) {
    text = value
    segments = value.split(separator: "/", omittingEmptySubsequences: false)
  }

  /// Returns the parameter values of a path, or nil if the path doesn't match.
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

  /// Returns the percent-decoded segments of a request's path, or nil if the encoding is invalid.
  static func segments(of path: String) -> [String]? {
    var segments: [String] = []
    for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
      guard let text = segment.removingPercentEncoding else { return nil }
      segments.append(text)
    }
    return segments
  }
}

/// All operations of the control API.
enum RouteTable {
  static let all: [Route] = daemon + environments + journals + ports + leases + pools + fleet + tokens

  /// The statuses that the document lists for each operation.
  static let statuses = Dictionary(uniqueKeysWithValues: all.map { ($0.operation, $0.statuses) })

  /// The result of a lookup.
  enum Match: Sendable {
    case found(Route, [String: String])
    /// The path exists, but not with this method.
    case otherMethods([Route])
    case none
    case unreadable

    /// Whether a client without a token may learn the result.
    var isOpen: Bool {
      switch self {
      case .found(let route, _): route.isOpen
      case .otherMethods(let routes): routes.allSatisfy(\.isOpen)
      case .none, .unreadable: false
      }
    }

    /// - Throws: ``DaemonError`` unless the lookup found an operation.
    func found() throws(DaemonError) -> (Route, [String: String]) {
      switch self {
      case .found(let route, let values): return (route, values)
      case .otherMethods(let routes):
        let methods = RouteTable.methods(of: routes).joined(separator: ", ")
        throw DaemonError(405, "Method not allowed", "use \(methods)", headers: ["Allow": methods])
      case .none:
        throw DaemonError(404, "Path not found", "GET /openapi.json lists all paths")
      case .unreadable: throw DaemonError(400, "Invalid path", "the path is not percent-encoded UTF-8")
      }
    }
  }

  /// Looks up an operation. `HEAD` counts as `GET`; the server omits the body.
  static func match(method: String, path: String) -> Match {
    guard path.hasPrefix("/") else { return .none }
    guard let segments = PathTemplate.segments(of: path) else { return .unreadable }
    let method = method == "HEAD" ? "GET" : method
    var others: [Route] = []
    for route in all {
      guard let values = route.path.match(segments) else { continue }
      if route.method == method { return .found(route, values) }
      others.append(route)
    }
    return others.isEmpty ? .none : .otherMethods(others)
  }

  private static func methods(of routes: [Route]) -> [String] {
    routes.flatMap { $0.method == "GET" ? ["GET", "HEAD"] : [$0.method] }.sorted()
  }
}
