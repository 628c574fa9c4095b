package import HTTPMessages
import EnvironmentConfiguration

/// Computes the keys of a request whose body arrives in chunks.
///
/// The keys equal those that ``MatchKeyMaker`` computes from the whole body, for any chunking. A body compared as
/// bytes takes constant memory. Bodies that have to be parsed (JSON, forms, multipart, XML, and text to which patterns
/// apply) are held. A body of more than ``heldLimit`` bytes is compared as bytes, with nothing ignored.
package struct KeyStream {
  /// The maximum number of bytes held to compare a body by value.
  package static let heldLimit = 64 << 20

  private let maker: MatchKeyMaker
  private let method: String
  private let upstream: Int
  private let target: String
  private let headers: Headers
  private let limit: Int
  /// The request by the rules, without its body; nil if no rule applies.
  private let compared: ComparedRequest?
  private var holding: BodyHolding
  /// The bytes so far; nil once the body is compared as bytes.
  private var held: [UInt8]? = []
  private var plainHash = SipHash()
  private var ruledHash = SipHash()
  /// The number of bytes received.
  package private(set) var count = 0

  /// - Parameters:
  ///   - maker: the rules.
  ///   - method: as sent.
  ///   - upstream: its index among the environment's upstreams.
  ///   - target: in origin form, with the query.
  ///   - headers: as sent.
  ///   - limit: the maximum number of bytes to hold; compared requests need the same limit.
  /// - Throws: an error if a pattern takes too long.
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
    if holding == .none { compareAsBytes() }
  }

  /// The body so far while it is held; nil once it is compared as bytes.
  package var heldBody: [UInt8]? { held }

  /// Whether the whole body is held, unless it exceeds the limit.
  package var holdsAll: Bool { held != nil && holding == .whole }

  /// Adds the next bytes.
  package mutating func push(_ bytes: UnsafeRawBufferPointer) {
    count += bytes.count
    guard held != nil else { return hash(bytes) }
    held?.append(contentsOf: bytes)
    if holding == .untilKnown, let first = bytes.first(where: { !BodyHolding.isSpace($0) }) {
      holding = BodyHolding.beginsJSON(first) ? .whole : .none
    }
    if holding == .none || count > limit { compareAsBytes() }
  }

  /// Ends the body.
  ///
  /// - Returns: the keys.
  /// - Throws: an error if a pattern takes too long.
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

  /// Compares the body as bytes from here on.
  private mutating func compareAsBytes() {
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

/// How much of a body has to be held to compare it.
enum BodyHolding {
  /// Nothing: the body is compared as bytes, or ignored.
  case none
  /// Up to the first byte that is not white space, which shows whether the body may be JSON.
  case untilKnown
  /// The whole body.
  case whole

  /// For a content type, consistent with ``BodyContent``.
  init(contentType: String) {
    var type = contentType
    let kind = type.withUTF8 { MediaKind(UnsafeRawBufferPointer($0)) }
    self =
      switch kind {
      case .json, .form, .multipart, .messages: .whole
      case .missing: .untilKnown
      case .other: .none
      }
  }

  /// For a content type and the rules that apply.
  init(contentType: String, by criteria: Criteria) {
    switch criteria.body {
    case .none: self = .none
    case _ where !criteria.patterns.isEmpty: self = .whole
    case .bytes: self = .none
    case .auto: self.init(contentType: contentType)
    case .json, .form, .multipart, .xml: self = .whole
    }
  }

  /// The greater of two needs.
  func and(_ other: BodyHolding) -> BodyHolding {
    if self == .whole || other == .whole { return .whole }
    return self == .none ? other : self
  }

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

  static func beginsJSON(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") }
}
