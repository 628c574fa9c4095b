package import Basics
package import Cassettes
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Writes a complete cassette, such as an imported one. It works like a recording: an older cassette is replaced
/// completely or not at all, and cannot be recorded meanwhile.
package enum CassetteWriter {
  /// Writes a cassette.
  ///
  /// - Parameters:
  ///   - cassette: the cassette, with all bodies in memory. Bodies above 256 KiB are written to their own files.
  ///   - location: where to write it.
  ///   - isReplacing: whether an existing cassette may be replaced.
  /// - Returns: a message about a recovered unfinished recording; nil if there was none.
  /// - Throws: a ``CodedError``. An old cassette is unchanged then, and nothing new is left beside it.
  package static func write(
    _ cassette: Cassette, to location: CassetteLocation, isReplacing: Bool
  ) throws(CodedError) -> String? {
    guard isReplacing || !location.exists else {
      throw CodedError(
        .cannotWrite, "\(location.har) already exists; name another file with --to, or replace it with --force")
    }
    try CassetteReader.checkIsFile(location)
    let note = try UnfinishedRecording.takeUp(location, before: .record)
    let hadFolder = FileManager.default.fileExists(atPath: location.folder)
    let bodies = Set(try BodiesFolder(of: location)?.names ?? [])
    do throws(CodedError) {
      let recorder = try CassetteRecorder(location: location, header: cassette.header, purpose: .record)
      do {
        for (number, interaction) in cassette.interactions.enumerated() {
          try recorder.append(placing(interaction, with: recorder), number: number)
        }
        _ = try recorder.seal()
      } catch {
        recorder.abandon()
        // A failed seal has released the file.
        unlink(location.partial)
        throw error
      }
    } catch {
      if let folder = try? BodiesFolder(of: location) {
        for name in folder.names where !bodies.contains(name) { folder.remove(name) }
      }
      // Both only succeed if the folder is empty.
      rmdir(location.bodies)
      if !hadFolder { rmdir(location.folder) }
      throw error
    }
    return note
  }

  /// The interaction, with its large bodies in files.
  private static func placing(
    _ interaction: Interaction, with recorder: CassetteRecorder
  ) throws(CodedError) -> Interaction {
    var interaction = interaction
    try place(&interaction.request.body, interaction.request.headers["Content-Type"], with: recorder)
    try place(&interaction.response.body, interaction.response.headers["Content-Type"], with: recorder)
    return interaction
  }

  private static func place(
    _ body: inout RecordedBody, _ type: String?, with recorder: CassetteRecorder
  ) throws(CodedError) {
    guard case .bytes(let bytes) = body, bytes.count > BodySpool.inlineLimit else { return }
    do {
      let spool = recorder.spool()
      try spool.append(bytes)
      body = try spool.finish(mediaType: type)
    } catch {
      throw error as? CodedError ?? CodedError(.cannotWrite, "cannot write \(recorder.location.bodies): \(error)")
    }
  }
}
