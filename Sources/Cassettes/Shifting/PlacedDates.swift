import LaunchContract

/// Moves dates in JSON as it streams by: those at declared places by what is declared, all others as in any text.
///
/// All else stays to the byte. Several documents after one another, as NDJSON has them, are each one; what is no JSON is
/// taken for text.
struct PlacedDates {
  /// Bytes of a name or a value that are looked at as a whole.
  private static let limit = 4096
  /// Arrays and objects in each other that are told apart.
  private static let deepest = 1024

  private struct Level {
    let isObject: Bool
    /// What holds for all that is in it.
    let kind: DatePlaces.Kind?
    let progress: [JSONPath.Progress]
    var index = 0
    var name: String?
    var expectsName: Bool
  }

  private enum Mode {
    case between
    /// In a string, after its opening quote.
    case string(isName: Bool, isEscaped: Bool)
    /// In a number or a literal.
    case word
  }

  private let places: [DatePlaces.Place]
  private let offset: DateOffset
  /// For what is not declared; nil where that stays.
  private var scanner: DateScanner?
  /// Whether each line is a document, and a broken one no reason to misread the next.
  private let isInLines: Bool
  private var levels: [Level] = []
  private var tooDeep = 0
  private var mode = Mode.between
  /// Of the value that is being read.
  private var kind: DatePlaces.Kind?
  /// What has come of a name, or of a declared value.
  private var piece: [UInt8] = []
  private var isPieceWhole = true
  /// What has come for the scanner.
  private var plain: [UInt8] = []

  init(_ places: [DatePlaces.Place], scanner: DateScanner?, offset: DateOffset, isInLines: Bool = false) {
    self.places = places
    self.scanner = scanner
    self.offset = offset
    self.isInLines = isInLines
  }

  mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(chunk.count + 64)
    for byte in chunk {
      switch mode {
      case .between: between(byte, &output)
      case .string(let isName, let isEscaped):
        add(byte, &output)
        if isEscaped {
          mode = .string(isName: isName, isEscaped: false)
        } else if byte == UInt8(ascii: "\\") {
          mode = .string(isName: isName, isEscaped: true)
        } else if byte == UInt8(ascii: "\"") {
          if isName, let last = levels.indices.last { levels[last].name = isPieceWhole ? decoded() : nil }
          endPiece(&output)
        } else if isInLines, byte == 0x0A {
          endPiece(&output)
          levels = []
        }
      case .word:
        if Self.endsWord(byte) {
          endPiece(&output)
          between(byte, &output)
        } else {
          add(byte, &output)
        }
      }
    }
    if isLast, case .word = mode { endPiece(&output) }
    if kind != nil, isLast || !isPieceWhole { flushPiece(&output) }
    output += scanned(isLast: isLast)
    return output
  }

  private mutating func scanned(isLast: Bool = false) -> [UInt8] {
    defer { plain.removeAll(keepingCapacity: true) }
    guard scanner != nil else { return plain }
    return scanner?.push(plain, isLast: isLast) ?? []
  }

  private mutating func between(_ byte: UInt8, _ output: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["): open(isObject: byte == UInt8(ascii: "{"))
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      if tooDeep > 0 { tooDeep -= 1 } else { _ = levels.popLast() }
    case UInt8(ascii: ","):
      if tooDeep == 0, let last = levels.indices.last {
        levels[last].index += 1
        levels[last].expectsName = levels[last].isObject
      }
    case UInt8(ascii: ":"):
      if tooDeep == 0, let last = levels.indices.last { levels[last].expectsName = false }
    case 0x0A: if isInLines { levels = [] }
    case 0x20, 0x09, 0x0D, 0xEF, 0xBB, 0xBF: break
    case UInt8(ascii: "\""):
      let isName = tooDeep == 0 && levels.last?.expectsName == true
      kind = isName ? nil : value().kind
      mode = .string(isName: isName, isEscaped: false)
      begin(byte, &output)
      return
    default:
      kind = value().kind
      mode = .word
      begin(byte, &output)
      return
    }
    plain.append(byte)
  }

  private mutating func open(isObject: Bool) {
    guard tooDeep == 0, levels.count < Self.deepest else {
      tooDeep += 1
      return
    }
    let (progress, kind) = value()
    levels.append(Level(isObject: isObject, kind: kind, progress: progress, expectsName: isObject))
  }

  /// How far the paths have come at the value that begins, and what is declared of it.
  private func value() -> (progress: [JSONPath.Progress], kind: DatePlaces.Kind?) {
    guard let level = levels.last else { return declared(places.map(\.path.start)) }
    if tooDeep > 0 { return ([], level.kind) }
    // What is within what stays, stays.
    if level.kind != nil { return ([], level.kind) }
    let child: JSONPath.Child = level.isObject ? .name(level.name ?? "") : .index(level.index, of: nil)
    return declared(zip(places, level.progress).map { $0.path.enter($1, child) })
  }

  private func declared(_ progress: [JSONPath.Progress]) -> ([JSONPath.Progress], DatePlaces.Kind?) {
    var kind: DatePlaces.Kind?
    for (place, progress) in zip(places, progress) where place.path.isAtEnd(progress) {
      if place.kind == .kept { return ([], .kept) }
      kind = kind ?? place.kind
    }
    return (progress, kind)
  }

  private mutating func begin(_ byte: UInt8, _ output: inout [UInt8]) {
    piece.removeAll(keepingCapacity: true)
    isPieceWhole = true
    if kind != nil { output += scanned() }
    add(byte, &output)
  }

  private mutating func add(_ byte: UInt8, _ output: inout [UInt8]) {
    if kind == nil { plain.append(byte) }
    // Of what is not declared only names are looked at, and those as a whole.
    guard isPieceWhole || kind != nil else { return }
    piece.append(byte)
    guard piece.count > Self.limit else { return }
    isPieceWhole = false
    if kind != nil { flushPiece(&output) } else { piece.removeAll(keepingCapacity: true) }
  }

  /// Passes on what has come of a declared value, as it is.
  private mutating func flushPiece(_ output: inout [UInt8]) {
    output += scanner?.pass(piece) ?? piece
    piece.removeAll(keepingCapacity: true)
  }

  private mutating func endPiece(_ output: inout [UInt8]) {
    mode = .between
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

  private func decoded() -> String? {
    (try? JSON.parse(piece))?.string
  }

  private static func endsWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "["),
      UInt8(ascii: ":"), UInt8(ascii: "\""), 0x20, 0x09, 0x0A, 0x0D:
      true
    default: false
    }
  }
}
