import Basics

/// The used ordinals of a key, as a few ranges: ordinals are drawn in order, and are reported out of order only if several
/// threads use the key.
///
/// In JSON, a list of pairs with both ends included: `[[0, 41], [43, 43]]`.
package struct OrdinalRanges: Sendable, Equatable {
  /// Sorted, with gaps between them.
  package private(set) var ranges: [ClosedRange<Int>] = []

  package init() {}

  package init(_ ranges: [ClosedRange<Int>]) {
    for range in ranges { insert(range) }
  }

  /// The number of ordinals, at most `Int.max`.
  package var count: Int {
    ranges.reduce(0) { count, range in
      let distance = range.upperBound.subtractingReportingOverflow(range.lowerBound)
      let sum = count.addingReportingOverflow(distance.partialValue)
      let next = sum.partialValue.addingReportingOverflow(1)
      return distance.overflow || sum.overflow || next.overflow ? .max : next.partialValue
    }
  }

  /// Whether an ordinal is included.
  package func contains(_ ordinal: Int) -> Bool {
    let place = place(of: ordinal)
    return place < ranges.count && ranges[place].contains(ordinal)
  }

  /// Adds an ordinal.
  package mutating func insert(_ ordinal: Int) {
    // Usually the one after the last.
    if let last = ranges.last, last.upperBound < .max, last.upperBound + 1 == ordinal {
      ranges[ranges.count - 1] = last.lowerBound...ordinal
    } else {
      insert(ordinal...ordinal)
    }
  }

  /// Adds a range.
  package mutating func insert(_ range: ClosedRange<Int>) {
    // Merges all ranges that it overlaps or touches.
    let low = range.lowerBound == .min ? .min : range.lowerBound - 1
    let start = place(of: low)
    var end = start
    var merged = range
    while end < ranges.count, ranges[end].lowerBound == .min || ranges[end].lowerBound - 1 <= range.upperBound {
      merged = min(merged.lowerBound, ranges[end].lowerBound)...max(merged.upperBound, ranges[end].upperBound)
      end += 1
    }
    ranges.replaceSubrange(start..<end, with: CollectionOfOne(merged))
  }

  /// Adds the ordinals of another value.
  package mutating func formUnion(_ other: OrdinalRanges) {
    for range in other.ranges { insert(range) }
  }

  /// The index of the first range that ends at or after an ordinal.
  private func place(of ordinal: Int) -> Int {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < ordinal { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension OrdinalRanges: Codable {
  package init(from decoder: any Decoder) throws {
    let pairs = try decoder.singleValueContainer().decode([[Int]].self)
    for pair in pairs {
      guard pair.count == 2, pair[0] <= pair[1] else {
        throw CodedError(.broken, "\(JSON.place(decoder.codingPath))\(pair) is not a pair such as [0, 41]")
      }
      insert(pair[0]...pair[1])
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(ranges)
  }
}
