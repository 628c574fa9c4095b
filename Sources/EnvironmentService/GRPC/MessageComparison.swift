import Basics
import Cassettes
import GRPCSchemas
import HTTPMessages
import Transforms

/// Decides which gRPC messages are compared as JSON: those of calls for which a rule names fields, and whose schema is known.
/// All others are compared as bytes.
struct MessageComparison: Sendable {
  private let book: RuleBook?
  private let upstreams: [CassetteHeader.Upstream]
  let schemas: GRPCSchemaSet?

  /// - Parameters:
  ///   - book: the matching rules; nil for none.
  ///   - upstreams: the environment's upstreams.
  ///   - schemas: the known schemas. They must not change as long as keys are compared.
  init(_ book: RuleBook?, upstreams: [CassetteHeader.Upstream], schemas: GRPCSchemaSet?) {
    self.book = book
    self.upstreams = upstreams
    self.schemas = schemas
  }

  /// What converts the body of a request for its comparison.
  ///
  /// - Parameters:
  ///   - headers: the request's header fields.
  ///   - target: the request's target.
  ///   - upstream: the upstream's index.
  /// - Returns: the conversion; nil if the body is compared as it is.
  func messages(_ headers: Headers, target: String, upstream: Int) -> MessagesAsJSON? {
    guard let book, GRPCFraming(contentType: headers["Content-Type"] ?? "") == .grpc else { return nil }
    let name = upstreams.indices.contains(upstream) ? upstreams[upstream].name : nil
    guard book.ruleForFields(ofCallTo: target, upstream: name) != nil else { return nil }
    return MessagesAsJSON(MessageCodec(headers, path: target, isRequest: true, schemas: schemas))
  }

  /// A recorded request as it is compared. A body in a file is not converted.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - upstream: the upstream's index.
  /// - Returns: the request.
  func compared(_ request: RecordedRequest, upstream: Int) -> RecordedRequest {
    let target = RecordedURL(request.url).target
    guard var messages = messages(request.headers, target: target, upstream: upstream) else { return request }
    return request.asJSON(&messages)
  }

  /// A note for the user if rules name fields of recorded calls whose schema is not known.
  ///
  /// - Parameters:
  ///   - interactions: the cassette's interactions.
  ///   - assigned: the upstream of each one.
  /// - Returns: the note; nil if all rules apply.
  func note(_ interactions: [Interaction], assigned: [Int32]) -> String? {
    guard let book else { return nil }
    for (index, interaction) in interactions.enumerated() where interaction.request.isCall {
      let request = interaction.request
      let target = RecordedURL(request.url).target
      let name = upstreams.indices.contains(Int(assigned[index])) ? upstreams[Int(assigned[index])].name : nil
      guard let rule = book.ruleForFields(ofCallTo: target, upstream: name, onlyJSON: true),
        MessageCodec(request.headers, path: target, isRequest: true, schemas: schemas)?.converts == false
      else { continue }
      return "\(rule); it does not apply to gRPC calls such as \(target), whose messages are compared as bytes, since "
        + "their schema is not known; name the service's .proto file with --proto"
    }
    return nil
  }
}

extension Request {
  /// The request with a body of gRPC messages as JSON.
  func asJSON(_ body: [UInt8]) -> Request {
    var request = self
    request.headers.set("Content-Type", MessagesAsJSON.contentType)
    request.body = .bytes(body)
    return request
  }

  /// The request as it is described after a miss: with its gRPC messages as JSON if their schema is known.
  ///
  /// - Parameter schemas: the known schemas.
  /// - Returns: the request.
  func readable(by schemas: GRPCSchemaSet?) -> Request {
    guard case .bytes(let bytes) = body,
      var messages = MessagesAsJSON(MessageCodec(headers, path: target, isRequest: true, schemas: schemas))
    else { return self }
    return asJSON(messages.push(bytes, isLast: true))
  }
}

extension RecordedRequest {
  /// The request with its gRPC messages as JSON, unless its body is in a file.
  fileprivate func asJSON(_ messages: inout MessagesAsJSON) -> RecordedRequest {
    var request = self
    request.headers.set("Content-Type", MessagesAsJSON.contentType)
    if case .bytes(let bytes) = body { request.body = .bytes(messages.push(bytes, isLast: true)) }
    return request
  }

  /// The request as it is described after a miss: with its gRPC messages as JSON if their schema is known.
  ///
  /// - Parameter schemas: the known schemas.
  /// - Returns: the request.
  func readable(by schemas: GRPCSchemaSet?) -> RecordedRequest {
    let target = RecordedURL(url).target
    guard case .bytes = body,
      var messages = MessagesAsJSON(MessageCodec(headers, path: target, isRequest: true, schemas: schemas))
    else { return self }
    return asJSON(&messages)
  }
}
