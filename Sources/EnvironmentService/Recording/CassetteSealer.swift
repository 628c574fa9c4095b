package import Basics
import Cassettes
import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Turns a partial file into a cassette: HAR, string store and bodies, all or nothing.
///
/// New files are written beside the old ones and synchronised; then each takes its place by one rename. The partial
/// file goes last: until then a crash loses nothing, and the recording id in both files tells when they do not match.
package enum CassetteSealer {
  /// What became of a recording.
  package struct Outcome: Sendable, Equatable {
    /// Interactions in the cassette now.
    package var interactions: Int
    /// Of these, how many came from the partial file.
    package var added: Int
    /// Strings that came from the partial file.
    package var strings: Int
    /// False when there was nothing to write and the old cassette was left as it was.
    package var isWritten: Bool
  }

  /// Seals what the partial file holds.
  ///
  /// - Parameters:
  ///   - lock: on the partial file of the cassette.
  ///   - target: where the cassette goes; its own place unless it is to be kept beside.
  /// - Returns: nil when nothing was ever acknowledged, not even that a recording had begun.
  /// - Throws: a ``CodedError``; the old cassette is whole then, and the partial file still there.
  static func seal(_ lock: PartialLock, as target: CassetteLocation? = nil) throws(CodedError) -> Outcome? {
    let location = lock.location
    guard let partial = try PartialFile(of: location) else {
      unlink(location.partial)
      return nil
    }
    if partial.places.isEmpty, partial.strings.isEmpty, location.exists {
      // Nothing came of the recording: an empty cassette would only take the place of a good one.
      unlink(location.partial)
      // Only succeeds when it is empty.
      rmdir(location.bodies)
      return Outcome(interactions: 0, added: 0, strings: 0, isWritten: false)
    }
    let isDone = partial.isSealed(as: location)
    let isAddition = partial.purpose == .extend && location.exists
    let base = isAddition || isDone ? try CassetteReader.read(location) : nil
    if isDone, let base {
      finish(location, keeping: bodies(of: base.cassette, in: location))
      return Outcome(
        interactions: base.cassette.interactions.count, added: partial.places.count, strings: partial.stringCount,
        isWritten: false)
    }
    let target = target ?? location
    var header = partial.header
    if let base { header = merged(base.cassette.header, with: partial.header) }
    let recording = UUID().uuidString.lowercased()
    header.recording = recording

    var bodies = Set<String>()
    let har = target.har + ".new"
    let stringsFile = target.strings + ".new"
    var count = 0
    do throws(CodedError) {
      count = try writeHAR(
        to: har, header: header, base: base?.cassette.interactions ?? [], partial: partial, location: location,
        target: target, bodies: &bodies)
      try writeStrings(to: stringsFile, base: base?.strings, partial: partial, header: header)
      if target != location { try link(bodies, from: location, to: target) }
      try synchronizeBodies(bodies, of: target)
      try announce(recording, in: partial, lock)
      try replace(target, har: har, strings: stringsFile)
    } catch {
      unlink(har)
      unlink(stringsFile)
      throw error
    }
    if target == location {
      finish(location, keeping: bodies)
    } else {
      unlink(location.partial)
    }
    return Outcome(interactions: count, added: partial.places.count, strings: partial.stringCount, isWritten: true)
  }

  /// Says in the partial file what the cassette made of it will be called.
  private static func announce(
    _ recording: String, in partial: PartialFile, _ lock: PartialLock
  ) throws(CodedError) {
    let path = lock.location.partial
    // A torn last line would swallow this one.
    guard ftruncate(lock.descriptor, off_t(partial.wholeLength)) == 0 else { throw FileWriting.failure("write", path) }
    try FileWriting.write(PartialLine.sealing(recording), to: lock.descriptor, path: path)
    try FileWriting.synchronize(lock.descriptor, path: path)
  }

  /// Puts both files in the place of the old ones. Until the HAR, the second, is in place, the old string store is kept
  /// beside: by the recording id the reader knows which belongs to the HAR that it finds.
  private static func replace(
    _ target: CassetteLocation, har: String, strings: String
  ) throws(CodedError) {
    let before = target.stringsBefore
    if target.exists { try keepStrings(of: target) }
    try FileWriting.rename(strings, to: target.strings)
    do throws(CodedError) {
      try FileWriting.rename(har, to: target.har)
    } catch {
      if access(before, F_OK) == 0 { try FileWriting.rename(before, to: target.strings) }
      throw error
    }
    try FileWriting.synchronizeFolder(target.folder)
    unlink(before)
  }

  /// Makes sure that ``CassetteLocation/stringsBefore`` is the store of the HAR that is still in place.
  private static func keepStrings(of target: CassetteLocation) throws(CodedError) {
    let before = target.stringsBefore
    if access(before, F_OK) == 0 {
      // Left by a seal that was killed: after both files had been replaced it is of no use, in between it is needed.
      if let stored = try? CassetteReader.read(target), stored.isTorn { return }
      unlink(before)
    }
    if access(target.strings, F_OK) == 0 {
      let content: Data
      do throws(CodedError) {
        content = try CassetteReader.stringsData(target.strings, of: target) ?? Data()
      } catch {
        throw CodedError(.inputOutput, "cannot read \(target.strings): \(error); \(target.har) is as it was")
      }
      var file = try BufferedFile(before)
      try file.write([UInt8](content))
      try file.finish()
    } else if let stored = try? CassetteReader.read(target) {
      var file = try BufferedFile(before)
      try file.write(StringStoreFile(seed: stored.strings.seed, recording: stored.cassette.header.recording).write())
      try file.finish()
    }
  }

  /// The names of the files in which bodies of a cassette lie.
  private static func bodies(of cassette: Cassette, in location: CassetteLocation) -> Set<String> {
    var names = Set<String>()
    for interaction in cassette.interactions { _ = placing(interaction, from: location, in: location, &names) }
    return names
  }

  /// The files among its bodies that no interaction has.
  static func strayBodies(of cassette: Cassette, in location: CassetteLocation) -> [String] {
    let kept = bodies(of: cassette, in: location)
    return (try? BodiesFolder(of: location)?.names.filter { !kept.contains($0) }) ?? []
  }

  /// Removes the bodies that no interaction of a cassette of ours has. The caller keeps recordings out.
  static func removeStrayBodies(of location: CassetteLocation) throws(CodedError) {
    let stored = try CassetteReader.read(location)
    guard stored.cassette.header.recording != nil else { return }
    removeUnusedBodies(of: location, keeping: bodies(of: stored.cassette, in: location))
  }

  /// After the cassette is in place: what only the way there needed goes.
  private static func finish(_ location: CassetteLocation, keeping bodies: Set<String>) {
    unlink(location.stringsBefore)
    unlink(location.partial)
    removeUnusedBodies(of: location, keeping: bodies)
  }

  /// Copies a cassette beside itself, whole or not at all.
  static func copy(_ location: CassetteLocation, to target: CassetteLocation) throws(CodedError) {
    let stored = try CassetteReader.read(location)
    var bodies = Set<String>()
    var output = try BufferedFile(target.har + ".new")
    try output.write(HAR.prologue(stored.cassette.header))
    for (index, interaction) in stored.cassette.interactions.enumerated() {
      try output.write(HAR.entry(placing(interaction, from: location, in: target, &bodies), isFirst: index == 0))
    }
    try output.write(HAR.epilogue())
    try output.finish()
    var strings = try BufferedFile(target.strings + ".new")
    try strings.write(stored.strings.write())
    try strings.finish()
    try link(bodies, from: location, to: target)
    try FileWriting.rename(target.strings + ".new", to: target.strings)
    try FileWriting.rename(target.har + ".new", to: target.har)
    try FileWriting.synchronizeFolder(target.folder)
  }

  /// Writes a cassette again with other interactions, of those that it has; bodies that none of them needs go.
  static func rewrite(
    _ location: CassetteLocation, header: CassetteHeader, interactions: [Interaction]
  ) throws(CodedError) {
    let new = location.har + ".new"
    var bodies = Set<String>()
    do throws(CodedError) {
      var output = try BufferedFile(new)
      try output.write(HAR.prologue(header))
      for (index, interaction) in interactions.enumerated() {
        try output.write(HAR.entry(placing(interaction, from: location, in: location, &bodies), isFirst: index == 0))
      }
      try output.write(HAR.epilogue())
      try output.finish()
      try FileWriting.rename(new, to: location.har)
    } catch {
      unlink(new)
      throw error
    }
    try FileWriting.synchronizeFolder(location.folder)
    removeUnusedBodies(of: location, keeping: bodies)
  }

  /// An interaction whose bodies lie in the folder of `target`. Files of another tool stay where that has put them.
  private static func placing(
    _ interaction: Interaction, from location: CassetteLocation, in target: CassetteLocation,
    _ bodies: inout Set<String>
  ) -> Interaction {
    var interaction = interaction
    func place(_ body: inout RecordedBody) {
      guard case .file(let name, let length) = body, name.hasPrefix(location.bodiesName + "/") else { return }
      let file = (name as NSString).lastPathComponent
      bodies.insert(file)
      body = .file(name: "\(target.bodiesName)/\(file)", length: length)
    }
    place(&interaction.request.body)
    place(&interaction.response.body)
    return interaction
  }

  /// How much an unfinished recording holds; nil when there is none.
  package static func unfinished(_ location: CassetteLocation) throws(CodedError) -> Int? {
    try PartialFile(of: location)?.places.count
  }

  private static func writeHAR(
    to path: String, header: CassetteHeader, base: [Interaction], partial: PartialFile, location: CassetteLocation,
    target: CassetteLocation, bodies: inout Set<String>
  ) throws(CodedError) -> Int {
    var output = try BufferedFile(path)
    try output.write(HAR.prologue(header))
    var count = 0
    func emit(_ interaction: Interaction, into output: inout BufferedFile) throws(CodedError) {
      try output.write(HAR.entry(placing(interaction, from: location, in: target, &bodies), isFirst: count == 0))
      count += 1
    }
    for interaction in base { try emit(interaction, into: &output) }
    for place in partial.places { try emit(try partial.interaction(at: place, of: location), into: &output) }
    try output.write(HAR.epilogue())
    try output.finish()
    return count
  }

  private static func writeStrings(
    to path: String, base: StringStoreFile?, partial: PartialFile, header: CassetteHeader
  ) throws(CodedError) {
    var store = base ?? StringStoreFile(seed: header.seed ?? "", recording: nil, entries: [:])
    store.seed = header.seed ?? store.seed
    store.recording = header.recording
    for (key, entries) in partial.strings {
      var list = store.entries[key] ?? []
      for (ordinal, entry) in entries {
        while list.count <= ordinal { list.append(nil) }
        list[ordinal] = entry
      }
      store.entries[key] = list
    }
    var output = try BufferedFile(path)
    try output.write(store.write())
    try output.finish()
  }

  /// `extend` keeps the recording date and all else that the cassette says; backends that it did not know are added.
  private static func merged(_ old: CassetteHeader, with new: CassetteHeader) -> CassetteHeader {
    var header = old
    header.recordedAt = old.recordedAt ?? new.recordedAt
    header.timeZone = old.timeZone ?? new.timeZone
    header.locale = old.locale ?? new.locale
    header.seed = old.seed ?? new.seed
    for upstream in new.upstreams {
      if let index = header.upstreams.firstIndex(where: { $0.name == upstream.name }) {
        header.upstreams[index] = upstream
      } else {
        header.upstreams.append(upstream)
      }
    }
    return header
  }

  private static func link(
    _ bodies: Set<String>, from location: CassetteLocation, to target: CassetteLocation
  ) throws(CodedError) {
    guard !bodies.isEmpty else { return }
    let folder = try BodiesFolder(creating: target)
    for name in bodies { try folder.link(name, from: location) }
  }

  private static func synchronizeBodies(_ bodies: Set<String>, of location: CassetteLocation) throws(CodedError) {
    guard !bodies.isEmpty else { return }
    for name in bodies {
      let file = try location.openBody("\(location.bodiesName)/\(name)")
      try FileWriting.synchronize(file.descriptor, path: "\(location.bodies)/\(name)")
    }
    try BodiesFolder(of: location)?.synchronize()
  }

  private static func removeUnusedBodies(of location: CassetteLocation, keeping bodies: Set<String>) {
    if let folder = try? BodiesFolder(of: location) {
      for name in folder.names where !bodies.contains(name) { folder.remove(name) }
    }
    // Only succeeds when it is empty.
    rmdir(location.bodies)
  }
}

/// A new file that is written in large pieces and synchronised at the end.
struct BufferedFile: ~Copyable {
  private let descriptor: Int32
  private let path: String
  private var buffer: [UInt8] = []

  init(_ path: String) throws(CodedError) {
    self.path = path
    descriptor = try FileWriting.create(path)
  }

  deinit { close(descriptor) }

  mutating func write(_ bytes: [UInt8]) throws(CodedError) {
    buffer += bytes
    if buffer.count >= 1 << 18 { try flush() }
  }

  mutating func finish() throws(CodedError) {
    try flush()
    try FileWriting.synchronize(descriptor, path: path)
  }

  private mutating func flush() throws(CodedError) {
    try FileWriting.write(buffer, to: descriptor, path: path)
    buffer.removeAll(keepingCapacity: true)
  }
}
