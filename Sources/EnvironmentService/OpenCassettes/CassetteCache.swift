import Basics

/// The cassettes that are being replayed: who wants one that is open already, and whose files are what they were,
/// shares it.
final class CassetteCache: Sendable {
  private struct Place {
    weak var cassette: OpenCassette?
  }

  /// By ``CassetteLocation/base``.
  private let places = Guarded<[String: Place]>([:])
  private let now: @Sendable () -> Int

  /// - Parameter now: the time by which files are stamped, in nanoseconds since 1970.
  init(now: @escaping @Sendable () -> Int = FileStamp.now) { self.now = now }

  /// Opens a cassette.
  ///
  /// Two that open the same at the same moment may each get one of their own.
  ///
  /// - Throws: a ``CodedError`` when it cannot be read.
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
