import GRPCSchemas

/// Messages of gRPC with a schema that a server's reflection could have sent.
enum GRPCMessages {
  /// The length of a file descriptor in two bytes, the descriptor, and a message.
  static func message(_ bytes: [UInt8]) throws {
    let length = bytes.prefix(2).reduce(0) { $0 << 8 | Int($1) }
    let rest = bytes.dropFirst(2)
    let descriptor = Array(rest.prefix(length))
    let path = "/pets.Store/Find"
    if var reflection = GRPCReflection(path: path) { try? reflection.receive(descriptor) }
    let schema = try GRPCSchema(fileDescriptors: [descriptor])
    guard let json = try schema.json(Array(rest.dropFirst(length)), of: path, isRequest: true) else { return }
    _ = try schema.bytes(fromJSON: json.text, of: path, isRequest: true)
  }
}
