/// Words as a shell reads them back.
package enum ShellWord {
  /// A word, in quotes where it needs them: nothing in it means anything to a shell then.
  package static func quoted(_ word: String) -> String {
    let plain = word.unicodeScalars.allSatisfy {
      ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
        || "_-./:=@%+,".unicodeScalars.contains($0)
    }
    if plain, !word.isEmpty { return word }
    // By scalars: a quote with an accent on it is another character, and still ends the quotation.
    var quoted = "'".unicodeScalars
    for scalar in word.unicodeScalars {
      if scalar == "'" { quoted += #"'\''"#.unicodeScalars } else { quoted.append(scalar) }
    }
    return String(quoted) + "'"
  }

  /// A line that sets a variable for a shell and the programs that it starts; nil for a name that no shell takes.
  package static func export(_ name: String, _ value: String) -> String? {
    let bytes = Array(name.utf8)
    let isName = bytes.enumerated().allSatisfy { index, byte in
      switch byte {
      case 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
      case 0x30...0x39: index > 0
      default: false
      }
    }
    return isName && !bytes.isEmpty ? "export \(name)=\(quoted(value))" : nil
  }
}
