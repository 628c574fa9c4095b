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

  /// One way through what is at hand.
  ///
  /// An address has a word of its host as it is (``AddressWord``), and nothing that ends every token; so it is enough to
  /// look from the beginning of the token around each such word to the word. The rest is passed over at the speed at which
  /// words are found.
  private struct Scan {
    let text: UnsafeBufferPointer<UInt8>
    let isWhole: Bool
    let matcher: UpstreamURLMatcher
    var tracker: TokenTracker
    var output: [UInt8] = []
    /// How far the text is in the output.
    var copied = 0
    /// Where something begins that cannot be told yet.
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
      // What begins here may become an address with the bytes to come.
      guard heldFrom == nil, !isWhole else { return }
      skipTokens(before: text.count)
      while heldFrom == nil, index < text.count { look(through: text.count - 1) }
    }

    /// Goes to the beginning of the token in which a place is.
    private mutating func skipTokens(before place: Int) {
      var start = place
      while start > index, !TokenTracker.isBoundary(text[start - 1]) { start -= 1 }
      guard start > index else { return }
      index = start
      tracker = TokenTracker()
    }

    /// Looks for addresses that begin up to a place, as far as the first one.
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

    /// Looks for an address in whatever way of writing.
    ///
    /// - Returns: whether there is one, or may be one: then it is past, or the scan is over.
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

    /// Goes on after a host.
    @inline(__always)
    private mutating func pass(until end: Int) {
      copied = end
      index = end
      tracker.passedHost()
    }
  }
}
