import Basics
import CassetteChecks
import Cassettes
import ControlAPI
import Diorama
import Foundation
import HTTPClient
import HTTPMessages
import HTTPServer
import LaunchContract
import Stubs
import Transforms

/// Answers with stubs, collections and, in mode mock, the OpenAPI document, before the cassette and the upstream.
struct StubResponder: Responder {
  let environment: Environment

  func respond(to request: DescribedRequest) async throws -> Response? {
    let stubs = environment.stubs
    guard stubs.isActive || environment.answersByContract else { return nil }
    let way = StubWay(addresses: environment.addresses, upstream: request.upstream, form: request.form)
    return try await environment.stubResponse(to: request.stubRequest(in: environment), by: way).response
  }
}

extension DescribedRequest {
  /// The request as stubs see it. A body that has not been read is left out.
  func stubRequest(in environment: Environment) -> StubRequest {
    let upstream = environment.upstreams[upstream]
    let body: [UInt8] = if case .bytes(let bytes) = outgoing.body { bytes } else { [] }
    return StubRequest(
      method: received.method, target: outgoing.target, headers: outgoing.headers, body: body,
      scheme: upstream.origin.scheme, host: upstream.origin.host, port: upstream.origin.port, upstream: upstream.name)
  }
}

extension Environment {
  /// The response of the stub, the collection or the OpenAPI document for a request; nil if there is none. Logs the
  /// request.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - way: the URL translation for the upstream that the request was sent to; nil on the main port.
  /// - Returns: the response, and the number of the request in the log.
  /// - Throws: a ``Problem`` if the response cannot be made; `CancellationError` if the client disconnects.
  fileprivate func stubResponse(
    to request: StubRequest, by way: StubWay? = nil
  ) async throws -> (response: Response?, number: Int) {
    request.prepare()
    let logged = LoggedRequest(request)
    let number = stubs.state.withLock { $0.log.add(logged, at: Date()) }
    var label = "collection"
    var stub: String? = nil
    do {
      let context = matchContext
      // A stub without a WebSocket must not answer a handshake that the cassette or the upstream may answer.
      let hasOthers = way != nil && mode != .mock
      let mapping = try stubs.state.withLock { (state) throws(CodedError) in
        try state.store.match(request, context, isSocketWanted: hasOthers)
      }
      var made: StubAnswer.Made
      if let mapping {
        (label, stub) = (mapping.label, mapping.id)
        made = try await StubAnswer(environment: self, mapping: mapping, request: request).made()
        checkContract(label, made.response, to: request)
      } else if request.isHandshake {
        // The cassette or the upstream may have a WebSocket at the path of a collection.
        return (nil, number)
      } else if let answer = try stubs.collectionAnswer(to: request) {
        stub = "collection"
        made = .init(response: Response(status: answer.status, headers: answer.headers, body: .bytes(answer.body)))
        // Errors are Diorama's own.
        if answer.status < 400 {
          checkContract("collection, \(request.method) \(request.path)", made.response, to: request)
        }
      } else {
        guard answersByContract, let answer = contractAnswer(to: request) else { return (nil, number) }
        made = .init(response: Response(status: answer.status, headers: answer.headers, body: .bytes(answer.body)))
        guard answer.refusal == nil else {
          stubs.state.withLock { $0.log.complete(number, stub: nil, status: answer.status, response: nil) }
          return (made.finished(to: request, by: way, label, in: self), number)
        }
        (label, stub) = (([answer.label] + answer.violations).joined(separator: "; "), "contract")
      }
      let body: [UInt8] = if case .bytes(let bytes) = made.response.body { bytes } else { [] }
      let sent = RequestLog.Response(headers: made.response.headers, body: body)
      way?.translate(&made.response)
      let status = made.response.status
      let method = status == 101 ? RecordedRequest.webSocketMethod : request.method
      note(.mocked, status: status, method: method, url: request.url, text: label)
      stubs.state.withLock { $0.log.complete(number, stub: stub, status: status, response: sent) }
      return (made.finished(to: request, by: way, label, in: self), number)
    } catch let error as Problem {
      failed(request, number, stub, .mocked, status: error.status, "\(label): \(error.detail)")
      throw error
    } catch let error as CodedError {
      let detail = stub == nil ? error.message : "\(label): \(error.message)"
      // The test would otherwise pass or fail for the wrong reason.
      fail(detail)
      failed(request, number, stub, .mocked, status: 500, detail)
      throw Problem(status: 500, title: "The stub's response cannot be made", detail: detail)
    } catch {
      failed(request, number, stub, .left, status: 499, "the app disconnected before \(label) had answered")
      throw error
    }
  }

  /// The OpenAPI document's response; nil if it does not have the path. Notes violations of the document, and requests
  /// for what it does not have.
  private func contractAnswer(to request: StubRequest) -> OpenAPIMock.Answer? {
    let message = request.decodedMessage
    let random = stubs.randomBytes(for: message)
    guard var answer = stubs.contract?.answer(to: message, random: random.integer) else { return nil }
    answer.label = "contract \(answer.label)"
    addFindings(answer.doubts, to: \.notes)
    let url = redactor.redactURL(request.url)
    addFindings(
      answer.violations.map { "rejected \(request.method) \(url) with \(answer.status): \($0)" }, to: \.notes)
    if let refusal = answer.refusal {
      note(
        .unmatched, status: answer.status, method: request.method, url: url, text: refusal,
        unmatched: .init(method: request.method, url: url, nearest: [], refusal: refusal))
    }
    return answer
  }

  private func failed(
    _ request: StubRequest, _ number: Int, _ stub: String?, _ kind: Journal.Kind, status: Int, _ text: String
  ) {
    note(kind, status: status, method: request.method, url: request.url, text: text)
    stubs.state.withLock { $0.log.complete(number, stub: stub, status: status, response: nil) }
  }

  /// What conditions depend on: the environment's time.
  var matchContext: MatchContext {
    let zone = state.withLock { $0.live.state.clock.timeZone }.flatMap(TimeZone.init(identifier:))
    return MatchContext(now: now, timeZone: zone ?? .gmt)
  }

  // MARK: The main port

  /// The response to a request on the main port that names no upstream, as clients of WireMock send them; nil if stubs
  /// are not in use there.
  func mockResponse(to request: Request, _ route: Route) async throws -> Response? {
    guard request.target.utf8.first == UInt8(ascii: "/") else { return nil }
    let path = request.target.prefix { $0 != "?" }
    if path == StubAdmin.path || path.hasPrefix(StubAdmin.path + "/") {
      return try await StubAdmin(environment: self).respond(to: request)
    }
    guard stubs.isActive || faults.isActive else { return nil }
    switch route {
    case .undeclared, .refused: break
    case .control, .upstream: return nil
    }
    try endpointAccess.check(request, at: mainPort)
    let body = try await request.body.collect(upTo: StubServer.bodyLimit)
    let (host, port) =
      request.headers["Host"].flatMap { Origin.split(authority: $0) } ?? ("127.0.0.1", Int(mainPort))
    let stubRequest = StubRequest(
      method: request.method, target: request.target, headers: request.headers, body: body, scheme: "http", host: host,
      port: port ?? 80, upstream: nil)
    do {
      state.withLock { $0.requests += 1 }
      return try await withFaults(on: stubRequest) {
        guard stubs.isActive else { throw NotStubbed() }
        let (response, number) = try await stubResponse(to: stubRequest)
        if let response { return response }
        // Without stubs the first segment of the path was probably meant to name an upstream.
        guard mode == .mock, stubs.isInUse else { throw NotStubbed() }
        if let response = try staticFile(stubRequest, number) { return response }
        throw stubMiss(stubRequest, number)
      }
    } catch is NotStubbed {
      state.withLock { $0.requests -= 1 }
      return nil
    }
  }

  /// A request that the mock backend does not answer.
  private struct NotStubbed: Error {}

  /// A file of `__files` whose path a GET request names, or the `index.html` of a folder; nil if there is none.
  private func staticFile(_ request: StubRequest, _ number: Int) throws(Problem) -> Response? {
    guard request.method == "GET", let folder = stubs.folder else { return nil }
    let path = (request.path.removingPercentEncoding ?? request.path).split(separator: "/").joined(separator: "/")
    let file = request.path.hasSuffix("/") ? "" : path
    let names = [file, path.isEmpty ? "index.html" : "\(path)/index.html"]
    guard let name = names.first(where: folder.hasFile) else { return nil }
    let body: [UInt8]
    do { body = try folder.file(name) } catch {
      fail(error.message)
      failed(request, number, nil, .mocked, status: 500, error.message)
      throw Problem(status: 500, title: "The file cannot be sent", detail: error.message)
    }
    note(.mocked, status: 200, method: request.method, url: request.url, text: "file \(name)")
    let headers: Headers = ["Content-Type": StubFolder.contentType(of: name)]
    stubs.state.withLock {
      $0.log.complete(number, stub: nil, status: 200, response: .init(headers: headers, body: body))
    }
    return Response(status: 200, headers: headers, body: .bytes(body))
  }

  /// The response to a request that no stub matches: the nearest stubs. 404, as WireMock has it.
  private func stubMiss(_ request: StubRequest, _ number: Int) -> Problem {
    let shown = request.replacing(redactor.redact(request.message))
    let nearest = stubs.nearest(to: request, matchContext, shown: shown)
    let url = redactor.redactURL(request.url)
    var detail = "\(request.method) \(url) has no stub"
    let path = stubs.nearestPath(to: request.target)
    if let first = nearest?.first {
      detail += "; the nearest is \(first.stub): \(first.differences.joined(separator: "; "))"
    }
    if let path {
      detail += "; the path is not in the OpenAPI document; the nearest one is \(path.stub.dropFirst(9))"
    } else if nearest?.first == nil {
      detail +=
        ", and there are no stubs; name a folder with \(specification.stubsAdvice), or add one with POST "
        + "\(StubAdmin.path)/mappings"
    }
    note(
      .unmatched, status: 404, method: request.method, url: url, text: detail,
      unmatched: .init(
        method: request.method, url: url, nearest: [], nearestStubs: path.map { (nearest ?? []) + [$0] } ?? nearest))
    stubs.state.withLock { $0.log.complete(number, stub: nil, status: 404, response: nil) }
    return Problem(
      status: 404, title: "No stub", detail: detail, headers: ["Diorama-Miss": "1"],
      extra: ["request": .request(method: request.method, url: url)])
  }

  // MARK: The fast path

  /// The response of a stub that answers every request with this method and target; nil if the request needs
  /// ``Pipeline``.
  func stubAnswer(_ request: borrowing RequestView, at upstream: Int?) -> PreparedResponse? {
    let port = upstream.map { upstreams[$0].port } ?? mainPort
    guard endpointAccess.admitsAtOnce(request, at: port), request.header("Upgrade") == nil,
      request.target.first == UInt8(ascii: "/")
    else { return nil }
    if upstream != nil {
      if addresses.mayContainEndpoint(request.target) { return nil }
    } else if !upstreams.isEmpty || request.target.starts(with: "/__".utf8) {
      return nil
    }
    let response = stubs.answer(request, at: upstream, of: self) { status, detail in
      self.state.withLock { state in
        guard !state.isOver else { return false }
        state.requests += 1
        state.note(.mocked, status: status, detail, replay: nil)
        return true
      }
    }
    if response != nil { news.added(self) }
    return response
  }
}

extension StubRequest {
  /// The absolute URL.
  var url: String { Origin(scheme: scheme, host: host, port: port).description + target }

  /// The request as a message.
  var message: Request { Request(method: method, target: target, headers: headers, body: .bytes(body)) }

  /// The request with the content of another message.
  func replacing(_ message: Request) -> StubRequest {
    let body: [UInt8] = if case .bytes(let bytes) = message.body { bytes } else { [] }
    return StubRequest(
      method: message.method, target: message.target, headers: message.headers, body: body, scheme: scheme, host: host,
      port: port, upstream: upstream)
  }
}

/// One response of a stub.
struct StubAnswer {
  let environment: Environment
  let mapping: StubMapping
  let request: StubRequest

  /// A response in the request's terms, and how to send it.
  struct Made {
    var response: Response
    /// A reason phrase of the stub's own; empty for the usual one.
    var reason = ""
    var dribble: StubResponse.Dribble?
    /// An event stream or a WebSocket, and what its templates refer to.
    var events: EventScript?
    var webSocket: WebSocketScript?
    var context: TemplateContext?

    /// The response to send, once its addresses are the app's.
    func finished(
      to request: StubRequest, by way: StubWay?, _ label: String, in environment: Environment
    ) -> Response {
      guard case .bytes(let body) = response.body, request.method != "HEAD" else { return response }
      var response = response
      if let webSocket, let context {
        return WebSocketConversation(
          environment: environment, label: label, url: request.url, path: request.path, script: webSocket,
          context: context, way: way
        ).response(to: request, headers: response.headers)
      }
      if let events, let context {
        let streaming = EventStreaming(
          environment: environment, label: label, url: request.url, path: request.path, script: events,
          context: context, way: way)
        response.body = .stream(streaming.begin(lastID: request.headers["Last-Event-ID"]), length: nil)
        return response
      }
      if !reason.isEmpty, body.count <= StubAnswer.rawLimit {
        response.reason = reason
        response.fault = .close(after: StubAnswer.raw(response, reason: reason, body))
      } else if let dribble, !body.isEmpty {
        response.body = .stream(StubAnswer.dribbled(body, dribble, in: environment), length: nil)
      }
      return response
    }
  }

  private var stubs: StubServer { environment.stubs }

  /// Makes the response, after its delay.
  ///
  /// - Returns: the response.
  /// - Throws: ``CodedError`` if the response cannot be made; `CancellationError` if the client disconnects during a
  ///   delay.
  func made() async throws -> Made {
    let random = stubs.randomBytes(for: mapping)
    let settings = stubs.state.withLock { $0.settings }
    var template = mapping.response
    if template.isCallback {
      guard let response = try await stubs.callbacks.response(to: request, by: mapping.id) else {
        throw CodedError(
          .unanswered,
          "no client has provided the response within \(Callbacks.patience); get requests with GET "
            + "\(StubAdmin.path)/callbacks?stub=\(mapping.id), and answer them in time")
      }
      template = response
    }
    var delay = template.fixedDelay ?? settings.fixedDelay ?? 0
    delay += (template.distribution ?? settings.distribution)?.sample(random.fraction) ?? 0
    if delay > 0 { try await environment.sleep(milliseconds: delay) }
    let context = TemplateContext(
      request, url: mapping.request.url, parameters: template.parameters, environment.matchContext
    ) { count in random.bytes(count) }
    if let templates = template.templates { template = try templates.rendered(template, context) }
    if let fault = template.fault { return Made(response: Self.broken(fault)) }
    sendWebhooks(random)
    if let proxy = template.proxy { return Made(response: try await proxied(by: proxy, template.headers)) }
    var headers = StubServer.headers(of: mapping, template.headers)
    if template.webSocket != nil {
      return Made(
        response: Response(status: 101, headers: headers), webSocket: template.webSocket, context: context)
    }
    if template.events != nil {
      if headers["Content-Type"] == nil { headers.append("Content-Type", "text/event-stream") }
      if headers["Cache-Control"] == nil { headers.append("Cache-Control", "no-store") }
      return Made(response: Response(status: 200, headers: headers), events: template.events, context: context)
    }
    let body: [UInt8]
    switch template.body {
    case .bytes(let bytes): body = bytes
    case .file(let name):
      guard let folder = stubs.folder else {
        throw CodedError(.broken, "bodyFileName '\(name)' needs a folder of stubs; name one with --stubs DIR")
      }
      let content = try folder.file(name)
      if template.templates?.readsFiles == true {
        let text = String(decoding: content, as: UTF8.self)
        body = Array(try Template(text, name: "__files/\(name)").render(context).utf8)
      } else {
        body = content
      }
    }
    return Made(
      response: Response(status: template.status, headers: headers, body: .bytes(body)), reason: template.reason,
      dribble: template.dribble)
  }

  /// The maximum size of a body of another backend that is logged.
  private static let loggedLimit = 1 << 20
  /// The maximum size of a body that is sent with a reason phrase of its own: what surely fits into a socket's buffer.
  private static let rawLimit = 64 << 10

  /// A whole response with its own reason phrase, which libmicrohttpd cannot send. It ends the connection.
  private static func raw(_ response: Response, reason: String, _ body: [UInt8]) -> [UInt8] {
    let line = String(reason.map { $0.isNewline ? " " : $0 })
    var head = "HTTP/1.1 \(response.status) \(line)\r\n"
    var headers = response.headers
    headers.removeHopByHop()
    headers.remove("Content-Length")
    for field in headers.fields {
      head += "\(field.name): \(field.value)\r\n"
    }
    head += "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    return Array(head.utf8) + body
  }

  /// Sends a body in parts, each after its share of the time.
  private static func dribbled(
    _ body: [UInt8], _ dribble: StubResponse.Dribble, in environment: Environment
  ) -> BytePipe {
    let pipe = BytePipe(keepsChunks: true)
    // The last part takes the remainder.
    let count = max(1, min(dribble.chunks, body.count))
    let size = body.count / count
    let parts = (0..<count).map { Array(body[($0 * size)..<($0 == count - 1 ? body.count : ($0 + 1) * size)]) }
    let pause = dribble.milliseconds / Double(count)
    let streams = environment.streams
    Task {
      do {
        for part in parts {
          try await streams.wait { try await environment.sleep(milliseconds: pause) }
          try await pipe.write(part)
        }
        pipe.finish()
      } catch { pipe.fail(error) }
    }
    return pipe
  }

  // MARK: Other servers

  /// The answer of another backend, with the stub's header fields.
  private func proxied(by proxy: StubResponse.Proxy, _ fields: Headers) async throws -> Response {
    guard environment.mode != .replay else {
      throw CodedError(
        .broken, "proxyBaseUrl is not used in mode replay, which never reaches the network; use mode mock or extend")
    }
    guard let (origin, base) = Self.split(url: proxy.baseURL) else {
      throw CodedError(.broken, "proxyBaseUrl '\(proxy.baseURL)' is not an http or https URL")
    }
    var target = request.target
    if !proxy.removedPrefix.isEmpty, target.hasPrefix(proxy.removedPrefix) {
      target = String(target.dropFirst(proxy.removedPrefix.count))
    }
    var headers = request.headers
    headers.removeHopByHop()
    headers.remove("Host")
    headers.remove("Content-Length")
    for name in proxy.removedHeaders { headers.remove(name) }
    for field in proxy.additionalHeaders.fields { headers.set(field.name, field.value) }
    headers.set("Host", origin.authority)
    let path = (base.hasSuffix("/") ? String(base.dropLast()) : base) + target
    let outgoing = Request(method: request.method, target: path, headers: headers, body: .bytes(request.body))
    do {
      var response = try await environment.stubClient.send(outgoing, to: origin, by: ReadyAccess())
      response.reason = ""
      response.headers.fields += fields.fields
      // A short body is in the log as soon as the client has it.
      if let length = response.body.length, length <= Self.loggedLimit {
        response.body = .bytes(try await response.body.collect(upTo: length))
      }
      return response
    } catch let error as UpstreamError {
      throw environment.problem(of: error, method: request.method, url: origin.description + path)
    }
  }

  /// Splits a URL into its origin and the rest; nil if it is not an http or https URL.
  private static func split(url: String) -> (origin: Origin, rest: String)? {
    guard let scheme = url.firstRange(of: "://") else { return nil }
    let rest = url[scheme.upperBound...].drop { $0 != "/" && $0 != "?" }
    guard let origin = try? Origin(parsing: String(url[..<rest.startIndex])) else { return nil }
    return (origin, String(rest))
  }

  /// Sends the stub's webhooks after their delay, as long as the environment runs. A failure is noted in the journal.
  private func sendWebhooks(_ random: StubBytes) {
    for webhook in mapping.webhooks {
      let delay = (webhook.fixedDelay ?? 0) + (webhook.distribution?.sample(random.fraction) ?? 0)
      let environment = environment
      let label = mapping.label
      Task {
        try await environment.stubs.webhooks.wait {
          func failed(_ reason: String) {
            environment.note(
              .note, status: 502, method: webhook.method, url: webhook.url, text: "webhook of \(label): \(reason)")
          }
          guard let (origin, rest) = Self.split(url: webhook.url) else {
            return failed("'\(webhook.url)' is not an http or https URL")
          }
          if delay > 0 { try await environment.sleep(milliseconds: delay) }
          guard environment.mode != .replay else {
            return failed("not sent in mode replay, which never reaches the network")
          }
          var headers = webhook.headers
          headers.set("Host", origin.authority)
          let target = rest.hasPrefix("/") ? rest : "/" + rest
          let request = Request(method: webhook.method, target: target, headers: headers, body: .bytes(webhook.body))
          do {
            let response = try await environment.stubClient.send(request, to: origin, by: ReadyAccess())
            if case .stream(let pipe, _) = response.body { pipe.abandon() }
            environment.note(
              .note, status: response.status, method: webhook.method, url: webhook.url, text: "webhook of \(label)")
          } catch  where !(error is CancellationError) { failed("\(error)") }
        }
      }
    }
  }

  static func broken(_ fault: StubResponse.Fault) -> Response {
    // WireMock's own.
    let garbage = Array("lskdu018973t09sylgasjkfg1][]'./.sdlv".utf8)
    var response = Response(status: 500)
    switch fault {
    case .emptyResponse: response.fault = .close(after: [])
    case .connectionReset: response.fault = .reset
    case .randomData: response.fault = .close(after: garbage)
    case .malformedChunk:
      let head = "HTTP/1.1 200 OK\r\nVary: Accept-Encoding, User-Agent\r\nTransfer-Encoding: chunked\r\n\r\n"
      response.fault = .close(after: Array(head.utf8) + garbage)
    }
    return response
  }
}

extension Environment {
  /// Waits on the environment's timeline, at most until the environment ends.
  func sleep(milliseconds: Double) async throws {
    let clock = DioramaClock(state.withLock { $0.live.state.timeline })
    try await streams.wait { try await clock.sleep(for: .nanoseconds(Int64(milliseconds * 1_000_000))) }
  }
}
