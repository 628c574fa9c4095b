package import Basics
package import Cassettes
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Writes a cassette whose interactions are all at hand, as an import has them: the way of a recording, so that it takes
/// the place of an older one whole or not at all, and nobody records it meanwhile.
package enum CassetteWriter {
  /// Writes it.
  ///
  /// - Parameters:
  ///   - cassette: With all bodies in memory; those above 256 KiB go to files of their own.
  ///   - location: Where to.
  ///   - isReplacing: Whether a cassette that is there may go.
  /// - Returns: What became of an unfinished recording that was there, a line for the user; nil where there was none.
  /// - Throws: A ``CodedError``; what was there before is whole then, and nothing new beside it.
  package static func write(
    _ cassette: Cassette, to location: CassetteLocation, isReplacing: Bool
  ) throws(CodedError) -> String? {
    guard isReplacing || !location.exists else {
      throw CodedError(
        .cannotWrite, "\(location.har) is there already; name another place with --to, or replace it with --force")
    }
    try CassetteReader.checkIsFile(location)
    let note = try UnfinishedRecording.takeUp(location, before: .record)
    let hadFolder = FileManager.default.fileExists(atPath: location.folder)
    let bodies = Set(try BodiesFolder(of: location)?.names ?? [])
    do throws(CodedError) {
      let recorder = try CassetteRecorder(location: location, header: cassette.header, purpose: .record)
      do throws(CodedError) {
        for (number, interaction) in cassette.interactions.enumerated() {
          try recorder.append(placing(interaction, with: recorder), number: number)
        }
        _ = try recorder.seal()
      } catch {
        recorder.abandon()
        // A seal that failed has let go of the file.
        unlink(location.partial)
        throw error
      }
    } catch {
      if let folder = try? BodiesFolder(of: location) {
        for name in folder.names where !bodies.contains(name) { folder.remove(name) }
      }
      // Both only succeed when they are empty.
      rmdir(location.bodies)
      if !hadFolder { rmdir(location.folder) }
      throw error
    }
    return note
  }

  /// The interaction with its large bodies in files.
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
