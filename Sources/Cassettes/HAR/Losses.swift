/// Something that a conversion cannot carry over from one format into another: a line for the user.
package struct Loss: Sendable, Equatable {
  /// The entries or interactions that have it, by the numbers that they have in the source, in order; empty where it is
  /// about the whole.
  package var places: [Int]
  /// What it is and what became of it, such as `response._error is left out`.
  package var text: String

  package init(places: [Int], text: String) {
    self.places = places
    self.text = text
  }

  /// The line for the user.
  ///
  /// - Parameter noun: what one place is called, and several.
  /// - Returns: such as `entries 1-3, 7: response._error is left out`.
  package func line(_ noun: (one: String, several: String)) -> String {
    guard let first = places.first else { return text }
    var ranges: [ClosedRange<Int>] = [first...first]
    for place in places.dropFirst() {
      let last = ranges[ranges.count - 1]
      if place == last.upperBound + 1 {
        ranges[ranges.count - 1] = last.lowerBound...place
      } else {
        ranges.append(place...place)
      }
    }
    let words = ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
    return "\(places.count == 1 ? noun.one : noun.several) \(words.joined(separator: ", ")): \(text)"
  }
}

/// What a conversion loses, as it goes: the same loss of many entries is one, however many they are.
package struct Losses {
  /// What an importer says of an entry without a time.
  package static let noTime = "the file does not say when it was: the recording date stands for it"

  package init() {}

  private var places: [[Int]] = []
  private var texts: [String] = []
  private var indices: [String: Int] = [:]

  /// Adds one.
  ///
  /// - Parameters:
  ///   - text: what it is and what became of it.
  ///   - place: the entry's number; nil where it is about the whole.
  package mutating func add(_ text: String, at place: Int? = nil) {
    let index = indices[text] ?? texts.count
    if index == texts.count {
      indices[text] = index
      texts.append(text)
      places.append([])
    }
    if let place, places[index].last != place { places[index].append(place) }
  }

  /// All of them, in the order in which they were first met.
  package var all: [Loss] {
    zip(places, texts).map { Loss(places: $0, text: $1) }
  }
}

extension String {
  /// At most so many characters on one line, for people to read; an ellipsis tells of the rest.
  package func shortened(_ limit: Int = 80) -> String {
    let head = prefix(limit)
    let line = String(
      String.UnicodeScalarView(head.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }))
    return head.endIndex == endIndex ? line : line + "…"
  }
}
