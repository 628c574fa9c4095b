import Basics
import DioramaTesting
import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests to the main port of an environment in a daemon.
final class EndpointSession: NSObject, URLSessionDataDelegate, Sendable {
  private struct Exchange {
    var response: CheckedContinuation<Response, any Error>?
    let body: BytePipe
  }

  private static let delegate = EndpointSession()
  private static let session: URLSession = {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.httpMaximumConnectionsPerHost = 64
    // The calling session has its own timeout.
    configuration.timeoutIntervalForRequest = 1e6
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }()

  private let exchanges = Guarded<[Int: Exchange]>([:])

  /// Sends a request.
  ///
  /// - Parameters:
  ///   - request: the request, with a path as its target.
  ///   - origin: the origin of its URL.
  ///   - route: the main port.
  /// - Returns: the response. Its body is a stream.
  /// - Throws: a `URLError`, or the error of the request's body.
  static func send(_ request: Request, origin: String, by route: ClientRoute) async throws -> Response {
    guard let url = URL(string: route.main + request.target) else { throw URLError(.badURL) }
    var outgoing = URLRequest(url: url)
    outgoing.httpMethod = request.method
    outgoing.timeoutInterval = 1e6
    var headers = request.headers
    headers.removeHopByHop()
    for field in headers.fields { outgoing.addValue(field.value, forHTTPHeaderField: field.name) }
    outgoing.setValue("\(route.token) origin=\(origin)", forHTTPHeaderField: "Diorama-Client")
    let body = try await request.body.collect(upTo: .max)
    if !body.isEmpty { outgoing.httpBody = Data(body) }
    let task = session.dataTask(with: outgoing)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let pipe = BytePipe(capacity: .max)
        pipe.onAbandoned { cancel(task) }
        delegate.exchanges.withLock { $0[task.taskIdentifier] = Exchange(response: continuation, body: pipe) }
        task.resume()
      }
    } onCancel: {
      cancel(task)
    }
  }

  /// On Linux, cancelling waits for a queue that all sessions share, and protocols are stopped on that queue.
  private static func cancel(_ task: URLSessionTask) { DispatchQueue.global().async { task.cancel() } }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    answered(dataTask, response)
    completionHandler(.allow)
  }

  private func answered(_ task: URLSessionTask, _ response: URLResponse) {
    guard let head = response as? HTTPURLResponse else { return }
    var headers = Headers()
    for (name, value) in head.allHeaderFields { headers.append("\(name)", "\(value)") }
    // Foundation has decoded the body.
    headers.remove("Content-Length")
    let (continuation, pipe) = exchanges.withLock { exchanges in
      (exchanges[task.taskIdentifier]?.response.take(), exchanges[task.taskIdentifier]?.body)
    }
    guard let continuation, let pipe else { return }
    continuation.resume(
      returning: Response(status: head.statusCode, headers: headers, body: .stream(pipe, length: nil)))
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    // The first bytes may come before the head's own call.
    if let response = dataTask.response { answered(dataTask, response) }
    guard let pipe = exchanges.withLock({ $0[dataTask.taskIdentifier]?.body }) else { return }
    _ = data.withUnsafeBytes { pipe.offer($0) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if error == nil, let response = task.response { answered(task, response) }
    guard let exchange = exchanges.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    exchange.response?.resume(throwing: error ?? URLError(.badServerResponse))
    if let error { exchange.body.fail(error) } else { exchange.body.finish() }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) { completionHandler(nil) }
}
