import Basics
import CNGHTTP2
import HTTPMessages

/// The fields of a response head or of trailers, in the form that nghttp2 sends.
struct FieldBlock {
  /// The maximum size of a response head, as ``Headers/responseHeadSize`` counts it.
  static let sizeLimit = 262_144
  /// The same as nghttp2 counts it: with 12 bytes a field instead of 5.
  static let encodedLimit = 4 * sizeLimit

  private var bytes: [UInt8] = []
  private var lengths: [(name: Int, value: Int)] = []

  var isEmpty: Bool { lengths.isEmpty }

  /// The head of an interim response without fields.
  ///
  /// - Parameter status: 100 to 199.
  init(interim status: Int) {
    append(":status", "\(status)")
  }

  /// The head of a final response.
  ///
  /// - Parameters:
  ///   - status: the status.
  ///   - headers: the header fields; connection and framing fields are omitted.
  ///   - contentLength: the length to send; nil to send none.
  /// - Throws: ``CodedError`` for a status or a field that cannot be sent, and for too many fields.
  init(status: Int, headers: Headers, contentLength: Int?) throws(CodedError) {
    append(":status", "\(try PreparedResponse.checked(status))")
    var headers = headers
    // RFC 9113, 8.2.2: connection-specific fields make a message malformed.
    headers.removeHopByHop()
    headers.remove("Content-Length")
    guard headers.responseHeadSize <= Self.sizeLimit else {
      throw CodedError(
        "the response head exceeds \(Self.sizeLimit) bytes", at: "response", next: "send fewer or shorter fields")
    }
    for field in headers.fields {
      guard append(field) else {
        throw CodedError(
          "the header field '\(field.name)' has a name or a value that cannot be sent",
          at: "response", next: "remove line breaks from the value, and all but token characters from the name")
      }
    }
    if let contentLength { append("content-length", "\(contentLength)") }
  }

  /// Trailers. Invalid fields are dropped, since the head has already been sent.
  ///
  /// - Parameter trailers: the fields.
  init(trailers: Headers) {
    var trailers = trailers
    trailers.removeHopByHop()
    for field in trailers.fields { _ = append(field) }
  }

  /// Adds a field with its name in lower case (RFC 9113, 8.2).
  ///
  /// - Returns: false if it cannot be sent.
  private mutating func append(_ field: Headers.Field) -> Bool {
    var name = field.name
    guard field.isSendable, name.withUTF8({ UnsafeRawBufferPointer($0).isToken }) else { return false }
    append(field.name, field.value)
    return true
  }

  private mutating func append(_ name: String, _ value: String) {
    bytes.append(contentsOf: name.utf8.lazy.map(\.asciiLowercased))
    // RFC 9113, 8.2.1: white space around a value makes a message malformed.
    let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    var content = value.utf8.drop(while: isSpace)
    while let last = content.last, isSpace(last) { content.removeLast() }
    bytes.append(contentsOf: content)
    lengths.append((name.utf8.count, content.count))
  }

  /// Calls `body` with the fields, which are valid during the call.
  func withFields(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32) -> Int32 {
    bytes.withUnsafeBufferPointer { bytes in
      withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lengths.count) { fields in
        // nghttp2 copies the fields; the type of its pointers dates from before it promised not to change them.
        var next = UnsafeMutablePointer(mutating: bytes.baseAddress)
        for (index, length) in lengths.enumerated() {
          let value = next.map { $0 + length.name }
          fields.initializeElement(
            at: index,
            to: nghttp2_nv(
              name: next, value: value, namelen: length.name, valuelen: length.value,
              flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
          next = value.map { $0 + length.value }
        }
        return body(fields.baseAddress, lengths.count)
      }
    }
  }
}
