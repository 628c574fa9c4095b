import Transforms
import Foundation
import HTTPMessages

/// The destination of a request, determined only by its port and its target.
enum Route: Sendable, Equatable {
  /// A path of the control interface, without `/__diorama`.
  case control(path: String)
  /// An upstream by index, with the origin-form target and the form of endpoint that was used.
  case upstream(Int, target: String, form: AddressMap.Form)
  /// A host that is not declared, as named in the request; and the URL to declare.
  case undeclared(host: String, url: String)
  /// A request that an endpoint cannot serve, and the reason.
  case refused(String)

  /// - Parameters:
  ///   - method: the method as sent.
  ///   - target: the target as sent.
  ///   - port: the upstream whose own port this is; nil on the main port.
  ///   - addresses: the environment's endpoints.
  init(method: String, target: String, port: Int?, addresses: AddressMap) {
    if method == "CONNECT" {
      self = .refused(
        "CONNECT is not served on this port; give the app the endpoint's http:// URL (DIORAMA_ENDPOINT_NAME), which needs no "
          + "tunnel, or intercept its own URLs with diorama run --isolate, whose proxy serves CONNECT (--isolate=proxy)"
      )
    } else if let absolute = Self.absolute(target) {
      let authority = absolute.authority
      if let index = addresses.upstream(authority: authority, scheme: absolute.scheme) {
        self = .upstream(index, target: absolute.rest, form: .absolute)
      } else if let index = addresses.upstreams.firstIndex(where: { addresses.isOwn(authority, port: $0.port) }) {
        // The endpoint's own URL in absolute form, directly or with the main port as a proxy.
        self = .upstream(index, target: absolute.rest, form: .ownPort)
      } else if addresses.isOwn(authority, port: addresses.mainPort) {
        self = Self.main(absolute.rest, addresses: addresses)
      } else {
        self = .undeclared(host: authority, url: "\(absolute.scheme)://\(authority)")
      }
    } else if let port {
      self = .upstream(port, target: target, form: .ownPort)
    } else {
      self = Self.main(target, addresses: addresses)
    }
  }

  /// - Parameters:
  ///   - target: a path with a query.
  ///   - origin: the origin of the client's URL.
  ///   - addresses: the environment's endpoints.
  init(target: String, ofOrigin origin: String, addresses: AddressMap) {
    let known = try? Origin(parsing: origin)
    if let index = addresses.upstreams.firstIndex(where: { $0.origin == known }) {
      self = .upstream(index, target: target, form: .ownURL)
    } else {
      self = .undeclared(host: String(origin.split(separator: "/").last ?? ""), url: origin)
    }
  }

  private static func main(_ target: String, addresses: AddressMap) -> Route {
    guard target.utf8.first == UInt8(ascii: "/") else {
      return .refused("the target '\(target)' is neither a path nor an absolute URL")
    }
    let path = target.utf8.dropFirst()
    let segment = String(Substring(path.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }))
    var rest = String(Substring(path.dropFirst(segment.utf8.count)))
    if segment == "__diorama" { return .control(path: rest) }
    if rest.isEmpty || rest.utf8.first == UInt8(ascii: "?") { rest = "/" + rest }
    guard !segment.isEmpty else {
      return .refused(
        "on the main port the first path segment names the upstream, as in /api/path or /api.example.com/path")
    }
    // Some clients percent-encode the colon.
    let host = segment.replacingOccurrences(of: "%3A", with: ":", options: .caseInsensitive)
    guard let index = addresses.upstream(authority: host) else {
      return .undeclared(host: host, url: "https://\(host)")
    }
    return .upstream(index, target: rest, form: .pathSegment)
  }

  /// Splits a target such as `http://host/path`; nil for any other form.
  static func absolute(_ target: String) -> (scheme: String, authority: String, rest: String)? {
    let lowered = target.prefix(8).lowercased()
    guard let scheme = ["http", "https"].first(where: { lowered.hasPrefix($0 + "://") }) else { return nil }
    let after = target.utf8.dropFirst(scheme.utf8.count + 3)
    let authority = after.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    var rest = String(Substring(after.dropFirst(authority.count)))
    if rest.utf8.first != UInt8(ascii: "/") { rest = "/" + rest }
    return (scheme, String(Substring(authority)), rest)
  }
}
