import Basics
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
    case messages(MessageRedactor)
  }

  /// The number of bytes of JSON and forms that are examined before anything is passed on: few bodies contain a field
  /// that is redacted by default, and the others are passed on as they are.
  private static let examined = 64 << 10

  private let redactor: Redactor
  private let contentType: String?
  private let keepsClaims: Bool
  /// Nil if the body is not encoded.
  private var decoder: TolerantDecoder?
  /// The bytes received before it was decided how to redact the body; nil once it is decided.
  private var held: [UInt8]? = []
  private var secrets: SecretStream
  private var structure = Structure.none
  private var patterns: PatternStream
  private let kind: BodyKind

  /// - Parameters:
  ///   - redactor: the secrets and rules.
  ///   - contentType: the value of `Content-Type`.
  ///   - codings: the content codings of the body, or nil if it is already decoded.
  ///   - keepsClaims: whether a JSON Web Token in a field that is redacted by default loses only its signature.
  ///   - codec: converts the messages of a gRPC body; nil for other bodies.
  package init(
    _ redactor: Redactor, contentType: String?, codings: ContentCodings? = nil, keepsClaims: Bool = false,
    codec: MessageCodec? = nil
  ) {
    self.redactor = redactor
    self.contentType = contentType
    self.keepsClaims = keepsClaims
    kind = BodyKind(contentType: contentType)
    if let codings, !codings.isIdentity { decoder = try? codings.tolerantDecoder(limit: redactor.decodedLimit) }
    secrets = SecretStream(redactor.secrets, .plain)
    patterns = PatternStream(redactor.rules.patterns, .plain)
    switch kind {
    case .json, .form, .unsaid: break
    case .multipart, .markup, .text, .grpc, .other: settle(kind, [], isWhole: false)
    }
    if let messages = MessageRedactor(codec, redactor, keepsClaims: keepsClaims) { structure = .messages(messages) }
  }

  /// Whether the body has content codings that are decoded here.
  package var isCoded: Bool { decoder != nil }

  /// Whether the decoded body exceeds the size limit. Only its beginning was then passed on.
  package var isTooLarge: Bool { decoder?.isTooLarge ?? false }

  /// What was redacted so far.
  package var found: FoundFields {
    var found =
      switch structure {
      case .none: FoundFields()
      case .json(let stream): stream.found
      case .form(let stream): stream.found
      case .multipart(let stream): stream.found
      case .messages(let stream): stream.found
      }
    found.hasMatch = found.hasMatch || secrets.hasFound || patterns.hasFound
    return found
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
    if var all = held.take() {
      all += chunk
      let kind = tell(all, isLast: isLast)
      guard let kind, isLast || all.count > Self.examined || !examines(kind) else {
        held = all
        return []
      }
      settle(kind, all, isWhole: isLast)
      chunk = all
    }
    let clean = secrets.push(chunk, isLast: isLast)
    return patterns.push(pass(structured: clean, isLast: isLast), isLast: isLast)
  }

  private func examines(_ kind: BodyKind) -> Bool { kind == .json || kind == .form }

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
    case .messages(var stream):
      structure = .none
      defer { structure = .messages(stream) }
      return stream.push(chunk, isLast: isLast)
    }
  }

  /// The kind of a body with an unspecific type; nil if it is all white space so far.
  private func tell(_ bytes: [UInt8], isLast: Bool) -> BodyKind? {
    guard case .unsaid(let other) = kind else { return kind }
    guard let isJSON = JSONStream.begins(bytes) else { return isLast || bytes.count > 4096 ? other : nil }
    return isJSON ? .json : other
  }

  /// Decides how to redact the body.
  ///
  /// - Parameters:
  ///   - kind: its kind.
  ///   - bytes: its beginning.
  ///   - isWhole: whether this is all of it.
  private mutating func settle(_ kind: BodyKind, _ bytes: [UInt8], isWhole: Bool) {
    held = nil
    secrets = SecretStream(redactor.secrets, kind.spelling)
    patterns = PatternStream(redactor.rules.patterns, kind.spelling)
    let rules = redactor.rules
    var secret = rules.secretJSON
    if kind == .json {
      if SecretFields.tokenRequest.mayOccur(inJSON: bytes) { secret = secret.union(rules.secretGrants) }
      if isWhole, !secret.mayOccur(inJSON: bytes) { secret = .none }
    }
    let looksIntoJSON =
      !rules.json.isEmpty || !rules.patterns.isEmpty || redactor.secrets.hasNumeric || !secret.isEmpty
    let json =
      looksIntoJSON
      ? JSONStream(paths: rules.json, secret: secret, keepsClaims: keepsClaims, patterns: rules.patterns) : nil
    var fields = SelectedFields(names: rules.form, secret: rules.secretQuery)
    switch kind {
    case .json: structure = json.map(Structure.json) ?? .none
    case .form:
      if isTokenRequest(bytes) { fields.secret = fields.secret.union(rules.secretGrants) }
      guard !fields.isEmpty || !rules.patterns.isEmpty else { break }
      structure = .form(FormStream(fields: fields, patterns: rules.patterns))
    case .multipart where !fields.isEmpty || json != nil:
      structure =
        MultipartStream(contentType: contentType ?? "", fields: fields, json: json).map(Structure.multipart) ?? .none
    default: break
    }
  }

  private func isTokenRequest(_ form: [UInt8]) -> Bool {
    form.split(separator: UInt8(ascii: "&")).contains { SecretFields.tokenRequest.contains(FormItem.name($0)) }
  }
}

/// What was redacted in a body, without any value.
package struct FoundFields: Sendable, Equatable {
  /// The most names that are kept.
  private static let limit = 100

  /// The names of fields, and the paths of rules, in the order in which they were found first.
  package private(set) var names: [String] = []
  /// Whether a credential was found, or a pattern matched.
  package var hasMatch = false
  /// What could not be redacted as it should, one sentence each.
  package private(set) var problems: [String] = []

  package init() {}

  package var isEmpty: Bool { names.isEmpty && !hasMatch }

  mutating func add(_ name: String) {
    if names.count < Self.limit, !names.contains(name) { names.append(name) }
  }

  mutating func add(problem: String) {
    if problems.count < Self.limit, !problems.contains(problem) { problems.append(problem) }
  }

  mutating func add(_ others: FoundFields) {
    for name in others.names { add(name) }
    for problem in others.problems { add(problem: problem) }
    hasMatch = hasMatch || others.hasMatch
  }
}
