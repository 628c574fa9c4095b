/// Translates endpoint addresses in a streamed request body to upstream addresses. Memory use does not grow with the
/// body.
///
/// The result does not depend on how the body is split into chunks; it equals
/// ``AddressMap/requestBody(_:contentType:form:)`` on the whole body. Only bytes that may be the beginning of an
/// address are held back: at most ``reach`` bytes, and nothing before a blank, a line break or a quotation mark, since
/// no address contains these.
package struct EndpointRewriter: Sendable {
  /// The maximum length of an address in bytes, however often it is escaped.
  private static let reach = 4096
  /// The number of passed-on bytes to keep, because the matcher also looks at the bytes before an address.
  private static let context = 32

  private let map: AddressMap
  private let matcher: EndpointURLMatcher
  private var held: [UInt8] = []
  /// The number of held bytes that were already passed on.
  private var done = 0

  init(map: AddressMap, form: AddressMap.Form) {
    self.map = map
    matcher = EndpointURLMatcher(map: map, form: form)
  }

  /// Adds the next chunk.
  ///
  /// - Returns: the bytes that can be passed on; may be empty.
  package mutating func push(_ chunk: [UInt8]) -> [UInt8] {
    held += chunk
    return pass(until: max(done, safeEnd))
  }

  /// Ends the body.
  ///
  /// - Returns: the bytes that were held back.
  package mutating func finish() -> [UInt8] { pass(until: held.count) }

  /// An index that no address spans.
  private var safeEnd: Int {
    held.withUnsafeBufferPointer { held in
      var index = held.count
      let least = max(done, held.count - Self.reach)
      while index > least {
        let byte = held[index - 1]
        if byte <= 0x20 || byte == UInt8(ascii: "\"") { return index }
        index -= 1
      }
      return least
    }
  }

  private mutating func pass(until limit: Int) -> [UInt8] {
    guard limit > done else { return [] }
    let start = done
    let (output, end) = held.withUnsafeBytes { bytes -> ([UInt8]?, Int) in
      guard map.mayContainEndpoint(bytes, form: matcher.form) else { return (nil, limit) }
      return matcher.scan(bytes.assumingMemoryBound(to: UInt8.self), from: start, until: limit)
    }
    let passed = output ?? Array(held[start..<end])
    let kept = max(0, end - Self.context)
    held.removeFirst(kept)
    done = end - kept
    return passed
  }
}
