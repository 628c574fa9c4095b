import Basics
import Cassettes
import LaunchContract

/// Moves dates in streamed JSON: values at declared places by their kind, all others by their format, as in any text.
///
/// Everything else stays the same byte for byte. In a sequence of documents, as in NDJSON, each is handled on its own.
/// Text that is not JSON is treated as plain text.
struct PlacedDates {
  /// The maximum length in bytes of a declared value that is examined.
  private static let limit = 4096

  private var walker: JSONWalker
  /// The kind of each path of the walker.
  private let kinds: [DatePlaces.Kind]
  private let offset: DateOffset
  /// Moves the dates at other places; nil if they stay.
  private var scanner: DateScanner?
  /// The kind of the current value; nil if it is not declared.
  private var kind: DatePlaces.Kind?
  /// The bytes so far of a declared value.
  private var piece: [UInt8] = []
  private var isPieceWhole = true
  /// The bytes so far for the scanner.
  private var plain: [UInt8] = []

  /// - Parameters:
  ///   - places: the declared places. If several match a value, one that is kept takes precedence, then the first.
  ///   - scanner: moves the dates at other places; nil if they stay.
  ///   - offset: the distance by which dates are moved.
  ///   - isInLines: whether each line is a document, so that a malformed line does not affect the next one.
  init(_ places: [DatePlaces.Place], scanner: DateScanner?, offset: DateOffset, isInLines: Bool = false) {
    let places = places.filter { $0.kind == .kept } + places.filter { $0.kind != .kept }
    walker = JSONWalker(places.map(\.path), isInLines: isInLines)
    kinds = places.map(\.kind)
    self.scanner = scanner
    self.offset = offset
  }

  mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(chunk.count + 64)
    chunk.withUnsafeBufferPointer { chunk in
      var index = 0
      while index < chunk.count {
        let (step, end) = walker.step(chunk, from: index)
        switch step {
        case .between: plain.append(chunk[index])
        case .begins:
          begin(&output)
          add(chunk[index..<end], &output)
        case .inside: add(chunk[index..<end], &output)
        case .ends:
          add(chunk[index..<end], &output)
          endPiece(&output)
        case .over: endPiece(&output)
        }
        index = end
      }
    }
    if isLast, walker.isInWord { endPiece(&output) }
    if kind != nil, isLast || !isPieceWhole { flushPiece(&output) }
    output += scanned(isLast: isLast)
    return output
  }

  private mutating func scanned(isLast: Bool = false) -> [UInt8] {
    defer { plain.removeAll(keepingCapacity: true) }
    guard scanner != nil else { return plain }
    return scanner?.push(plain, isLast: isLast) ?? []
  }

  private mutating func begin(_ output: inout [UInt8]) {
    kind = walker.match.map { kinds[$0] }
    guard kind != nil else { return }
    piece.removeAll(keepingCapacity: true)
    isPieceWhole = true
    output += scanned()
  }

  private mutating func add(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ output: inout [UInt8]) {
    guard kind != nil else {
      plain += bytes
      return
    }
    piece += bytes
    guard piece.count > Self.limit else { return }
    isPieceWhole = false
    flushPiece(&output)
  }

  /// Passes on the bytes of a declared value unchanged.
  private mutating func flushPiece(_ output: inout [UInt8]) {
    output += scanner?.pass(piece) ?? piece
    piece.removeAll(keepingCapacity: true)
  }

  private mutating func endPiece(_ output: inout [UInt8]) {
    guard let kind else { return }
    if isPieceWhole, let moved = DeclaredDate.moved(piece, kind: kind, offset: offset) {
      output += scanner?.pass(moved) ?? moved
      piece.removeAll(keepingCapacity: true)
    } else if kind != .kept, isPieceWhole {
      // The value has another date format than declared, perhaps one with a time.
      plain += piece
      piece.removeAll(keepingCapacity: true)
    } else {
      flushPiece(&output)
    }
    self.kind = nil
  }
}
