package import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A request sent exactly as given.
///
/// ```swift
/// var request = RawRequest(method: "GET", target: "/a", host: "dev.api1.com")
/// request.append(name, value)
/// ```
package struct RawRequest {
  let method: String
  let target: String
  let body: [UInt8]
  let fields: HeaderList
  private var given: HeaderList.Given = .host

  /// - Parameters:
  ///   - method: a token.
  ///   - target: in origin form, visible ASCII.
  ///   - body: at most 64 KiB.
  ///   - host: the value of `Host`.
  package init(method: String, target: String, body: [UInt8], host: String) {
    self.method = method
    self.target = target
    self.body = body
    fields = HeaderList()
    fields.append("Host", host)
  }

  /// Appends a field of plain text, other than `Host` and connection or framing fields.
  package mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    if name.count == 6, name.equalsIgnoringASCIICase("Accept") { given.insert(.accept) }
    if name.count == 12, name.equalsIgnoringASCIICase("Content-Type") { given.insert(.contentType) }
    fields.append(name, value)
  }

  /// Completes the head.
  package mutating func seal() { fields.seal(given, hasBody: method != "GET" || !body.isEmpty) }
}

/// Receives the response to a ``RawRequest``: one of the methods is called, once, on the sending thread.
package protocol RawReceiver: AnyObject {
  /// The complete response has arrived. It is valid during the call only.
  func came(_ response: RawResponse)
  /// The response is long, slow or needs full parsing, so it is delivered as a regular one. Its body may be a stream.
  func began(_ response: Response)
  /// The request failed.
  func failed(_ error: any Error)
}

/// A handle to a ``RawRequest`` in progress.
package final class RawTransfer {
  private let transfer: Transfer
  private let driver: CurlDriver

  init(_ transfer: Transfer, _ driver: CurlDriver) {
    self.transfer = transfer
    self.driver = driver
  }

  /// Cancels the request.
  package func cancel() { driver.post(.cancel(transfer)) }
}

/// A response as bytes: the header fields as C strings in one block of memory, the body in another.
package final class RawResponse {
  /// A field's position in the block; both strings are null-terminated.
  private struct Field {
    let name: Int
    let nameCount: Int
    let value: Int
    var valueCount: Int
  }

  // Used by one thread and never from a callback, so exclusivity is not checked. The checks would take a third of the
  // time needed to parse a head.

  /// 0 until the first status line.
  @exclusivity(unchecked) package private(set) var status = 0
  /// Whether the empty line after the final response's fields has arrived.
  @exclusivity(unchecked) private(set) var isComplete = false
  /// Whether it needs full parsing, because of folded lines, non-ASCII bytes or the like.
  @exclusivity(unchecked) package private(set) var isOdd = false
  /// Whether the body has a transfer coding, so only its end determines its length and trailers.
  @exclusivity(unchecked) private(set) var isCoded = false
  /// The body's length if the head declares it.
  @exclusivity(unchecked) private(set) var length: Int?

  @exclusivity(unchecked) private var reason: [UInt8] = []
  @exclusivity(unchecked) private var block: UnsafeMutablePointer<UInt8>
  @exclusivity(unchecked) private var capacity = 1024
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var fields: [Field] = []
  @exclusivity(unchecked) private var body: UnsafeMutableRawPointer?
  @exclusivity(unchecked) private var bodyCapacity = 0
  @exclusivity(unchecked) private(set) var bodyCount = 0

  init() {
    block = .allocate(capacity: capacity)
    fields.reserveCapacity(16)
  }

  deinit {
    block.deallocate()
    free(body)
  }

  /// Resets it for another response; most memory is kept.
  func reset() {
    (status, isComplete, isOdd, isCoded, length, count, bodyCount) = (0, false, false, false, nil, 0, 0)
    reason.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    free(body)
    (body, bodyCapacity) = (nil, 0)
  }

  // MARK: While receiving

  /// Parses one line, including its line break.
  ///
  /// - Returns: true when this line completes the head of the final response.
  func take(_ line: UnsafeRawBufferPointer) -> Bool {
    var end = line.count
    while end > 0, line[end - 1] == 0x0A || line[end - 1] == 0x0D { end -= 1 }
    guard !isComplete else { return false }
    let line = UnsafeRawBufferPointer(rebasing: line[..<end])
    guard let first = line.first else {
      isComplete = status >= 200
      return isComplete
    }
    if fields.isEmpty || status < 200, line.starts(with: "HTTP/".utf8) {
      takeStatus(line)
    } else if first == 0x20 || first == 0x09 {
      fold(line)
    } else {
      takeField(line)
    }
    return false
  }

  private func takeStatus(_ line: UnsafeRawBufferPointer) {
    fields.removeAll(keepingCapacity: true)
    (count, length, status, isCoded) = (0, nil, 0, false)
    guard let space = line.firstIndex(of: 0x20) else { return }
    for byte in line[(space + 1)...].prefix(3) { status = status * 10 + Int(byte &- 0x30) }
    reason.removeAll(keepingCapacity: true)
    reason += line[(space + 1)...].dropFirst(4)
  }

  /// Appends a folded line to the previous field (RFC 9112, 5.2).
  private func fold(_ line: UnsafeRawBufferPointer) {
    isOdd = true
    guard let last = fields.indices.last else { return }
    // The last value is at the end of the block, so it can grow over its null byte.
    count -= 1
    if fields[last].valueCount > 0 {
      block[count] = 0x20
      count += 1
    }
    _ = append(Self.trimmed(line))
    fields[last].valueCount = count - 1 - fields[last].value
  }

  private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var start = 0
    var end = text.count
    while start < end, text[start] == 0x20 || text[start] == 0x09 { start += 1 }
    while end > start, text[end - 1] == 0x20 || text[end - 1] == 0x09 { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: text[start..<end])
  }

  private func takeField(_ line: UnsafeRawBufferPointer) {
    guard let colon = line.firstIndex(of: 0x3A) else {
      isOdd = true
      return
    }
    let name = Self.trimmed(UnsafeRawBufferPointer(rebasing: line[..<colon]))
    let value = Self.trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
    // A second or non-numeric length needs full parsing.
    if name.equalsIgnoringASCIICase("Content-Length") {
      isOdd = isOdd || length != nil
      var number = 0
      for byte in value {
        guard byte &- 0x30 < 10, number < 1 << 40 else {
          number = -1
          break
        }
        number = number * 10 + Int(byte &- 0x30)
      }
      if number < 0 || value.isEmpty { isOdd = true } else { length = number }
    }
    if name.equalsIgnoringASCIICase("Transfer-Encoding") { isCoded = true }
    // Non-ASCII bytes need full parsing; a null byte would end the string.
    if !value.isPlainText || !name.isToken { isOdd = true }
    let nameAt = append(name)
    fields.append(Field(name: nameAt, nameCount: name.count, value: append(value), valueCount: value.count))
  }

  private func append(_ text: UnsafeRawBufferPointer) -> Int {
    if count + text.count + 1 > capacity {
      capacity = max(capacity * 2, count + text.count + 1)
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
      larger.update(from: block, count: count)
      block.deallocate()
      block = larger
    }
    let start = count
    UnsafeMutableRawBufferPointer(start: block + count, count: text.count).copyMemory(from: text)
    count += text.count + 1
    block[count - 1] = 0
    return start
  }

  /// Appends bytes to the body; returns false if memory is exhausted.
  func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if bodyCount + bytes.count > bodyCapacity {
      bodyCapacity = max(bodyCount + bytes.count, length.map { min($0, Transfer.earlyLimit) } ?? 2 * bodyCapacity)
      guard let larger = realloc(body, bodyCapacity) else { return false }
      body = larger
    }
    body?.advanced(by: bodyCount).copyMemory(from: bytes.baseAddress ?? UnsafeRawPointer(block), byteCount: bytes.count)
    bodyCount += bytes.count
    return true
  }

  /// Whether the body is complete according to the head.
  var isWhole: Bool { isComplete && bodyCount == length }

  // MARK: When complete

  /// The body.
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: body, count: bodyCount) }

  /// Transfers ownership of the body, to be freed with `free`; nil if it is empty.
  package func takeBody() -> UnsafeMutableRawPointer? {
    defer { (body, bodyCapacity, bodyCount) = (nil, 0, 0) }
    guard bodyCount > 0 else {
      free(body)
      return nil
    }
    return body
  }

  /// An upper bound for the size of the head in bytes, as ``Headers/responseHeadSize`` counts it.
  package var headSize: Int { Headers().responseHeadSize + count + 3 * fields.count }

  /// Calls `visit` for each field in order until it returns false; returns false if it did.
  ///
  /// The strings are null-terminated.
  package func forEachField(_ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool) -> Bool {
    for field in fields {
      let name = UnsafeRawBufferPointer(start: block + field.name, count: field.nameCount)
      guard visit(name, UnsafeRawBufferPointer(start: block + field.value, count: field.valueCount)) else {
        return false
      }
    }
    return true
  }

  /// The response as a regular value.
  package var response: Response {
    var headers = Headers()
    headers.fields.reserveCapacity(fields.count)
    _ = forEachField { name, value in
      headers.append(String(wire: name), String(wire: value))
      return true
    }
    return Response(
      status: status, reason: reason.withUnsafeBytes { String(wire: $0) }, headers: headers, body: .bytes(Array(bytes)))
  }
}
