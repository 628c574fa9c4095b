import Foundation
import LaunchContract

/// Where the app reaches its backends.
struct Endpoints: Sendable {
  private let urls: [String: URL]
  /// The environment's main port, as `http://127.0.0.1:20011`; nil without an environment.
  private let mainPort: URL?

  /// Every backend is where the app says that it is.
  static let live = Endpoints()

  private init() {
    urls = [:]
    mainPort = nil
  }

  #if DEBUG || Controlled
    /// - Throws: ``DioramaError`` when an endpoint is no URL.
    init(_ endpoints: [String: String], control: LaunchContract.Control?) throws(DioramaError) {
      var urls: [String: URL] = [:]
      for (name, text) in endpoints.sorted(by: { $0.key < $1.key }) {
        guard let url = URL(string: text), url.scheme != nil, url.host() != nil else {
          throw DioramaError(
            .contract, "launch contract: endpoints.\(name): '\(text)' is no URL such as http://127.0.0.1:20013")
        }
        urls[name] = url
      }
      self.urls = urls
      mainPort = control.flatMap { URL(string: "/", relativeTo: URL(string: $0.url))?.absoluteURL }
    }
  #endif

  /// The contract's endpoint.
  ///
  /// A backend that the test has not declared is still not reached: its host becomes the first path segment on the
  /// environment's main port, where it is served if it is declared by another name, and else refused with the
  /// words that declare it.
  func url(_ name: String, default url: URL) -> URL {
    if let declared = urls[name] { return declared }
    guard let mainPort, let scheme = url.scheme, ["http", "https"].contains(scheme), let host = url.host() else {
      return url
    }
    let authority = url.port.map { "\(host):\($0)" } ?? host
    return URL(string: "/\(authority)\(url.path(percentEncoded: true))", relativeTo: mainPort)?.absoluteURL ?? url
  }
}
