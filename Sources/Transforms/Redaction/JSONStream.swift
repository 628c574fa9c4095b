import Cassettes
import LaunchContract

/// Takes values out of JSON as it streams by, by their places; all else stays to the byte, white space and `0.00` too.
///
/// What is taken out keeps its shape, so that an app still reads it: a string becomes a mark, a number `0`, a Boolean
/// `false`; arrays and objects keep their elements and names, and lose what these hold. Several documents after one
/// another, as NDJSON has them, are each one. What is no JSON passes. Where a mark stands as a number, `0` comes.
struct JSONStream {
  /// Bytes of a name or string that are looked at as a whole.
  private static let limit = 64 << 10

  private var walker: JSONWalker
  private let patterns: PatternScanner
  private(set) var hasFound = false
  /// What has come of a name, a string or a word that is looked at as a whole; in a string without its quotes.
  private var piece: [UInt8] = []
  private var isPieceWhole = true

  /// - Parameters:
  ///   - paths: what goes by its place.
  ///   - patterns: what goes from strings with escapes; in others it is found as in any text.
  init(paths: [JSONPath], patterns: PatternScanner) {
    walker = JSONWalker(paths)
    self.patterns = patterns
  }

  /// Whether a text begins as JSON that can hold something; nil as long as there is nothing but white space of it.
  static func begins(_ bytes: [UInt8]) -> Bool? {
    bytes.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }.map {
      $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[")
    }
  }

  mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(chunk.count + 64)
    chunk.withUnsafeBufferPointer { chunk in
      var index = 0
      while index < chunk.count {
        let (step, end) = walker.step(chunk, from: index, isInWord: chunk[index] == UInt8(ascii: ":") && isInMark)
        switch step {
        case .between: output.append(chunk[index])
        case .begins:
          piece.removeAll(keepingCapacity: true)
          isPieceWhole = true
          if walker.isInString { output.append(chunk[index]) } else { add(chunk[index..<end], &output) }
        case .inside: add(chunk[index..<end], &output)
        case .ends: endString(&output)
        case .over: endWord(&output)
        }
        index = end
      }
    }
    if isLast {
      // Cut short: what was to go does not come back.
      if walker.isInString { flush(&output) } else if walker.isInWord { endWord(&output) }
    }
    return output
  }

  private var isTaken: Bool { walker.match != nil }

  /// Whether the colon of a credential's mark may come.
  private var isInMark: Bool { piece.contains(UInt8(ascii: "<")) && !piece.contains(UInt8(ascii: ">")) }

  private mutating func add(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ output: inout [UInt8]) {
    guard isPieceWhole else {
      if !isTaken { output += bytes }
      return
    }
    piece += bytes
    if piece.count > Self.limit { flush(&output) }
  }

  /// There is too much of it, or its end is missing.
  private mutating func flush(_ output: inout [UInt8]) {
    guard isPieceWhole else { return }
    isPieceWhole = false
    if isTaken {
      hasFound = true
      output += RedactionMark.plain.text.utf8
    } else {
      output += piece
    }
  }

  private mutating func endString(_ output: inout [UInt8]) {
    if isPieceWhole {
      if isTaken {
        hasFound = hasFound || piece != Array(RedactionMark.plain.text.utf8)
        output += RedactionMark.plain.text.utf8
      } else if !patterns.isEmpty, piece.contains(UInt8(ascii: "\\")), let text = JSONWalker.text(piece),
        let redacted = patterns.redact(text)
      {
        hasFound = true
        var quoted: [UInt8] = []
        JSON.encode(redacted, into: &quoted)
        output += quoted[1..<(quoted.count - 1)]
      } else {
        output += piece
      }
    }
    output.append(UInt8(ascii: "\""))
  }

  private mutating func endWord(_ output: inout [UInt8]) {
    guard isPieceWhole else { return }
    guard isTaken else {
      // A secret's mark in the place of a number would be no JSON any more.
      output += piece.contains(UInt8(ascii: "<")) ? [UInt8(ascii: "0")] : piece
      return
    }
    let kept =
      switch piece.first ?? 0 {
      case UInt8(ascii: "n"): "null"
      case UInt8(ascii: "t"), UInt8(ascii: "f"): "false"
      case UInt8(ascii: "-"), 0x30...0x39: "0"
      default: "\"\(RedactionMark.plain.text)\""
      }
    hasFound = hasFound || piece != Array(kept.utf8)
    output += kept.utf8
  }
}
