import Basics
import HTTPMessages

/// Decides which programs on other machines may use the control API, by their tokens.
package final class RemoteAccess: Sendable {
  private let book: TokenBook
  private let failures = Guarded(FailureCounts())
  private let log: Log

  package init(_ book: TokenBook, log: Log) {
    self.book = book
    self.log = log
  }

  /// Whether the token of a client is still valid.
  func isValid(_ client: RemoteClient) -> Bool { book.has(client) }

  /// Returns who sends a request.
  ///
  /// - Parameters:
  ///   - token: the bearer token; nil if there is none.
  ///   - peer: the client's address.
  ///   - now: the current time.
  /// - Returns: the client.
  /// - Throws: ``DaemonError``: 401 without a valid token, 429 after too many wrong ones. A valid token is always accepted,
  ///   so that programs behind the same address are not locked out.
  func client(
    bearing token: String?, from peer: String, now: ContinuousClock.Instant = .now
  ) throws(DaemonError) -> RemoteClient {
    if let token, let client = book.client(bearing: token) { return client }
    let count = failures.withLock { $0.add(peer, at: now) }
    guard count <= FailureCounts.most else {
      if count == FailureCounts.most + 1 {
        log.warning("too many requests without a valid token; refusing more for a minute", ["peer": "\(peer)"])
      }
      throw DaemonError(
        429, "Too many wrong tokens", "wait a minute, and check the token; create one with: diorama token create NAME",
        headers: ["Retry-After": "60"])
    }
    log.warning("request without a valid token refused", ["peer": "\(peer)"])
    throw DaemonError(
      401, token == nil ? "Token missing" : "Token invalid",
      "send Authorization: Bearer with a token that diorama token create has printed on the daemon's machine",
      headers: ["WWW-Authenticate": "Bearer realm=\"diorama\"" + (token == nil ? "" : ", error=\"invalid_token\"")])
  }
}

/// Counts requests without a valid token, by address and minute.
struct FailureCounts: Sendable {
  /// How many are answered and logged one by one.
  static let most = 10
  private static let window = Duration.seconds(60)
  private static let mostAddresses = 10_000

  private var counts: [String: (count: Int, since: ContinuousClock.Instant)] = [:]

  /// Counts a failure.
  ///
  /// - Returns: how many there were from this address since the first one of the current minute.
  mutating func add(_ peer: String, at now: ContinuousClock.Instant) -> Int {
    if let known = counts[peer], now - known.since < Self.window {
      counts[peer] = (known.count + 1, known.since)
      return known.count + 1
    }
    if counts.count >= Self.mostAddresses {
      counts = counts.filter { now - $0.value.since < Self.window }
      // A flood from everywhere; forgetting some addresses is better than growing.
      if counts.count >= Self.mostAddresses { counts = [:] }
    }
    counts[peer] = (1, now)
    return 1
  }
}
