import CassetteConversion
import Cassettes
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract

extension CassetteImport {
  /// A file of another tool, read whole, with the bodies that it keeps in files beside it.
  struct Source {
    let path: String
    var foreign: ForeignCassette
    /// When the file was last written: what is left where nothing in it has a time.
    let modified: Date
    /// What is not carried over.
    var losses: [Loss]

    /// - Throws: an ``EnvironmentError`` that says where the file is broken.
    init(_ path: String, format: ImportFormat?) throws(EnvironmentError) {
      self.path = path
      let bytes = try WholeFiles.read(path, acceptsPipes: true)
      do throws(CassetteError) {
        foreign = try ForeignCassette.read(bytes, name: path, as: format)
      } catch {
        throw EnvironmentError(.broken, "\(error)")
      }
      modified = (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date ?? Date()
      losses = foreign.losses
      let strings = CassetteLocation(path).strings
      if foreign.header.recording != nil, FileManager.default.fileExists(atPath: strings) {
        losses.append(Loss(places: [], text: "its string store is left out; \(strings) has it"))
      }
      var taken = 0
      for index in foreign.interactions.indices {
        foreign.interactions[index].request.body = try collected(foreign.interactions[index].request.body, &taken)
        foreign.interactions[index].response.body = try collected(foreign.interactions[index].response.body, &taken)
      }
    }

    /// A body in memory. All of one file together have at most as many bytes as a file may have.
    private mutating func collected(_ body: RecordedBody, _ taken: inout Int) throws(EnvironmentError) -> RecordedBody {
      guard case .file(let name, _) = body else { return body }
      let location = CassetteLocation(path)
      guard FileManager.default.fileExists(atPath: "\(location.folder)/\(name)") else {
        losses.append(Loss(places: [], text: "the body in \(name) is missing: it is replayed as an empty one"))
        return .empty
      }
      let file = try location.openBody(name)
      taken += file.size
      guard taken <= WholeFiles.limit else {
        throw EnvironmentError(
          .broken, "the bodies of \(path) total more than \(WholeFiles.limit >> 20) MiB; import fewer interactions")
      }
      do throws(InputFileError) {
        return .bytes([UInt8](try file.read(atMost: file.size)))
      } catch {
        throw EnvironmentError(.inputOutput, "cannot read \(location.folder)/\(name): \(error); fix that, or remove it")
      }
    }
  }

  /// What became of an import.
  struct Result: Encodable {
    struct File: Encodable {
      var file: String
      var format: String
      var interactions: Int
    }

    struct Missing: Encodable {
      var file: String
      /// Numbers of entries, from 1; empty where it is about the whole file.
      var entries: [Int]
      var what: String
    }

    var cassette: String
    var recordedAt: String?
    var interactions: Int
    var upstreams: [String: String]
    var files: [File]
    /// How many values went as secrets.
    var redacted: Int
    var notCarriedOver: [Missing]

    init(_ cassette: Cassette, location: CassetteLocation, sources: [Source], redacted: Int) {
      self.redacted = redacted
      self.cassette = location.har
      recordedAt = cassette.header.recordedAt
      interactions = cassette.interactions.count
      upstreams = Dictionary(cassette.header.upstreams.map { ($0.name, $0.origin.description) }) { first, _ in first }
      files = sources.map {
        File(file: $0.path, format: $0.foreign.format.rawValue, interactions: $0.foreign.interactions.count)
      }
      notCarriedOver = sources.flatMap { source in
        source.losses.map { Missing(file: source.path, entries: $0.places, what: $0.text) }
      }
    }

    var lines: [String] {
      var lines = [
        "\(cassette): \(counted(interactions, "interaction"))" + (recordedAt.map { ", recorded \($0)" } ?? "")
      ]
      for file in files {
        let title = ImportFormat(rawValue: file.format)?.title ?? file.format
        lines.append("  \(file.file): \(title), \(counted(file.interactions, "interaction"))")
      }
      if redacted > 0 { lines.append("  \(counted(redacted, "value")) redacted; --as-is would keep them") }
      for (name, origin) in upstreams.sorted(by: { $0.key < $1.key }) { lines.append("  upstream \(name) = \(origin)") }
      return lines
    }
  }
}
