/// The edit distance: the fewest characters to insert, delete, replace, or swap with the next one.
package enum EditDistance {
  package static func between(_ left: String, _ right: String) -> Int {
    let left = Array(left)
    let right = Array(right)
    var rows = [Array(0...right.count)]
    for index in left.indices {
      let above = rows[index]
      var row = [index + 1]
      for column in right.indices {
        let isEqual = left[index] == right[column]
        var least = min(above[column] + (isEqual ? 0 : 1), above[column + 1] + 1, row[column] + 1)
        if index > 0, column > 0, left[index] == right[column - 1], left[index - 1] == right[column] {
          least = min(least, rows[index - 1][column - 1] + 1)
        }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }

  /// The three nearest words, nearest first, ties by name.
  package static func nearest(to word: String, among words: some Collection<String>) -> [String] {
    let ranked = words.map { (distance: between(word, $0), word: $0) }.sorted { $0 < $1 }
    return ranked.prefix(3).map(\.word)
  }

  /// The word that was probably meant, in any case of letters; nil if none is close: one edit for each three characters,
  /// and none for a single character.
  package static func likely(_ name: String, among words: some Collection<String>) -> String? {
    // A long name is not a typo, and the cost of comparing grows with the product of both lengths.
    guard 2...80 ~= name.utf8.count else { return nil }
    let name = name.lowercased()
    let near = words.map { (distance: between(name, $0.lowercased()), word: $0) }.min { $0 < $1 }
    return near.flatMap { $0.distance <= max(1, name.count / 3) ? $0.word : nil }
  }
}
