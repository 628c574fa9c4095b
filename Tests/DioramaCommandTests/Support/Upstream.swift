import Foundation
import HTTPMessages
import HTTPServer

/// A backend in this process: it answers each path with its name and the number of its call.
final class Upstream: Sendable {
  private struct Handler: RequestHandler {
    let calls: Guarded<Int>

    func respond(to request: Request) async throws -> Response {
      let number = calls.withLock { calls in
        calls += 1
        return calls
      }
      return Response(
        status: 200, headers: ["Content-Type": "text/plain"], body: .bytes(Array("\(request.target) \(number)".utf8)))
    }
  }

  let url: String
  private let server: HTTPServer
  private let count = Guarded(0)

  init() throws {
    server = try HTTPServer()
    url = "http://127.0.0.1:\(try server.listen(handler: Handler(calls: count)).port)"
  }

  /// How many requests came.
  var calls: Int { count.withLock { $0 } }

  func stop() async { await server.stop(grace: .seconds(2)) }
}

/// Commands to run inside an environment.
enum Program {
  /// An interpreter without the user's modules; it starts in a few hundredths of a second.
  static var python: [String] {
    // A version manager's python3, first in PATH, takes several times as long to start.
    let system = "/usr/bin/python3"
    return [FileManager.default.isExecutableFile(atPath: system) ? system : "python3", "-I", "-S", "-u"]
  }

  /// Asks the endpoint `api` for these paths, and prints each answer on a line: status and body.
  static func get(_ paths: String...) -> [String] {
    python + ["-c", client] + paths
  }

  private static let client = """
    import http.client, os, sys
    connection = http.client.HTTPConnection(os.environ["DIORAMA_ENDPOINT_API"].split("//")[1], timeout=240)
    for path in sys.argv[1:]:
        connection.request("GET", path)
        response = connection.getresponse()
        print(response.status, response.read().decode().splitlines()[0])
    """
}
