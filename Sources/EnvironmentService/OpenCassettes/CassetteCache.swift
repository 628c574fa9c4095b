import Basics

/// The cassettes that are being replayed. Environments share an open cassette as long as its files have not changed.
final class CassetteCache: Sendable {
  private struct Place {
    weak var cassette: OpenCassette?
  }

  /// By ``CassetteLocation/base``.
  private let places = Guarded<[String: Place]>([:])
  private let now: @Sendable () -> Int

  /// - Parameter now: the current time in nanoseconds since 1970, from the clock that stamps files.
  init(now: @escaping @Sendable () -> Int = FileStamp.now) { self.now = now }

  /// Opens a cassette.
  ///
  /// Two callers that open the same cassette at the same moment may each get their own.
  ///
  /// - Throws: a ``CodedError`` if it cannot be read.
  func open(_ location: CassetteLocation) throws(CodedError) -> OpenCassette {
    if let open = places.withLock({ $0[location.base]?.cassette }), open.isUnchanged { return open }
    let cassette = try OpenCassette(location, at: now())
    places.withLock { places in
      places = places.filter { $0.value.cassette != nil }
      places[location.base] = Place(cassette: cassette)
    }
    return cassette
  }
}
