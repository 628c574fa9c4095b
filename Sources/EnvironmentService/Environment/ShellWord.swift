/// Quotes words for a POSIX shell.
package enum ShellWord {
  /// The word, quoted if it needs it, so that a shell reads it back unchanged.
  package static func quoted(_ word: String) -> String {
    let plain = word.unicodeScalars.allSatisfy {
      ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
        || "_-./:=@%+,".unicodeScalars.contains($0)
    }
    if plain, !word.isEmpty { return word }
    // Unicode scalars, not characters: a quote combined with an accent is a different character, but still ends the
    // string.
    var quoted = "'".unicodeScalars
    for scalar in word.unicodeScalars {
      if scalar == "'" { quoted += #"'\''"#.unicodeScalars } else { quoted.append(scalar) }
    }
    return String(quoted) + "'"
  }

  /// A command that exports a variable; nil if the name is not a valid variable name.
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
