import HTTPMessages

/// Decodes one body that may not match its `Content-Encoding`.
///
/// A truncated or corrupt body is decoded up to the error. A body that cannot be decoded at all passes through
/// unchanged. If decoding exceeds the limit, the rest is dropped, or the body passes through unchanged if nothing was
/// decoded before.
package struct TolerantDecoder {
  private enum State {
    /// Nothing has been decoded yet; these bytes have arrived.
    case undecided(ContentDecoder, [UInt8])
    case decoding(ContentDecoder)
    /// The body does not match its coding and passes through unchanged.
    case asSent
    /// The rest cannot be decoded.
    case over
  }

  private var state: State
  /// Whether decoding exceeded the limit.
  package private(set) var isTooLarge = false

  init(_ decoder: ContentDecoder) {
    state = .undecided(decoder, [])
  }

  /// Whether the body passes through unchanged.
  package var isAsSent: Bool { if case .asSent = state { true } else { false } }

  /// Decodes the next bytes.
  ///
  /// - Parameter chunk: any number of bytes.
  /// - Returns: the decoded bytes, possibly empty.
  package mutating func push(_ chunk: [UInt8]) -> [UInt8] {
    switch state {
    case .undecided(let decoder, let before):
      do {
        let decoded = try decoder.push(chunk)
        state = decoded.isEmpty ? .undecided(decoder, before + chunk) : .decoding(decoder)
        return decoded
      } catch {
        return fail(decoder, before + chunk, error)
      }
    case .decoding(let decoder):
      do {
        return try decoder.push(chunk)
      } catch {
        state = .over
        isTooLarge = error is BodyTooLarge
        return decoder.salvaged
      }
    case .asSent: return chunk
    case .over: return []
    }
  }

  /// Ends the body.
  ///
  /// - Returns: the remaining bytes.
  package mutating func finish() -> [UInt8] {
    switch state {
    case .undecided(let decoder, let before):
      do { return try decoder.finish() } catch { return fail(decoder, before, error) }
    case .decoding(let decoder):
      do {
        return try decoder.finish()
      } catch {
        isTooLarge = error is BodyTooLarge
        return decoder.salvaged
      }
    case .asSent, .over: return []
    }
  }

  private mutating func fail(_ decoder: ContentDecoder, _ bytes: [UInt8], _ error: any Error) -> [UInt8] {
    isTooLarge = error is BodyTooLarge
    state = decoder.salvaged.isEmpty ? .asSent : .over
    return decoder.salvaged.isEmpty ? bytes : decoder.salvaged
  }
}

extension ContentCodings {
  /// Creates a streaming decoder for a body that may not match its `Content-Encoding`.
  ///
  /// - Parameter limit: the maximum length of the result.
  /// - Returns: a decoder for one body.
  /// - Throws: ``BodyError`` if memory is exhausted.
  package func tolerantDecoder(limit: Int = .max) throws -> TolerantDecoder {
    TolerantDecoder(try decoder(limit: limit))
  }

  /// Decodes a whole body that may not match its `Content-Encoding`.
  ///
  /// - Parameters:
  ///   - bytes: the body as sent.
  ///   - limit: the maximum length of the result.
  /// - Returns: the part that can be decoded; nil if none can, or it exceeds the limit.
  package func salvage(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
    guard !isIdentity else { return bytes }
    guard var decoder = try? tolerantDecoder(limit: limit) else { return nil }
    let decoded = decoder.push(bytes)
    let rest = decoder.finish()
    return decoder.isAsSent || decoder.isTooLarge ? nil : decoded + rest
  }
}
