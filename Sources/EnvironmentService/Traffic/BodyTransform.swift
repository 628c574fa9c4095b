import Transforms
import Cassettes

/// Transforms a body on its way to the app: decodes it, echoes values of the request, rewrites URLs, moves dates, and
/// encodes it. Each step is optional.
struct BodyTransform {
  private let decoder: ContentDecoder?
  private var echo: EchoStream?
  private var rewriter: BodyRewriter?
  private var shifter: BodyShifter?
  private let encoder: ContentEncoder?

  init(
    decoder: ContentDecoder?, echo: EchoStream? = nil, rewriter: BodyRewriter?, shifter: BodyShifter? = nil,
    encoder: ContentEncoder?
  ) {
    self.decoder = decoder
    self.echo = echo
    self.rewriter = rewriter
    self.shifter = shifter
    self.encoder = encoder
  }

  /// Whether bytes pass unchanged.
  var isIdentity: Bool { keepsLength && shifter == nil }
  /// Whether the transform keeps the number of bytes.
  var keepsLength: Bool {
    decoder == nil && echo == nil && rewriter == nil && encoder == nil && shifter?.keepsLength ?? true
  }

  mutating func push(_ chunk: [UInt8]) throws -> [UInt8] {
    guard !isIdentity else { return chunk }
    return try pass(try decoder?.push(chunk) ?? chunk)
  }

  /// Like ``push(_:)``, for a chunk that is already decoded.
  mutating func pass(_ decoded: [UInt8]) throws -> [UInt8] {
    let echoed = echo?.push(decoded) ?? decoded
    var rewritten = rewriter?.push(echoed) ?? echoed
    rewritten = shifter?.push(rewritten) ?? rewritten
    // Flushed, so that the app sees each part of a stream when the upstream sends it.
    return try encoder?.push(rewritten, flush: true) ?? rewritten
  }

  mutating func finish() throws -> [UInt8] {
    let decoded = try decoder?.finish() ?? []
    let echoed = echo?.push(decoded, isLast: true) ?? decoded
    var rewritten = rewriter?.push(echoed) ?? echoed
    rewritten += rewriter?.finish() ?? []
    if shifter != nil { rewritten = (shifter?.push(rewritten) ?? []) + (shifter?.finish() ?? []) }
    guard let encoder else { return rewritten }
    return try encoder.push(rewritten, flush: false) + encoder.finish()
  }
}
