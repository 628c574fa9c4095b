import Basics
import Transforms
import Cassettes
import Foundation
import HTTPClient
import HTTPMessages
import LaunchContract

/// Records interactions.
extension Forwarding {
  /// Writes the interaction and the journal entry. Call it before sending the end of the response.
  ///
  /// - Parameters:
  ///   - answered: the request and the head of its response.
  ///   - responseBody: the body, as far as it arrived.
  ///   - isAsSent: whether the body is not decoded.
  ///   - end: how the body ended.
  ///   - failure: how the upstream failed, if the end of the body is one of its failures.
  ///   - isCut: whether the app gets only the beginning of the body.
  /// - Throws: a ``CodedError`` if the recording cannot be written; the error of the request's body.
  func record(
    _ answered: AnsweredRequest, responseBody: BodySpool?, isAsSent: Bool, end: BodyEnd = .whole,
    failure: String? = nil, isCut: Bool = false
  ) async throws {
    let request = answered.request
    let response = answered.response
    guard let recorder = environment.recorder, let responseBody, let requestBody = answered.requestBody else {
      note(.forwarded, status: response.status, request)
      return
    }
    // The upstream may have responded before reading the whole request.
    if answered.interleaving != nil {
      // A call is over with its response, or when the app leaves.
      if case .stream(let source, _) = request.body { source.abandon() }
      try? await answered.upload?.value
    } else {
      try await answered.upload?.value
    }
    let requestContent = try requestBody.finish(mediaType: request.headers["Content-Type"])
    let content = try responseBody.finish(mediaType: response.headers["Content-Type"])
    var interaction = interaction(
      of: answered, (requestContent, requestBody.redacted), (content, responseBody.redacted))
    interaction.response.isBodyAsSent = isAsSent || responseBody.isTooLarge
    interaction.response.parts = try responseBody.parts(of: content)
    interaction.response.end = end
    if let interleaving = answered.interleaving {
      interaction.interleaving = interleaving.counts
      environment.addMessages(to: &interaction)
      try environment.keepSchema(of: answered.request.target)
    }
    try recorder.append(interaction, number: number)
    let tooLarge = noteTooLarge(requestBody, responseBody, of: answered, isCut: isCut)
    note(.recorded, status: response.status, request, text: failure ?? tooLarge, isLost: failure != nil)
  }

  /// Creates an interaction to record: redacted, and without hop-by-hop header fields.
  ///
  /// - Parameters:
  ///   - answered: the request and the response.
  ///   - requestBody: the redacted request body, and what was redacted in it.
  ///   - responseBody: the redacted response body, and what was redacted in it.
  /// - Returns: the interaction, without the response's `isBodyAsSent`, `parts` and `end`.
  func interaction(
    of answered: AnsweredRequest, _ requestBody: (content: RecordedBody, found: FoundFields) = (.empty, .init()),
    _ responseBody: (content: RecordedBody, found: FoundFields) = (.empty, .init())
  ) -> Interaction {
    let (request, response, redactor) = (answered.request, answered.response, environment.redactor)
    var requestHeaders = request.headers
    requestHeaders.removeHopByHop()
    var responseHeaders = response.headers
    responseHeaders.removeHopByHop()
    // Kept, although it is hop-by-hop, so that replay sends a chunked response in chunks.
    if response.headers["Transfer-Encoding"] != nil { responseHeaders.append("Transfer-Encoding", "chunked") }
    let url = url(request)
    var inQuery: FoundFields? = FoundFields()
    var (inRequest, inResponse): ([String], [String]) = ([], [])
    var recorded = Interaction(
      upstream: upstream.name, startedAt: answered.startedAt.inMicroseconds,
      milliseconds: Double(((ContinuousClock.now - answered.clock) / .microseconds(1)).rounded()) / 1000,
      request: RecordedRequest(
        method: request.method, url: redactor.redactURL(url, &inQuery),
        headers: redactor.redact(
          requestHeaders, ofChanged: !requestBody.found.isEmpty, length: requestBody.content.length, &inRequest),
        body: requestBody.content),
      response: RecordedResponse(
        status: response.status, reason: redactor.redact(response.reason),
        headers: redactor.redact(
          responseHeaders, ofChanged: !responseBody.found.isEmpty, length: responseBody.content.length, &inResponse),
        body: responseBody.content, trailers: redactor.redact(response.trailers?.headers ?? [:])))
    recorded.isSetup = ClientMark.isOfSetup
    if inQuery?.isEmpty == true, recorded.request.url != url { inQuery?.hasMatch = true }
    for (body, found) in [("request", requestBody.found), ("response", responseBody.found)] {
      for problem in found.problems {
        environment.keepAsSent("\(request.method) \(redactor.redactURL(url)), \(body): \(problem)")
      }
    }
    environment.noteRedacted(
      [
        ("request URL", inQuery ?? .init()), ("request body", requestBody.found), ("response body", responseBody.found),
      ],
      [("request header", inRequest), ("response header", inResponse)])
    return recorded
  }

  func requestSpool(_ request: Request) -> BodySpool? {
    if case .bytes(let bytes) = request.body, bytes.isEmpty { return environment.recorder?.spool() }
    let redactor = environment.redactor.body(request.headers, isDecoded: false, path: request.target)
    return environment.recorder?.spool(redactor, isCoded: redactor.isCoded)
  }

  func responseSpool(_ response: Response, to request: Request) -> BodySpool? {
    environment.recorder?.spool(
      environment.redactor.body(response.headers, isDecoded: true, isResponse: true, path: request.target),
      isCoded: ContentCodings(of: response.headers) != nil
    )
  }

  /// Reports bodies whose decoded size exceeds the limit and which are therefore recorded as sent.
  private func noteTooLarge(
    _ request: BodySpool, _ response: BodySpool, of answered: AnsweredRequest, isCut: Bool
  ) -> String? {
    let bodies = [(request, "request"), (response, "response")].filter(\.0.isTooLarge).map(\.1)
    guard !bodies.isEmpty else { return nil }
    let text =
      "the \(bodies.joined(separator: " and ")) body decodes to more than \(environment.redactor.decodedLimit) bytes or "
      + "\(ContentDecoder.ratioLimit) times its size: recorded as sent, without redacting secrets in it"
      + (isCut ? "; the app received only the beginning, since URLs in the rest could not be rewritten" : "")
    environment.keepAsSent("\(answered.request.method) \(url(answered.request)): \(text)")
    return text
  }

  /// Copies a body to the recording while it is sent.
  static func copy(_ file: FileBody, into spool: BodySpool) -> Task<Void, any Error> {
    Task {
      var offset = 0
      while offset < file.length {
        let piece = try file.read(at: offset, upTo: FileBody.pieceSize)
        offset += piece.count
        try spool.append(piece)
        // Let other tasks run between pieces.
        await Task.yield()
      }
    }
  }

  /// Forwards a request body and copies it to the recording, completely even if the upstream reads only part of it.
  static func tee(
    _ source: BytePipe, to target: BytePipe, into spool: BodySpool, _ interleaving: CallInterleaving? = nil
  ) -> Task<Void, any Error> {
    Task {
      do {
        var isRead = true
        while let chunk = try await source.read() {
          interleaving?.asked(chunk)
          try spool.append(chunk)
          guard isRead else { continue }
          do { try await target.write(chunk) } catch is BytePipe.ReaderGone { isRead = false }
        }
        if !source.isAbandoned { interleaving?.asked(nil) }
        target.finish()
      } catch {
        source.abandon()
        target.fail(error)
        throw error
      }
    }
  }
}

extension Date {
  /// RFC 3339 with microseconds, precise enough to tell later whether interactions overlapped.
  fileprivate var inMicroseconds: String {
    let microseconds = Int((timeIntervalSince1970 * 1_000_000).rounded(.down))
    return RFC3339.format(
      seconds: microseconds / 1_000_000, nanoseconds: microseconds % 1_000_000 * 1_000, digits: 6)
  }
}
