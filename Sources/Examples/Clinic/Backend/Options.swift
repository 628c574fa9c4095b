import Foundation

/// What the command line says.
struct Options {
  static let usage = "usage: clinic-backend [--port N] [--now INSTANT, such as 2018-10-08T09:00:00Z] [--release 1|2]"

  /// Nil takes a free one.
  var port: UInt16?
  /// The date that the backend believes in when it starts.
  var now = Date()
  /// Nil is the first, whose clinics are others with every run.
  var release: Release?

  /// An argument that is wrong.
  struct Problem: Error {
    var description: String
  }

  init(_ arguments: [String]) throws(Problem) {
    var rest = arguments[...]
    while let option = rest.popFirst() {
      guard ["--port", "--now", "--release"].contains(option) else {
        throw Problem(description: "'\(option)' is no option")
      }
      guard let value = rest.popFirst() else { throw Problem(description: "\(option) needs a value") }
      switch option {
      case "--port":
        guard let number = UInt16(value) else { throw Problem(description: "--port: '\(value)' is no port") }
        port = number == 0 ? nil : number
      case "--release":
        guard let number = Int(value), let release = Release(rawValue: number) else {
          throw Problem(description: "--release: '\(value)' is no release; there are 1 and 2")
        }
        self.release = release
      default:
        guard let date = try? Date(value, strategy: .iso8601) else {
          throw Problem(description: "--now: '\(value)' is no instant")
        }
        now = date
      }
    }
  }
}
