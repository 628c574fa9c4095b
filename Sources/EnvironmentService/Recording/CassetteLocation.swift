package import Basics
import Cassettes
package import Foundation
import LaunchContract

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
    return place.isOfFailedRun ? place : nil
  }

  /// What was recorded by runs that failed or were killed, and saved beside this cassette; the newest first.
  package var recoverable: [CassetteLocation] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let places = names.filter { $0.hasSuffix(".har") && Self.original(ofAside: String($0.dropLast(4))) == name }
      .sorted()
      .map { CassetteLocation("\(folder)/\($0)") }
    return places.filter(\.isOfFailedRun).sorted { $0.modified > $1.modified }
  }

  /// The cassettes in a folder and the folders in it, by path, without those that were kept aside.
  package static func all(inFolder path: String) -> [CassetteLocation] {
    var found = Set<String>()
    for case let name as String in FileManager.default.enumerator(atPath: path) ?? .init() {
      for ending in [".har", ".har.partial"] where name.hasSuffix(ending) {
        found.insert((path.hasSuffix("/") ? path : path + "/") + name.dropLast(ending.count))
      }
    }
    return found.filter { path in original(ofAside: path).map { !found.contains($0) } ?? true }.sorted()
      .map(CassetteLocation.init)
  }

  /// The name before `.failed`, `.previous` or `.unfinished-2`; nil for a name without such an ending.
  private static func original(ofAside name: String) -> String? {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
    let words = name[name.index(after: dot)...].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard let word = words.first, ["failed", "previous", "unfinished"].contains(word),
      words.count == 1 || Int(words[1]) != nil
    else { return nil }
    return String(name[..<dot])
  }

  private var isOfFailedRun: Bool {
    exists && (try? CassetteReader.read(self))?.cassette.header.isOfFailedRun == true
  }

  /// When the HAR was last modified, or `Date.distantPast` if it does not exist.
  package var modified: Date {
    (try? FileManager.default.attributesOfItem(atPath: har))?[.modificationDate] as? Date ?? .distantPast
  }

  /// Checks that the path can be that of a cassette, whether it exists or not.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` for a folder, a device, or a name that cannot be one.
  package func check() throws(CodedError) {
    guard !description.isEmpty else { throw CodedError(.usage, "the path of the cassette is empty; give one") }
    guard !description.hasSuffix("/"), ![".", "..", ""].contains((description as NSString).lastPathComponent) else {
      throw CodedError(.usage, "'\(description)' is a folder, not a cassette; add a name, such as Cassettes/login")
    }
    guard !exists, let kind = InputFile.refusedKind(description), kind != "a folder" else { return }
    throw CodedError(.usage, "'\(description)' is \(kind), not a cassette; give a path such as Cassettes/login")
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
