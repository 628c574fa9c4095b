package import HTTPMessages

/// Makes the keys of one request whose body comes piece by piece: the same as ``MatchKeyMaker`` makes of the whole, wherever
/// it is cut, in memory that does not grow with a body that is compared as bytes.
///
/// What has to be read to be compared is held: JSON, forms, multipart, XML, and texts from which patterns leave something
/// out. With more than ``heldLimit`` bytes any body is compared as bytes, and nothing is left out of it. The hash is the one
/// of all keys: it tells a large body from another no worse than it tells small ones apart.
package struct KeyStream {
  /// The most bytes of a body that are held to be compared by value.
  package static let heldLimit = 64 << 20

  private let maker: MatchKeyMaker
  private let method: String
  private let upstream: Int
  private let target: String
  private let headers: Headers
  private let limit: Int
  /// By the rules, without the body; nil where none apply.
  private let compared: ComparedRequest?
  private var holding: BodyHolding
  /// Nil once the body is compared as bytes.
  private var held: [UInt8]? = []
  private var plainHash = SipHash()
  private var ruledHash = SipHash()
  /// How many bytes have come.
  package private(set) var count = 0

  /// - Parameters:
  ///   - maker: the rules.
  ///   - method: as sent.
  ///   - upstream: its index among the environment's.
  ///   - target: in origin form, with the query.
  ///   - headers: as sent.
  ///   - limit: the most bytes to hold; both requests of a comparison need the same.
  /// - Throws: when a pattern takes too long.
  package init(
    _ maker: MatchKeyMaker, method: String, upstream: Int, target: String, headers: Headers, limit: Int = heldLimit
  ) throws {
    self.maker = maker
    self.method = method
    self.upstream = upstream
    self.target = target
    self.headers = headers
    self.limit = limit
    let type = headers["Content-Type"] ?? ""
    var compared: ComparedRequest?
    if let book = maker.book {
      let empty = UnsafeRawBufferPointer(start: nil, count: 0)
      let request = try ComparedRequest(
        method: method, upstream: upstream, target: target, headers: headers, body: empty, by: book)
      if !request.criteria.applied.isEmpty { compared = request }
    }
    self.compared = compared
    holding = BodyHolding(contentType: type)
    if let compared { holding = holding.and(BodyHolding(contentType: type, by: compared.criteria)) }
    if holding == .none { letGo() }
  }

  /// The body as it has come, as long as it is held; nil once it is compared as bytes.
  package var heldBody: [UInt8]? { held }

  /// Whether the body is held to its end, unless it becomes longer than can be held.
  package var holdsAll: Bool { held != nil && holding == .whole }

  /// Takes the next bytes.
  package mutating func push(_ bytes: UnsafeRawBufferPointer) {
    count += bytes.count
    guard held != nil else { return hash(bytes) }
    held?.append(contentsOf: bytes)
    if holding == .untilTold, let first = bytes.first(where: { !BodyHolding.isSpace($0) }) {
      holding = BodyHolding.beginsJSON(first) ? .whole : .none
    }
    if holding == .none || count > limit { letGo() }
  }

  /// Takes the end.
  ///
  /// - Returns: the keys.
  /// - Throws: when a pattern takes too long.
  package mutating func finish() throws -> RequestKeys {
    if let held {
      return try maker.keys(method: method, upstream: upstream, target: target, headers: headers, body: held)
    }
    BodyContent.appendEnd(ofBytes: count, to: &plainHash)
    let plain = MatchKey(plainHash.finish())
    guard let compared else { return RequestKeys(key: plain, plain: plain) }
    if compared.body != nil { BodyContent.appendEnd(ofBytes: count, to: &ruledHash) }
    compared.appendEnd(to: &ruledHash)
    return RequestKeys(key: MatchKey(ruledHash.finish()), plain: plain)
  }

  /// From here on the body is bytes.
  private mutating func letGo() {
    guard let bytes = held.take() else { return }
    maker.appendHead(method: method, upstream: upstream, target: target, to: &plainHash)
    compared?.appendHead(to: &ruledHash)
    bytes.withUnsafeBytes { hash($0) }
  }

  private mutating func hash(_ bytes: UnsafeRawBufferPointer) {
    plainHash.append(bytes)
    if compared?.body != nil { ruledHash.append(bytes) }
  }
}

/// How much of a body has to be at hand at once for it to be compared.
enum BodyHolding {
  /// Nothing: it is compared as bytes, or not at all.
  case none
  /// Up to its first byte that is no white space: it may be JSON.
  case untilTold
  /// All of it.
  case whole

  /// As ``BodyContent`` looks at bodies of this type.
  init(contentType: String) {
    var type = contentType
    let kind = type.withUTF8 { MediaKind(UnsafeRawBufferPointer($0)) }
    self =
      switch kind {
      case .json, .form, .multipart: .whole
      case .missing: .untilTold
      case .other: .none
      }
  }

  /// By the rules that apply.
  init(contentType: String, by criteria: Criteria) {
    switch criteria.body {
    case .none: self = .none
    case _ where !criteria.patterns.isEmpty: self = .whole
    case .bytes: self = .none
    case .auto: self.init(contentType: contentType)
    case .json, .form, .multipart, .xml: self = .whole
    }
  }

  /// What both need.
  func and(_ other: BodyHolding) -> BodyHolding {
    if self == .whole || other == .whole { return .whole }
    return self == .none ? other : self
  }

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

  static func beginsJSON(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") }
}
