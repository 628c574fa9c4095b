import Foundation

// The C library's `environ` is a variable; nothing in this process ever changes it.
#if canImport(Darwin)
  @preconcurrency import Darwin
#else
  @preconcurrency import Glibc
#endif

/// Arguments and variables as the bytes that they are: a file name, or a variable's value, need not be UTF-8, and the
/// command is to get what its caller wrote.
enum RawWords {
  /// The last arguments of this process.
  static func lastArguments(_ count: Int) -> [[UInt8]] {
    let all = (0..<Int(CommandLine.argc)).compactMap { CommandLine.unsafeArgv[$0].map(bytes) }
    return all.suffix(count)
  }

  /// The variables of this process, each as `NAME=VALUE`, with these in the place of their namesakes.
  static func variables(overridden by: [String: String]) -> [[UInt8]] {
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
