public import DioramaTesting

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#else
  public import Foundation
#endif

extension URLSessionConfiguration {
  /// A configuration whose sessions get their answers from an environment, without a socket.
  ///
  /// ```swift
  /// let session = URLSession(configuration: .diorama(environment))
  /// let (data, response) = try await session.data(from: URL(string: "https://api.example.com/prescriptions")!)
  /// ```
  ///
  /// The code under test keeps the real URLs. Requests to the origins of the environment's upstreams are answered by its
  /// stubs, collections and cassette, recorded, and reported as those of an app are. Any other host gets status 501.
  /// Sessions of several environments do not mix.
  ///
  /// The configuration is ephemeral: it keeps cookies in memory, and has no cache. If the environment is in a daemon, its
  /// main port gets the requests. WebSocket tasks are not served. On Linux, download tasks are not, either, and fail.
  ///
  /// - Parameter environment: the environment.
  /// - Returns: a new configuration, which may be changed before it is used.
  public static func diorama(_ environment: TestEnvironment) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.protocolClasses = [
      SessionEnvironment.register(SessionEnvironment(environment, cookies: configuration.httpCookieStorage))
    ]
    return configuration
  }
}
