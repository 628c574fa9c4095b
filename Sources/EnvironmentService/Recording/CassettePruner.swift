package import ControlAPI
package import Basics
package import Cassettes
import Foundation
import HTTPMessages

/// Removes interactions that no test uses from a cassette.
package enum CassettePruner {
  /// A report about a cassette's use.
  package struct Usage: Sendable {
    /// The report's file, for messages.
    package var file: String
    package var report: Report

    package init(file: String, report: Report) {
      self.file = file
      self.report = report
    }
  }

  /// The interactions that all reports list as unused.
  ///
  /// - Parameters:
  ///   - cassette: the current cassette.
  ///   - location: the cassette's location.
  ///   - usages: reports of replays, one per test.
  /// - Returns: indices of interactions, ascending.
  /// - Throws: a ``CodedError`` of kind `broken` for a report of another cassette or recording, of a mode other
  ///   than `replay`, or of a failed test, which might have used more.
  package static func unused(
    of cassette: Cassette, in location: CassetteLocation, accordingTo usages: [Usage]
  ) throws(CodedError) -> [Int] {
    var unused: Set<Int>?
    for usage in usages {
      let report = usage.report
      guard report.mode == Mode.replay.rawValue else {
        throw refusal(usage, "is of mode \(report.mode); only a replay shows what is unused")
      }
      guard report.cassette == location.har else {
        throw refusal(usage, "is for \(report.cassette ?? "no cassette"), not \(location.har)")
      }
      guard report.ended == true else {
        throw refusal(usage, "is of an environment that had not ended; use its final report")
      }
      guard report.heldButForUnused, (report.commandStatus ?? 0) == 0 else {
        throw refusal(usage, "is of a test that failed and may have used too little; fix the test first")
      }
      guard report.interactions == cassette.interactions.count, report.recordedAt == cassette.header.recordedAt,
        report.unused.allSatisfy({ $0.isIn(cassette) })
      else { throw refusal(usage, "is for an earlier recording of \(location.har); replay again") }
      let these = Set(report.unused.map(\.index))
      unused = unused?.intersection(these) ?? these
    }
    return (unused ?? []).sorted()
  }

  private static func refusal(_ usage: Usage, _ problem: String) -> CodedError {
    CodedError(.broken, "\(usage.file) \(problem)")
  }

  /// Removes interactions, and bodies that only they had. Everything else is unchanged, including the strings.
  ///
  /// - Parameters:
  ///   - indices: indices of interactions, as `diorama cassette show` counts them.
  ///   - location: the cassette's location.
  /// - Returns: how many interactions are left, and where the cassette was kept as it was.
  /// - Throws: a ``CodedError`` if the cassette is being recorded, was written by another tool, or cannot be
  ///   read or written. It is unchanged then.
  package static func remove(
    _ indices: [Int], from location: CassetteLocation
  ) throws(CodedError) -> (left: Int, previous: CassetteLocation) {
    guard try PartialLock.existing(location) == nil else {
      throw CodedError(
        .cannotWrite,
        "there is an unfinished recording of \(location.har); recover it first: "
          + "diorama cassette check --recover \(location)")
    }
    let lock = try PartialLock.making(location)
    defer { unlink(lock.location.partial) }
    let stored = try CassetteReader.read(location)
    guard stored.cassette.header.recording != nil else {
      throw CodedError(
        .broken, "\(location.har) was written by another tool; import it first: diorama cassette import")
    }
    let removed = Set(indices)
    var interactions: [Interaction] = []
    for (index, interaction) in stored.cassette.interactions.enumerated() where !removed.contains(index) {
      interactions.append(interaction)
    }
    let previous = location.beside("previous")
    try CassetteSealer.copy(location, to: previous)
    try CassetteSealer.rewrite(location, header: stored.cassette.header, interactions: interactions)
    return (interactions.count, previous)
  }
}

extension Report.Unused {
  fileprivate func isIn(_ cassette: Cassette) -> Bool {
    guard cassette.interactions.indices.contains(index) else { return false }
    let request = cassette.interactions[index].request
    return request.method == method && request.url == url
  }
}
