import Basics
public import Foundation
import LaunchContract

extension TestEnvironment {
  /// The response of a stub, or several that are given one after the other.
  ///
  /// ```swift
  /// try await environment.stub(.get("/profile")) { .responses(.status(500), .json(profile)) }
  /// ```
  public struct StubResponse: Sendable {
    /// A way to break the connection instead of answering.
    public enum Fault: String, Sendable {
      /// Closes the connection without a byte.
      case emptyResponse = "EMPTY_RESPONSE"
      /// Sends a status line, then garbage, and closes.
      case malformedChunk = "MALFORMED_RESPONSE_CHUNK"
      /// Sends garbage, and closes.
      case randomData = "RANDOM_DATA_THEN_CLOSE"
      /// Resets the connection.
      case connectionReset = "CONNECTION_RESET_BY_PEER"
    }

    private var members: [String: JSON] = [:]
    private var headers: [JSON.Member] = []
    /// Responses to later requests.
    private var later: [StubResponse] = []
    /// An error to throw when the response is used.
    private var failure: DioramaTestingError?

    /// A JSON response.
    ///
    /// - Parameters:
    ///   - value: the body, encoded by a `JSONEncoder` with default settings.
    ///   - status: the status code.
    /// - Returns: the response.
    public static func json(_ value: some Encodable, status: Int = 200) -> Self {
      var response = Self.status(status).header("Content-Type", "application/json")
      switch Value(value).content {
      // As text: WireMock's `jsonBody` would change numbers such as 1.0.
      case .success(let json): response.members["body"] = .string(String(decoding: json.encoded(), as: UTF8.self))
      case .failure(let error): response.failure = error
      }
      return response
    }

    /// A text response in UTF-8.
    ///
    /// - Parameters:
    ///   - text: the body.
    ///   - type: the value of `Content-Type`.
    ///   - status: the status code.
    /// - Returns: the response.
    public static func text(_ text: String, type: String = "text/plain; charset=utf-8", status: Int = 200) -> Self {
      var response = Self.status(status).header("Content-Type", type)
      response.members["body"] = .string(text)
      return response
    }

    /// A response of any bytes.
    ///
    /// - Parameters:
    ///   - data: the body.
    ///   - type: the value of `Content-Type`.
    ///   - status: the status code.
    /// - Returns: the response.
    public static func data(_ data: Data, type: String, status: Int = 200) -> Self {
      var response = Self.status(status).header("Content-Type", type)
      response.members["base64Body"] = .string(data.base64EncodedString())
      return response
    }

    /// An open event stream (`text/event-stream`). The test sends events to it with
    /// ``TestEnvironment/send(_:to:afterConnections:timeout:)``.
    ///
    /// - Parameter initial: the events that each app gets first.
    /// - Returns: the response.
    public static func events(_ initial: ServerSentEvent...) -> Self {
      var response = Self()
      do throws(DioramaTestingError) {
        var events: [JSON] = []
        for event in initial { events.append(try event.json()) }
        response.members["events"] = .array(events)
      } catch {
        response.failure = error
      }
      return response
    }

    /// Accepts WebSockets. ``TestEnvironment/socket(_:)`` returns their server side.
    ///
    /// - Parameter protocols: the accepted subprotocols; if empty, the first one that the app offers is accepted.
    /// - Returns: the response.
    public static func webSocket(protocols: [String] = []) -> Self {
      var response = Self()
      response.members["webSocket"] = .object(["protocols": .array(protocols.map { .string($0) })])
      return response
    }

    /// A response without a body.
    ///
    /// - Parameter code: the status code.
    /// - Returns: the response.
    public static func status(_ code: Int) -> Self {
      var response = Self()
      response.members["status"] = .int(code)
      return response
    }

    /// Breaks the connection instead of answering.
    ///
    /// - Parameter fault: what happens.
    /// - Returns: the response.
    public static func fault(_ fault: Fault) -> Self {
      var response = Self()
      response.members["fault"] = .string(fault.rawValue)
      return response
    }

    /// Several responses: the first for the first request, and so on. The last one repeats.
    ///
    /// - Parameters:
    ///   - first: the first response.
    ///   - later: the others.
    /// - Returns: the responses.
    public static func responses(_ first: Self, _ later: Self...) -> Self {
      var response = first
      response.later += later
      return response
    }

    /// The response with another header field.
    ///
    /// - Parameters:
    ///   - name: the field's name.
    ///   - value: its value.
    /// - Returns: the response with the field.
    public func header(_ name: String, _ value: String) -> Self {
      var response = self
      response.headers.removeAll { $0.key.lowercased() == name.lowercased() }
      response.headers.append(.init(name, .string(value)))
      return response
    }

    /// The response after a delay on the environment's timeline: with a manual clock, when the test has moved it.
    ///
    /// - Parameter duration: the delay, at most a day.
    /// - Returns: the delayed response.
    public func delayed(by duration: Duration) -> Self {
      var response = self
      response.members["fixedDelayMilliseconds"] = .double(duration / .milliseconds(1))
      return response
    }

    /// The responses in WireMock's form, in order.
    func json() throws(DioramaTestingError) -> [JSON] {
      if let failure { throw failure }
      var all = members
      if !headers.isEmpty { all["headers"] = .object(headers) }
      var responses = [JSON.object(all)]
      for response in later { responses += try response.json() }
      return responses
    }
  }
}
