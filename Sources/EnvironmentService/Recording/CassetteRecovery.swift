package import Basics
import Cassettes
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Recovers what a killed or failed recording left, at the user's request.
package enum CassetteRecovery {
  /// Saves an unfinished recording, or that of a failed run, as the cassette.
  ///
  /// If an unfinished recording was extending the cassette, its interactions are added. Otherwise, it replaces the
  /// cassette, and the old one is kept as `NAME.previous.har` with its strings and bodies, because it may be worth more
  /// than half a recording.
  ///
  /// - Returns: the outcome; nil if there is nothing to recover.
  /// - Throws: a ``CodedError`` if the recording is still running, or files cannot be read or written.
  package static func recover(_ location: CassetteLocation) throws(CodedError) -> CassetteSealer.Outcome? {
    var previous: CassetteLocation?
    guard let lock = try PartialLock.existing(location) else {
      if let newest = location.recoverable.first { return try take(newest, as: location) }
      try removeStrayBodies(location)
      return nil
    }
    if let partial = try PartialFile(of: location) {
      if partial.isEmpty {
        // A recording that was killed before it had anything becomes no cassette.
        unlink(location.partial)
        if let newest = location.recoverable.first { return try take(newest, as: location) }
        return nil
      }
      if partial.purpose == .record, location.exists, !partial.isSealed(as: location) {
        previous = try keep(location)
      }
    }
    var outcome = try CassetteSealer.seal(lock)
    outcome?.previous = previous
    return outcome
  }

  /// Completes the end of a recording whose process was killed meanwhile.
  ///
  /// - Parameters:
  ///   - location: the cassette.
  ///   - aside: whether to save the recording as `NAME.failed`.
  /// - Returns: the outcome; nil if nothing was recorded, or it was saved before.
  /// - Throws: a ``CodedError`` if another process records the cassette, or files cannot be read or written.
  package static func complete(
    _ location: CassetteLocation, aside: Bool
  ) throws(CodedError) -> CassetteSealer.Outcome? {
    guard let lock = try PartialLock.existing(location) else { return nil }
    guard let partial = try PartialFile(of: location), !partial.isEmpty else {
      unlink(location.partial)
      return nil
    }
    guard aside else { return try CassetteSealer.seal(lock) }
    return try CassetteSealer.seal(lock, as: location.failed ?? location.beside("failed"), isOfFailedRun: true)
  }

  private static func take(
    _ failed: CassetteLocation, as location: CassetteLocation
  ) throws(CodedError) -> CassetteSealer.Outcome {
    // Keeps recordings from starting.
    let lock = try PartialLock.making(location)
    defer { unlink(lock.location.partial) }
    let stored = try CassetteReader.read(failed)
    let previous = location.exists ? try keep(location) : nil
    try CassetteSealer.copy(failed, to: location)
    CassetteSealer.remove(failed)
    let count = stored.cassette.interactions.count
    return CassetteSealer.Outcome(
      interactions: count, added: count, strings: 0, isWritten: true, previous: previous)
  }

  /// Keeps a cassette that is about to be replaced.
  private static func keep(_ location: CassetteLocation) throws(CodedError) -> CassetteLocation {
    let previous = location.beside("previous")
    try CassetteSealer.copy(location, to: previous)
    return previous
  }

  /// Removes bodies that no interaction has, such as those that a killed `prune` leaves.
  private static func removeStrayBodies(_ location: CassetteLocation) throws(CodedError) {
    guard location.exists, access(location.bodies, F_OK) == 0 else { return }
    // Keep recordings from starting, because their bodies do not belong to a cassette yet.
    let lock = try PartialLock.making(location)
    defer { unlink(lock.location.partial) }
    try CassetteSealer.removeStrayBodies(of: location)
  }
}

/// Reads a complete cassette, to check whether it can be replayed.
package enum CassetteVerifier {
  /// What the cassette contains.
  package struct Contents: Sendable {
    package var interactions: Int
    package var strings: Int
    /// Entries of the HAR that are not interactions, one line each.
    package var skipped: [String]
    /// Entries whose body was not saved and replays as empty, one line each.
    package var incomplete: [String]
    /// Responses whose body is recorded in part: up to where the app left it or the upstream disconnected, one line each.
    package var cut: [String]
    /// How many body files belong to no interaction; 0 while an unfinished recording may use them.
    package var strayBodies: Int
  }

  /// Reads the HAR, the string store and all bodies, and compares each body with the digest in its name.
  ///
  /// - Throws: a ``CodedError`` for the first problem.
  package static func verify(_ location: CassetteLocation) throws(CodedError) -> Contents {
    let stored = try CassetteReader.read(location)
    for interaction in stored.cassette.interactions {
      for body in [interaction.request.body, interaction.response.body] {
        guard case .file(let name, let length) = body else { continue }
        let digest = try ContentDigest()
        do {
          try CassetteReader.file(name, length: length, in: location).forEachPiece { digest.update($0) }
        } catch {
          throw error as? CodedError
            ?? CodedError(.inputOutput, "cannot read \(location.folder)/\(name): \(error); restore it")
        }
        let expected = ((name as NSString).lastPathComponent as NSString).deletingPathExtension
        // Only our file names contain a digest.
        guard expected.count == 64 else { continue }
        guard digest.finish() == expected else {
          throw CodedError(
            .broken, "\(location.folder)/\(name) is not what was recorded; restore it, or re-record the cassette")
        }
      }
    }
    let strings = stored.strings.entries.values.reduce(0) { $0 + $1.count { $0 != nil } }
    let isRecorded = access(location.partial, F_OK) == 0
    return Contents(
      interactions: stored.cassette.interactions.count, strings: strings, skipped: stored.cassette.skipped,
      incomplete: stored.cassette.incomplete,
      cut: stored.cassette.interactions.enumerated().compactMap { index, interaction in
        interaction.response.end == .whole
          ? nil : "interaction \(index): \(interaction.request.method) \(interaction.request.url)"
      },
      strayBodies: isRecorded ? 0 : CassetteSealer.strayBodies(of: stored.cassette, in: location).count)
  }
}
