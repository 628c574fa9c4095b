import Basics
import DioramaTesting
import Foundation
import HTTPMessages

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request of a session, from its start to the end of its response.
final class Load: Sendable {
  private struct State {
    var work: Task<Void, Never>?
    var isOver = false
  }

  private let environment: SessionEnvironment
  private let client: ProtocolClient
  private let request: URLRequest
  private let task: FoundationTask
  private let state = Guarded(State())
  /// Fires when nothing has happened for the request's timeout interval.
  private nonisolated(unsafe) let timer = DispatchSource.makeTimerSource(queue: .global())
  private let timeout: TimeInterval

  /// Called when the protocol starts.
  init(_ urlProtocol: EnvironmentProtocol, in environment: SessionEnvironment) {
    self.environment = environment
    client = ProtocolClient(urlProtocol)
    request = urlProtocol.request
    task = FoundationTask(urlProtocol.task)
    // 60 seconds is also the default of a request that does not set its own.
    timeout = request.timeoutInterval == 60 ? task.timeout ?? 60 : request.timeoutInterval
  }

  func start() {
    timer.setEventHandler { [weak self] in self?.end(.failure(URLError(.timedOut))) }
    progressed()
    timer.activate()
    let work = Task { await run() }
    let isLate = state.withLock { state in
      state.work = work
      return state.isOver
    }
    if isLate { work.cancel() }
  }

  /// Ends the load without calling the client again, because the session has cancelled its task or has finished with
  /// it.
  func stop() { end(nil) }

  /// Ends the load once.
  private func end(_ result: Result<Void, URLError>?) {
    let work: Task<Void, Never>? = state.withLock { state in
      guard !state.isOver else { return nil }
      state.isOver = true
      // Within the lock, so that no call follows the end.
      switch result {
      case .success: client.call { $0.urlProtocolDidFinishLoading($1) }
      case .failure(let error): client.call { $0.urlProtocol($1, didFailWithError: error) }
      case nil: break
      }
      return state.work.take()
    }
    timer.cancel()
    work?.cancel()
  }

  /// Calls the client, unless the load has ended.
  private func tell(_ call: @escaping @Sendable (any URLProtocolClient, URLProtocol) -> Void) {
    state.withLock { if !$0.isOver { client.call(call) } }
  }

  private func progressed() {
    let seconds = timeout > 0 && timeout < 1e9 ? timeout : 1e9
    timer.schedule(deadline: .now() + seconds)
  }

  private func run() async {
    do {
      if let problem = task.problem { throw problem }
      guard let url = request.url, ["http", "https"].contains(url.scheme?.lowercased()) else {
        throw URLError(
          .unsupportedURL, "WebSocket tasks are not supported; use the URL of the environment's endpoint")
      }
      try await exchange()
      end(.success(()))
    } catch let error as URLError {
      end(.failure(error))
    } catch is CancellationError {
      end(.failure(URLError(.cancelled)))
    } catch {
      // The body ended early.
      end(.failure(URLError(.networkConnectionLost, "\(error)")))
    }
  }

  /// Sends the request, and those that redirections lead to, and delivers the response.
  private func exchange() async throws {
    var request = request
    var upload = try await task.upload(of: request)
    for _ in 0...Redirection.limit {
      let message = OutgoingMessage(request, upload, cookies: cookies, task.headers)
      let response = try await send(message)
      progressed()
      defer { message.abandon(unless: response) }
      let url = message.url
      let head = try Self.head(of: response, url: url, to: request)
      if request.httpShouldHandleCookies {
        let set = HTTPCookie.cookies(withResponseHeaderFields: Self.fields(of: response), for: url)
        cookies?.setCookies(set, for: url, mainDocumentURL: nil)
      }
      guard let redirection = Redirection(request, head) else { return try await deliver(response, head) }
      #if canImport(FoundationNetworking)
        // The client's redirection callback crashes the process there.
        guard let next = await task.approve(redirection.request, after: head) else {
          return try await deliver(response, head)
        }
        try await response.body.forEachPiece { _ in }
        if !redirection.keepsBody { upload = .none }
        if case .stream = upload { throw URLError(.requestBodyStreamExhausted) }
        request = next
      #else
        message.abandon(unless: nil)
        tell { $0.urlProtocol($1, wasRedirectedTo: redirection.request, redirectResponse: head) }
        // Foundation loads the new request with another protocol.
        throw URLError(.cancelled)
      #endif
    }
    throw URLError(.httpTooManyRedirects)
  }

  private var cookies: HTTPCookieStorage? { task.cookies ?? environment.cookies }

  private func send(_ message: OutgoingMessage) async throws -> Response {
    let route = try environment.route
    let response =
      if let call = route.call {
        try await call(message.request, message.origin)
      } else {
        try await EndpointSession.send(message.request, origin: message.origin, by: route)
      }
    switch response.fault {
    // A whole response with its own reason phrase.
    case .close where !response.reason.isEmpty: break
    case .close(let bytes):
      throw bytes.isEmpty
        ? URLError(.networkConnectionLost) : URLError(.badServerResponse, "the response is not valid HTTP")
    case .reset: throw URLError(.networkConnectionLost)
    case nil: break
    }
    return response
  }

  private func deliver(_ response: Response, _ head: HTTPURLResponse) async throws {
    tell { $0.urlProtocol($1, didReceive: head, cacheStoragePolicy: .notAllowed) }
    var all = Data()
    try await response.body.forEachPiece { piece in
      try Task.checkCancellation()
      progressed()
      if task.takesPieces {
        tell { $0.urlProtocol($1, didLoad: Data(piece)) }
      } else {
        all += piece
      }
    }
    if !all.isEmpty { tell { [all] in $0.urlProtocol($1, didLoad: all) } }
  }

  private static func head(of response: Response, url: URL, to request: URLRequest) throws -> HTTPURLResponse {
    guard
      let head = HTTPURLResponse(
        url: url, statusCode: response.status, httpVersion: "HTTP/1.1", headerFields: fields(of: response))
    else { throw URLError(.badServerResponse) }
    return head
  }

  /// The header fields as a session shows them: repeated ones are joined.
  private static func fields(of response: Response) -> [String: String] {
    var headers = response.headers
    headers.removeHopByHop()
    if let length = response.body.length, length > 0 { headers.set("Content-Length", "\(length)") }
    var fields: [String: String] = [:]
    for field in headers.fields {
      let name = fields.keys.first { $0.equalsIgnoringASCIICase(field.name) } ?? field.name
      fields[name] = fields[name].map { "\($0), \(field.value)" } ?? field.value
    }
    return fields
  }
}

/// A protocol's client. Keeps the task alive until the load ends, as Foundation expects.
final class ProtocolClient: @unchecked Sendable {
  private let urlProtocol: URLProtocol
  private let task: URLSessionTask?
  #if canImport(Darwin)
    // The client must be called on the thread on which the load started.
    private let runLoop = CFRunLoopGetCurrent()
  #endif

  init(_ urlProtocol: URLProtocol) {
    self.urlProtocol = urlProtocol
    task = urlProtocol.task
  }

  /// Calls the client. Calls are made in order.
  func call(_ call: @escaping @Sendable (any URLProtocolClient, URLProtocol) -> Void) {
    guard let client = urlProtocol.client else { return }
    #if canImport(Darwin)
      CFRunLoopPerformBlock(runLoop, CFRunLoopMode.commonModes.rawValue) { call(client, self.urlProtocol) }
      CFRunLoopWakeUp(runLoop)
    #else
      call(client, urlProtocol)
    #endif
  }
}
