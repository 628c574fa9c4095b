/// Replaces upstreams' addresses in a text on its way to the app, as the text streams by.
///
/// What is replaced begins an absolute URL, stands on its own (no letter before it, no host that goes on after it)
/// and is not part of another URL's query: a redirect URI belongs to whom it is sent to.
/// Wherever chunks are cut, the result is the same; at most the length of one address is held back.
package struct BodyRewriter {
  private let matcher: UpstreamURLMatcher
  private var tracker = TokenTracker()
  /// The beginning of what may be an address, to be looked at again when more has come.
  private var held: [UInt8] = []

  init(matcher: UpstreamURLMatcher) {
    self.matcher = matcher
  }

  /// Takes the next bytes.
  ///
  /// - Returns: what can be passed on; it may be empty.
  package mutating func push(_ chunk: [UInt8]) -> [UInt8] {
    guard !held.isEmpty else { return process(chunk, isLast: false) }
    let text = held + chunk
    held = []
    return process(text, isLast: false)
  }

  /// Takes the end.
  ///
  /// - Returns: what was held back.
  package mutating func finish() -> [UInt8] {
    let text = held
    held = []
    return process(text, isLast: true)
  }

  private mutating func process(_ text: [UInt8], isLast: Bool) -> [UInt8] {
    var output: [UInt8] = []
    var copied = 0
    var heldFrom: Int?
    // A local copy lets the optimiser keep it in registers.
    var tracker = self.tracker
    text.withUnsafeBufferPointer { text in
      var index = 0
      scan: while index < text.count {
        let byte = text[index]
        let begins: Bool
        var isReference = false
        switch byte {
        case UInt8(ascii: "h"), UInt8(ascii: "H"), UInt8(ascii: "w"), UInt8(ascii: "W"):
          begins = tracker.mayBegin(with: byte)
        case AddressByte.slash, AddressByte.backslash, AddressByte.percent, UInt8(ascii: "&"):
          begins = tracker.mayBeginReference
          isReference = true
        default: begins = false
        }
        if begins {
          let found =
            isReference
            ? matcher.lookForReference(at: index, in: text, isWhole: isLast)
            : matcher.look(at: index, in: text, isWhole: isLast)
          switch found {
          case .none: break
          case .more:
            heldFrom = index
            break scan
          case .found(let found):
            output.append(contentsOf: text[copied..<index])
            output.append(contentsOf: found.replacement)
            copied = found.end
            index = found.end
            tracker.passedHost()
            continue scan
          }
        }
        tracker.pass(byte)
        index += 1
      }
    }
    self.tracker = tracker
    if copied == 0, heldFrom == nil { return text }
    output.append(contentsOf: text[copied..<(heldFrom ?? text.count)])
    if let heldFrom { held = Array(text[heldFrom...]) }
    return output
  }
}
