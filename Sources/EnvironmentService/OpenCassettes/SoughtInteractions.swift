import Basics
import Transforms
import Cassettes
import HTTPMessages

/// A cassette's interactions, with their requests redacted as the environment would record them now, to be matched with
/// redacted incoming requests. Redaction rules may be newer than the cassette, which is not changed.
struct SoughtInteractions {
  private(set) var interactions: [Interaction]
  /// Whether no request was changed.
  private(set) var areAsRecorded = true
  private let location: CassetteLocation
  private let redactor: Redactor
  /// Interactions whose request body needs redaction, but is in a file and too large to be held in memory.
  private var redactedFiles = Set<Int>()

  /// - Parameters:
  ///   - cassette: the cassette.
  ///   - redactor: the environment's redactor.
  ///   - byRules: whether there are matching rules, which may compare header fields.
  /// - Throws: a ``CodedError`` for a body that cannot be read.
  init(_ cassette: OpenCassette, _ redactor: Redactor, byRules: Bool) throws(CodedError) {
    interactions = cassette.cassette.interactions
    location = cassette.location
    self.redactor = redactor
    let isDefault = !redactor.changesRequests && !cassette.hasCodedRequests && !byRules
    for index in interactions.indices {
      let recorded = interactions[index].request
      if isDefault, !redactor.mayChange(recorded) { continue }
      let url = redactor.redactURL(recorded.url)
      if url != recorded.url { change { $0[index].request.url = url } }
      if byRules {
        let headers = redactor.redact(recorded.headers)
        if headers != recorded.headers { change { $0[index].request.headers = headers } }
      }
      guard recorded.body.length > 0 else { continue }
      switch recorded.body {
      case .bytes(let body):
        let redacted = redactor.redact(
          recorded: body, of: recorded.headers, path: RecordedURL(recorded.url).target)
        if redacted != body { change { $0[index].request.body = .bytes(redacted) } }
      case .file(_, let length):
        guard try isRedacted(index) else { continue }
        redactedFiles.insert(index)
        guard length <= KeyStream.heldLimit else {
          areAsRecorded = false
          continue
        }
        var redacted: [UInt8] = []
        try read(index) { redacted += $0 }
        redactedFiles.remove(index)
        change { $0[index].request.body = .bytes(redacted) }
      }
    }
  }

  /// Reads a request body that is in a file, piece by piece.
  ///
  /// - Parameters:
  ///   - index: the interaction's index.
  ///   - body: called with each piece.
  /// - Throws: a ``CodedError`` if the file cannot be read; what `body` throws.
  func readRequestBody(_ index: Int, _ body: ([UInt8]) throws -> Void) throws {
    guard case .file(let name, let length) = interactions[index].request.body else { return }
    let file = try CassetteReader.file(name, length: length, in: location)
    var redactor = redactedFiles.contains(index) ? streamRedactor(index) : nil
    try file.forEachPiece { piece in
      let bytes = [UInt8](piece)
      try body(redactor?.push(bytes) ?? bytes)
    }
    if let rest = redactor?.finish() { try body(rest) }
  }

  private func streamRedactor(_ index: Int) -> BodyRedactor {
    let request = interactions[index].request
    return redactor.body(request.headers, isDecoded: false, path: RecordedURL(request.url).target)
  }

  private func read(_ index: Int, _ body: ([UInt8]) -> Void) throws(CodedError) {
    do { try readRequestBody(index, body) } catch {
      throw error as? CodedError ?? CodedError(.inputOutput, "\(location.har): \(error)")
    }
  }

  /// Whether redaction or decoding changes a body that is in a file.
  private func isRedacted(_ index: Int) throws(CodedError) -> Bool {
    var redactor = streamRedactor(index)
    // Decoding may change anything, so the contents before and after are compared.
    let mayBeCoded = interactions[index].request.headers["Content-Encoding"] != nil
    let before = try mayBeCoded ? ContentDigest() : nil
    let after = try mayBeCoded ? ContentDigest() : nil
    try read(index) { piece in
      let clean = redactor.push(piece)
      if let before { piece.withUnsafeBytes { before.update($0) } }
      if let after { clean.withUnsafeBytes { after.update($0) } }
    }
    let rest = redactor.finish()
    // It was recorded as it was sent, and is matched that way.
    guard !redactor.isTooLarge else { return false }
    if let after { rest.withUnsafeBytes { after.update($0) } }
    return !redactor.found.isEmpty || before?.finish() != after?.finish()
  }

  private mutating func change(_ body: (inout [Interaction]) -> Void) {
    body(&interactions)
    areAsRecorded = false
  }
}
