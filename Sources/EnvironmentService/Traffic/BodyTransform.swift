import Cassettes

/// What happens to a body on its way to the app: decoded, rewritten, coded again; or none of it.
struct BodyTransform {
  private let decoder: ContentDecoder?
  private var rewriter: BodyRewriter?
  private let encoder: ContentEncoder?

  init(decoder: ContentDecoder?, rewriter: BodyRewriter?, encoder: ContentEncoder?) {
    self.decoder = decoder
    self.rewriter = rewriter
    self.encoder = encoder
  }

  /// Whether bytes pass unchanged.
  var isIdentity: Bool { decoder == nil && rewriter == nil && encoder == nil }

  mutating func push(_ chunk: [UInt8]) throws -> [UInt8] {
    guard !isIdentity else { return chunk }
    return try pass(try decoder?.push(chunk) ?? chunk)
  }

  /// Like ``push(_:)``, for a chunk that is decoded already.
  mutating func pass(_ decoded: [UInt8]) throws -> [UInt8] {
    let rewritten = rewriter?.push(decoded) ?? decoded
    // Flushed, so that the app sees each part of a stream when the upstream sends it.
    return try encoder?.push(rewritten, flush: true) ?? rewritten
  }

  mutating func finish() throws -> [UInt8] {
    let decoded = try decoder?.finish() ?? []
    var rewritten = rewriter?.push(decoded) ?? decoded
    rewritten += rewriter?.finish() ?? []
    guard let encoder else { return rewritten }
    return try encoder.push(rewritten, flush: false) + encoder.finish()
  }
}
