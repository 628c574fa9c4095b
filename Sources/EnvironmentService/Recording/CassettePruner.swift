package import Basics
package import Cassettes
import Foundation
import HTTPMessages

/// Takes interactions out of a cassette that no test has used.
package enum CassettePruner {
  /// What a report says of a cassette.
  package struct Usage: Sendable {
    /// The report's file, for messages.
    package var file: String
    package var report: Report

    package init(file: String, report: Report) {
      self.file = file
      self.report = report
    }
  }

  /// The interactions that every report calls unused.
  ///
  /// - Parameters:
  ///   - cassette: as it is now.
  ///   - location: where it lies.
  ///   - usages: reports of replays, each of one test.
  /// - Returns: indices of interactions, ascending.
  /// - Throws: a ``CodedError`` of kind `broken` for a report of another cassette or recording, of another mode
  ///   than `replay`, or of a test that failed: what it has not used it might have.
  package static func unused(
    of cassette: Cassette, in location: CassetteLocation, accordingTo usages: [Usage]
  ) throws(CodedError) -> [Int] {
    var unused: Set<Int>?
    for usage in usages {
      let report = usage.report
      guard report.mode == Mode.replay.rawValue else {
        throw refusal(usage, "is of mode \(report.mode); only a replay tells what is not used")
      }
      guard report.cassette == location.har else {
        throw refusal(usage, "is of \(report.cassette ?? "no cassette"), not of \(location.har)")
      }
      guard report.ended == true else {
        throw refusal(usage, "is of an environment that had not ended; take the report of its end")
      }
      guard report.heldButForUnused, (report.commandStatus ?? 0) == 0 else {
        throw refusal(usage, "is of a test that failed: what it has not used it might have; mend the test first")
      }
      guard report.interactions == cassette.interactions.count, report.recordedAt == cassette.header.recordedAt,
        report.unused.allSatisfy({ $0.isIn(cassette) })
      else { throw refusal(usage, "is of another recording than \(location.har) is now; replay again") }
      let these = Set(report.unused.map(\.index))
      unused = unused?.intersection(these) ?? these
    }
    return (unused ?? []).sorted()
  }

  private static func refusal(_ usage: Usage, _ problem: String) -> CodedError {
    CodedError(.broken, "\(usage.file) \(problem)")
  }

  /// Takes interactions out, and the bodies that only they had. All else stays as it is, the strings too.
  ///
  /// - Parameters:
  ///   - indices: which, as `diorama cassette show` counts them.
  ///   - location: where the cassette lies.
  /// - Returns: how many are left.
  /// - Throws: a ``CodedError``: the cassette is being recorded, was written by another tool, or cannot be read or
  ///   written; it is as it was then.
  package static func remove(_ indices: [Int], from location: CassetteLocation) throws(CodedError) -> Int {
    guard try PartialLock.existing(location) == nil else {
      throw CodedError(
        .cannotWrite,
        "beside \(location.har) is an unfinished recording; first make something of it: "
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
    try CassetteSealer.rewrite(location, header: stored.cassette.header, interactions: interactions)
    return interactions.count
  }
}

extension Report.Unused {
  fileprivate func isIn(_ cassette: Cassette) -> Bool {
    guard cassette.interactions.indices.contains(index) else { return false }
    let request = cassette.interactions[index].request
    return request.method == method && request.url == url
  }
}
