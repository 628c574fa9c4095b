import Basics

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Handles what a killed recording left before the next one begins.
enum UnfinishedRecording {
  /// Recovers an unfinished recording, so that nothing acknowledged is lost.
  ///
  /// If it was extending the cassette, its interactions are added now. If it was replacing the cassette, it becomes the
  /// cassette if there is none and the new recording extends it. Else it is kept as `NAME.unfinished.har` (or
  /// `NAME.unfinished-2.har`, and so on), because half a recording must neither replace a complete one nor mix with a
  /// new one.
  ///
  /// - Returns: a message for the user; nil if there was nothing to recover.
  /// - Throws: a ``CodedError`` if another process is recording this cassette, or the file cannot be read.
  static func takeUp(
    _ location: CassetteLocation, before purpose: PartialLine.Purpose
  ) throws(CodedError) -> String? {
    guard let lock = try PartialLock.existing(location) else { return nil }
    guard let partial = try PartialFile(of: location), !partial.isEmpty else {
      unlink(location.partial)
      return nil
    }
    let count = partial.places.count
    if partial.purpose == .extend || (purpose == .extend && !location.exists) {
      guard try CassetteSealer.seal(lock)?.isWritten == true else { return nil }
      return "recovered an unfinished recording of \(counted(count, "interaction")) in \(location.har)"
    }
    let aside = location.beside("unfinished")
    guard try CassetteSealer.seal(lock, as: aside, isOfFailedRun: true)?.isWritten == true else { return nil }
    return "kept an unfinished recording of \(counted(count, "interaction")) as \(aside.har); "
      + "to make it the cassette: diorama cassette check --recover \(location)"
  }
}
