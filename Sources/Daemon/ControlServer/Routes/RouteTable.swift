import HTTPMessages

/// All operations of the control API.
enum RouteTable {
  static let all: [Route] = daemon + environments + journals + ports

  /// What each operation can answer, by the document.
  static let statuses = Dictionary(uniqueKeysWithValues: all.map { ($0.operation, $0.statuses) })

  /// What a method and a path come to.
  enum Match: Sendable {
    case found(Route, [String: String])
    /// The path is one, the method is none of its.
    case otherMethods([Route])
    case none
    case unreadable

    /// Whether it may be told without a token.
    var isOpen: Bool {
      switch self {
      case .found(let route, _): route.isOpen
      case .otherMethods(let routes): routes.allSatisfy(\.isOpen)
      case .none, .unreadable: false
      }
    }

    /// - Throws: a ``Problem`` where there is no such operation.
    func found() throws(Problem) -> (Route, [String: String]) {
      switch self {
      case .found(let route, let values): return (route, values)
      case .otherMethods(let routes):
        let methods = RouteTable.methods(of: routes).joined(separator: ", ")
        throw Problem(405, "Not with this method", "this path takes \(methods)", headers: ["Allow": methods])
      case .none:
        throw Problem(404, "There is no such path", "GET /openapi.json lists all that there are")
      case .unreadable: throw Problem(400, "The path cannot be read", "it is not percent-encoded UTF-8")
      }
    }
  }

  /// `HEAD` is `GET` without the body, which the server leaves away.
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
