import Cassettes
import Foundation

/// Where a cassette's files are: beside each other, and named after the cassette.
///
/// ```swift
/// let location = CassetteLocation("Cassettes/booking")
/// location.har      // …/Cassettes/booking.har
/// location.strings  // …/Cassettes/booking.strings.json
/// ```
package struct CassetteLocation: Sendable, Equatable, Codable, CustomStringConvertible {
  /// The absolute path without extension.
  package let base: String
  /// The path as it was given, for messages.
  package let description: String

  /// - Parameter path: the path, with or without `.har`, relative to the current folder.
  package init(_ path: String) {
    let bare = path.hasSuffix(".har") ? String(path.dropLast(4)) : path
    description = bare
    base =
      bare.hasPrefix("/")
      ? bare : URL(fileURLWithPath: FileManager.default.currentDirectoryPath).appendingPathComponent(bare).path
  }

  /// The last component of the path.
  package var name: String { (base as NSString).lastPathComponent }
  /// The folder that holds the files.
  package var folder: String { (base as NSString).deletingLastPathComponent }
  /// The recorded interactions.
  package var har: String { base + ".har" }
  /// The string store.
  package var strings: String { base + ".strings.json" }
  /// The folder of bodies above 256 KiB.
  package var bodies: String { base + ".bodies" }
  /// The name of ``bodies`` without its path, as the HAR refers to it.
  package var bodiesName: String { name + ".bodies" }
  /// What a running or killed recording has acknowledged.
  package var partial: String { base + ".har.partial" }

  /// The old string store while a cassette is being saved. No rename is atomic over two files, so this is the store
  /// that belongs to the HAR until that is replaced too.
  var stringsBefore: String { strings + ".before" }

  /// The recording of the last run that failed; nil if there is none, or if the file of this name is another cassette.
  package var failed: CassetteLocation? {
    let place = CassetteLocation("\(base).failed")
    return place.exists && (try? CassetteReader.read(place))?.cassette.header.isOfFailedRun == true ? place : nil
  }

  /// An unused location beside this cassette: `NAME.unfinished`, or `NAME.unfinished-2` if that exists.
  func beside(_ word: String) -> CassetteLocation {
    var place = CassetteLocation("\(base).\(word)")
    var number = 2
    while place.exists {
      place = CassetteLocation("\(base).\(word)-\(number)")
      number += 1
    }
    return place
  }

  /// Whether the cassette exists.
  package var exists: Bool { FileManager.default.fileExists(atPath: har) }
}
