import Cassettes
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Takes a body while it passes: in memory up to 256 KiB, above that in a file named by its content. What is secret in it
/// never reaches the file: it is taken out before, as the body passes.
final class BodySpool: Sendable {
  /// Bodies above so many bytes go to a file of their own (INTERFACE: 256 KiB).
  static let inlineLimit = 256 * 1024

  private static let incoming = ".incoming-"

  private struct State {
    var redactor: BodyRedactor?
    var bytes: [UInt8] = []
    var file: Spilled?
    var clock: BodyClock?
  }

  private struct Spilled {
    var descriptor: Int32
    var path: String
    var length = 0
    var digest: ContentDigest
  }

  private let state: Guarded<State>
  private let location: CassetteLocation
  private let serial: Int

  /// - Parameters:
  ///   - location: the cassette that is recorded.
  ///   - serial: a number that no other spool of this recording has.
  ///   - redactor: takes out of the body what is secret.
  init(location: CassetteLocation, serial: Int, redactor: sending BodyRedactor? = nil) {
    state = Guarded(State(redactor: redactor))
    self.location = location
    self.serial = serial
  }

  deinit { discard() }

  /// Measures from now on when its bytes come.
  func measure(_ kind: StreamKind?) {
    state.withLock { $0.clock = BodyClock(kind) }
  }

  /// When its parts came; empty where nobody measured, or where it is of no interest.
  var parts: [BodyPart] { state.withLock { $0.clock?.parts ?? [] } }

  /// Adds bytes.
  func append(_ chunk: [UInt8]) throws {
    try state.withLock { state in
      // As it comes: what takes secrets out may hold it back until it has seen more.
      state.clock?.take(chunk)
      try keep(state.redactor?.push(chunk) ?? chunk, &state)
    }
  }

  private func keep(_ chunk: [UInt8], _ state: inout State) throws {
    state.clock?.keep(chunk)
    guard state.file == nil else { return try Self.spill(chunk, to: &state.file) }
    state.bytes += chunk
    guard state.bytes.count > Self.inlineLimit else { return }
    try FileWriting.createFolder(location.bodies, for: location.har)
    let path = "\(location.bodies)/\(Self.incoming)\(getpid())-\(serial)"
    let descriptor = try FileWriting.open(path, O_WRONLY | O_CREAT | O_TRUNC)
    state.file = Spilled(descriptor: descriptor, path: path, digest: try ContentDigest())
    let bytes = state.bytes
    state.bytes = []
    try Self.spill(bytes, to: &state.file)
  }

  /// Whether anything was taken out of the body, once it is finished.
  var hasRedacted: Bool { state.withLock { $0.redactor?.hasFound ?? false } }

  /// The body, whole. A file has its final name by then, and has been written, not yet synchronised.
  func finish(mediaType: String?) throws -> RecordedBody {
    try state.withLock { state in
      if let rest = state.redactor?.finish(), !rest.isEmpty { try keep(rest, &state) }
      guard let file = state.file.take() else { return .bytes(state.bytes) }
      close(file.descriptor)
      let name = file.digest.finish() + "." + Self.ending(of: mediaType)
      try FileWriting.rename(file.path, to: "\(location.bodies)/\(name)")
      return .file(name: "\(location.bodiesName)/\(name)", length: file.length)
    }
  }

  /// Drops what was taken.
  func discard() {
    guard let file = state.withLock({ $0.file.take() }) else { return }
    close(file.descriptor)
    unlink(file.path)
  }

  /// Whether a file has a name as bodies get here, on their way or for good.
  static func isName(_ name: String) -> Bool {
    let digest = name.prefix { $0 != "." }
    return name.hasPrefix(incoming) || digest.utf8.count == 64 && digest.allSatisfy(\.isHexDigit)
  }

  /// Removes what a killed recording was taking; for the one who holds the lock on the cassette.
  static func removeLeftovers(in location: CassetteLocation) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: location.bodies)) ?? []
    for name in names where name.hasPrefix(incoming) { unlink("\(location.bodies)/\(name)") }
  }

  private static func spill(_ chunk: [UInt8], to file: inout Spilled?) throws(EnvironmentError) {
    guard let descriptor = file?.descriptor, let path = file?.path else { return }
    try FileWriting.write(chunk, to: descriptor, path: path)
    chunk.withUnsafeBytes { file?.digest.update($0) }
    file?.length += chunk.count
  }

  /// The ending that opens the file in the right program on a click.
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
