import Basics
import Transforms
import Cassettes
import Foundation
import HTTPClient
import HTTPMessages
import HTTPServer
import LaunchContract

/// Forwards one request to the upstream, and the response to the app. The recorder sees the upstream's URLs, the app
/// the endpoint's.
struct Forwarding: Sendable {
  let environment: Environment
  let client: UpstreamClient
  let upstream: AddressMap.Upstream
  let index: Int
  let form: AddressMap.Form
  let number: Int

  /// An interaction whose response head has arrived.
  struct AnsweredRequest: Sendable {
    let request: Request
    let requestBody: BodySpool?
    /// Ends when the whole request body has been copied to the recording; nil if there is nothing to wait for.
    let upload: Task<Void, any Error>?
    /// The order of the messages; nil for what is no call of gRPC.
    var interleaving: CallInterleaving?
    let response: Response
    /// The response's header fields with the endpoint's URLs.
    let headers: Headers
    let startedAt: Date
    let clock: ContinuousClock.Instant
  }

  /// Forwards a request and its response, and writes the outcome to the journal.
  ///
  /// - Parameters:
  ///   - request: the request, with the upstream's URLs.
  ///   - given: the upstream's response, if the request has already been sent.
  /// - Returns: the response for the app.
  /// - Throws: a ``Problem`` to send to the app; a ``CodedError`` if recording fails; the error of the request's
  ///   body.
  func forward(_ request: Request, given: Given? = nil) async throws -> Response {
    do {
      let answered = try await send(request, given: given)
      guard case .stream = answered.response.body else { return try await deliver(answered) }
      // A streamed body may take long: free the server's thread for other requests.
      return try await withTaskExecutorPreference(globalConcurrentExecutor) { try await deliver(answered) }
    } catch let problem as Problem {
      note(
        .failed, status: problem.status, request, text: problem.detail, isLost: 502...504 ~= problem.status)
      throw problem
    } catch let error as CodedError {
      environment.failRecording(error)
      note(.failed, status: 500, request, text: error.message)
      throw error
    } catch let error where error.isAppLeaving {
      let hasSent = if case .stream(let pipe, _) = request.body { pipe.isFinished } else { true }
      note(
        .left, status: 499, request,
        text: "the app disconnected before \(hasSent ? "the upstream had responded" : "it had sent its request")",
        isLost: hasSent)
      throw error
    } catch {
      note(.failed, status: 499, request, text: "the request body was incomplete: \(error)")
      throw error
    }
  }

  /// The upstream's response to a request that was sent by ``PlainPassage``.
  struct Given: Sendable {
    let result: Result<Response, any Error>
    var startedAt = Date()
    var clock = ContinuousClock.now
  }

  /// Sends the request and waits for the response head.
  private func send(_ request: Request, given: Given?) async throws -> AnsweredRequest {
    let startedAt = given?.startedAt ?? Date()
    let clock = given?.clock ?? ContinuousClock.now
    if request.isCall, environment.recorder != nil { await environment.learnSchema(of: request.target, by: self) }
    let spool = requestSpool(request)
    let interleaving = request.isCall && spool != nil ? CallInterleaving() : nil
    var sent = request
    var upload: Task<Void, any Error>?
    switch request.body {
    case .bytes(let bytes): try spool?.append(bytes)
    case .stream(let pipe, let length):
      guard let spool else { break }
      let copy = BytePipe()
      sent.body = .stream(copy, length: length)
      upload = Self.tee(pipe, to: copy, into: spool, interleaving)
    case .file(let file):
      guard let spool else { break }
      upload = Self.copy(file, into: spool)
    }
    do {
      let response =
        if let given {
          try given.result.get()
        } else {
          try await client.send(sent, to: upstream.origin, by: environment.access[index])
        }
      let headers = environment.addresses.responseHeaders(response.headers, upstream: index, form: form)
      if let fault = fault(in: response, to: request, size: headers.responseHeadSize) {
        if case .stream(let pipe, _) = response.body { pipe.abandon() }
        throw UpstreamError(kind: .other, message: "\(upstream.origin) \(fault)")
      }
      return AnsweredRequest(
        request: request, requestBody: spool, upload: upload, interleaving: interleaving, response: response,
        headers: headers,
        startedAt: startedAt, clock: clock)
    } catch let error as UpstreamError {
      throw environment.problem(of: error, method: request.method, url: url(request))
    }
  }

  /// Checks the head of a response.
  ///
  /// - Parameters:
  ///   - response: the response.
  ///   - request: its request.
  ///   - size: the size of the head that the app would get, in bytes.
  /// - Returns: why the response must be neither forwarded nor recorded; nil if its head is valid.
  private func fault(in response: Response, to request: Request, size: Int) -> String? {
    if let field = response.headers.fields.first(where: { !$0.isSendable }) {
      return "answers with an invalid header field '\(field.name)' (RFC 9110, 5.5): fix the upstream"
    }
    if response.reason.utf8.contains(0x0D) {
      return "answers with a CR within the status line (RFC 9112, 2.2): fix the upstream"
    }
    // RFC 9112, 6.3: repeated lengths are allowed if equal; a transfer coding overrides them.
    var lengths = response.headers.all("Content-Length")
    // Almost every response has one number, and Foundation's trimming would take longer than all other checks.
    if lengths.count > 1 || !lengths.allSatisfy(Self.isLength) {
      lengths = lengths.flatMap { $0.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) }
    }
    let isLength = lengths.allSatisfy { $0 == lengths[0] && Self.isLength($0) }
    guard isLength || response.headers["Transfer-Encoding"] != nil else {
      return "answers with a Content-Length of '\(lengths.joined(separator: ", "))' (RFC 9112, 6.3): fix the upstream"
    }
    guard size <= request.responseHeadLimit else {
      return "answers with a head of \(size) bytes, more than the \(request.responseHeadLimit) that can be passed on: "
        + "shorten its header fields"
    }
    return nil
  }

  private static func isLength(_ text: String) -> Bool {
    text.utf8.allSatisfy { 0x30...0x39 ~= $0 } && Int(text) != nil
  }

  private func deliver(_ answered: AnsweredRequest) async throws -> Response {
    let response = answered.response
    let isBodiless = answered.request.method == "HEAD" || response.status == 204 || response.status == 304
    let isChunked =
      response.headers["Transfer-Encoding"]?.lowercased().contains("chunked") ?? false
      || response.trailers?.headers.fields.isEmpty == false
    // A partial response is forwarded unchanged: its range refers to the upstream's bytes, and it cannot be decoded.
    let isPart = response.status == 206
    var answer = Response(
      status: response.status, reason: response.reason,
      headers: answered.headers, trailers: response.trailers.map { _ in Trailers() })
    environment.learnCookies(
      response.headers, upstream: index, target: answered.request.target, form: form, in: &answer.headers)
    let rewriter =
      isBodiless || isPart
      ? nil
      : environment.addresses.responseBodyRewriter(
        contentType: response.headers["Content-Type"], target: answered.request.target, upstream: index, form: form)
    let values = response.headers.all("Content-Encoding")
    let codings = isBodiless || isPart || values.isEmpty ? nil : ContentCodings(header: values.joined(separator: ", "))

    let stream = isBodiless || isPart ? nil : StreamKind(contentType: response.headers["Content-Type"])
    // A stream is forwarded as it arrives, even if it declares a short length.
    if let whole = try await whole(response.body, isText: rewriter != nil && stream == nil) {
      // A body that does not match its content coding is forwarded and recorded unchanged.
      var isTooLarge = false
      let plain = codings.flatMap { decode(whole, $0, of: response, rewriter, &isTooLarge) }
      let isAsSent = codings != nil && plain == nil
      let decoded = plain ?? whole
      var body = whole
      if !isAsSent, var rewriter {
        var rewritten = rewriter.push(decoded)
        rewritten += rewriter.finish()
        if rewritten != decoded { body = try codings?.encode(rewritten) ?? rewritten }
      }
      let spool = responseSpool(response, to: answered.request)
      // A stream that has arrived completely is still a sequence of messages.
      if stream != nil { spool?.measure(stream) }
      try spool?.append(decoded, sent: whole, isTooLarge: isTooLarge)
      try await record(answered, responseBody: spool, isAsSent: isAsSent)
      // Without trailers, HTTP/2 ends the response with its head or its body.
      if response.trailers?.headers.fields.isEmpty ?? true { answer.trailers = nil }
      passTrailers(of: response, to: answer.trailers)
      answer.body = isChunked ? .stream(BytePipe(holding: body), length: nil) : .bytes(body)
      return answer
    }
    guard case .stream(let source, let length) = response.body else { return answer }
    let isRewritten = rewriter != nil
    // Decode only if the body is rewritten or recorded.
    let decoder =
      isRewritten || environment.recorder != nil
      ? try codings?.tolerantDecoder(limit: environment.redactor.decodedLimit) : nil
    let transform = BodyTransform(
      decoder: nil, rewriter: rewriter, encoder: isRewritten ? try codings?.encoder() : nil)
    let target = BytePipe(keepsChunks: stream != nil)
    environment.openRequests.enter()
    // Not a child of this task: the response's head goes to the app first, and this task ends with it.
    Task { [answered, trailers = answer.trailers] in
      defer { environment.openRequests.leave() }
      await pump(
        from: source, to: target, trailers, answered, decoder: decoder, transform: transform,
        length: isRewritten ? nil : length, stream: stream)
    }
    answer.body = .stream(target, length: isRewritten || isChunked ? nil : length)
    return answer
  }

  /// Decodes a complete body; nil if it does not match its content coding.
  ///
  /// A truncated or corrupt body is decoded as far as possible, but only if that part contains an upstream URL to
  /// rewrite or a secret to redact.
  private func decode(
    _ whole: [UInt8], _ codings: ContentCodings, of response: Response, _ rewriter: BodyRewriter?,
    _ isTooLarge: inout Bool
  ) -> [UInt8]? {
    guard !whole.isEmpty else { return nil }
    let limit = environment.redactor.wholeLimit
    do {
      return try codings.decode(whole, limit: limit)
    } catch {
      isTooLarge = error is BodyTooLarge
    }
    guard !isTooLarge, let part = codings.salvage(whole, limit: limit) else { return nil }
    if var rewriter, rewriter.push(part) + rewriter.finish() != part { return part }
    guard environment.recorder != nil else { return nil }
    return environment.redactor.redact(decoded: part, of: response.headers, isResponse: true) == part ? nil : part
  }

  /// The whole body if it is available or small enough to wait for; nil if it should be streamed.
  private func whole(_ body: Body, isText: Bool) async throws -> [UInt8]? {
    switch body {
    case .bytes(let bytes): return bytes
    case .file: return try await body.collect(upTo: Pipeline.rewriteLimit)
    case .stream(let source, let length):
      guard let length, isText, length <= Pipeline.rewriteLimit else { return nil }
      do {
        return try await body.collect(upTo: length)
      } catch {
        // The app has disconnected, or no more data will arrive: stop the upstream.
        source.abandon()
        guard let error = error as? UpstreamError else { throw error }
        // The app must not mistake half a response for a complete one; none of it has been sent yet.
        throw Problem(status: 502, title: "The upstream disconnected", detail: "\(error)")
      }
    }
  }

  /// Forwards the response's trailers to the app, once the body is complete.
  func passTrailers(of response: Response, to trailers: Trailers?) {
    guard let trailers, let headers = response.trailers?.headers, !headers.fields.isEmpty else { return }
    trailers.headers = environment.addresses.responseHeaders(headers, upstream: index, form: form)
  }

  func url(_ request: Request) -> String { upstream.url + request.target }

  func note(
    _ kind: Journal.Kind, status: Int, _ request: Request, text: String? = nil, isLost: Bool = false
  ) {
    environment.note(
      kind, status: status, method: request.method, url: url(request), text: text, isLost: isLost)
  }
}
