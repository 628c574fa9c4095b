package import Basics
import Cassettes
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Takes up what a killed recording left, when a person asks for it.
package enum CassetteRecovery {
  /// Makes an unfinished recording the cassette.
  ///
  /// What was to be added to the cassette is added. What was to take its place does, and the cassette that was there
  /// is kept as `NAME.previous.har` with its strings and bodies: half a recording may be worth less than an old one.
  ///
  /// - Returns: what came of it; nil when there is no unfinished recording.
  /// - Throws: a ``CodedError``: the recording still runs, or files cannot be read or written.
  package static func recover(_ location: CassetteLocation) throws(CodedError) -> CassetteSealer.Outcome? {
    guard let lock = try PartialLock.existing(location) else {
      try removeStrayBodies(location)
      return nil
    }
    if let partial = try PartialFile(of: location) {
      let isEmpty = partial.places.isEmpty && partial.strings.isEmpty
      if isEmpty, !location.exists {
        // A recording that was killed before it had anything is no cassette.
        unlink(location.partial)
        return nil
      }
      if partial.purpose == .record, location.exists, !partial.isSealed(as: location), !isEmpty {
        try CassetteSealer.copy(location, to: location.beside("previous"))
      }
    }
    return try CassetteSealer.seal(lock)
  }

  /// Removes the bodies that no interaction has, as a prune leaves them that was killed before its end.
  private static func removeStrayBodies(_ location: CassetteLocation) throws(CodedError) {
    guard location.exists, access(location.bodies, F_OK) == 0 else { return }
    // Nobody may begin to record meanwhile: that one's bodies are in no cassette yet.
    let lock = try PartialLock.making(location)
    defer { unlink(lock.location.partial) }
    try CassetteSealer.removeStrayBodies(of: location)
  }
}

/// Reads a cassette whole, to say whether it can be replayed.
package enum CassetteVerifier {
  /// What was found.
  package struct Contents: Sendable {
    package var interactions: Int
    package var strings: Int
    /// What of the HAR is no interaction, a line for each.
    package var skipped: [String]
    /// How many files lie among its bodies that no interaction has; 0 while an unfinished recording may have them.
    package var strayBodies: Int
  }

  /// Reads HAR, string store and every body, and compares each body with the digest in its name.
  ///
  /// - Throws: a ``CodedError`` that names the first thing that is broken.
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
        // Other tools name their files otherwise; only ours promise a digest.
        guard expected.count == 64 else { continue }
        guard digest.finish() == expected else {
          throw CodedError(
            .broken, "\(location.folder)/\(name) is not what was recorded; take it from version control or record anew")
        }
      }
    }
    let strings = stored.strings.entries.values.reduce(0) { $0 + $1.count { $0 != nil } }
    let isRecorded = access(location.partial, F_OK) == 0
    return Contents(
      interactions: stored.cassette.interactions.count, strings: strings, skipped: stored.cassette.skipped,
      strayBodies: isRecorded ? 0 : CassetteSealer.strayBodies(of: stored.cassette, in: location).count)
  }
}
