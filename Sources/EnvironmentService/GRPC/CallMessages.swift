import Basics
import Cassettes
import GRPCSchemas
import HTTPMessages
import Transforms

extension Environment {
  /// The questions to upstreams for their schemas, by upstream and service.
  typealias Reflections = [String: Task<Void, Never>]

  /// Adds the messages of a gRPC call as JSON, as far as its schema is known.
  ///
  /// - Parameter interaction: a recorded call.
  func addMessages(to interaction: inout Interaction) {
    let path = RecordedURL(interaction.request.url).target
    func values(_ body: RecordedBody, _ headers: Headers, isRequest: Bool) -> [JSON] {
      guard case .bytes(let bytes) = body else { return [] }
      return MessageCodec(headers, path: path, isRequest: isRequest, schemas: redactor.schemas)?.values(of: bytes) ?? []
    }
    interaction.request.messages = values(interaction.request.body, interaction.request.headers, isRequest: true)
    interaction.response.messages = values(interaction.response.body, interaction.response.headers, isRequest: false)
  }

  /// Keeps the schema of a recorded call in the cassette, so that replay has it without `--proto` and without the server.
  ///
  /// - Parameter path: the path of the call.
  /// - Throws: a ``CodedError`` of kind `cannotWrite`.
  func keepSchema(of path: String) throws(CodedError) {
    let path = String(path.prefix { $0 != "?" })
    guard let schema = redactor.schemas?.schema(of: path) else { return }
    try recorder?.keepSchema(of: GRPCSchemaSet.service(of: path)) { schema.descriptorSet(of: path) }
  }

  /// Asks an upstream once for the schema of a service, by reflection, unless it is known.
  ///
  /// - Parameters:
  ///   - path: the path of a call.
  ///   - forwarding: asks the upstream.
  func learnSchema(of path: String, by forwarding: Forwarding) async {
    let path = String(path.prefix { $0 != "?" })
    guard let schemas = redactor.schemas, schemas.schema(of: path) == nil, !GRPCReflection.paths.contains(path) else {
      return
    }
    let task = reflections.withLock { tasks in
      let key = "\(forwarding.index) \(GRPCSchemaSet.service(of: path))"
      if let task = tasks[key] { return task }
      let task = Task<Void, Never> {
        let question = Task { try await forwarding.reflect(path) }
        let limit = Task {
          try await Delay.sleep(until: .now + .seconds(1))
          question.cancel()
        }
        defer { limit.cancel() }
        if let schema = try? await question.value { schemas.add(schema, for: GRPCSchemaSet.service(of: path)) }
      }
      tasks[key] = task
      return task
    }
    await task.value
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
      guard case .stream(let incoming, _) = response.body else { continue }
      defer { incoming.abandon() }
      guard response.status == 200 else { continue }
      var parser = GRPCMessageParser(limit: GRPCReflection.answerLimit)
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
