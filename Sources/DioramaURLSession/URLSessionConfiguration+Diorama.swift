public import DioramaTesting

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#else
  public import Foundation
#endif

extension URLSessionConfiguration {
  /// Creates a configuration whose sessions get their responses from an environment, without a socket.
  ///
  /// ```swift
  /// let session = URLSession(configuration: .diorama(environment))
  /// let (data, response) = try await session.data(from: URL(string: "https://api.example.com/prescriptions")!)
  /// ```
  ///
  /// The code under test uses its real URLs. The environment answers requests to its upstreams' origins from stubs,
  /// collections and the cassette, and records and reports them like an app's. Requests to any other host get status
  /// 501. Sessions of different environments are independent.
  ///
  /// The configuration is ephemeral: it keeps cookies in memory, and has no cache. If the environment is in a daemon,
  /// requests go to its main port. WebSocket tasks fail; on Linux, so do download tasks.
  ///
  /// - Parameter environment: the environment.
  /// - Returns: a new configuration, which you can change before you use it.
  public static func diorama(_ environment: TestEnvironment) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.protocolClasses = [
      SessionEnvironment.register(SessionEnvironment(environment, cookies: configuration.httpCookieStorage))
    ]
    return configuration
  }
}
