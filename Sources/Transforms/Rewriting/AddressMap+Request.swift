package import HTTPMessages

/// Translation of requests from the app to the upstream.
extension AddressMap {
  /// Translates endpoint addresses in a request target, including query values, in any encoding.
  ///
  /// - Parameters:
  ///   - target: in origin form, without the segment or authority that selected the upstream.
  ///   - form: the form of the request; matters only for ``Form/absolute``, which uses `http` for an `https` upstream.
  /// - Returns: the target to send to the upstream.
  package func requestTarget(_ target: String, form: Form = .ownPort) -> String {
    translate(target, form: form, isTarget: true)
  }

  /// Translates header fields: `Host` and the forwarding fields name the upstream, and no value contains an endpoint
  /// address.
  ///
  /// - Parameters:
  ///   - headers: the fields that the app sent.
  ///   - index: the upstream that receives the request.
  ///   - form: the form of the request.
  /// - Returns: the fields in the same order.
  package func requestHeaders(_ headers: Headers, upstream index: Int, form: Form) -> Headers {
    var result = headers
    for number in result.fields.indices {
      let field = result.fields[number]
      if form == .pathSegment, field.name.equalsIgnoringASCIICase("Origin"), isMainOrigin(field.value) {
        result.fields[number].value = upstreams[index].origin.description
      } else {
        result.fields[number].value = translate(field.value, form: form)
      }
    }
    translateForwarded(&result, upstream: index, form: form)
    result.set("Host", upstreams[index].authority)
    return result
  }

  /// Translates endpoint addresses in a request body.
  ///
  /// - Parameters:
  ///   - body: the whole body, without content coding.
  ///   - contentType: only text, multipart forms and bodies without a type are changed.
  ///   - form: the form of the request; see ``requestTarget(_:form:)``.
  /// - Returns: nil if nothing has to change.
  package func requestBody(_ body: [UInt8], contentType: String?, form: Form = .ownPort) -> [UInt8]? {
    guard TextualType.mayComeFromApp(contentType) else { return nil }
    return body.withUnsafeBytes { bytes in
      guard mayContainEndpoint(bytes, form: form) else { return nil }
      return EndpointURLMatcher(map: self, form: form).translate(bytes.assumingMemoryBound(to: UInt8.self))
    }
  }

  /// Creates a rewriter that translates a request body while it streams.
  ///
  /// - Returns: a rewriter for one body, or nil if bodies of this type are not changed.
  package func requestBodyRewriter(contentType: String?, form: Form = .ownPort) -> EndpointRewriter? {
    TextualType.mayComeFromApp(contentType) ? EndpointRewriter(map: self, form: form) : nil
  }

  /// A quick check in one pass that allocates nothing.
  ///
  /// False means that the bytes contain no endpoint address. True means that one of our ports occurs in a position
  /// where a port can occur, so a closer look is necessary.
  package func mayContainEndpoint(_ bytes: UnsafeRawBufferPointer, form: Form = .ownPort) -> Bool {
    var index = 0
    let count = bytes.count
    let findsHTTP = form == .absolute
    while index < count {
      let byte = bytes[index]
      if AddressByte.isDigit(byte), index > 5, isAfterColon(index, in: bytes) {
        var port = 0
        while index < count, AddressByte.isDigit(bytes[index]), port <= 65535 {
          port = port * 10 + Int(bytes[index] &- 0x30)
          index += 1
        }
        if ports.contains(port) { return true }
        continue
      }
      if findsHTTP, byte | 0x20 == UInt8(ascii: "h"), index + 3 < count, bytes[index + 1] | 0x20 == UInt8(ascii: "t"),
        bytes[index + 3] | 0x20 == UInt8(ascii: "p")
      {
        return true
      }
      if findsHTTP, byte | 0x20 == UInt8(ascii: "w"), index + 1 < count, bytes[index + 1] | 0x20 == UInt8(ascii: "s") {
        return true
      }
      index += 1
    }
    return false
  }

  /// Whether a colon, written as `:` or `%3A`, ends right before `index` and follows the last character of a loopback
  /// host, or whether the last character of an escaped JSON or HTML colon ends there.
  private func isAfterColon(_ index: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
    var end = index - 1
    switch bytes[end] {
    case AddressByte.colon: break
    case UInt8(ascii: ";"): return true
    case UInt8(ascii: "B"), UInt8(ascii: "b"): return bytes[end - 1] == UInt8(ascii: "3")
    case UInt8(ascii: "A"), UInt8(ascii: "a"):
      guard bytes[end - 1] == UInt8(ascii: "3") else { return false }
      end -= 2
      // `%253A`: each further encoding adds one `25`.
      while end > 1, bytes[end] == UInt8(ascii: "5"), bytes[end - 1] == UInt8(ascii: "2") { end -= 2 }
      if bytes[end] == UInt8(ascii: "0") || bytes[end] | 0x20 == UInt8(ascii: "x") { return true }
      guard bytes[end] == AddressByte.percent else { return false }
    default: return false
    }
    guard end > 0 else { return false }
    switch bytes[end - 1] {
    // A host name may end with a dot.
    case UInt8(ascii: "1"), UInt8(ascii: "t"), UInt8(ascii: "T"), UInt8(ascii: "]"), UInt8(ascii: "D"),
      UInt8(ascii: "d"), AddressByte.dot:
      return true
    case let last: return host.utf8.last.map(\.asciiLowercased) == last.asciiLowercased
    }
  }

  private func translate(_ text: String, form: Form, isTarget: Bool = false) -> String {
    var text = text
    let bytes: [UInt8]? = text.withUTF8 { utf8 in
      guard mayContainEndpoint(UnsafeRawBufferPointer(utf8), form: form) else { return nil }
      return EndpointURLMatcher(map: self, form: form).translate(utf8, isTarget: isTarget)
    }
    return bytes.map { String(decoding: $0, as: UTF8.self) } ?? text
  }

  private func isMainOrigin(_ value: String) -> Bool {
    hosts.contains { value.equalsIgnoringASCIICase("http://\($0):\(mainPort)") }
  }
}
