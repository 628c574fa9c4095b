/// An error with an exit status for programs and one line for people.
///
/// ```swift
/// throw CodedError(.noCassette, "no cassette at \(path); record it with --mode record")
/// ```
package struct CodedError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The category of an error; its raw value is an exit status of sysexits.h.
  package enum Kind: Int32, Sendable, CaseIterable {
    /// The caller asked for something invalid (EX_USAGE).
    case usage = 64
    /// A cassette, contract or other document is invalid (EX_DATAERR).
    case broken = 65
    /// There is no such cassette or file (EX_NOINPUT).
    case noCassette = 66
    /// An upstream cannot be reached or is not declared (EX_UNAVAILABLE).
    case noUpstream = 69
    /// A file cannot be created or written (EX_CANTCREAT).
    case cannotWrite = 73
    /// Reading or a system call failed (EX_IOERR).
    case inputOutput = 74
    /// The app did not respond, or not in time (EX_TEMPFAIL).
    case unanswered = 75

    /// The name in a problem document: `noCassette`.
    package var name: String { "\(self)" }

    /// - Parameter name: the name in a problem document.
    package init?(name: String) {
      guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
      self = kind
    }
  }

  /// The category. Its raw value is the exit status of a command that ends with the error.
  package let kind: Kind
  /// The place of the problem, such as a file or a request; empty if unknown.
  package let place: String
  /// The problem, and what to do next, in one line. Never contains a secret.
  package let problem: String

  /// - Parameters:
  ///   - kind: the category.
  ///   - problem: the problem, and what to do next; terminal control characters are escaped.
  ///   - place: the place of the problem, which precedes it in the message.
  package init(_ kind: Kind, _ problem: String, at place: String = "") {
    self.kind = kind
    self.place = place.escapedForTerminal
    self.problem = problem.escapedForTerminal
  }

  /// An error of kind `broken` at an offset in a text, whose line and column are counted.
  ///
  /// - Parameters:
  ///   - problem: the problem, such as `expected ':' after a member's name, found '}'`.
  ///   - offset: the position in bytes, from 0.
  ///   - bytes: the whole text.
  ///   - name: the name of the text, which precedes the line in the place.
  package init(_ problem: String, at offset: Int, of bytes: UnsafeRawBufferPointer, name: String = "") {
    let end = min(offset, bytes.count)
    var line = 1
    // In Unicode scalars.
    var column = 1
    // Not a loop over a slice, which takes seconds for a large file in a debug build with a sanitizer.
    if let bytes = bytes.bindMemory(to: UInt8.self).baseAddress {
      var index = 0
      while index < end {
        if bytes[index] == 0x0A {
          line += 1
          column = 1
        } else if bytes[index] & 0xC0 != 0x80 {
          column += 1
        }
        index += 1
      }
    }
    self.init(.broken, problem, at: "\(name.isEmpty ? "" : "\(name): ")line \(line), column \(column)")
  }

  /// Evaluates an expression, and gives its error a category, and a place in front of the message.
  ///
  /// ```swift
  /// json = try CodedError.translating(at: "not JSON", try JSON.parse(bytes))
  /// // not JSON: line 1, column 1: expected …
  /// ```
  ///
  /// - Parameters:
  ///   - kind: the category of the new error.
  ///   - place: the place; part of the new problem.
  ///   - value: the expression.
  /// - Returns: the value.
  /// - Throws: ``CodedError`` of the given kind, with the description of the error that `value` throws.
  @discardableResult
  package static func translating<Value>(
    to kind: Kind = .broken, at place: @autoclosure () -> String = "", _ value: @autoclosure () throws -> Value
  ) throws(CodedError) -> Value {
    do { return try value() } catch {
      let place = place()
      throw CodedError(kind, place.isEmpty ? "\(error)" : "\(place): \(error)")
    }
  }

  /// The place and the problem.
  package var message: String { place.isEmpty ? problem : "\(place): \(problem)" }

  package var description: String { message }
}
