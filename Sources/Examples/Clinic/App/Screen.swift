import Foundation

/// What the patient sees and types: a line at a time.
struct Screen: Sendable {
  /// Shows a line at once, also where nobody but a program looks.
  func show(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  /// Asks, and waits for a line; nil when the patient has left.
  func ask(_ question: String) -> String? {
    show(question)
    return readLine()
  }
}
