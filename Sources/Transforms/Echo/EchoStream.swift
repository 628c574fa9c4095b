import Basics
import Cassettes

/// Puts values of a request into a body that streams, in place of the recorded ones; see ``EchoTable``.
///
/// Everything else stays the same byte for byte. At most one value or word is held back.
package struct EchoStream: Sendable {
  /// How a body is read.
  enum Form: Sendable {
    case json
    /// A JSON document in each line or each event.
    case jsonLines
    case text(EchoTable.Spelling)
    /// JSON if it begins like an object or array, else text.
    case unknown(EchoTable.Spelling)
  }

  /// The maximum length in bytes of a JSON string, and of a word of a text, that is examined.
  private static let longest = 1 << 20

  private let table: EchoTable
  private var form: Form
  private var walker: JSONWalker
  /// The bytes so far of a JSON string, without its quotes, or of a number or literal.
  private var piece: [UInt8] = []
  /// Whether the beginning of the current string or word has been passed on.
  private var isPassing = false
  /// The last bytes of a text, which may be the beginning of a word.
  private var held: [UInt8] = []
  /// The byte before the current word or text.
  private var before: UInt8?
  /// What was replaced so far.
  package private(set) var found = EchoFindings()

  /// Fails if the body is not text.
  ///
  /// - Parameters:
  ///   - table: the values.
  ///   - contentType: the media type of the body, which must have no content coding.
  package init?(_ table: EchoTable, contentType: String?) {
    guard TextualType.contains(contentType ?? "text/plain") else { return nil }
    let essence = (contentType ?? "").prefix { $0 != ";" }.lowercased()
    let isInLines = ["event-stream", "ndjson", "jsonl"].contains { essence.contains($0) }
    switch BodyKind(contentType: contentType) {
    case .json: self.init(table, isInLines ? .jsonLines : .json)
    case .form: self.init(table, .text(.percent))
    case .markup: self.init(table, .text(.markup))
    case .unsaid(.form): self.init(table, .unknown(.percent))
    case .unsaid: self.init(table, .unknown(.plain))
    case .multipart, .text, .grpc, .other: self.init(table, .text(.plain))
    }
  }

  init(_ table: EchoTable, _ form: Form) {
    self.table = table
    self.form = form
    if case .jsonLines = form {
      walker = JSONWalker(table.paths, isInLines: true)
    } else {
      walker = JSONWalker(table.paths)
    }
  }

  /// Adds the next chunk, or the last one.
  ///
  /// - Returns: the bytes that can be passed on; may be empty.
  package mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    if case .unknown(let spelling) = form, let begins = JSONStream.begins(chunk) {
      form = begins ? .json : .text(spelling)
    }
    switch form {
    case .json, .jsonLines: return json(chunk, isLast: isLast)
    case .text(let spelling): return text(chunk, spelling, isLast: isLast)
    // White space.
    case .unknown: return chunk
    }
  }

  // MARK: Text

  private mutating func text(_ chunk: [UInt8], _ spelling: EchoTable.Spelling, isLast: Bool) -> [UInt8] {
    // The held bytes have no delimiter: as long as no other comes, they need not be looked at again.
    if !isLast, held.count + chunk.count <= Self.longest, !chunk.contains(where: EchoTable.isDelimiter) {
      held += chunk
      return []
    }
    let text = held.isEmpty ? chunk : held + chunk
    held = []
    var end = text.count
    if !isLast {
      while end > 0, !EchoTable.isDelimiter(text[end - 1]) { end -= 1 }
      if text.count - end > Self.longest { end = text.count }
      held = Array(text[end...])
    }
    guard end > 0 else { return [] }
    let output = text.withUnsafeBufferPointer {
      table.replaced(in: UnsafeBufferPointer(rebasing: $0[..<end]), spelling, after: before, &found)
    }
    before = text[end - 1]
    return output ?? (held.isEmpty ? text : Array(text[..<end]))
  }

  // MARK: JSON

  private mutating func json(_ chunk: [UInt8], isLast: Bool) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(chunk.count + 64)
    chunk.withUnsafeBufferPointer { chunk in
      var index = 0
      while index < chunk.count {
        let (step, end) = walker.step(chunk, from: index)
        switch step {
        case .between:
          before = chunk[index]
          output.append(chunk[index])
        case .begins:
          isPassing = false
          if !walker.isInString { piece.append(chunk[index]) }
        case .inside: add(chunk[index..<end], &output)
        case .ends: endString(chunk[index], &output)
        case .over: endWord(&output)
        }
        index = end
      }
    }
    if isLast {
      // The document was cut short.
      if walker.isInString { pass(&output) } else if walker.isInWord { endWord(&output) }
    }
    return output
  }

  private mutating func add(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ output: inout [UInt8]) {
    guard !isPassing else {
      output += bytes
      return
    }
    piece += bytes
    if piece.count > Self.longest { pass(&output) }
  }

  /// Passes on the current piece unchanged.
  private mutating func pass(_ output: inout [UInt8]) {
    guard !isPassing else { return }
    isPassing = true
    if walker.isInString { output.append(UInt8(ascii: "\"")) }
    output += piece
    piece.removeAll(keepingCapacity: true)
  }

  private mutating func endString(_ end: UInt8, _ output: inout [UInt8]) {
    defer { piece.removeAll(keepingCapacity: true) }
    guard !isPassing else {
      output.append(end)
      return
    }
    if end == UInt8(ascii: "\""), !walker.isName, let value = replacement(ofString: piece) {
      output += value
    } else {
      output.append(UInt8(ascii: "\""))
      output += piece
      output.append(end)
    }
  }

  /// The value in place of a string; nil if it stays.
  private mutating func replacement(ofString piece: [UInt8]) -> [UInt8]? {
    guard piece.count >= min(table.shortest, EchoTable.meaningful) else { return nil }
    let text = piece.contains(UInt8(ascii: "\\")) ? JSONWalker.text(piece).map { Array($0.utf8) } ?? piece : piece
    if let entry = walker.match.flatMap({ table[.path($0, text)] }) {
      return found.note(entry.place) ? entry.sent.encoded() : nil
    }
    if let entry = table[.anywhere(text)] { return found.note(entry.place) ? Self.quoted(entry.text) : nil }
    return text.withUnsafeBufferPointer { table.replaced(in: $0, .plain, &found) }.map(Self.quoted)
  }

  private static func quoted(_ text: [UInt8]) -> [UInt8] {
    var output: [UInt8] = []
    JSON.encode(String(decoding: text, as: UTF8.self), into: &output)
    return output
  }

  private mutating func endWord(_ output: inout [UInt8]) {
    defer { piece.removeAll(keepingCapacity: true) }
    guard !isPassing, piece.count >= min(table.shortest, EchoTable.meaningful) else {
      output += piece
      return
    }
    if Self.isNumber(piece) {
      if let entry = walker.match.flatMap({ table[.path($0, piece)] }) {
        output += found.note(entry.place) ? entry.sent.encoded() : piece
      } else if let entry = table[.anywhere(piece)] {
        // A number stays one if it can.
        let value = Self.isNumber(entry.text) ? entry.text : Self.quoted(entry.text)
        output += found.note(entry.place) ? value : piece
      } else {
        output += piece
      }
    } else {
      // Text of an event, for example.
      output +=
        piece.withUnsafeBufferPointer { table.replaced(in: $0, .plain, after: before, &found) } ?? piece
    }
  }

  private static func isNumber(_ text: [UInt8]) -> Bool {
    guard let first = text.first, first == UInt8(ascii: "-") || 0x30...0x39 ~= first else { return false }
    if case .number? = try? JSON.parse(text) { return true }
    return false
  }
}
