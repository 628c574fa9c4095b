import Basics
import Cassettes
import LaunchContract

/// Redacts values in streamed JSON by their paths. Everything else stays the same byte for byte, including white space
/// and numbers such as `0.00`.
///
/// Redacted values keep their type, so that an app can still decode them: a string becomes a mark, a number `0`, a
/// Boolean `false`; arrays and objects keep their structure, and the values in them are redacted. In a sequence of
/// documents, as in NDJSON, each is handled on its own. Text that is not JSON is unchanged. If a mark has replaced a
/// number, it becomes `0`.
struct JSONStream {
  /// The maximum length in bytes of a name or string that is examined as a whole.
  private static let limit = 64 << 10

  private var walker: JSONWalker
  private let patterns: PatternScanner
  private let keepsClaims: Bool
  private(set) var found = FoundFields()
  /// The bytes so far of a name, string or word that is examined as a whole; for a string, without its quotation marks.
  private var piece: [UInt8] = []
  private var isPieceWhole = true

  /// - Parameters:
  ///   - paths: the paths of the values to redact.
  ///   - secret: the names of strings and numbers to redact at any depth.
  ///   - keepsClaims: whether a JSON Web Token in them loses only its signature.
  ///   - patterns: the patterns to apply to strings that contain escapes. Other strings are covered by the scan of the
  ///   whole text.
  init(
    paths: [JSONPath], secret: FieldNames = .none, keepsClaims: Bool = false, patterns: PatternScanner
  ) {
    walker = JSONWalker(paths, leaf: secret.isEmpty ? nil : JSONPath(anywhere: secret, description: "$..*"))
    self.keepsClaims = keepsClaims
    self.patterns = patterns
  }

  /// Whether a text begins like a JSON object or array; nil if it is all white space so far.
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
      // The document was cut short: a value to redact must not be written out.
      if walker.isInString { flush(&output) } else if walker.isInWord { endWord(&output) }
    }
    return output
  }

  private var isTaken: Bool { walker.match != nil }

  /// Whether the value is redacted by default, and not by a path.
  private var isSecretField: Bool { walker.match != nil && walker.match == walker.leaf }

  private mutating func note() {
    guard let match = walker.match else { return }
    found.add(match == walker.leaf ? walker.memberName ?? "" : walker.path(match).description)
  }

  /// Whether a colon here may be part of a credential's mark.
  private var isInMark: Bool { piece.contains(UInt8(ascii: "<")) && !piece.contains(UInt8(ascii: ">")) }

  private mutating func add(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ output: inout [UInt8]) {
    guard isPieceWhole else {
      if !isTaken { output += bytes }
      return
    }
    piece += bytes
    if piece.count > Self.limit { flush(&output) }
  }

  /// Handles a piece that is too long or was cut short.
  private mutating func flush(_ output: inout [UInt8]) {
    guard isPieceWhole else { return }
    isPieceWhole = false
    if isTaken {
      note()
      output += RedactionMark.plain.text.utf8
    } else {
      output += piece
    }
  }

  private mutating func endString(_ output: inout [UInt8]) {
    if isPieceWhole {
      if isTaken {
        var mark = Array(RedactionMark.plain.text.utf8)
        if isSecretField {
          if piece.isEmpty || RedactionMark.isMark(piece) { mark = piece }
          if keepsClaims, let token = UnsignedToken.of(piece) { mark = token }
        }
        if piece != mark { note() }
        output += mark
      } else if !patterns.isEmpty, piece.contains(UInt8(ascii: "\\")), let text = JSONWalker.text(piece),
        let redacted = patterns.redact(text)
      {
        found.hasMatch = true
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
      // A mark in place of a number would make the JSON invalid.
      output += piece.contains(UInt8(ascii: "<")) ? [UInt8(ascii: "0")] : piece
      return
    }
    let kept =
      switch piece.first ?? 0 {
      case UInt8(ascii: "n"): "null"
      case UInt8(ascii: "t") where isSecretField: "true"
      case UInt8(ascii: "t"), UInt8(ascii: "f"): "false"
      case UInt8(ascii: "-"), 0x30...0x39: "0"
      default: "\"\(RedactionMark.plain.text)\""
      }
    if piece != Array(kept.utf8) { note() }
    output += kept.utf8
  }
}
