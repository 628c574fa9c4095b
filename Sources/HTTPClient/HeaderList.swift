import CCurl
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A request's header fields in curl's form: a linked list of C strings.
///
/// It uses two blocks of memory instead of two per field. Curl reads the list without changing it; the list must live
/// as long as the transfer.
final class HeaderList {
  /// Fields that curl would otherwise add itself.
  struct Given: OptionSet {
    let rawValue: Int
    static let host = Given(rawValue: 1)
    static let accept = Given(rawValue: 2)
    static let contentType = Given(rawValue: 4)
  }

  @exclusivity(unchecked) private var text: [UInt8] = []
  @exclusivity(unchecked) private var starts: [Int] = []
  @exclusivity(unchecked) private var nodes: UnsafeMutableBufferPointer<curl_slist>?
  @exclusivity(unchecked) private var block: UnsafeMutableBufferPointer<CChar>?

  /// Creates an empty list, to be filled and sealed.
  init() {
    text.reserveCapacity(512)
    starts.reserveCapacity(16)
  }

  /// - Throws: ``UpstreamError`` for a name that is not a token, or a value with a line break or a null byte, which
  ///   would inject lines into the request.
  init(_ request: Request, to origin: Origin) throws {
    var headers = request.headers
    headers.removeHopByHop()
    text.reserveCapacity(512)
    var given: Given = []
    for field in headers.fields {
      guard field.name.isToken else { throw UpstreamError.invalid(origin, "invalid header name '\(field.name)'") }
      guard field.value.utf8.allSatisfy({ $0 != 0x0A && $0 != 0x0D && $0 != 0 }) else {
        throw UpstreamError.invalid(origin, "the header \(field.name) contains a line break or a null byte")
      }
      // No trailers are sent, so none are announced.
      if field.name.equalsIgnoringASCIICase("Content-Length") || field.name.equalsIgnoringASCIICase("Expect")
        || field.name.equalsIgnoringASCIICase("Trailer")
      {
        continue
      }
      if field.name.equalsIgnoringASCIICase("Host") {
        // Curl writes one Host line, the first, wherever it is in the list. An empty one is ignored.
        guard !given.contains(.host), !field.value.isEmpty else { continue }
        given.insert(.host)
      } else if field.name.equalsIgnoringASCIICase("Accept") {
        given.insert(.accept)
      } else if field.name.equalsIgnoringASCIICase("Content-Type") {
        given.insert(.contentType)
      }
      append(field)
    }
    // TE is hop-by-hop, so it is added again if the client sent it: the response's trailers are forwarded.
    if request.headers.all("TE").contains(where: { $0.lowercased().contains("trailers") }) {
      appendLine("TE: trailers")
      appendLine("Connection: TE")
    }
    seal(given, hasBody: request.method != "GET" || request.body.length != 0)
  }

  /// A list of the given lines.
  init(lines: [String]) {
    lines.forEach(appendLine)
    seal()
  }

  deinit {
    nodes?.deallocate()
    block?.deallocate()
  }

  /// The first node, valid as long as this object.
  var first: UnsafeMutablePointer<curl_slist>? { nodes?.baseAddress }

  /// Calls `visit` with the name and the value of each field that is sent.
  func forEachField(_ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
    for node in nodes ?? UnsafeMutableBufferPointer(start: nil, count: 0) {
      guard let text = node.data else { continue }
      let line = UnsafeRawBufferPointer(start: text, count: strlen(text))
      guard let end = line.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ";") }) else { continue }
      var value = line[(end + 1)...].drop { $0 == 0x20 }
      while let last = value.last, last == 0x20 || last == 0x09 { value = value.dropLast() }
      // "Name:" is no field, but keeps curl from adding one.
      guard !value.isEmpty || line[end] == UInt8(ascii: ";") else { continue }
      visit(UnsafeRawBufferPointer(rebasing: line[..<end]), UnsafeRawBufferPointer(rebasing: value))
    }
  }

  /// Appends a field of plain text.
  func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    starts.append(text.count)
    text += name
    endName(isEmpty: value.isEmpty)
    text += value
    text.append(0)
  }

  func append(_ name: String, _ value: String) {
    append(Headers.Field(name, value))
  }

  private func endName(isEmpty: Bool) {
    if isEmpty {
      // With a colon, curl would remove the field (CURLOPT_HTTPHEADER).
      text.append(UInt8(ascii: ";"))
    } else {
      text.append(UInt8(ascii: ":"))
      text.append(UInt8(ascii: " "))
    }
  }

  private func append(_ field: Headers.Field) {
    starts.append(text.count)
    text += field.name.utf8
    let value = field.value.utf8.drop { $0 == 0x20 || $0 == 0x09 }
    endName(isEmpty: value.isEmpty)
    text += value
    text.append(0)
  }

  private func appendLine(_ line: String) {
    starts.append(text.count)
    text += line.utf8
    text.append(0)
  }

  /// Completes the list for a request.
  func seal(_ given: Given, hasBody: Bool) {
    // "Name:" suppresses a field that curl would add itself. Curl compares each line with a dozen names, so add few.
    if !given.contains(.accept) { appendLine("Accept:") }
    if hasBody {
      appendLine("Expect:")
      if !given.contains(.contentType) { appendLine("Content-Type:") }
    }
    seal()
  }

  private func seal() {
    let block = UnsafeMutableBufferPointer<CChar>.allocate(capacity: text.count)
    text.withUnsafeBytes { UnsafeMutableRawBufferPointer(block).copyMemory(from: $0) }
    let nodes = UnsafeMutableBufferPointer<curl_slist>.allocate(capacity: starts.count)
    for (index, start) in starts.enumerated() {
      let next = index + 1 < starts.count ? nodes.baseAddress.map { $0 + index + 1 } : nil
      nodes.initializeElement(at: index, to: curl_slist(data: block.baseAddress.map { $0 + start }, next: next))
    }
    self.block = block
    self.nodes = nodes
    text = []
    starts = []
  }
}

extension String {
  /// Whether the string is a token (RFC 9110, 5.6.2).
  var isToken: Bool {
    var text = self
    return text.withUTF8 { UnsafeRawBufferPointer($0).isToken }
  }
}
