package import Basics
import Cassettes
import EnvironmentConfiguration
import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Turns a partial file into a cassette: HAR, string store and bodies, all or nothing.
///
/// New files are written beside the old ones and synchronized, then each is renamed into place. The partial file is
/// removed last. A crash before that loses nothing, and the recording ids in both files show whether they belong
/// together.
package enum CassetteSealer {
  /// What happened to a recording.
  package struct Outcome: Sendable, Equatable {
    /// Interactions in the cassette now.
    package var interactions: Int
    /// Of these, how many came from the partial file.
    package var added: Int
    /// Strings that came from the partial file.
    package var strings: Int
    /// False if there was nothing to write and the old cassette is unchanged.
    package var isWritten: Bool
    /// Where it was saved, if not as the cassette.
    package var aside: CassetteLocation?
    /// Where a recovery kept the cassette that it replaced.
    package var previous: CassetteLocation?
  }

  /// Saves a partial file as a cassette.
  ///
  /// - Parameters:
  ///   - lock: the lock on the cassette's partial file.
  ///   - target: where to save the cassette; nil for its own location.
  ///   - isOfFailedRun: whether the run failed that made it.
  /// - Returns: the outcome; nil if nothing was ever acknowledged, not even the recording's header.
  /// - Throws: a ``CodedError``. The old cassette is complete then, and the partial file still exists.
  static func seal(
    _ lock: PartialLock, as target: CassetteLocation? = nil, isOfFailedRun: Bool = false
  ) throws(CodedError) -> Outcome? {
    let location = lock.location
    guard let partial = try PartialFile(of: location) else {
      unlink(location.partial)
      return nil
    }
    if partial.places.isEmpty, partial.strings.isEmpty, location.exists {
      // Nothing was recorded: an empty cassette must not replace an existing one.
      unlink(location.partial)
      // This only succeeds if the folder is empty.
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
    header.isOfFailedRun = isOfFailedRun

    var bodies = Set<String>()
    let har = target.har + ".new"
    let stringsFile = target.strings + ".new"
    var count = 0
    do {
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
      removeUnusedBodies(of: target, keeping: bodies)
      if location.exists { try? removeStrayBodies(of: location) } else { removeUnusedBodies(of: location, keeping: []) }
    }
    return Outcome(
      interactions: count, added: partial.places.count, strings: partial.stringCount, isWritten: true,
      aside: target == location ? nil : target)
  }

  /// Writes the future cassette's recording id to the partial file.
  private static func announce(
    _ recording: String, in partial: PartialFile, _ lock: PartialLock
  ) throws(CodedError) {
    let path = lock.location.partial
    // An incomplete last line would corrupt this one.
    guard ftruncate(lock.descriptor, off_t(partial.wholeLength)) == 0 else { throw FileWriting.failure("write", path) }
    try FileWriting.write(PartialLine.sealing(recording), to: lock.descriptor, path: path)
    try FileWriting.synchronize(lock.descriptor, path: path)
  }

  /// Replaces both files. Until the HAR, the second one, is replaced, the old string store is kept beside it; the
  /// recording id tells the reader which store belongs to the HAR.
  private static func replace(
    _ target: CassetteLocation, har: String, strings: String
  ) throws(CodedError) {
    let before = target.stringsBefore
    if target.exists { try keepStrings(of: target) }
    try FileWriting.rename(strings, to: target.strings)
    do { try FileWriting.rename(har, to: target.har) } catch {
      if access(before, F_OK) == 0 { try FileWriting.rename(before, to: target.strings) }
      throw error
    }
    try FileWriting.synchronizeFolder(target.folder)
    unlink(before)
  }

  /// Makes sure that ``CassetteLocation/stringsBefore`` is the string store of the current HAR.
  private static func keepStrings(of target: CassetteLocation) throws(CodedError) {
    let before = target.stringsBefore
    if access(before, F_OK) == 0 {
      // Left by an interrupted seal. It is still needed if only the string store had been replaced.
      if let stored = try? CassetteReader.read(target), stored.isTorn { return }
      unlink(before)
    }
    if access(target.strings, F_OK) == 0 {
      let content: Data
      do { content = try CassetteReader.stringsData(target.strings, of: target) ?? Data() } catch {
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

  /// The names of a cassette's body files.
  private static func bodies(of cassette: Cassette, in location: CassetteLocation) -> Set<String> {
    var names = Set<String>()
    for interaction in cassette.interactions { _ = placing(interaction, from: location, in: location, &names) }
    return names
  }

  /// The body files that no interaction has.
  static func strayBodies(of cassette: Cassette, in location: CassetteLocation) -> [String] {
    let kept = bodies(of: cassette, in: location)
    return (try? BodiesFolder(of: location)?.names.filter { !kept.contains($0) }) ?? []
  }

  /// Removes body files that no interaction has, if the cassette is one of ours. The caller must hold the lock.
  static func removeStrayBodies(of location: CassetteLocation) throws(CodedError) {
    let stored = try CassetteReader.read(location)
    guard stored.cassette.header.recording != nil else { return }
    removeUnusedBodies(of: location, keeping: bodies(of: stored.cassette, in: location))
  }

  /// Removes what is no longer needed once the cassette is in place.
  private static func finish(_ location: CassetteLocation, keeping bodies: Set<String>) {
    unlink(location.stringsBefore)
    unlink(location.partial)
    removeUnusedBodies(of: location, keeping: bodies)
  }

  /// Removes a cassette with its strings and bodies.
  static func remove(_ location: CassetteLocation) {
    unlink(location.har)
    unlink(location.strings)
    removeUnusedBodies(of: location, keeping: [])
  }

  /// Copies a cassette to a location beside it, completely or not at all.
  static func copy(_ location: CassetteLocation, to target: CassetteLocation) throws(CodedError) {
    let stored = try CassetteReader.read(location)
    var bodies = Set<String>()
    var output = try BufferedFile(target.har + ".new")
    var header = stored.cassette.header
    header.isOfFailedRun = false
    try output.write(HAR.prologue(header))
    for (index, interaction) in stored.cassette.interactions.enumerated() {
      try output.write(HAR.entry(placing(interaction, from: location, in: target, &bodies), isFirst: index == 0))
    }
    try output.write(HAR.epilogue())
    try output.finish()
    var strings = try BufferedFile(target.strings + ".new")
    try strings.write(stored.strings.write())
    try strings.finish()
    try link(bodies, from: location, to: target)
    try replace(target, har: target.har + ".new", strings: target.strings + ".new")
    removeUnusedBodies(of: target, keeping: bodies)
  }

  /// Rewrites a cassette with some of its interactions, and removes bodies that are no longer needed.
  static func rewrite(
    _ location: CassetteLocation, header: CassetteHeader, interactions: [Interaction]
  ) throws(CodedError) {
    let new = location.har + ".new"
    var bodies = Set<String>()
    do {
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

  /// An interaction with its bodies in the folder of `target`. Files of other tools stay where they are.
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

  /// A recording that has not become a cassette yet.
  package struct Unfinished: Sendable {
    package var interactions: Int
    /// Whether nothing was acknowledged, not even a string.
    var isEmpty: Bool
    /// Whether a process is recording it.
    package var isRunning: Bool

    /// What it is, and what to do about it.
    package func text(_ location: CassetteLocation) -> String {
      let what = "\(location.partial) is an unfinished recording of \(counted(interactions, "interaction"))"
      return isRunning
        ? "\(what), and another process is still recording it; wait until it finishes"
        : "\(what); recover it with: diorama cassette check --recover \(location)"
    }
  }

  /// Returns the unfinished recording of a cassette, or nil if it has none.
  package static func unfinished(_ location: CassetteLocation) throws(CodedError) -> Unfinished? {
    guard let partial = try PartialFile(of: location), let isHeld = PartialLock.isHeld(location) else { return nil }
    return Unfinished(interactions: partial.places.count, isEmpty: partial.isEmpty, isRunning: isHeld)
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

  /// The header of an extended cassette: the old one, with new upstreams added.
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
    header.grpcSchemas.merge(new.grpcSchemas) { $1 }
    header.mapped.appendNew(new.mapped)
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
    // This only succeeds if the folder is empty.
    rmdir(location.bodies)
  }
}

/// A new file that is written in large pieces and synchronized at the end.
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
