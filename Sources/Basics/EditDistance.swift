/// The Levenshtein distance: the fewest characters to insert, delete or replace.
package enum EditDistance {
  package static func between(_ left: String, _ right: String) -> Int {
    let right = Array(right)
    var row = Array(0...right.count)
    for (index, character) in left.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in right.indices {
        let replaced = diagonal + (right[column] == character ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
      }
    }
    return row[right.count]
  }

  /// The three nearest words, nearest first, ties by name.
  package static func nearest(to word: String, among words: some Collection<String>) -> [String] {
    let ranked = words.map { (distance: between(word, $0), word: $0) }.sorted { $0 < $1 }
    return ranked.prefix(3).map(\.word)
  }
}
