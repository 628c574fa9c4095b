import Basics
import DioramaTesting
import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Where a test's environment is.
enum Hosting: String, CaseIterable, CustomTestStringConvertible {
  case embedded, daemon

  private static let started = Task { try await RunningDaemon() }

  var host: TestEnvironment.Host {
    get async throws {
      switch self {
      case .embedded: .embedded
      case .daemon: .daemon(stateFolder: try await Self.started.value.folder)
      }
    }
  }

  var testDescription: String { rawValue }
}

/// A real backend on a free port, made from a closure.
final class Backend: Sendable {
  private struct Handler: RequestHandler {
    let answer: @Sendable (Request) async throws -> Response

    func respond(to request: Request) async throws -> Response { try await answer(request) }
  }

  let url: String
  private let server: HTTPServer

  init(_ answer: @escaping @Sendable (Request) async throws -> Response) throws {
    server = try HTTPServer(HTTPServer.Configuration())
    url = "http://127.0.0.1:\(try server.listen(handler: Handler(answer: answer)).port)"
  }

  func stop() async { await server.stop(grace: .zero) }
}

/// The path of a file in a new folder, which is removed with this value.
final class TemporaryCassette: Sendable {
  let path: String
  private let folder = FileManager.default.temporaryDirectory.path + "/diorama-session-" + UUID().uuidString

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    path = folder + "/cassette"
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }
}

extension URLSession {
  /// The status and the text of an answer.
  func answer(_ request: URLRequest) async throws -> (status: Int, text: String, headers: [String: String]) {
    let (data, response) = try await data(for: request)
    let head = try #require(response as? HTTPURLResponse)
    var headers: [String: String] = [:]
    for (name, value) in head.allHeaderFields { headers["\(name)"] = "\(value)" }
    return (head.statusCode, String(decoding: data, as: UTF8.self), headers)
  }

  func answer(_ url: String) async throws -> (status: Int, text: String, headers: [String: String]) {
    try await answer(URLRequest(url: try #require(URL(string: url))))
  }
}

extension URLRequest {
  init(_ method: String, _ url: String, _ body: String? = nil, type: String = "text/plain") throws {
    self.init(url: try #require(URL(string: url)))
    httpMethod = method
    httpBody = body.map { Data($0.utf8) }
    if body != nil { setValue(type, forHTTPHeaderField: "Content-Type") }
  }
}
