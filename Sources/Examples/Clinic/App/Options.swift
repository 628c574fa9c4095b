import Foundation

/// What the command line says.
struct Options {
  static let usage = "usage: clinic book|visit [--backend URL]"

  /// What the patient is here for.
  enum Command: String {
    /// To book an appointment.
    case book
    /// To stay.
    case visit
  }

  let command: Command
  /// Where the clinic's backend is.
  var backend = URL(string: "https://dev.clinic.example") ?? URL(filePath: "/")

  /// An argument that is wrong.
  struct Problem: Error {
    var description: String
  }

  init(_ arguments: [String]) throws(Problem) {
    var rest = arguments[...]
    var command: String?
    while let argument = rest.popFirst() {
      if argument == "--backend" {
        guard let value = rest.popFirst(), let url = URL(string: value), let scheme = url.scheme,
          ["http", "https"].contains(scheme), url.host() != nil
        else { throw Problem(description: "--backend needs a URL such as https://dev.clinic.example") }
        backend = url
      } else if argument.hasPrefix("-"), !argument.hasPrefix("--"), rest.first?.hasPrefix("-") == false {
        // `-key value` pairs are user defaults, as for any app on Apple's platforms.
        rest.removeFirst()
      } else if command == nil, !argument.hasPrefix("-") {
        command = argument
      } else {
        throw Problem(description: "'\(argument)' is not expected here")
      }
    }
    guard let command else { throw Problem(description: "a command is missing") }
    guard let known = Command(rawValue: command) else { throw Problem(description: "'\(command)' is no command") }
    self.command = known
  }
}
