// The C library's `environ` is a variable; nothing of ours ever changes it.
#if canImport(Darwin)
  @preconcurrency import Darwin
#else
  @preconcurrency import Glibc
#endif

/// The variables of this process for a child of it, as the bytes that they are: a value need not be UTF-8.
package enum InheritedVariables {
  /// All of them, each as `NAME=VALUE`, with these in the place of their namesakes.
  package static func all(overridden by: [String: String]) -> [[UInt8]] {
    var variables: [[UInt8]] = []
    var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
    while let text = next?.pointee {
      let variable = bytes(text)
      let name = String(decoding: variable.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
      if by[name] == nil { variables.append(variable) }
      next = next?.advanced(by: 1)
    }
    return variables + by.sorted { $0.key < $1.key }.map { Array("\($0.key)=\($0.value)".utf8) }
  }

  private static func bytes(_ text: UnsafeMutablePointer<CChar>) -> [UInt8] {
    Array(UnsafeBufferPointer(start: text, count: strlen(text)).map(UInt8.init(bitPattern:)))
  }
}
