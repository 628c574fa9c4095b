import Basics
import DaemonClient
public import Diorama
public import Foundation
import LocalHTTP

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Sends a test's own requests, which prepare something on the backend before the app starts, such as a new user or an
/// appointment.
///
/// ```swift
/// let api = try environment.client("api")
/// let user: Registration = try await api.post("/users", body: ["email": try api.strings.email("user")])
/// try environment.add(.init(service: "clinic", account: "auth-token", secret: user.token))
/// try await app.launch()
/// ```
///
/// The requests go through the environment: they are recorded in the test's cassette and replayed from it, stubs can
/// answer them, and the report counts them. The journal and the cassette mark them with `setup`. If the app sends the
/// same request, the test and the app each get their own recorded responses.
public struct SetupClient: Sendable {
  /// A response from the backend.
  public struct Response: Sendable {
    /// The status code.
    public let status: Int
    /// The header fields, with names in lower case. Repeated fields are joined.
    public let headers: [String: String]
    /// The body.
    public let body: Data

    /// Decodes the body from JSON.
    ///
    /// - Parameter type: the type to decode. A `JSONDecoder` with default settings is used.
    /// - Returns: the value.
    /// - Throws: a `DecodingError`.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
      try JSONDecoder().decode(type, from: body)
    }
  }

  /// How many characters of a body error messages show.
  private static let shown = 500
  /// The maximum size of a response.
  private static let limit = 64 << 20

  let environment: TestEnvironment
  let upstream: String
  let endpoint: URL
  /// The time limit of each request.
  public var timeout = Duration.seconds(60)

  /// The environment's random values for the test itself. They are the same in each run with the same seed, and are
  /// recorded and replayed. Their keys are separate from the app's, so they don't change the app's values.
  ///
  /// - Throws: ``DioramaTestingError`` in a release build without the trait `Controlled`.
  public var strings: RandomStrings {
    get throws(DioramaTestingError) {
      do { return try environment.setupStrings } catch {
        throw DioramaTestingError(.environment, "\(error)")
      }
    }
  }

  /// Sends a request.
  ///
  /// - Parameters:
  ///   - method: the method, such as `GET`.
  ///   - path: the path with the query, as sent: `/users?page=2`.
  ///   - headers: header fields.
  ///   - body: the body.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the response.
  /// - Throws: ``DioramaTestingError`` for any other status, with the beginning of the body, or if there is no
  ///   response.
  @discardableResult
  public func send(
    _ method: String, _ path: String, headers: [String: String] = [:], body: Data = Data(),
    expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Response {
    let shown = "\(method) \(path) of upstream '\(upstream)' (\(endpoint.absoluteString)\(path))"
    let message = try message(method, path, headers, body)
    let port = UInt16(clamping: endpoint.port ?? 80)
    let response: HTTPResponse
    do {
      response = try await onOwnThread { [timeout] () throws(CodedError) in
        let deadline = ContinuousClock.now + timeout
        let socket = try LocalSocket(
          to: .loopback(in_addr(s_addr: INADDR_LOOPBACK.bigEndian), port: port), by: deadline)
        try socket.send(message, by: deadline)
        return try socket.receiveResponse(by: deadline, upTo: Self.limit)
      }
    } catch {
      throw DioramaTestingError(error.kind == .unanswered ? .timedOut : .environment, "\(shown): \(error.message)")
    }
    guard status.map({ $0 == response.status }) ?? (response.status < 400) else {
      throw DioramaTestingError(.environment, "\(shown): \(Self.failure(response, expected: status))")
    }
    return Response(status: response.status, headers: response.headers, body: Data(response.body))
  }

  private func message(
    _ method: String, _ path: String, _ headers: [String: String], _ body: Data
  ) throws(DioramaTestingError) -> [UInt8] {
    guard path.hasPrefix("/"), path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw DioramaTestingError(
        .usage, "'\(path)' is not a path; begin with /, and percent-encode all but letters, digits and punctuation")
    }
    let own = ["host", "content-length", "connection", "diorama-client"]
    var fields = headers.filter { !own.contains($0.key.lowercased()) }
    fields["Host"] = "127.0.0.1:\(endpoint.port ?? 80)"
    fields["Content-Length"] = "\(body.count)"
    fields["Connection"] = "close"
    fields["Diorama-Client"] = "\(try environment.clientRoute.token) setup"
    var text = "\(method) \(path) HTTP/1.1\r\n"
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      guard !(method + name + value).contains(where: \.isNewline), !name.isEmpty, !name.contains(":") else {
        throw DioramaTestingError(.usage, "not a valid header: '\(name)'")
      }
      text += "\(name): \(value)\r\n"
    }
    return Array((text + "\r\n").utf8) + body
  }

  private static func failure(_ response: HTTPResponse, expected: Int?) -> String {
    let wanted = expected.map { "\($0)" } ?? "a status below 400"
    // The environment's problem document says what to do.
    let problem = response.headers["diorama-miss"].flatMap { _ in try? JSON.parse(response.body)["detail"]?.string }
    let text = problem ?? String(decoding: response.body, as: UTF8.self)
    let start = text.isEmpty ? "no body" : String(text.prefix(shown)).escapedForTerminal
    return "status \(response.status) instead of \(wanted): \(start)" + (text.count > shown ? "…" : "")
  }

  private func send(
    _ method: String, _ path: String, _ headers: [String: String], _ body: some Encodable, _ status: Int?
  ) async throws(DioramaTestingError) -> Response {
    let content = try TestEnvironment.Value(body).content.get().encoded()
    var headers = headers
    if !headers.keys.contains(where: { $0.lowercased() == "content-type" }) {
      headers["Content-Type"] = "application/json"
    }
    return try await send(method, path, headers: headers, body: Data(content), expecting: status)
  }

  private func decoded<Value: Decodable>(
    _ response: Response, _ method: String, _ path: String
  ) throws(DioramaTestingError) -> Value {
    do { return try response.decoded() } catch {
      let text = String(decoding: response.body.prefix(Self.shown), as: UTF8.self).escapedForTerminal
      throw DioramaTestingError(
        .environment,
        "\(method) \(path) of upstream '\(upstream)': the body is not a valid \(Value.self): \(error); it is \(text)")
    }
  }
}

extension SetupClient {
  /// Sends a GET request.
  ///
  /// - Parameters:
  ///   - path: the path with the query.
  ///   - headers: header fields.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the response.
  /// - Throws: ``DioramaTestingError``, as ``send(_:_:headers:body:expecting:)`` does.
  @discardableResult
  public func get(
    _ path: String, headers: [String: String] = [:], expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Response {
    try await send("GET", path, headers: headers, expecting: status)
  }

  /// Sends a GET request, and decodes the response with a `JSONDecoder` with default settings.
  ///
  /// - Parameters:
  ///   - path: the path with the query.
  ///   - headers: header fields.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the decoded body.
  /// - Throws: ``DioramaTestingError``, as ``send(_:_:headers:body:expecting:)`` does, or if the body cannot be
  ///   decoded.
  public func get<Value: Decodable & Sendable>(
    _ path: String, headers: [String: String] = [:], expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Value {
    try decoded(try await send("GET", path, headers: headers, expecting: status), "GET", path)
  }

  /// Sends a POST request.
  ///
  /// - Parameters:
  ///   - path: the path with the query.
  ///   - body: the body, encoded with a `JSONEncoder` with default settings.
  ///   - headers: header fields.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the response.
  /// - Throws: ``DioramaTestingError``, as ``send(_:_:headers:body:expecting:)`` does.
  @discardableResult
  public func post(
    _ path: String, body: some Encodable, headers: [String: String] = [:], expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Response {
    try await send("POST", path, headers, body, status)
  }

  /// Sends a POST request, and decodes the response with a `JSONDecoder` with default settings.
  ///
  /// - Parameters:
  ///   - path: the path with the query.
  ///   - body: the body, encoded with a `JSONEncoder` with default settings.
  ///   - headers: header fields.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the decoded body.
  /// - Throws: ``DioramaTestingError``, as ``send(_:_:headers:body:expecting:)`` does, or if the body cannot be
  ///   decoded.
  public func post<Value: Decodable & Sendable>(
    _ path: String, body: some Encodable, headers: [String: String] = [:], expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Value {
    try decoded(try await send("POST", path, headers, body, status), "POST", path)
  }

  /// Sends a PUT request.
  ///
  /// - Parameters:
  ///   - path: the path with the query.
  ///   - body: the body, encoded with a `JSONEncoder` with default settings.
  ///   - headers: header fields.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the response.
  /// - Throws: ``DioramaTestingError``, as ``send(_:_:headers:body:expecting:)`` does.
  @discardableResult
  public func put(
    _ path: String, body: some Encodable, headers: [String: String] = [:], expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Response {
    try await send("PUT", path, headers, body, status)
  }

  /// Sends a PUT request, and decodes the response with a `JSONDecoder` with default settings.
  ///
  /// - Parameters:
  ///   - path: the path with the query.
  ///   - body: the body, encoded with a `JSONEncoder` with default settings.
  ///   - headers: header fields.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the decoded body.
  /// - Throws: ``DioramaTestingError``, as ``send(_:_:headers:body:expecting:)`` does, or if the body cannot be
  ///   decoded.
  public func put<Value: Decodable & Sendable>(
    _ path: String, body: some Encodable, headers: [String: String] = [:], expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Value {
    try decoded(try await send("PUT", path, headers, body, status), "PUT", path)
  }

  /// Sends a PATCH request.
  ///
  /// - Parameters:
  ///   - path: the path with the query.
  ///   - body: the body, encoded with a `JSONEncoder` with default settings.
  ///   - headers: header fields.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the response.
  /// - Throws: ``DioramaTestingError``, as ``send(_:_:headers:body:expecting:)`` does.
  @discardableResult
  public func patch(
    _ path: String, body: some Encodable, headers: [String: String] = [:], expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Response {
    try await send("PATCH", path, headers, body, status)
  }

  /// Sends a PATCH request, and decodes the response with a `JSONDecoder` with default settings.
  ///
  /// - Parameters:
  ///   - path: the path with the query.
  ///   - body: the body, encoded with a `JSONEncoder` with default settings.
  ///   - headers: header fields.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the decoded body.
  /// - Throws: ``DioramaTestingError``, as ``send(_:_:headers:body:expecting:)`` does, or if the body cannot be
  ///   decoded.
  public func patch<Value: Decodable & Sendable>(
    _ path: String, body: some Encodable, headers: [String: String] = [:], expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Value {
    try decoded(try await send("PATCH", path, headers, body, status), "PATCH", path)
  }

  /// Sends a DELETE request.
  ///
  /// - Parameters:
  ///   - path: the path with the query.
  ///   - headers: header fields.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the response.
  /// - Throws: ``DioramaTestingError``, as ``send(_:_:headers:body:expecting:)`` does.
  @discardableResult
  public func delete(
    _ path: String, headers: [String: String] = [:], expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Response {
    try await send("DELETE", path, headers: headers, expecting: status)
  }

  /// Sends a DELETE request, and decodes the response with a `JSONDecoder` with default settings.
  ///
  /// - Parameters:
  ///   - path: the path with the query.
  ///   - headers: header fields.
  ///   - status: the expected status; nil for any below 400.
  /// - Returns: the decoded body.
  /// - Throws: ``DioramaTestingError``, as ``send(_:_:headers:body:expecting:)`` does, or if the body cannot be
  ///   decoded.
  public func delete<Value: Decodable & Sendable>(
    _ path: String, headers: [String: String] = [:], expecting status: Int? = nil
  ) async throws(DioramaTestingError) -> Value {
    try decoded(try await send("DELETE", path, headers: headers, expecting: status), "DELETE", path)
  }
}

extension TestEnvironment {
  /// A client for the test's own requests, which prepare something for the app.
  ///
  /// - Parameter upstream: the upstream's name.
  /// - Returns: the client.
  /// - Throws: ``DioramaTestingError`` if the upstream is not declared.
  public func client(_ upstream: String) throws(DioramaTestingError) -> SetupClient {
    SetupClient(environment: self, upstream: upstream, endpoint: try endpoint(upstream))
  }
}
