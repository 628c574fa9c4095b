package import HTTPMessages
import HTTPServer

/// Answers what arrives at one listener of the control API.
///
/// The order of the checks is that of what they give away: who may not come in learns nothing about what is inside.
package final class ControlHandler: RequestHandler {
  private let server: ControlServer
  private let policy: AccessPolicy

  init(server: ControlServer, policy: AccessPolicy) {
    self.server = server
    self.policy = policy
  }

  package func respond(to request: Request) async throws -> Response {
    var operation = "none"
    let response: Response
    do {
      response = try await answer(request, &operation)
    } catch let problem as Problem {
      response = problem.response
    } catch let error as DaemonError {
      response = Problem(error).response
    } catch is CancellationError {
      // Nobody reads it: the client has left.
      response = Problem(503, "The client has left", "ask again").response
    } catch {
      server.report("\(request.method) \(operation): \(error)")
      response = Problem(500, "The daemon is broken here", "\(error); please report it").response
    }
    server.calls.count(operation, status: response.status)
    if let documented = RouteTable.statuses[operation], !documented.contains(response.status) {
      server.report("\(operation) has answered \(response.status), of which /openapi.json does not know")
    }
    return response
  }

  private func answer(_ request: Request, _ operation: inout String) async throws -> Response {
    if let problem = policy.refusal(of: request) { throw problem }
    let path = String(request.target.prefix { $0 != "?" })
    let match = RouteTable.match(method: request.method, path: path)
    if !match.isOpen, let problem = policy.lackOfToken(in: request) { throw problem }
    let (route, values) = try match.found()
    operation = route.operation
    guard route.isOpen || !server.isClosed else { throw Problem.closing }
    var parameters = ParameterValues(try route.read(path: values))
    parameters.merge(try route.read(query: String(request.target.dropFirst(path.count + 1))))
    parameters.merge(try route.read(headers: request.headers))
    let body = try await route.body?.read(from: request, upTo: server.bodyLimit)
    return try await route.perform(
      Call(server: server, parameters: parameters, headers: request.headers, body: body ?? []))
  }
}
