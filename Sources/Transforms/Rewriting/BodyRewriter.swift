import Basics

/// Replaces upstream addresses in a text on its way to the app, while the text streams.
///
/// An address is replaced if it begins an absolute URL, is not part of a longer word or host name, and is not in the
/// query of another URL: a redirect URI there is meant for the server that receives it. The result does not depend on
/// how the text is split into chunks; at most the length of one address is held back. Values at places to keep pass
/// unchanged.
package struct BodyRewriter {
  private let matcher: UpstreamURLMatcher
  private var tracker = TokenTracker()
  /// Bytes that may be the beginning of an address. They are examined again with the next chunk.
  private var held: [UInt8] = []
  /// Follows the places to keep; nil if there are none.
  private var walker: JSONWalker?
  /// Whether the text is inside a value to keep.
  private var isInKept = false

  /// - Parameters:
  ///   - matcher: finds the addresses.
  ///   - places: the places in JSON whose addresses stay.
  init(matcher: UpstreamURLMatcher, keeping places: [JSONPath] = []) {
    self.matcher = matcher
    walker = places.isEmpty ? nil : JSONWalker(places)
  }

  /// Adds the next chunk.
  ///
  /// - Returns: the bytes that can be passed on; may be empty.
  package mutating func push(_ chunk: [UInt8]) -> [UInt8] {
    guard walker != nil else { return rewrite(chunk, isLast: false) }
    return chunk.withUnsafeBufferPointer { pushAroundKept($0) }
  }

  /// Ends the text.
  ///
  /// - Returns: the bytes that were held back.
  package mutating func finish() -> [UInt8] { rewrite([], isLast: true) }

  private mutating func rewrite(_ chunk: [UInt8], isLast: Bool) -> [UInt8] {
    guard !held.isEmpty else { return process(chunk, isLast: isLast) }
    let text = held + chunk
    held = []
    return process(text, isLast: isLast)
  }

  /// Rewrites what is between the values to keep.
  private mutating func pushAroundKept(_ chunk: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var output: [UInt8] = []
    var start = 0
    var index = 0
    func pass(until end: Int, _ rewriter: inout BodyRewriter) {
      let bytes = Array(chunk[start..<end])
      output += rewriter.isInKept ? bytes : rewriter.rewrite(bytes, isLast: false)
      start = end
    }
    while index < chunk.count, let (step, end) = walker?.step(chunk, from: index) {
      let isKept =
        switch step {
        case .begins, .inside, .ends: walker?.match != nil
        case .between, .over: false
        }
      if isKept != isInKept {
        pass(until: index, &self)
        // No address spans the beginning or the end of a value.
        if isKept { output += rewrite([], isLast: true) }
        tracker = TokenTracker()
        isInKept = isKept
      }
      index = end
    }
    pass(until: chunk.count, &self)
    return output
  }

  private mutating func process(_ text: [UInt8], isLast: Bool) -> [UInt8] {
    text.withUnsafeBufferPointer { bytes in
      var scan = Scan(bytes, isWhole: isLast, matcher: matcher, tracker: tracker)
      scan.run()
      tracker = scan.tracker
      if scan.copied == 0, scan.heldFrom == nil { return text }
      scan.output.append(contentsOf: bytes[scan.copied..<(scan.heldFrom ?? bytes.count)])
      if let heldFrom = scan.heldFrom { held = Array(bytes[heldFrom...]) }
      return scan.output
    }
  }

  /// One pass over the available text.
  ///
  /// Every address contains a literal word of its host (``AddressWord``) and no token boundary. So the scan searches
  /// for these words, which is fast, and examines only the part from the beginning of the token to the word.
  private struct Scan {
    let text: UnsafeBufferPointer<UInt8>
    let isWhole: Bool
    let matcher: UpstreamURLMatcher
    var tracker: TokenTracker
    var output: [UInt8] = []
    /// The number of bytes of the text that are in the output.
    var copied = 0
    /// The index from which more bytes are needed to decide.
    var heldFrom: Int?
    private var index = 0

    init(_ text: UnsafeBufferPointer<UInt8>, isWhole: Bool, matcher: UpstreamURLMatcher, tracker: TokenTracker) {
      self.text = text
      self.isWhole = isWhole
      self.matcher = matcher
      self.tracker = tracker
    }

    mutating func run() {
      var words = AddressWordSearch(matcher.words, in: UnsafeRawBufferPointer(text))
      while heldFrom == nil, let word = words.next(from: index) {
        skipTokens(before: word)
        look(through: word)
      }
      // The bytes from here may turn out to be an address once more bytes arrive.
      guard heldFrom == nil, !isWhole else { return }
      skipTokens(before: text.count)
      while heldFrom == nil, index < text.count { look(through: text.count - 1) }
    }

    /// Moves to the beginning of the token that contains an index.
    private mutating func skipTokens(before place: Int) {
      var start = place
      while start > index, !TokenTracker.isBoundary(text[start - 1]) { start -= 1 }
      guard start > index else { return }
      index = start
      tracker = TokenTracker()
    }

    /// Looks for addresses that begin at or before an index, and stops after the first one.
    private mutating func look(through place: Int) {
      // A local copy lets the optimiser keep it in registers.
      var tracker = self.tracker
      while index <= place {
        index = tracker.passPlain(text, from: index, through: place)
        guard index <= place else { break }
        let byte = text[index]
        switch byte {
        case UInt8(ascii: "h"), UInt8(ascii: "H"), UInt8(ascii: "w"), UInt8(ascii: "W"):
          guard tracker.mayBegin(with: byte) else { break }
          if let found = matcher.lookPlainly(at: index, in: text) {
            copyUpToHere()
            matcher.write(found, to: &output)
            return pass(until: found.end)
          }
          if lookClosely(asReference: false, tracker) { return }
        case AddressByte.slash, AddressByte.backslash, AddressByte.percent, AddressByte.ampersand:
          if tracker.mayBeginReference, lookClosely(asReference: true, tracker) { return }
        default: break
        }
        tracker.pass(byte)
        index += 1
      }
      self.tracker = tracker
    }

    /// Looks for an address in any spelling.
    ///
    /// - Returns: whether an address begins here or may begin here. The scan is then past it, or has ended.
    @inline(never)
    private mutating func lookClosely(asReference isReference: Bool, _ tracker: TokenTracker) -> Bool {
      let found =
        isReference
        ? matcher.lookForReference(at: index, in: text, isWhole: isWhole)
        : matcher.look(at: index, in: text, isWhole: isWhole)
      switch found {
      case .none: return false
      case .more:
        heldFrom = index
        self.tracker = tracker
      case .found(let found):
        copyUpToHere()
        matcher.write(found, in: text, to: &output)
        pass(until: found.end)
      }
      return true
    }

    @inline(__always)
    private mutating func copyUpToHere() {
      if copied == 0 { output.reserveCapacity(text.count + 64) }
      output.append(contentsOf: UnsafeBufferPointer(rebasing: text[copied..<index]))
    }

    /// Continues after a host.
    @inline(__always)
    private mutating func pass(until end: Int) {
      copied = end
      index = end
      tracker.passedHost()
    }
  }
}
