/// Makes endpoints' addresses in a request's body the upstreams' as it streams by, in memory that does not grow with it.
///
/// Wherever chunks are cut, the result is what ``AddressMap/requestBody(_:contentType:form:)`` makes of the whole. Held back is
/// what may be the beginning of an address: at most ``reach`` bytes, and nothing from before a blank, a line's end or a quote,
/// which are in none.
package struct EndpointRewriter: Sendable {
  /// No address has so many bytes, however often it is escaped.
  private static let reach = 4096
  /// As much of what was passed on is kept to be looked at as what stands before an address.
  private static let context = 32

  private let map: AddressMap
  private let matcher: EndpointURLMatcher
  private var held: [UInt8] = []
  /// How much of what is held has been passed on.
  private var done = 0

  init(map: AddressMap, form: AddressMap.Form) {
    self.map = map
    matcher = EndpointURLMatcher(map: map, form: form)
  }

  /// Takes the next bytes.
  ///
  /// - Returns: what can be passed on; it may be empty.
  package mutating func push(_ chunk: [UInt8]) -> [UInt8] {
    held += chunk
    return pass(until: max(done, safeEnd))
  }

  /// Takes the end.
  ///
  /// - Returns: what was held back.
  package mutating func finish() -> [UInt8] { pass(until: held.count) }

  /// No address lies on both sides of it.
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
