import Cassettes
import LaunchContract

/// Moves dates in JSON as it streams by: those at declared places by what is declared, all others as in any text.
///
/// All else stays to the byte. Several documents after one another, as NDJSON has them, are each one; what is no JSON is
/// taken for text.
struct PlacedDates {
  /// Bytes of a value that are looked at as a whole.
  private static let limit = 4096

  private var walker: JSONWalker
  /// Of each of the walker's paths.
  private let kinds: [DatePlaces.Kind]
  private let offset: DateOffset
  /// For what is not declared; nil where that stays.
  private var scanner: DateScanner?
  /// Of the value that is being read.
  private var kind: DatePlaces.Kind?
  /// What has come of a declared value.
  private var piece: [UInt8] = []
  private var isPieceWhole = true
  /// What has come for the scanner.
  private var plain: [UInt8] = []

  /// - Parameters:
  ///   - places: what is declared; of those that mean the same value one that is kept counts, else the first.
  ///   - scanner: for what is not declared; nil where that stays.
  ///   - offset: how far dates move.
  ///   - isInLines: whether each line is a document, and a broken one no reason to misread the next.
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

  /// Passes on what has come of a declared value, as it is.
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
      // It is another form of date than was declared, perhaps one with a time.
      plain += piece
      piece.removeAll(keepingCapacity: true)
    } else {
      flushPiece(&output)
    }
    self.kind = nil
  }
}
