import Basics

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What a killed recording left, and what the next one does with it.
enum UnfinishedRecording {
  /// Takes up an unfinished recording before a new one begins, so that nothing acknowledged is lost.
  ///
  /// What was being added to the cassette is added now. What was to take the cassette's place becomes the cassette
  /// if there is none and the new recording adds to it; else it is kept beside as `NAME.unfinished.har` (or
  /// `NAME.unfinished-2.har`, where there is one already), since half a recording must not take the place of a whole one,
  /// nor mix with a new one.
  ///
  /// - Returns: a line for the user; nil when there was nothing.
  /// - Throws: a ``CodedError``: another process is recording this cassette, or the file cannot be read.
  static func takeUp(
    _ location: CassetteLocation, before purpose: PartialLine.Purpose
  ) throws(CodedError) -> String? {
    guard let lock = try PartialLock.existing(location) else { return nil }
    guard let partial = try PartialFile(of: location), !(partial.places.isEmpty && partial.strings.isEmpty) else {
      unlink(location.partial)
      return nil
    }
    let count = partial.places.count
    if partial.purpose == .extend || (purpose == .extend && !location.exists) {
      guard try CassetteSealer.seal(lock)?.isWritten == true else { return nil }
      return "recovered an unfinished recording: \(count) interactions are in \(location.har) now"
    }
    let aside = location.beside("unfinished")
    guard try CassetteSealer.seal(lock, as: aside)?.isWritten == true else { return nil }
    return "kept an unfinished recording of \(count) interactions as \(aside.har)"
  }
}
