import Basics
import DioramaTesting
import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The environment of one configuration's sessions.
///
/// Foundation instantiates protocol classes without telling them the configuration. Therefore, each configuration has
/// its own class.
final class SessionEnvironment: Sendable {
  private struct Reference {
    /// Only the test keeps its environment alive.
    weak var environment: TestEnvironment?
  }

  private static let all = Guarded<[ObjectIdentifier: SessionEnvironment]>([:])

  private let reference: Guarded<Reference>
  /// The configuration's cookie storage.
  let cookies: HTTPCookieStorage?

  init(_ environment: TestEnvironment, cookies: HTTPCookieStorage?) {
    reference = Guarded(Reference(environment: environment))
    self.cookies = cookies
  }

  /// Makes a protocol class for a new configuration.
  static func register(_ environment: SessionEnvironment) -> EnvironmentProtocol.Type {
    all.withLock { all in
      let new = numbered(all.count + 1, Never.self)
      all[ObjectIdentifier(new)] = environment
      return new
    }
  }

  /// The environment of a protocol class.
  static func of(_ type: EnvironmentProtocol.Type) -> SessionEnvironment? {
    all.withLock { $0[ObjectIdentifier(type)] }
  }

  /// A distinct class for each number: its binary digits are the parameters of a generic type.
  private static func numbered<Digits>(_ number: Int, _ digits: Digits.Type) -> EnvironmentProtocol.Type {
    if number == 0 { return NumberedProtocol<Digits>.self }
    return number % 2 == 0 ? numbered(number / 2, Zero<Digits>.self) : numbered(number / 2, One<Digits>.self)
  }

  private enum Zero<Rest> {}
  private enum One<Rest> {}

  /// How to reach the environment.
  ///
  /// - Throws: a `URLError` if the environment has ended, like the error for an unreachable server.
  var route: ClientRoute {
    get throws(URLError) {
      do {
        if let route = try reference.withLock({ $0.environment })?.clientRoute { return route }
        throw URLError(.cannotConnectToHost, "the environment has ended; send requests before it ends")
      } catch let error as DioramaTestingError {
        throw URLError(.cannotConnectToHost, error.description)
      } catch let error as URLError {
        throw error
      } catch {
        throw URLError(.unknown, "\(error)")
      }
    }
  }

  /// Whether a URL is one of the environment's local URLs, which need no protocol.
  func isOwn(_ url: URL) -> Bool {
    guard let host = url.host, Origin.loopbackNames.contains(host), let port = url.port,
      let environment = reference.withLock({ $0.environment })
    else { return false }
    let own = environment.endpoints.values + [(try? environment.clientRoute.main) ?? ""]
    return own.contains { $0.hasSuffix(":\(port)") }
  }
}

/// The protocol of one configuration.
private final class NumberedProtocol<Number>: EnvironmentProtocol {}

extension URLError {
  /// Creates an error with a message.
  init(_ code: URLError.Code, _ message: String) {
    self.init(code, userInfo: [NSLocalizedDescriptionKey: message])
  }
}
