package import Cassettes

/// Takes secrets out of one body as it streams by, wherever its chunks are cut, in memory that does not grow with it: a
/// recording's disk never has what it takes out, not for a moment.
///
/// First the secrets that are known go, in whatever form; then what rules say of its form (JSON, urlencoded, multipart);
/// then what patterns find. The result is the same for the same body.
package struct BodyRedactor {
  private enum Structure {
    case none
    case json(JSONStream)
    case form(FormStream)
    case multipart(MultipartStream)
  }

  private let redactor: Redactor
  private let contentType: String?
  /// Nil where it is not coded.
  private var decoder: TolerantDecoder?
  /// What came before it could be told what it is; nil once that is told.
  private var untold: [UInt8]? = []
  private var secrets: SecretStream
  private var structure = Structure.none
  private var patterns: PatternStream
  private let kind: BodyKind

  /// - Parameters:
  ///   - redactor: what goes.
  ///   - contentType: the value of `Content-Type`.
  ///   - codings: those under which the body comes; nil where it comes decoded.
  package init(_ redactor: Redactor, contentType: String?, codings: ContentCodings? = nil) {
    self.redactor = redactor
    self.contentType = contentType
    kind = BodyKind(contentType: contentType)
    if let codings, !codings.isIdentity { decoder = try? codings.tolerantDecoder(limit: redactor.decodedLimit) }
    secrets = SecretStream(redactor.secrets, .plain)
    patterns = PatternStream(redactor.rules.patterns, .plain)
    if case .unsaid = kind { return }
    settle(kind)
  }

  /// Whether it comes under codings that are undone.
  package var isCoded: Bool { decoder != nil }

  /// Whether it decodes to too much to be looked into: what has come out of it is only its beginning.
  package var isTooLarge: Bool { decoder?.isTooLarge ?? false }

  /// Whether anything went.
  package var hasFound: Bool {
    let inStructure =
      switch structure {
      case .none: false
      case .json(let stream): stream.hasFound
      case .form(let stream): stream.hasFound
      case .multipart(let stream): stream.hasFound
      }
    return secrets.hasFound || patterns.hasFound || inStructure
  }

  /// Takes the next bytes.
  ///
  /// - Returns: what can be passed on; it may be empty.
  package mutating func push(_ chunk: [UInt8]) -> [UInt8] { pass(decoder?.push(chunk) ?? chunk, isLast: false) }

  /// Takes the end.
  ///
  /// - Returns: what was held back.
  package mutating func finish() -> [UInt8] {
    pass(decoder?.finish() ?? [], isLast: true)
  }

  private mutating func pass(_ chunk: [UInt8], isLast: Bool) -> [UInt8] {
    var chunk = chunk
    if let before = untold {
      chunk = before + chunk
      guard let told = tell(chunk, isLast: isLast) else {
        untold = chunk
        return []
      }
      settle(told)
    }
    let clean = secrets.push(chunk, isLast: isLast)
    return patterns.push(pass(structured: clean, isLast: isLast), isLast: isLast)
  }

  private mutating func pass(structured chunk: [UInt8], isLast: Bool) -> [UInt8] {
    switch structure {
    case .none: return chunk
    case .json(var stream):
      // Let go of, so that its buffers are not copied.
      structure = .none
      defer { structure = .json(stream) }
      return stream.push(chunk, isLast: isLast)
    case .form(var stream):
      structure = .none
      defer { structure = .form(stream) }
      return stream.push(chunk, isLast: isLast)
    case .multipart(var stream):
      structure = .none
      defer { structure = .multipart(stream) }
      return stream.push(chunk, isLast: isLast)
    }
  }

  /// What a body that says little of itself is; nil as long as there is nothing but white space of it.
  private func tell(_ bytes: [UInt8], isLast: Bool) -> BodyKind? {
    guard case .unsaid(let other) = kind else { return kind }
    guard let isJSON = JSONStream.begins(bytes) else { return isLast || bytes.count > 4096 ? other : nil }
    return isJSON ? .json : other
  }

  private mutating func settle(_ kind: BodyKind) {
    untold = nil
    secrets = SecretStream(redactor.secrets, kind.spelling)
    patterns = PatternStream(redactor.rules.patterns, kind.spelling)
    let rules = redactor.rules
    let looksIntoJSON = !rules.json.isEmpty || !rules.patterns.isEmpty || redactor.secrets.hasNumeric
    let json = looksIntoJSON ? JSONStream(paths: rules.json, patterns: rules.patterns) : nil
    switch kind {
    case .json: structure = json.map(Structure.json) ?? .none
    case .form where !rules.form.isEmpty || !rules.patterns.isEmpty:
      structure = .form(FormStream(names: rules.form, patterns: rules.patterns))
    case .multipart where !rules.form.isEmpty || json != nil:
      structure =
        MultipartStream(contentType: contentType ?? "", names: rules.form, json: json).map(Structure.multipart) ?? .none
    default: break
    }
  }
}
