import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers the requests of a session from an environment.
class EnvironmentProtocol: URLProtocol {
  /// Used on the protocol's thread only.
  private var load: Load?

  override class func canInit(with request: URLRequest) -> Bool {
    guard let url = request.url, let environment = SessionEnvironment.of(self),
      // WebSockets, too, so that they don't reach the network.
      ["http", "https", "ws", "wss"].contains(url.scheme?.lowercased())
    else { return false }
    return !environment.isOwn(url)
  }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    guard let environment = SessionEnvironment.of(type(of: self)) else {
      client?.urlProtocol(self, didFailWithError: URLError(.unknown))
      return
    }
    let load = Load(self, in: environment)
    self.load = load
    load.start()
  }

  override func stopLoading() {
    load?.stop()
    // The load refers to this object.
    load = nil
  }
}
