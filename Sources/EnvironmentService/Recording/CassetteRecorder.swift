import Basics
import Transforms
import Cassettes
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Records into the append-only partial file beside a cassette.
///
/// What ``append(_:number:)`` has returned from is acknowledged: it outlives this process. Nothing touches the
/// cassette itself until it is sealed.
final class CassetteRecorder: Sendable {
  private struct State {
    /// Nil once the recording has ended.
    var lock: PartialLock?
    /// Bytes up to the last whole line.
    var length: off_t
    var interactions = 0
    var strings = 0
    var failure: CodedError?
    var spools = 0
  }

  let location: CassetteLocation
  let purpose: PartialLine.Purpose
  private let state: Guarded<State>

  /// Opens the partial file, empty but for its header.
  ///
  /// - Throws: a ``CodedError`` `cannotWrite` when the folder cannot be written or another process is
  ///   recording the same cassette.
  init(location: CassetteLocation, header: CassetteHeader, purpose: PartialLine.Purpose) throws(CodedError) {
    self.location = location
    self.purpose = purpose
    try FileWriting.createFolder(location.folder, for: location.har)
    let lock = try PartialLock.making(location)
    // What was there before has been taken up; this is of somebody who came in between and was killed.
    guard lseek(lock.descriptor, 0, SEEK_END) == 0 else {
      throw CodedError(
        .cannotWrite, "\(location.partial) has just been left by another recording; run it again to take that up")
    }
    do throws(CodedError) {
      let line = PartialLine.header(header, purpose: purpose)
      try FileWriting.write(line, to: lock.descriptor, path: location.partial)
      state = Guarded(State(lock: lock, length: off_t(line.count)))
    } catch {
      unlink(location.partial)
      throw error
    }
  }

  /// Goes on with the recording that its killed process left: all that was acknowledged is in it.
  ///
  /// - Parameters:
  ///   - location: the cassette.
  ///   - seed: of the recording, to tell it from one of somebody who came in between.
  ///   - recordedAt: of the recording.
  /// - Returns: the recorder, and what the recording has so far.
  /// - Throws: a ``CodedError`` when the recording is no longer there, or had begun to be sealed, which is done
  ///   then; when another one has taken its place; when it cannot be read or written.
  static func resume(
    _ location: CassetteLocation, seed: String, recordedAt: String?
  ) throws(CodedError) -> (recorder: CassetteRecorder, partial: PartialFile) {
    let gone = "the recording of \(location.har) has been ended"
    guard let lock = try PartialLock.existing(location), let partial = try PartialFile(of: location) else {
      throw CodedError(
        .noCassette, "\(gone): there is no \(location.partial) to go on with; provision another one")
    }
    guard partial.header.seed == seed, partial.header.recordedAt == recordedAt else {
      throw CodedError(
        .noCassette, "\(gone): \(location.partial) is of another recording; end that first, and provision another one")
    }
    if partial.sealing != nil {
      _ = try CassetteSealer.seal(lock)
      throw CodedError(.noCassette, "\(gone): it is in \(location.har) now; provision another one")
    }
    // Half a line was never acknowledged, and would swallow the next one.
    guard ftruncate(lock.descriptor, off_t(partial.wholeLength)) == 0 else {
      throw FileWriting.failure("write", location.partial)
    }
    BodySpool.removeLeftovers(in: location)
    return (CassetteRecorder(lock, partial), partial)
  }

  private init(_ lock: PartialLock, _ partial: PartialFile) {
    location = lock.location
    purpose = partial.purpose
    state = Guarded(
      State(
        lock: lock, length: off_t(partial.wholeLength), interactions: partial.places.count, strings: partial.stringCount
      ))
  }

  /// How many interactions are acknowledged.
  var interactionCount: Int { state.withLock { $0.interactions } }

  /// How many strings are acknowledged.
  var stringCount: Int { state.withLock { $0.strings } }

  /// The first write that failed.
  var failure: CodedError? { state.withLock { $0.failure } }

  /// Something of the recording was lost before it could be written: it must not take the place of a whole one.
  func fail(_ error: CodedError) {
    state.withLock { if $0.failure == nil { $0.failure = error } }
  }

  /// Writes an interaction.
  ///
  /// - Parameters:
  ///   - interaction: what to write.
  ///   - number: the number of its request; the cassette is in this order.
  /// - Throws: a ``CodedError`` `cannotWrite`; the file then ends with the last whole line before.
  func append(_ interaction: Interaction, number: Int) throws(CodedError) {
    let line = PartialLine.interaction(interaction, number: number)
    try append(line) { $0.interactions += 1 }
  }

  /// Writes a string.
  func append(_ entry: StringStoreFile.Entry, key: String, ordinal: Int) throws(CodedError) {
    try append(PartialLine.string(entry, key: key, ordinal: ordinal)) { $0.strings += 1 }
  }

  /// A place for a body, without what `redactor` takes out of it.
  ///
  /// - Parameters:
  ///   - redactor: takes out of the body what is secret.
  ///   - isCoded: whether the body comes under codings that are undone.
  /// - Returns: a place for one body.
  func spool(_ redactor: sending BodyRedactor? = nil, isCoded: Bool = false) -> BodySpool {
    BodySpool(
      location: location,
      serial: state.withLock {
        $0.spools += 1
        return $0.spools
      }, redactor: redactor, isCoded: isCoded)
  }

  /// Ends recording and seals what was acknowledged; nobody else can begin before that is done.
  ///
  /// - Throws: a ``CodedError``: of the first write that failed, since a recording that has lost something must
  ///   not take the place of a whole one, or of sealing. The partial file is still there then.
  func seal() throws(CodedError) -> CassetteSealer.Outcome? {
    let (ended, failure) = state.withLock { ($0.lock.take(), $0.failure) }
    guard let lock = ended else { return nil }
    if let failure { throw failure }
    return try CassetteSealer.seal(lock)
  }

  /// Ends a recording that has nothing, as if it had never begun.
  func discard() {
    // The file goes while the lock on it is still ours.
    guard let lock = state.withLock({ $0.interactions + $0.strings == 0 ? $0.lock.take() : nil }) else { return }
    unlink(lock.location.partial)
    // Made for a body that broke off; only succeeds when it is empty.
    rmdir(lock.location.bodies)
  }

  /// Drops a recording that nobody will want, whatever it has.
  func abandon() {
    guard let lock = state.withLock({ $0.lock.take() }) else { return }
    unlink(lock.location.partial)
  }

  /// Lets go of the recording and leaves it as it is, for somebody to take up.
  func release() {
    state.withLock { $0.lock = nil }
  }

  private func append(_ line: [UInt8], then count: (inout State) -> Void) throws(CodedError) {
    try state.withLock { state throws(CodedError) in
      guard let descriptor = state.lock?.descriptor else {
        throw CodedError(.cannotWrite, "the recording of \(location.har) has ended; this came too late for it")
      }
      do throws(CodedError) {
        try FileWriting.write(line, to: descriptor, path: location.partial)
        state.length += off_t(line.count)
        count(&state)
      } catch {
        // Half a line would swallow the next one.
        _ = ftruncate(descriptor, state.length)
        if state.failure == nil { state.failure = error }
        throw error
      }
    }
  }
}
