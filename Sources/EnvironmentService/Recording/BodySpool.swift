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

/// Collects a body while it passes: up to 256 KiB in memory, a larger one in a file named after its contents. Secrets
/// are redacted before they reach the file.
///
/// A body with content codings is kept decoded. Until it is complete, the body as sent is kept too, in an unnamed file:
/// if decoding exceeds the limit, the body is recorded as sent.
final class BodySpool: Sendable {
  /// The maximum size in bytes of a body in the HAR. A larger one goes to its own file.
  static let inlineLimit = 256 * 1024

  private static let incoming = ".incoming-"

  private struct State {
    var redactor: BodyRedactor?
    var bytes: [UInt8] = []
    var file: Spilled?
    var meter: PartMeter?
    /// When ``meter`` was started.
    var started = ContinuousClock.now
    /// The body as sent, while it may still have to be recorded that way.
    var sent: UploadStore?
    var isTooLarge = false
  }

  private struct Spilled {
    var descriptor: Int32
    var name: String
    var length = 0
    var digest: ContentDigest
  }

  private let state: Guarded<State>
  private let location: CassetteLocation
  private let serial: Int

  /// - Parameters:
  ///   - location: the cassette that is recorded.
  ///   - serial: a number that is unique among this recording's spools.
  ///   - redactor: redacts the body.
  ///   - isCoded: whether the body has content codings that are decoded, here or before.
  init(location: CassetteLocation, serial: Int, redactor: sending BodyRedactor? = nil, isCoded: Bool = false) {
    state = Guarded(State(redactor: redactor, sent: isCoded ? UploadStore() : nil))
    self.location = location
    self.serial = serial
  }

  deinit { discard() }

  /// Starts to measure when its bytes arrive.
  ///
  /// - Parameter kind: the stream's kind; nil for any other body.
  func measure(_ kind: StreamKind?) {
    state.withLock { state in
      state.meter = PartMeter(kind)
      state.started = .now
    }
  }

  /// When its parts arrived; empty if that was not measured, or does not matter. Times are those of the received parts,
  /// lengths those of the redacted ones.
  ///
  /// - Parameter content: the finished body.
  /// - Returns: the parts.
  /// - Throws: a ``CodedError`` if the body cannot be read.
  func parts(of content: RecordedBody) throws -> [BodyPart] {
    guard let meter = state.withLock({ $0.meter }) else { return [] }
    guard !redacted.isEmpty else { return meter.parts }
    var bytes = try RecordedBytes(content, in: location)
    return try meter.parts { try bytes.next(65_536) }
  }

  /// Adds bytes.
  ///
  /// - Parameters:
  ///   - chunk: the next bytes, decoded unless the redactor decodes them.
  ///   - sent: the same bytes as they were sent, if `chunk` is already decoded.
  ///   - isTooLarge: whether the body decodes to more than the limit, so that `chunk` is incomplete.
  /// - Throws: a ``CodedError`` if they cannot be written.
  func append(_ chunk: [UInt8], sent: [UInt8]? = nil, isTooLarge: Bool = false) throws {
    try state.withLock { state in
      do throws(Problem) { try state.sent?.append(sent ?? chunk) } catch {
        throw CodedError(.cannotWrite, error.detail)
      }
      guard !state.isTooLarge else { return }
      // Measure before redacting, since the redactor may hold bytes back until it has seen more.
      state.meter?.add(chunk, at: Int(state.started.duration(to: .now) / .milliseconds(1)))
      let clean = state.redactor?.push(chunk) ?? chunk
      guard !isTooLarge, state.redactor?.isTooLarge != true else { return giveUp(&state) }
      try keep(clean, &state)
    }
  }

  /// Discards what has been decoded, because the body is recorded as sent.
  private func giveUp(_ state: inout State) {
    state.isTooLarge = true
    state.redactor = nil
    state.meter = nil
    state.bytes = []
    drop(state.file.take())
  }

  /// Whether the body decodes to more than the limit, and is recorded as sent.
  var isTooLarge: Bool { state.withLock { $0.isTooLarge } }

  private func keep(_ chunk: [UInt8], _ state: inout State) throws {
    guard state.file == nil else { return try spill(chunk, to: &state.file) }
    state.bytes += chunk
    guard state.bytes.count > Self.inlineLimit else { return }
    let digest = try ContentDigest()
    let name = "\(Self.incoming)\(getpid())-\(serial)"
    state.file = Spilled(descriptor: try BodiesFolder(creating: location).create(name), name: name, digest: digest)
    let bytes = state.bytes
    state.bytes = []
    try spill(bytes, to: &state.file)
  }

  /// What was redacted, once the body is finished.
  var redacted: FoundFields { state.withLock { $0.redactor?.found ?? FoundFields() } }

  /// Returns the complete body. A file then has its final name and is written, but not yet synchronized.
  func finish(mediaType: String?) throws -> RecordedBody {
    try state.withLock { state in
      let rest = state.redactor?.finish() ?? []
      if state.redactor?.isTooLarge == true { giveUp(&state) }
      if !state.isTooLarge {
        try keep(rest, &state)
      } else {
        switch state.sent?.finish() {
        case .file(let file): try file.forEachPiece { try keep(Array($0), &state) }
        case .bytes(let bytes): try keep(bytes, &state)
        default: break
        }
      }
      state.sent = nil
      guard let file = state.file.take() else { return .bytes(state.bytes) }
      close(file.descriptor)
      let name = file.digest.finish() + "." + Self.ending(of: mediaType)
      try BodiesFolder(creating: location).rename(file.name, to: name)
      return .file(name: "\(location.bodiesName)/\(name)", length: file.length)
    }
  }

  /// Discards the body.
  func discard() { drop(state.withLock { $0.file.take() }) }

  private func drop(_ file: Spilled?) {
    guard let file else { return }
    close(file.descriptor)
    try? BodiesFolder(of: location)?.remove(file.name)
  }

  /// Whether a file has the name of a body, finished or still being written.
  static func isName(_ name: String) -> Bool {
    let digest = name.prefix { $0 != "." }
    return name.hasPrefix(incoming) || digest.utf8.count == 64 && digest.allSatisfy(\.isHexDigit)
  }

  /// Removes the unfinished bodies of a killed recording. The caller must hold the cassette's lock.
  static func removeLeftovers(in location: CassetteLocation) {
    guard let folder = try? BodiesFolder(of: location) else { return }
    for name in folder.names where name.hasPrefix(incoming) { folder.remove(name) }
  }

  private func spill(_ chunk: [UInt8], to file: inout Spilled?) throws(CodedError) {
    guard let descriptor = file?.descriptor, let name = file?.name else { return }
    try FileWriting.write(chunk, to: descriptor, path: "\(location.bodies)/\(name)")
    chunk.withUnsafeBytes { file?.digest.update($0) }
    file?.length += chunk.count
  }

  /// The file name extension that opens the file in the right program.
  private static func ending(of mediaType: String?) -> String {
    let type = (mediaType ?? "").prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    switch type {
    case "application/json": return "json"
    case "text/html": return "html"
    case "text/plain": return "txt"
    case "text/css": return "css"
    case "text/javascript", "application/javascript": return "js"
    case "application/xml", "text/xml": return "xml"
    case "image/png": return "png"
    case "image/jpeg": return "jpg"
    case "application/pdf": return "pdf"
    default: return "bin"
    }
  }
}
