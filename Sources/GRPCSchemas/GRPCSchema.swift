package import Basics
import CGRPCSchemas
import Foundation

/// The message types of gRPC services, which convert messages between bytes and JSON
/// (https://protobuf.dev/programming-guides/json/).
///
/// ```swift
/// let schema = try GRPCSchema(files: ["protos/pets.proto"], importPaths: ["protos"])
/// let json = try schema.json(message, of: "/pets.Store/Find", isRequest: true)
/// print(json?.text ?? "unknown method")  // {"name":"Rex"}
/// ```
/// A schema may be used on several threads at once. No message ends the process: depth, size and memory are limited.
package final class GRPCSchema: @unchecked Sendable {
  private let schema: OpaquePointer

  /// Reads the files of a schema.
  ///
  /// - Parameters:
  ///   - files: paths of `.proto` files and, with any other extension, of descriptor sets (`protoc --descriptor_set_out`).
  ///   - importPaths: folders of imported files, as with `protoc --proto_path`. The folder of a file that is in none of
  ///     them is added.
  /// - Throws: ``CodedError`` of kind `broken` with file, line and column of the first problem.
  package convenience init(files: [String], importPaths: [String]) throws(CodedError) {
    try self.init { schema, error in
      for path in importPaths { diorama_schema_add_import_path(schema, path) }
      return files.allSatisfy { diorama_schema_add_file(schema, $0, error) }
    }
  }

  /// Builds a schema from file descriptors, such as those of ``GRPCReflection``.
  ///
  /// - Parameter fileDescriptors: serialized messages `google.protobuf.FileDescriptorProto` in any order, with those of
  ///   imported files; the files of Protocol Buffers itself (`google/protobuf/timestamp.proto`) may be missing.
  /// - Throws: ``CodedError`` of kind `broken` if they are invalid or incomplete.
  package convenience init(fileDescriptors: [[UInt8]]) throws(CodedError) {
    try self.init { schema, error in
      fileDescriptors.allSatisfy { diorama_schema_add_descriptor(schema, $0, $0.count, error) }
    }
  }

  /// Builds a schema from what ``descriptorSet(of:)`` returned.
  ///
  /// - Parameter descriptorSet: a serialized message `google.protobuf.FileDescriptorSet`.
  /// - Throws: ``CodedError`` of kind `broken` if it is invalid or incomplete.
  package convenience init(descriptorSet: [UInt8]) throws(CodedError) {
    try self.init { schema, error in diorama_schema_add_set(schema, descriptorSet, descriptorSet.count, error) }
  }

  private init(
    adding add: (OpaquePointer, UnsafeMutablePointer<diorama_schema_error>) -> Bool
  ) throws(CodedError) {
    guard let schema = diorama_schema_create() else {
      throw CodedError(.inputOutput, "not enough memory for a gRPC schema; free some and try again")
    }
    var error = diorama_schema_error()
    guard add(schema, &error), diorama_schema_build(schema, &error) else {
      diorama_schema_free(schema)
      throw Self.failure(error)
    }
    self.schema = schema
  }

  deinit { diorama_schema_free(schema) }

  /// Converts a message to JSON. The same bytes always give the same text: one line, with the fields in the order of their
  /// numbers.
  ///
  /// - Parameters:
  ///   - message: the message without gRPC's prefix, uncompressed.
  ///   - path: the request's path, `/package.Service/Method`.
  ///   - isRequest: whether the client sent the message.
  /// - Returns: the JSON; nil if the schema does not have the method.
  /// - Throws: ``CodedError`` of kind `broken` if the bytes do not fit the message's type, or exceed a limit.
  package func json(_ message: [UInt8], of path: String, isRequest: Bool) throws(CodedError) -> GRPCMessageJSON? {
    var json = diorama_bytes()
    var unknown = diorama_bytes()
    var error = diorama_schema_error()
    let result = diorama_schema_to_json(schema, path, isRequest, message, message.count, &json, &unknown, &error)
    guard try Self.isConverted(result, error) else { return nil }
    return GRPCMessageJSON(
      text: String(decoding: Self.take(json), as: UTF8.self),
      unknownFields: String(decoding: Self.take(unknown), as: UTF8.self).split(separator: "\n").map(String.init))
  }

  /// Converts JSON to a message, with the fields in the order of their numbers.
  ///
  /// - Parameters:
  ///   - json: a JSON object.
  ///   - path: the request's path, `/package.Service/Method`.
  ///   - isRequest: whether the client sends the message.
  /// - Returns: the message without gRPC's prefix; nil if the schema does not have the method.
  /// - Throws: ``CodedError`` of kind `broken` if the JSON does not fit the message's type, for example because of a
  ///   misspelled name.
  package func bytes(fromJSON json: String, of path: String, isRequest: Bool) throws(CodedError) -> [UInt8]? {
    var message = diorama_bytes()
    var error = diorama_schema_error()
    let json = Array(json.utf8)
    let result = diorama_schema_from_json(schema, path, isRequest, json, json.count, &message, &error)
    return try Self.isConverted(result, error) ? Self.take(message) : nil
  }

  /// Whether the schema has a method.
  ///
  /// - Parameter path: the request's path, `/package.Service/Method`.
  /// - Returns: whether a service of the schema has it.
  package func has(_ path: String) -> Bool { diorama_schema_has_method(schema, path) }

  /// The file that defines a method, with what it imports.
  ///
  /// - Parameter path: the request's path, `/package.Service/Method`.
  /// - Returns: a serialized message `google.protobuf.FileDescriptorSet`; empty if the schema does not have the method.
  package func descriptorSet(of path: String) -> [UInt8] { Self.take(diorama_schema_descriptor_set(schema, path)) }

  private static func isConverted(
    _ result: diorama_schema_result, _ error: diorama_schema_error
  ) throws(CodedError) -> Bool {
    switch result {
    case DIORAMA_SCHEMA_CONVERTED: return true
    case DIORAMA_SCHEMA_UNKNOWN_METHOD: return false
    default: throw failure(error)
    }
  }

  private static func failure(_ error: diorama_schema_error) -> CodedError {
    defer {
      free(error.place)
      free(error.problem)
    }
    return CodedError(
      .broken, error.problem.map { String(cString: $0) } ?? "not enough memory",
      at: error.place.map { String(cString: $0) } ?? "")
  }

  private static func take(_ bytes: diorama_bytes) -> [UInt8] {
    defer { free(bytes.start) }
    return Array(UnsafeBufferPointer(start: bytes.start, count: bytes.count))
  }
}

/// A gRPC message as JSON.
package struct GRPCMessageJSON: Sendable, Equatable {
  /// One line.
  package let text: String
  /// The numbers of fields that the schema does not have and the text therefore lacks, each with the path of its message:
  /// `owner.address.7`. At most 16, sorted.
  package let unknownFields: [String]

  package init(text: String, unknownFields: [String]) {
    self.text = text
    self.unknownFields = unknownFields
  }
}
