import Basics
import EnvironmentConfiguration
import HTTPMessages

extension TestEnvironment {
  /// A network or backend fault: what happens, and to which requests. It affects responses of stubs, recordings and
  /// upstreams.
  ///
  /// ```swift
  /// @Test(.environment(.replay, faults: [.reset.on(.get("/appointments")).nth(1)]))
  /// func retriesADroppedRequest() async throws { … }
  /// ```
  ///
  /// Several faults can affect one request. Delays add up, the lowest bandwidth applies, and of faults that replace or
  /// break the response, the first one applies.
  public struct Fault: Sendable {
    /// The members of the fault in the setting `faults`.
    private var members: [String: JSON]
    private var failure: DioramaTestingError?

    private init(_ members: [String: JSON]) { self.members = members }

    /// The fault of a text, as the tag `@fault` has it: `reset,path=/orders,nth=1`. It is checked when it is set.
    package init(text: String) throws(DioramaTestingError) {
      do {
        let settings = try FaultSettings(.string(text), at: "the fault '\(text)'")
        let json = try JSON.decode(JSON.self, from: try JSON.encode(settings), source: "")
        self.init(Dictionary((json.object ?? []).map { ($0.key, $0.value) }) { $1 })
      } catch {
        throw DioramaTestingError(.usage, (error as? CodedError)?.message ?? "\(error)")
      }
    }

    /// No response is sent until the app gives up.
    public static var timeout: Self { Self(["fault": "timeout"]) }
    /// The connection is reset before a response.
    public static var reset: Self { Self(["fault": "reset"]) }
    /// The upstream's endpoint refuses connections, as if its host were down. The only condition allowed is
    /// ``upstream(_:)``.
    public static var refused: Self { Self(["fault": "refused"]) }
    /// The connection is closed without a response.
    public static var empty: Self { Self(["fault": "empty"]) }
    /// Bytes that aren't HTTP are sent, then the connection is closed.
    public static var garbage: Self { Self(["fault": "garbage"]) }
    /// The head of a response is sent, then an invalid chunk.
    public static var malformedChunk: Self { Self(["fault": "malformedChunk"]) }

    /// The connection is closed in the middle of the response body.
    ///
    /// - Parameter bytes: the number of body bytes that are sent; nil for half of the body.
    /// - Returns: the fault.
    public static func cut(afterBytes bytes: Int? = nil) -> Self {
      var fault = Self(["fault": "cut"])
      fault.members["afterBytes"] = bytes.map { .int($0) }
      return fault
    }

    /// A response with this status replaces the real one.
    ///
    /// ```swift
    /// .status(429, retryAfter: .seconds(5)).probability(0.2)
    /// ```
    ///
    /// - Parameters:
    ///   - status: the status code, 200 to 599.
    ///   - retryAfter: the value of `Retry-After`, in whole seconds; nil for none.
    ///   - body: the body; nil for a problem document.
    /// - Returns: the fault.
    public static func status(_ status: Int, retryAfter: Duration? = nil, body: String? = nil) -> Self {
      var fault = Self(["status": .int(status)])
      fault.members["retryAfterSeconds"] = retryAfter.map { .int(Int($0.components.seconds)) }
      fault.members["body"] = body.map { .string($0) }
      return fault
    }

    /// The response is delayed on the environment's timeline. With a manual clock, the delay ends when the test
    /// advances the clock far enough.
    ///
    /// - Parameter duration: the delay, at most a day.
    /// - Returns: the fault.
    public static func delay(_ duration: Duration) -> Self {
      Self(["delayMilliseconds": .double(duration / .milliseconds(1))])
    }

    /// The response is delayed by a random time, uniformly distributed and derived from the seed.
    ///
    /// - Parameter range: the shortest and the longest delay, at most a day.
    /// - Returns: the fault.
    public static func delay(_ range: ClosedRange<Duration>) -> Self {
      let (lower, upper) = (range.lowerBound / .milliseconds(1), range.upperBound / .milliseconds(1))
      return Self([
        "delayDistribution": .object(["type": "uniform", "lower": .double(lower), "upper": .double(upper)])
      ])
    }

    /// The response body is sent at a limited rate on the environment's timeline.
    ///
    /// - Parameter bytesPerSecond: the rate in bytes per second.
    /// - Returns: the fault.
    public static func bandwidth(bytesPerSecond: Int) -> Self { Self(["bytesPerSecond": .int(bytesPerSecond)]) }

    /// Limits the fault to requests that match a pattern.
    ///
    /// - Parameter pattern: the pattern.
    /// - Returns: the limited fault.
    public func on(_ pattern: RequestPattern) -> Self {
      var fault = self
      do { fault.members["request"] = .object(try pattern.json().object ?? []) } catch {
        fault.failure = fault.failure ?? error
      }
      return fault
    }

    /// Limits the fault to one upstream.
    ///
    /// - Parameter name: the upstream's name.
    /// - Returns: the limited fault.
    public func upstream(_ name: String) -> Self { with("upstream", .string(name)) }

    /// Limits the fault to requests with these numbers.
    ///
    /// - Parameter numbers: numbers of matching requests, counted from 1 since the fault was set.
    /// - Returns: the limited fault.
    public func nth(_ numbers: Int...) -> Self { with("nth", .array(numbers.map { .int($0) })) }

    /// Limits the fault to every nth request.
    ///
    /// - Parameter number: the interval. For example, 3 affects the third request, the sixth, and so on.
    /// - Returns: the limited fault.
    public func every(_ number: Int) -> Self { with("every", .int(number)) }

    /// Limits the fault to a random share of the requests. The seed determines which ones, so every run is the same.
    ///
    /// - Parameter probability: from 0 to 1.
    /// - Returns: the limited fault.
    public func probability(_ probability: Double) -> Self { with("probability", .double(probability)) }

    /// Limits the number of requests that the fault affects.
    ///
    /// - Parameter count: the maximum number of requests.
    /// - Returns: the limited fault.
    public func limit(_ count: Int) -> Self { with("limit", .int(count)) }

    /// Names the fault in reports.
    ///
    /// - Parameter name: the name.
    /// - Returns: the named fault.
    public func named(_ name: String) -> Self { with("name", .string(name)) }

    private func with(_ name: String, _ value: JSON) -> Self {
      var fault = self
      fault.members[name] = value
      return fault
    }

    /// The fault as a setting.
    func json() throws(DioramaTestingError) -> JSON {
      if let failure { throw failure }
      return .object(members)
    }
  }

  /// The faults of an environment. A test can change them while the app runs.
  ///
  /// ```swift
  /// try await environment.faults.set(.status(503), .delay(.seconds(2)).on(.get("/profile")))
  /// try await environment.faults.removeAll()
  /// ```
  public struct Faults: Sendable {
    let environment: TestEnvironment

    /// Replaces all faults, including those of the configuration.
    ///
    /// - Parameter faults: the new faults.
    /// - Throws: ``DioramaTestingError`` if a fault is not valid or the environment cannot be reached. The faults are
    ///   then unchanged.
    public func set(_ faults: Fault...) async throws { try await environment.setFaults(faults) }

    /// Removes all faults.
    ///
    /// - Throws: ``DioramaTestingError`` if the environment cannot be reached.
    public func removeAll() async throws { try await set() }
  }

  /// Replaces all faults.
  package func setFaults(_ faults: [Fault]) async throws {
    var change = EnvironmentChange()
    change.faults = try faults.map { fault throws(DioramaTestingError) in try fault.json() }
    try await apply(change, timeout: .seconds(30))
  }

  /// The environment's faults.
  public var faults: Faults { Faults(environment: self) }
}
