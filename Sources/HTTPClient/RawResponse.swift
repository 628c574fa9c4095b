package import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A response as bytes: its head's fields as C strings in one block of memory, its body in another.
package final class RawResponse {
  /// A field's place in the block; both texts end with a null byte.
  private struct Field {
    let name: Int
    let nameCount: Int
    let value: Int
    var valueCount: Int
  }

  /// 0 until the first status line.
  package private(set) var status = 0
  /// Whether the empty line after the final response's fields has come.
  private(set) var isComplete = false
  /// Whether it cannot be told so plainly: what has to be read with more care.
  package private(set) var isOdd = false
  /// Whether the body comes in a transfer coding: only the end of it tells how long it is, and what fields follow.
  private(set) var isCoded = false
  /// The body's length by the head; nil where it does not tell.
  private(set) var length: Int?

  private var reason: [UInt8] = []
  private var block: UnsafeMutablePointer<UInt8>
  private var capacity = 1024
  private var count = 0
  private var fields: [Field] = []
  private var body: UnsafeMutableRawPointer?
  private var bodyCapacity = 0
  private(set) var bodyCount = 0

  init() {
    block = .allocate(capacity: capacity)
    fields.reserveCapacity(16)
  }

  deinit {
    block.deallocate()
    free(body)
  }

  /// Makes it ready for another response; its memory stays.
  func reset() {
    (status, isComplete, isOdd, isCoded, length, count, bodyCount) = (0, false, false, false, nil, 0, 0)
    reason.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    free(body)
    (body, bodyCapacity) = (nil, 0)
  }

  // MARK: As it comes

  /// Takes one line, with its line break.
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

  /// A folded line belongs to the field before it (RFC 9112, 5.2).
  private func fold(_ line: UnsafeRawBufferPointer) {
    isOdd = true
    guard let last = fields.indices.last else { return }
    // The last value stands at the end of the block: it grows there, over its null byte.
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
    // Neither a second length nor one that is no number is for this.
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
    // A byte that is no ASCII is read with care; a null byte would end the text.
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

  /// Takes bytes of the body; false where there is no memory.
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

  /// Whether all of the body is here, by what the head says.
  var isWhole: Bool { isComplete && bodyCount == length }

  // MARK: When it is whole

  /// The body.
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: body, count: bodyCount) }

  /// Gives the body away: memory to be freed by `free`; nil where it is empty.
  package func takeBody() -> UnsafeMutableRawPointer? {
    defer { (body, bodyCapacity, bodyCount) = (nil, 0, 0) }
    guard bodyCount > 0 else {
      free(body)
      return nil
    }
    return body
  }

  /// The most bytes that its head takes, as ``Headers/responseHeadSize`` counts them.
  package var headSize: Int { Headers().responseHeadSize + count + 3 * fields.count }

  /// Goes through the fields in order, as long as `visit` wants more; false where that has ended it.
  ///
  /// Each text is followed by a null byte.
  package func forEachField(_ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool) -> Bool {
    for field in fields {
      let name = UnsafeRawBufferPointer(start: block + field.name, count: field.nameCount)
      guard visit(name, UnsafeRawBufferPointer(start: block + field.value, count: field.valueCount)) else {
        return false
      }
    }
    return true
  }

  /// The same as others know it.
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
