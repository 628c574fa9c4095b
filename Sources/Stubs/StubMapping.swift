package import Basics
import Foundation
package import HTTPMessages

/// A stub: a request pattern and the response to the requests that match it.
///
/// Its JSON form is that of WireMock's mapping files:
///
/// ```json
/// {"request": {"method": "GET", "urlPath": "/prescriptions"},
///  "response": {"status": 200, "jsonBody": [{"id": "7"}], "headers": {"Content-Type": "application/json"}}}
/// ```
package struct StubMapping: Sendable {
  /// The state of a scenario in which a stub answers, and the state that its answer leads to.
  package struct ScenarioStep: Sendable {
    package var name: String
    /// Nil for any state.
    package var required: String?
    /// Nil to leave the state as it is.
    package var next: String?
  }

  /// The state in which every scenario begins.
  package static let startState = "Started"
  /// The priority of a stub that names none. Lower numbers come first.
  package static let defaultPriority = 5

  /// A UUID in lower case.
  package var id: String
  package var name: String?
  package var request: RequestPattern
  package var response: StubResponse
  package var priority: Int
  package var scenario: ScenarioStep?
  /// Whether the admin API saves it as a file.
  package var isPersistent: Bool
  package var metadata: JSON?
  /// Requests to send after the answer.
  package var webhooks: [Webhook]
  /// The mapping as given, with `id` and `uuid`.
  package var source: JSON
}

/// The response of a stub.
package struct StubResponse: Sendable {
  package enum Body: Sendable, Equatable {
    case bytes([UInt8])
    /// The name of a file in `__files`.
    case file(String)
  }

  /// A way to break the connection instead of answering.
  package enum Fault: String, Sendable, CaseIterable {
    /// Closes the connection without a byte.
    case emptyResponse = "EMPTY_RESPONSE"
    /// Sends a status line, then garbage, and closes.
    case malformedChunk = "MALFORMED_RESPONSE_CHUNK"
    /// Sends garbage, and closes.
    case randomData = "RANDOM_DATA_THEN_CLOSE"
    /// Resets the connection (TCP RST).
    case connectionReset = "CONNECTION_RESET_BY_PEER"
  }

  /// A random delay in milliseconds.
  package enum DelayDistribution: Sendable, Equatable {
    case fixed(Double)
    case uniform(lower: Double, upper: Double)
    /// The median, the standard deviation of the logarithm, and the largest value.
    case lognormal(median: Double, sigma: Double, most: Double?)
  }

  /// A body that is sent in parts, evenly over a time.
  package struct Dribble: Sendable, Equatable {
    package var chunks: Int
    package var milliseconds: Double
  }

  /// A backend that answers instead.
  package struct Proxy: Sendable {
    package var baseURL: String
    package var additionalHeaders = Headers()
    package var removedHeaders: [String] = []
    package var removedPrefix = ""
  }

  package var status = 200
  package var reason = ""
  package var headers = Headers()
  package var body = Body.bytes([])
  /// In milliseconds.
  package var fixedDelay: Double?
  package var distribution: DelayDistribution?
  package var dribble: Dribble?
  package var fault: Fault?
  package var proxy: Proxy?
  /// Makes the response an open event stream.
  package var events: EventScript?
  /// Accepts WebSockets. The stub then answers only handshakes.
  package var webSocket: WebSocketScript?
  /// The templates; nil if the texts of the response are sent as they are.
  package var templates: StubTemplates?
  /// Whether a client of the admin API provides the response.
  package var isCallback = false
  /// The values of `parameters` in templates.
  package var parameters: JSON = .object([JSON.Member]())

  package init() {}

  /// Whether every request gets the same bytes at once.
  package var isConstant: Bool {
    !isCallback && reason.isEmpty && fixedDelay == nil && distribution == nil && dribble == nil && fault == nil
      && proxy == nil
      && events == nil && webSocket == nil && templates?.isPlain ?? true
  }
}

/// A request that is sent after a stub has answered.
package struct Webhook: Sendable {
  package var method: String
  package var url: String
  package var headers = Headers()
  package var body: [UInt8] = []
  package var fixedDelay: Double?
  package var distribution: StubResponse.DelayDistribution?
  package var parameters: JSON = .object([JSON.Member]())
}

extension StubResponse.DelayDistribution {
  /// A delay in milliseconds.
  ///
  /// - Parameter fraction: draws a uniformly distributed number in 0..<1.
  /// - Returns: the delay.
  package func sample(_ fraction: () -> Double) -> Double {
    switch self {
    case .fixed(let delay): return delay
    case .uniform(let lower, let upper): return lower + fraction() * (upper - lower)
    case .lognormal(let median, let sigma, let most):
      // The Box–Muller transform makes a normal distribution from two uniform ones.
      let radius = (-2 * log(1 - fraction())).squareRoot()
      let value = median * exp(sigma * radius * cos(2 * .pi * fraction()))
      return min(value, most ?? 86_400_000)
    }
  }
}
