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
/// Once ``append(_:number:)`` returns, the interaction is acknowledged: it survives the end of this process. The
/// cassette itself is not touched before ``seal()``.
final class CassetteRecorder: Sendable {
  private struct State {
    var header: CassetteHeader
    /// Nil once the recording has ended.
    var lock: PartialLock?
    /// The length in bytes up to the end of the last complete line.
    var length: off_t
    var interactions = 0
    var strings = 0
    var failure: CodedError?
    var spools = 0
  }

  /// The maximum size in bytes of a schema that is kept.
  private static let schemaLimit = 1 << 20

  let location: CassetteLocation
  let purpose: PartialLine.Purpose
  private let state: Guarded<State>

  /// Creates the partial file with its header.
  ///
  /// - Throws: a ``CodedError`` of kind `cannotWrite` if the folder is not writable, or another process is
  ///   recording the same cassette.
  init(location: CassetteLocation, header: CassetteHeader, purpose: PartialLine.Purpose) throws(CodedError) {
    self.location = location
    self.purpose = purpose
    try FileWriting.createFolder(location.folder, for: location.har)
    let lock = try PartialLock.making(location)
    // Earlier leftovers were recovered already. These are from a process that came in between and was killed.
    guard lseek(lock.descriptor, 0, SEEK_END) == 0 else {
      throw CodedError(
        .cannotWrite, "\(location.partial) was just left by another recording; run again to recover it")
    }
    do {
      let line = PartialLine.header(header, purpose: purpose)
      try FileWriting.write(line, to: lock.descriptor, path: location.partial)
      state = Guarded(State(header: header, lock: lock, length: off_t(line.count)))
    } catch {
      unlink(location.partial)
      throw error
    }
  }

  /// Continues the recording of a killed process, including everything it acknowledged.
  ///
  /// - Parameters:
  ///   - location: the cassette.
  ///   - seed: the recording's seed, which identifies it.
  ///   - recordedAt: the recording's date.
  /// - Returns: the recorder, and what the recording has so far.
  /// - Throws: a ``CodedError`` if the recording no longer exists, or another one has taken its place; if saving
  ///   had begun, which is completed then; or if it cannot be read or written.
  static func resume(
    _ location: CassetteLocation, seed: String, recordedAt: String?
  ) throws(CodedError) -> (recorder: CassetteRecorder, partial: PartialFile) {
    let gone = "the recording of \(location.har) has been ended"
    guard let lock = try PartialLock.existing(location), let partial = try PartialFile(of: location) else {
      throw CodedError(
        .noCassette, "\(gone): \(location.partial) does not exist; provision another environment")
    }
    guard partial.header.seed == seed, partial.header.recordedAt == recordedAt else {
      throw CodedError(
        .noCassette, "\(gone): \(location.partial) is of another recording; end that one and provision another")
    }
    if partial.sealing != nil {
      _ = try CassetteSealer.seal(lock)
      throw CodedError(.noCassette, "\(gone): it is in \(location.har) now; provision another environment")
    }
    // An incomplete line was never acknowledged, and would corrupt the next one.
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
        header: partial.header, lock: lock, length: off_t(partial.wholeLength), interactions: partial.places.count,
        strings: partial.stringCount
      ))
  }

  /// How many interactions are acknowledged.
  var interactionCount: Int { state.withLock { $0.interactions } }

  /// How many strings are acknowledged.
  var stringCount: Int { state.withLock { $0.strings } }

  /// The first write that failed.
  var failure: CodedError? { state.withLock { $0.failure } }

  /// Marks the recording as incomplete, so that it does not replace a complete one.
  func fail(_ error: CodedError) {
    state.withLock { if $0.failure == nil { $0.failure = error } }
  }

  /// Replaces the recording's upstreams, because an isolated command has asked for a new one.
  ///
  /// - Parameter upstreams: all upstreams.
  /// - Throws: a ``CodedError`` of kind `cannotWrite`.
  func setUpstreams(_ upstreams: [CassetteHeader.Upstream]) throws(CodedError) {
    try change { $0.upstreams = upstreams }
  }

  /// Adds the schema of a gRPC service to the recording, unless it is there.
  ///
  /// - Parameters:
  ///   - service: the service's name.
  ///   - descriptorSet: returns the schema, a serialized `google.protobuf.FileDescriptorSet`.
  /// - Throws: a ``CodedError`` of kind `cannotWrite`.
  func keepSchema(of service: String, _ descriptorSet: () -> [UInt8]) throws(CodedError) {
    guard state.withLock({ $0.header.grpcSchemas[service] == nil }) else { return }
    let bytes = descriptorSet()
    guard 1...Self.schemaLimit ~= bytes.count else { return }
    try change { $0.grpcSchemas[service] = bytes }
  }

  private func change(_ body: (inout CassetteHeader) -> Void) throws(CodedError) {
    try append { state in
      body(&state.header)
      // Of several headers, the last one counts.
      return PartialLine.header(state.header, purpose: purpose)
    }
  }

  /// Appends an interaction.
  ///
  /// - Parameters:
  ///   - interaction: the interaction.
  ///   - number: the number of its request, which determines its position in the cassette.
  /// - Throws: a ``CodedError`` of kind `cannotWrite`; the file then still ends with the previous line.
  func append(_ interaction: Interaction, number: Int) throws(CodedError) {
    let line = PartialLine.interaction(interaction, number: number)
    try append { state in
      state.interactions += 1
      return line
    }
  }

  /// Appends a string.
  func append(_ entry: StringStoreFile.Entry, key: String, ordinal: Int) throws(CodedError) {
    try append { state in
      state.strings += 1
      return PartialLine.string(entry, key: key, ordinal: ordinal)
    }
  }

  /// Creates a spool for one body.
  ///
  /// - Parameters:
  ///   - redactor: redacts the body.
  ///   - isCoded: whether the body has content codings that are decoded.
  /// - Returns: the spool.
  func spool(_ redactor: sending BodyRedactor? = nil, isCoded: Bool = false) -> BodySpool {
    BodySpool(
      location: location,
      serial: state.withLock {
        $0.spools += 1
        return $0.spools
      }, redactor: redactor, isCoded: isCoded)
  }

  /// Ends the recording and saves what was acknowledged as the cassette. No other recording can begin before that is
  /// done.
  ///
  /// - Parameter aside: whether to save it as `NAME.failed` instead, in place of the last one there.
  /// - Returns: the outcome; nil if the recording has already ended.
  /// - Throws: a ``CodedError``: the first failed write, since an incomplete recording must not replace a
  ///   complete one, or a failure to save. The partial file is kept then.
  func seal(aside: Bool = false) throws(CodedError) -> CassetteSealer.Outcome? {
    let (ended, failure) = state.withLock { ($0.lock.take(), $0.failure) }
    guard let lock = ended else { return nil }
    if let failure { throw failure }
    let failed = location.failed
    guard !aside else {
      return try CassetteSealer.seal(lock, as: failed ?? location.beside("failed"), isOfFailedRun: true)
    }
    let outcome = try CassetteSealer.seal(lock)
    // It is older than the cassette now.
    if let failed { CassetteSealer.remove(failed) }
    return outcome
  }

  /// Ends an empty recording, as if it had never begun.
  func discard() {
    // Remove the file while it is still locked.
    guard let lock = state.withLock({ $0.interactions + $0.strings == 0 ? $0.lock.take() : nil }) else { return }
    unlink(lock.location.partial)
    // The folder may be left from an interrupted body. This only succeeds if it is empty.
    rmdir(lock.location.bodies)
  }

  /// Discards the recording with everything in it.
  func abandon() {
    guard let lock = state.withLock({ $0.lock.take() }) else { return }
    unlink(lock.location.partial)
  }

  /// Ends recording and leaves the partial file, to be recovered later.
  func release() {
    state.withLock { $0.lock = nil }
  }

  /// - Parameter change: changes the state, and returns the line for it.
  /// - Throws: a ``CodedError`` of kind `cannotWrite`; the state is as before then.
  private func append(_ change: (inout State) -> [UInt8]) throws(CodedError) {
    try state.withLock { state throws(CodedError) in
      guard let descriptor = state.lock?.descriptor else {
        throw CodedError(.cannotWrite, "the recording of \(location.har) has ended; nothing can be added")
      }
      let before = state
      let line = change(&state)
      do throws(CodedError) {
        try FileWriting.write(line, to: descriptor, path: location.partial)
        state.length += off_t(line.count)
      } catch {
        state = before
        // An incomplete line would corrupt the next one.
        _ = ftruncate(descriptor, state.length)
        if state.failure == nil { state.failure = error }
        throw error
      }
    }
  }
}
