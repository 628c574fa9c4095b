package import Basics

/// Asks a server for the schema of one of its services
/// (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md). The caller does the calls.
///
/// ```swift
/// guard var reflection = GRPCReflection(path: "/pets.Store/Find") else { return }
/// // One bidirectional stream to the first of GRPCReflection.paths that does not answer with status 12, UNIMPLEMENTED.
/// while let request = reflection.request {
///   try await stream.send(request)
///   try reflection.receive(try await stream.receive())
/// }
/// let schema = try GRPCSchema(fileDescriptors: reflection.fileDescriptors)
/// ```
package struct GRPCReflection: Sendable {
  /// The paths of the reflection service, the current version first. Their messages are the same.
  package static let paths = ["v1", "v1alpha"].map { "/grpc.reflection.\($0).ServerReflection/ServerReflectionInfo" }

  /// Limits for what a server may send.
  private static let fileLimit = 1000
  private static let sizeLimit = 16 << 20
  /// The maximum size of an answer in bytes.
  package static let answerLimit = 4 << 20

  private enum Question {
    case symbol(String)
    case file(String)

    var name: String {
      switch self {
      case .symbol(let name), .file(let name): name
      }
    }
  }

  private var questions: [Question]
  /// Serialized file descriptors by name; empty ones were not received yet.
  private var files: [String: [UInt8]] = [:]
  private var size = 0

  /// The serialized file descriptors that were received; complete when ``request`` is nil.
  package var fileDescriptors: [[UInt8]] { files.values.filter { !$0.isEmpty } }

  /// - Parameter path: the path of a request, `/package.Service/Method`; the result is nil for any other text.
  package init?(path: String) {
    let names = path.split(separator: "/", omittingEmptySubsequences: false)
    guard names.count == 3, names[0].isEmpty, !names[1].isEmpty else { return nil }
    questions = [.symbol(String(names[1]))]
  }

  /// The next message to send, without gRPC's prefix; nil if there is nothing left to ask.
  package var request: [UInt8]? {
    switch questions.first {
    // file_containing_symbol and file_by_filename of ServerReflectionRequest.
    case .symbol(let name): WireFields.encode(4, Array(name.utf8))
    case .file(let name): WireFields.encode(3, Array(name.utf8))
    case nil: nil
    }
  }

  /// Takes the server's answer to ``request``.
  ///
  /// - Parameter response: the message, without gRPC's prefix.
  /// - Throws: ``CodedError`` if the server does not know the service or one of its files, or the message is invalid.
  package mutating func receive(_ response: [UInt8]) throws(CodedError) {
    guard !questions.isEmpty else { throw Self.error("it answers without a request") }
    let question = questions.removeFirst()
    let fields = try WireFields(response)
    if let answer = fields.bytes(4).last {
      // FileDescriptorResponse.
      for file in try WireFields(answer).bytes(1) { try add(file) }
    } else if let answer = fields.bytes(7).last {
      // ErrorResponse. libprotobuf has the files of Protocol Buffers itself.
      if case .file(let name) = question, name.hasPrefix("google/protobuf/") { return }
      let text = String(decoding: try WireFields(answer).bytes(2).last ?? [], as: UTF8.self)
      throw Self.error("it does not know \(question.name): \(text)")
    } else {
      throw Self.error("its answer for \(question.name) has neither files nor an error")
    }
  }

  private mutating func add(_ file: [UInt8]) throws(CodedError) {
    // The name and the dependencies of a FileDescriptorProto.
    let fields = try WireFields(file)
    let name = String(decoding: fields.bytes(1).last ?? [], as: UTF8.self)
    guard files[name]?.isEmpty ?? true else { return }
    if files.updateValue(file, forKey: name) != nil {
      questions.removeAll { if case .file(name) = $0 { true } else { false } }
    }
    size += file.count
    for dependency in fields.bytes(3) {
      let name = String(decoding: dependency, as: UTF8.self)
      guard files[name] == nil else { continue }
      files[name] = []
      questions.append(.file(name))
      try checkSize()
    }
    try checkSize()
  }

  private func checkSize() throws(CodedError) {
    guard files.count <= Self.fileLimit, size <= Self.sizeLimit else {
      throw Self.error("it has more than \(Self.fileLimit) files or \(Self.sizeLimit >> 20) MB")
    }
  }

  fileprivate static func error(_ problem: String) -> CodedError {
    CodedError(.broken, "\(problem); use --proto with the service's .proto files", at: "the server's gRPC reflection")
  }
}

/// The fields of a message in the wire format of Protocol Buffers (https://protobuf.dev/programming-guides/encoding/).
private struct WireFields {
  private static let fieldLimit = 10_000
  private var fields: [(number: UInt64, bytes: [UInt8])] = []

  /// - Parameter message: the message.
  /// - Throws: ``CodedError`` if it ends early, has an invalid tag, or more than ten thousand such fields.
  init(_ message: [UInt8]) throws(CodedError) {
    var rest = message[...]
    while !rest.isEmpty {
      let tag = try Self.number(&rest)
      switch tag & 7 {
      case 0: _ = try Self.number(&rest)
      case 1: _ = try Self.take(8, &rest)
      case 2:
        guard fields.count < Self.fieldLimit else {
          throw GRPCReflection.error("it sends a message with too many fields")
        }
        fields.append((tag >> 3, Array(try Self.take(Self.number(&rest), &rest))))
      case 5: _ = try Self.take(4, &rest)
      default: throw GRPCReflection.error("it sends an invalid message")
      }
    }
  }

  /// The values of a length-delimited field.
  func bytes(_ number: UInt64) -> [[UInt8]] { fields.filter { $0.number == number }.map(\.bytes) }

  static func encode(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] {
    var length = bytes.count
    var encoded = [number << 3 | 2]
    while length > 0x7F {
      encoded.append(UInt8(length & 0x7F) | 0x80)
      length >>= 7
    }
    return encoded + [UInt8(length)] + bytes
  }

  private static func number(_ rest: inout ArraySlice<UInt8>) throws(CodedError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard let byte = rest.popFirst() else { break }
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
    }
    throw GRPCReflection.error("it sends an invalid message")
  }

  private static func take(_ count: UInt64, _ rest: inout ArraySlice<UInt8>) throws(CodedError) -> ArraySlice<UInt8> {
    guard count <= UInt64(rest.count) else { throw GRPCReflection.error("it sends an invalid message") }
    defer { rest.removeFirst(Int(count)) }
    return rest.prefix(Int(count))
  }
}
