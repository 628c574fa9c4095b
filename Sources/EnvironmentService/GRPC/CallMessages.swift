import Basics
import Cassettes
import GRPCSchemas
import HTTPMessages
import Transforms

extension Environment {
  /// The schemas of gRPC services that a server describes itself, by upstream and service.
  typealias ReflectedSchemas = [String: Task<GRPCSchema?, Never>]

  /// Adds the messages of a gRPC call as JSON, as far as its schema is known.
  ///
  /// - Parameters:
  ///   - interaction: a recorded call.
  ///   - forwarding: asks the upstream for its schema if the configuration has none.
  func addMessages(to interaction: inout Interaction, by forwarding: Forwarding) async {
    let path = RecordedURL(interaction.request.url).target
    var schema = grpcSchema
    if schema == nil { schema = await reflectedSchema(of: path, by: forwarding) }
    guard let schema else { return }
    interaction.request.messages = schema.messages(
      interaction.request.body, coding: interaction.request.headers["grpc-encoding"], path: path, isRequest: true)
    interaction.response.messages = schema.messages(
      interaction.response.body, coding: interaction.response.headers["grpc-encoding"], path: path, isRequest: false)
  }

  /// Asks an upstream once for the schema of a service, by reflection; nil if it does not describe it.
  private func reflectedSchema(of path: String, by forwarding: Forwarding) async -> GRPCSchema? {
    guard !GRPCReflection.paths.contains(path) else { return nil }
    let service = path.prefix { $0 != "?" }.split(separator: "/").first.map(String.init) ?? ""
    let task = reflectedSchemas.withLock { schemas in
      let key = "\(forwarding.index) \(service)"
      if let task = schemas[key] { return task }
      let task = Task<GRPCSchema?, Never> {
        let question = Task { try await forwarding.reflect(path) }
        let limit = Task {
          try await Delay.sleep(until: .now + .seconds(2))
          question.cancel()
        }
        defer { limit.cancel() }
        return try? await question.value
      }
      schemas[key] = task
      return task
    }
    return await task.value
  }
}

extension Forwarding {
  /// Asks the upstream for the schema of a service.
  ///
  /// - Parameter path: the path of a call.
  /// - Returns: the schema; nil if the upstream does not offer reflection.
  /// - Throws: an error if it answers otherwise than expected.
  fileprivate func reflect(_ path: String) async throws -> GRPCSchema? {
    for service in GRPCReflection.paths {
      guard var reflection = GRPCReflection(path: path) else { return nil }
      let outgoing = BytePipe()
      defer { outgoing.finish() }
      var request = Request(
        method: "POST", target: service,
        headers: ["Host": upstream.origin.authority, "content-type": "application/grpc", "te": "trailers"],
        body: .stream(outgoing, length: nil))
      request.isHTTP2 = true
      guard let first = reflection.request else { return nil }
      try await outgoing.write(GRPCMessage(first).frame)
      let response = try await client.send(request, to: upstream.origin, by: environment.access[index])
      guard response.status == 200, case .stream(let incoming, _) = response.body else { continue }
      defer { incoming.abandon() }
      var parser = GRPCMessageParser(limit: CallInterleaving.messageLimit)
      while let bytes = try await incoming.read() {
        for message in try parser.parse(bytes) {
          try reflection.receive(message.payload)
          guard let next = reflection.request else {
            return try GRPCSchema(fileDescriptors: reflection.fileDescriptors)
          }
          try await outgoing.write(GRPCMessage(next).frame)
        }
      }
    }
    return nil
  }
}

extension GRPCSchema {
  /// The messages of a body as JSON.
  ///
  /// - Parameters:
  ///   - body: the body; one in a file is not decoded.
  ///   - coding: the value of `grpc-encoding`.
  ///   - path: the path of the call.
  ///   - isRequest: whether it is the request's body.
  /// - Returns: the messages, `null` for those that cannot be decoded; empty if the method is unknown.
  func messages(_ body: RecordedBody, coding: String?, path: String, isRequest: Bool) -> [JSON] {
    guard case .bytes(let bytes) = body else { return [] }
    var parser = GRPCMessageParser(limit: .max)
    guard let messages = try? parser.parse(bytes) else { return [] }
    var all: [JSON] = []
    for message in messages {
      do {
        let payload = try message.decompressed(by: coding)
        guard let json = try json(payload, of: path, isRequest: isRequest) else { return [] }
        all.append(try JSON.parse(Array(json.text.utf8)))
      } catch {
        all.append(.null)
      }
    }
    return all
  }
}

extension GRPCMessage {
  /// The payload without compression.
  ///
  /// - Parameter coding: the value of `grpc-encoding`.
  /// - Returns: the payload.
  /// - Throws: an error if the coding is not supported, or the payload does not match it.
  fileprivate func decompressed(by coding: String?) throws -> [UInt8] {
    guard isCompressed, coding != "identity" else { return payload }
    guard let codings = ContentCodings(header: coding ?? "") else {
      throw CodedError(.broken, "the message coding '\(coding ?? "")' is not supported")
    }
    return try codings.decode(payload, limit: CallInterleaving.messageLimit)
  }
}
