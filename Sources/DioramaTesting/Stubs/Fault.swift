import Basics
import EnvironmentConfiguration
import HTTPMessages

extension TestEnvironment {
  /// A fault of the network or of a backend: what happens, and to which requests. Stubs, recordings and upstreams are
  /// affected alike.
  ///
  /// ```swift
  /// @Test(.environment(.replay, faults: [.reset.on(.get("/appointments")).nth(1)]))
  /// func retriesADroppedRequest() async throws { … }
  /// ```
  ///
  /// Delays and bandwidth add to what happens otherwise. Of several faults with an outcome of their own, such as a status,
  /// the first one counts.
  public struct Fault: Sendable {
    /// Members of the setting `faults`.
    private var members: [String: JSON]
    private var failure: DioramaTestingError?

    private init(_ members: [String: JSON]) { self.members = members }

    /// There is no answer until the app gives up.
    public static var timeout: Self { Self(["fault": "timeout"]) }
    /// The connection is reset before an answer.
    public static var reset: Self { Self(["fault": "reset"]) }
    /// The upstream's endpoint refuses connections, as if its host were down; takes no other condition than
    /// ``upstream(_:)``.
    public static var refused: Self { Self(["fault": "refused"]) }
    /// The connection is closed without a byte.
    public static var empty: Self { Self(["fault": "empty"]) }
    /// Bytes that are not HTTP are sent, then the connection is closed.
    public static var garbage: Self { Self(["fault": "garbage"]) }
    /// The head of an answer is sent, then a chunk that is not one.
    public static var malformedChunk: Self { Self(["fault": "malformedChunk"]) }

    /// The connection is closed within the body of the answer.
    ///
    /// - Parameter bytes: how much of the body is sent; nil for half.
    /// - Returns: the fault.
    public static func cut(afterBytes bytes: Int? = nil) -> Self {
      var fault = Self(["fault": "cut"])
      fault.members["afterBytes"] = bytes.map { .int($0) }
      return fault
    }

    /// An answer with a status in place of the real one.
    ///
    /// ```swift
    /// .status(429, retryAfter: .seconds(5)).probability(0.2)
    /// ```
    ///
    /// - Parameters:
    ///   - status: the status code, 200 to 599.
    ///   - retryAfter: its `Retry-After`, in whole seconds; nil for none.
    ///   - body: its body; nil for a problem document.
    /// - Returns: the fault.
    public static func status(_ status: Int, retryAfter: Duration? = nil, body: String? = nil) -> Self {
      var fault = Self(["status": .int(status)])
      fault.members["retryAfterSeconds"] = retryAfter.map { .int(Int($0.components.seconds)) }
      fault.members["body"] = body.map { .string($0) }
      return fault
    }

    /// The answer is delayed on the environment's timeline: with a manual clock, until the test has moved it.
    ///
    /// - Parameter duration: the delay, at most a day.
    /// - Returns: the fault.
    public static func delay(_ duration: Duration) -> Self {
      Self(["delayMilliseconds": .double(duration / .milliseconds(1))])
    }

    /// The answer is delayed by a random time, drawn from the seed and uniformly distributed.
    ///
    /// - Parameter range: the shortest and the longest delay, at most a day.
    /// - Returns: the fault.
    public static func delay(_ range: ClosedRange<Duration>) -> Self {
      let (lower, upper) = (range.lowerBound / .milliseconds(1), range.upperBound / .milliseconds(1))
      return Self([
        "delayDistribution": .object(["type": "uniform", "lower": .double(lower), "upper": .double(upper)])
      ])
    }

    /// The body of the answer is sent slowly, on the environment's timeline.
    ///
    /// - Parameter bytesPerSecond: the rate.
    /// - Returns: the fault.
    public static func bandwidth(bytesPerSecond: Int) -> Self { Self(["bytesPerSecond": .int(bytesPerSecond)]) }

    /// The fault for some requests only.
    ///
    /// - Parameter pattern: the requests.
    /// - Returns: the limited fault.
    public func on(_ pattern: RequestPattern) -> Self {
      var fault = self
      do { fault.members["request"] = .object(try pattern.json().object ?? []) } catch {
        fault.failure = fault.failure ?? error
      }
      return fault
    }

    /// The fault for one upstream only.
    ///
    /// - Parameter name: the upstream's name.
    /// - Returns: the limited fault.
    public func upstream(_ name: String) -> Self { with("upstream", .string(name)) }

    /// The fault for some of the requests, by their number.
    ///
    /// - Parameter numbers: the numbers, from 1, counted from when the fault was set.
    /// - Returns: the limited fault.
    public func nth(_ numbers: Int...) -> Self { with("nth", .array(numbers.map { .int($0) })) }

    /// The fault for every nth request.
    ///
    /// - Parameter number: such as 3 for the third request, the sixth, and so on.
    /// - Returns: the limited fault.
    public func every(_ number: Int) -> Self { with("every", .int(number)) }

    /// The fault for a share of the requests. Which ones is drawn from the seed: the same in every run.
    ///
    /// - Parameter probability: from 0 to 1.
    /// - Returns: the limited fault.
    public func probability(_ probability: Double) -> Self { with("probability", .double(probability)) }

    /// The fault until it has affected a number of requests.
    ///
    /// - Parameter count: the number of requests.
    /// - Returns: the limited fault.
    public func limit(_ count: Int) -> Self { with("limit", .int(count)) }

    /// The fault with a name of its own in reports.
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

  /// The faults of an environment, which a test can change while the app runs.
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
    /// - Throws: ``DioramaTestingError`` if a fault is not valid, which changes nothing, or the environment cannot be
    ///   reached.
    public func set(_ faults: Fault...) async throws {
      var change = EnvironmentChange()
      change.faults = try faults.map { fault throws(DioramaTestingError) in try fault.json() }
      try await environment.apply(change, timeout: .seconds(30))
    }

    /// Removes all faults.
    ///
    /// - Throws: ``DioramaTestingError`` if the environment cannot be reached.
    public func removeAll() async throws { try await set() }
  }

  /// The environment's faults.
  public var faults: Faults { Faults(environment: self) }
}
