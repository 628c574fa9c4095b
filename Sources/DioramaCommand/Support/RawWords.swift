import Foundation

/// Arguments as the bytes that they are: a file name need not be UTF-8, and the command is to get what its caller wrote.
enum RawWords {
  /// The last arguments of this process.
  static func lastArguments(_ count: Int) -> [[UInt8]] {
    let all = (0..<Int(CommandLine.argc)).compactMap { CommandLine.unsafeArgv[$0].map(bytes) }
    return all.suffix(count)
  }

  private static func bytes(_ text: UnsafeMutablePointer<CChar>) -> [UInt8] {
    Array(UnsafeBufferPointer(start: text, count: strlen(text)).map(UInt8.init(bitPattern:)))
  }
}
