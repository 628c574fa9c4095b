import HTTPMessages

/// Undoes the codings of one body that need not be what it says: what of it can be decoded is, up to where it is cut short
/// or corrupt, and one of which nothing can be comes out as it went in.
///
/// Where it decodes to too much, nothing more comes out from there on, unless nothing has come out before: then it comes out
/// as it went in, too.
package struct TolerantDecoder {
  private enum State {
    /// Nothing of it could be decoded yet; these bytes came.
    case untold(ContentDecoder, [UInt8])
    case decoding(ContentDecoder)
    /// It is not coded as it says.
    case asSent
    /// What follows cannot be decoded.
    case over
  }

  private var state: State
  /// Whether it decodes to more than is allowed.
  package private(set) var isTooLarge = false

  init(_ decoder: ContentDecoder) {
    state = .untold(decoder, [])
  }

  /// Whether it comes out as it went in.
  package var isAsSent: Bool { if case .asSent = state { true } else { false } }

  /// Takes the next bytes.
  ///
  /// - Parameter chunk: as many as there are.
  /// - Returns: what they come to; it may be empty.
  package mutating func push(_ chunk: [UInt8]) -> [UInt8] {
    switch state {
    case .untold(let decoder, let before):
      do {
        let decoded = try decoder.push(chunk)
        state = decoded.isEmpty ? .untold(decoder, before + chunk) : .decoding(decoder)
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

  /// Takes the end.
  ///
  /// - Returns: what is still to come.
  package mutating func finish() -> [UInt8] {
    switch state {
    case .untold(let decoder, let before):
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
  /// What undoes the codings of a body that streams by and need not be what it says.
  ///
  /// - Parameter limit: the most bytes that may come out in all.
  /// - Returns: a new decoder, for one body and one thread at a time.
  /// - Throws: ``ContentCodingError`` when there is no memory for it.
  package func tolerantDecoder(limit: Int = .max) throws -> TolerantDecoder {
    TolerantDecoder(try decoder(limit: limit))
  }

  /// Undoes the codings of a whole body that need not be what it says.
  ///
  /// - Parameters:
  ///   - bytes: the body as sent.
  ///   - limit: the most bytes that may come out.
  /// - Returns: what of it can be decoded; nil where nothing can be, or where that is above the limit.
  package func salvage(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
    guard !isIdentity else { return bytes }
    guard var decoder = try? tolerantDecoder(limit: limit) else { return nil }
    let decoded = decoder.push(bytes)
    let rest = decoder.finish()
    return decoder.isAsSent || decoder.isTooLarge ? nil : decoded + rest
  }
}
