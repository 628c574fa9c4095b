package import Cassettes

/// Redacts one body while it streams. Memory use does not grow with the body, and secrets are never written to disk,
/// not even temporarily.
///
/// First it redacts the known secrets in any encoding, then the values that rules select by the structure of the body
/// (JSON, urlencoded, multipart), then the matches of patterns. The result does not depend on how the body is split
/// into chunks.
package struct BodyRedactor {
  private enum Structure {
    case none
    case json(JSONStream)
    case form(FormStream)
    case multipart(MultipartStream)
  }

  private let redactor: Redactor
  private let contentType: String?
  /// Nil if the body is not encoded.
  private var decoder: TolerantDecoder?
  /// The bytes received before the kind of the body was known; nil once it is known.
  private var untold: [UInt8]? = []
  private var secrets: SecretStream
  private var structure = Structure.none
  private var patterns: PatternStream
  private let kind: BodyKind

  /// - Parameters:
  ///   - redactor: the secrets and rules.
  ///   - contentType: the value of `Content-Type`.
  ///   - codings: the content codings of the body, or nil if it is already decoded.
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

  /// Whether the body has content codings that are decoded here.
  package var isCoded: Bool { decoder != nil }

  /// Whether the decoded body exceeds the size limit. Only its beginning was then passed on.
  package var isTooLarge: Bool { decoder?.isTooLarge ?? false }

  /// Whether anything was redacted.
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

  /// Adds the next chunk.
  ///
  /// - Returns: the bytes that can be passed on; may be empty.
  package mutating func push(_ chunk: [UInt8]) -> [UInt8] { pass(decoder?.push(chunk) ?? chunk, isLast: false) }

  /// Ends the body.
  ///
  /// - Returns: the bytes that were held back.
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
      // Drop this reference so that the stream's buffers are not copied.
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

  /// The kind of a body with an unspecific type; nil if it is all white space so far.
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
