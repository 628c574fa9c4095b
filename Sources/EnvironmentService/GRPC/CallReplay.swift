import Basics
import Cassettes
import ControlAPI
import Foundation
import GRPCSchemas
import HTTPMessages
import Transforms

extension Environment {
  /// Plays the server's side of a gRPC call whose messages went in both directions at once.
  ///
  /// - Parameters:
  ///   - index: the index of the interaction, which has been played.
  ///   - request: the app's request, whose body begins with the message that was matched.
  ///   - form: the form of the endpoint that the app used.
  /// - Returns: the response; nil if the interaction is not such a call, or has no messages.
  /// - Throws: a ``CodedError`` if its bodies cannot be read.
  func call(_ index: Int, for request: DescribedRequest, form: AddressMap.Form) throws -> Response? {
    guard let replay, request.sought.method == RecordedRequest.streamMethod else { return nil }
    let interaction = replay.interactions[index]
    let recorded = interaction.response
    guard recorded.body.length > 0 || !recorded.trailers.fields.isEmpty || recorded.end != .whole else { return nil }
    let frames = try RecordedCall(
      request: CassetteReader.bytes(of: interaction.request.body, in: replay.location),
      response: CassetteReader.bytes(of: recorded.body, in: replay.location), interaction: interaction
    ).frames
    let incoming: BytePipe
    switch request.outgoing.body {
    case .stream(let pipe, _): incoming = pipe
    case .bytes(let bytes): incoming = BytePipe(holding: bytes)
    case .file: return nil
    }
    let target = request.sought.target
    let comparison = replay.requests.comparison
    let rules = MessageRules(
      replay.maker.book, upstream: upstreams[request.upstream].name, target: target,
      method: RecordedRequest.streamMethod)
    let recordedCodec = MessageCodec(
      interaction.request.headers, path: target, isRequest: true, schemas: redactor.schemas)
    let asJSON =
      recordedCodec?.converts == true
      ? frames.map { frame in
        guard frame.isFromApp, frame.message.kind == .binary,
          let text = recordedCodec?.text(ofFrame: frame.message.payload)
        else { return frame }
        return WebSocketFrame(isFromApp: true, time: frame.time, message: WebSocketMessage(.text, text))
      } : nil
    let playback = CallPlayback(
      frames, asJSON: asJSON,
      comparesJSON: comparison.messages(request.received.headers, target: target, upstream: request.upstream) != nil,
      rules: rules,
      codec: MessageCodec(request.received.headers, path: target, isRequest: true, schemas: redactor.schemas))
    let session = CallReplay(
      environment: self, url: interaction.request.url, incoming: incoming, headers: request.received.headers,
      target: target, responseHeaders: recorded.headers,
      end: recorded.end, trailers: replay.trailers(of: index, addresses: addresses, form: form)?.headers ?? [:])
    openRequests.enter()
    let task = Task {
      await session.run(playback)
      openRequests.leave()
    }
    session.outgoing.onAbandoned {
      incoming.abandon()
      task.cancel()
    }
    return Response(
      status: recorded.status, reason: recorded.reason,
      headers: replay.headers(of: index, addresses: addresses, form: form, isCoded: false),
      body: .stream(session.outgoing, length: nil), trailers: session.trailers)
  }
}

/// A recorded gRPC call as the messages of both sides in order.
struct RecordedCall {
  /// Messages are binary. A close of the app is the end of the request, and a close of the server that of the response. Times
  /// are in seconds since the head of the response.
  private(set) var frames: [WebSocketFrame] = []

  /// - Parameters:
  ///   - request: the body of the request.
  ///   - response: the body of the response.
  ///   - interaction: the interaction.
  /// - Throws: a ``CodedError`` if a body does not consist of gRPC messages.
  init(request: [UInt8], response: [UInt8], interaction: Interaction) throws(CodedError) {
    var (asked, answered) = (
      GRPCMessageParser(limit: .max), GRPCMessageParser(limit: .max)
    )
    let requests = try asked.parse(request)
    let responses = try answered.parse(response)
    var before = interaction.interleaving
    let isSilent = requests.isEmpty && interaction.response.end == .open
    if before.isEmpty, !isSilent { before = Array(repeating: 0, count: requests.count + 1) }
    let times = Self.times(of: responses, interaction.response.parts(of: response.count))
    var next = 0
    func append(until count: Int) {
      while next < min(count, responses.count) {
        frames.append(
          WebSocketFrame(
            isFromApp: false, time: times[next], message: WebSocketMessage(.binary, responses[next].frame)))
        next += 1
      }
      guard count > responses.count, next == responses.count, interaction.response.end == .whole else { return }
      frames.append(
        WebSocketFrame(isFromApp: false, time: frames.last?.time ?? 0, message: WebSocketMessage(.close, [])))
      next += 1
    }
    for (index, count) in before.enumerated() where index <= requests.count {
      append(until: count)
      let message =
        index < requests.count ? WebSocketMessage(.binary, requests[index].frame) : WebSocketMessage(.close, [])
      frames.append(WebSocketFrame(isFromApp: true, time: frames.last?.time ?? 0, message: message))
    }
    append(until: .max)
  }

  /// When the last byte of each message arrived, in seconds.
  private static func times(of messages: [GRPCMessage], _ parts: [BodyPart]) -> [Double] {
    var times: [Double] = []
    var (part, partEnd, end) = (0, parts.first?.count ?? 0, 0)
    for message in messages {
      end += GRPCMessage.prefixSize + message.payload.count
      while partEnd < end, part + 1 < parts.count {
        part += 1
        partEnd += parts[part].count
      }
      times.append(part < parts.count ? Double(parts[part].milliseconds) / 1000 : 0)
    }
    return times
  }
}

/// Compares the messages of the app in a call with the recorded ones: as JSON if a rule names fields and the schema is known,
/// otherwise as bytes.
struct CallPlayback: Sendable {
  private var compared: WebSocketPlayback
  /// The same messages as JSON, to describe differences; nil if they are compared as JSON.
  private var readable: WebSocketPlayback?
  /// Nil if the messages are not converted.
  private let codec: MessageCodec?

  /// - Parameters:
  ///   - frames: the recorded messages.
  ///   - asJSON: the same with the app's messages as texts, as far as they can be converted; nil if the schema is not known.
  ///   - comparesJSON: whether those are compared.
  ///   - rules: what counts in a message.
  ///   - codec: converts the app's messages.
  init(
    _ frames: [WebSocketFrame], asJSON: [WebSocketFrame]?, comparesJSON: Bool, rules: MessageRules, codec: MessageCodec?
  ) {
    self.codec = asJSON == nil ? nil : codec
    compared = WebSocketPlayback(comparesJSON ? asJSON ?? frames : frames, start: 0, rules: rules)
    if let asJSON, !comparesJSON {
      readable = WebSocketPlayback(asJSON, start: 0)
      // What the server sends comes from the other one.
      _ = readable?.begin()
    }
  }

  var isOver: Bool { compared.isOver }

  mutating func begin() -> [WebSocketPlayback.Due] { compared.begin() }

  mutating func take(_ frame: [UInt8]) -> WebSocketPlayback.Outcome {
    let text = codec?.text(ofFrame: frame).map { WebSocketMessage(.text, $0) }
    let binary = WebSocketMessage(.binary, frame)
    guard readable != nil else { return compared.take(text ?? binary) }
    let described = readable?.take(text ?? binary)
    let outcome = compared.take(binary)
    if case .miss = outcome, case .miss(let difference) = described { return .miss(difference) }
    return outcome
  }

  mutating func close() -> [WebSocketPlayback.Due]? { compared.close(WebSocketMessage(.close, [])) }
}

/// Plays the server's side of one recorded gRPC call.
struct CallReplay: Sendable {
  let environment: Environment
  let url: String
  let incoming: BytePipe
  /// The header fields of the app's request.
  let headers: Headers
  /// The target of the app's request.
  let target: String
  /// The recorded header fields of the response.
  let responseHeaders: Headers
  let end: BodyEnd
  /// The recorded trailers.
  let recordedTrailers: Headers
  let outgoing = BytePipe(keepsChunks: true)
  /// Filled in at the end.
  let trailers = Trailers()

  init(
    environment: Environment, url: String, incoming: BytePipe, headers: Headers, target: String,
    responseHeaders: Headers, end: BodyEnd, trailers: Headers
  ) {
    self.environment = environment
    self.url = url
    self.incoming = incoming
    self.headers = headers
    self.target = target
    self.responseHeaders = responseHeaders
    self.end = end
    recordedTrailers = trailers
  }

  private enum Step {
    case goesOn
    case isOver
  }

  /// Plays until the response has ended, or the app has left.
  func run(_ playback: CallPlayback) async {
    var playback = playback
    do {
      if try await send(playback.begin()) == .isOver { return }
      var parser = GRPCMessageParser(limit: MessageCodec.messageLimit)
      while let chunk = try await incoming.read() {
        for message in try parser.parse(chunk) {
          let asked = moved(message.frame, by: environment.replay?.shifter?.reversed, isRequest: true)
          let sent = environment.redactor.redact(decoded: asked, of: headers, path: target)
          switch playback.take(sent) {
          case .plays(let due): if try await send(due) == .isOver { return }
          case .miss(let difference): return miss(difference)
          }
        }
      }
      try parser.finish()
      if let due = playback.close(), try await send(due) == .isOver { return }
      guard playback.isOver else { return miss("the request ends here, but more of its messages are recorded") }
      try await ended()
    } catch {
      outgoing.fail(error)
    }
  }

  private func ended() async throws {
    switch end {
    case .whole:
      trailers.headers = recordedTrailers
      outgoing.finish()
    case .cut: outgoing.fail(BodyError.streamCut)
    case .open: try await environment.streams.wait { try await Delay.sleep(until: .now + .seconds(1e9)) }
    }
  }

  private func send(_ due: [WebSocketPlayback.Due]) async throws -> Step {
    let wait = StreamWait(
      environment.specification.streams ?? .instant, timeline: environment.state.withLock { $0.live.state.timeline })
    for due in due {
      try await environment.streams.wait { try await wait.wait(due.milliseconds) }
      if due.message.kind == .close {
        try await ended()
        return .isOver
      }
      try await outgoing.write(moved(due.message.payload, by: environment.replay?.shifter, isRequest: false))
    }
    return .goesOn
  }

  /// A message with its dates moved.
  private func moved(_ frame: [UInt8], by shifter: DateShifter?, isRequest: Bool) -> [UInt8] {
    let fields = isRequest ? headers : responseHeaders
    guard var messages = shifter?.messages(fields, path: target, isRequest: isRequest) else { return frame }
    return messages.push(frame) + messages.finish()
  }

  /// Ends a call that differs from the recording.
  private func miss(_ difference: String) {
    let advice = environment.specification.recordAdvice(
      .record, upstreams: environment.upstreams.map { ($0.name, $0.origin.description) })
    environment.state.withLock { $0.unmatchedMessages += 1 }
    environment.note(
      .unmatched, status: 200, method: "POST", url: url, text: "\(difference); to re-record: \(advice)",
      unmatched: .init(method: "POST", url: url, nearest: [], refusal: difference))
    incoming.abandon()
    trailers.headers = CallStatus.headers(of: "not in the cassette: \(difference)")
    outgoing.finish()
  }
}

/// Errors in the form of gRPC.
enum CallStatus {
  /// FAILED_PRECONDITION: clients do not repeat the call
  /// (https://github.com/grpc/grpc/blob/master/doc/statuscodes.md).
  private static let refused = "9"

  /// The fields that tell the status of a call.
  ///
  /// - Parameter message: describes the error. It is percent-encoded, as `grpc-message` requires.
  /// - Returns: the fields.
  static func headers(of message: String) -> Headers {
    var encoded = ""
    for byte in message.utf8 {
      if 0x20...0x7E ~= byte, byte != UInt8(ascii: "%") {
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return ["grpc-status": refused, "grpc-message": encoded]
  }

  /// Turns a problem document into the status of a call: clients of gRPC do not show the body of another response.
  ///
  /// - Parameters:
  ///   - response: the response to the request.
  ///   - request: the request.
  /// - Returns: the response, changed if it is a problem and the request is a call.
  static func translated(_ response: Response, for request: Request) -> Response {
    guard request.isCall, response.headers["Content-Type"] == Problem.contentType,
      case .bytes(let bytes) = response.body, let problem = try? JSON.parse(bytes)
    else { return response }
    let message = [problem["title"]?.string, problem["detail"]?.string].compactMap(\.self).joined(separator: ": ")
    let fields = Headers([.init("Content-Type", "application/grpc")] + headers(of: message).fields)
    return Response(status: 200, headers: fields)
  }
}
