/// Comparing what must not be guessed byte by byte.
enum ConstantTime {
  /// Whether both are the same, in a time that tells no more than their lengths.
  static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
