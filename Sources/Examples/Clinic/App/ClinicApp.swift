import Diorama
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A patient's app on the command line. `clinic book` registers, books a slot and downloads the confirmation;
/// `clinic visit` stays signed in for a while, then asks for the PIN; `clinic prescriptions` registers and lists what a GP
/// has prescribed; `clinic register --with facebook` registers with a Facebook account.
///
/// It is an ordinary app, except that it gets time, random values, secrets, toggles and backends from `AppControls`.
@main
struct ClinicApp {
  static func main() async {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      let controls = try AppControls.launch(declaring: registry, credentials: deviceStore)
      let screen = Screen()
      if !controls.toggles[.skipOnboarding] { screen.show(onboarding) }
      let api = ClinicAPI(controls.endpoint("clinic", default: options.backend))
      switch options.command {
      case .book: try await Booking(api: api, controls: controls, screen: screen).run()
      case .visit: try await Visit(api: api, controls: controls, screen: screen).run()
      case .prescriptions: try await Prescriptions(api: api, controls: controls, screen: screen).run()
      case .register:
        guard options.isWithFacebook else {
          screen.show("registered \(try await Registration(api: api, controls: controls).register().email)")
          return
        }
        let facebook = FacebookAPI(controls.endpoint("facebook", default: FacebookAPI.live))
        try await FacebookRegistration(api: api, facebook: facebook, screen: screen).run()
      }
    } catch let error as Options.Problem {
      fail("\(error.description)\n\(Options.usage)", status: 64)
    } catch {
      fail("\(error)", status: 1)
    }
  }

  /// The toggles that a test can set.
  private static let registry: ControlRegistry = [.toggle(.skipOnboarding), .toggle(.neverAskForPIN)]

  /// The keychain if there is one; otherwise credentials are lost when the app ends.
  private static var deviceStore: any CredentialStore {
    #if canImport(Security)
      KeychainCredentialStore()
    #else
      InMemoryCredentialStore()
    #endif
  }

  private static let onboarding = """
    Welcome to Clinic.
    Tell us where it hurts, and a doctor near you has time today.
    (Next time we skip this.)
    """

  private static func fail(_ text: String, status: Int32) -> Never {
    FileHandle.standardError.write(Data("clinic: \(text)\n".utf8))
    exit(status)
  }
}

extension Toggle<Bool> {
  static let skipOnboarding = Toggle("skip-onboarding", default: false, purpose: "Goes straight to the booking.")
}

/// The command line.
struct Options {
  static let usage = "usage: clinic book|visit|prescriptions|register [--with facebook] [--backend URL]"

  /// The action of the patient.
  enum Command: String {
    /// Book an appointment.
    case book
    /// Stay signed in.
    case visit
    /// List the prescriptions of a new patient.
    case prescriptions
    /// Register a new patient.
    case register
  }

  let command: Command
  /// Whether to register with a Facebook account.
  var isWithFacebook = false
  /// The URL of the clinic's backend.
  var backend = URL(string: "https://dev.clinic.example") ?? URL(filePath: "/")

  /// An invalid argument.
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
        else { throw Problem(description: "--backend requires a URL such as https://dev.clinic.example") }
        backend = url
      } else if argument == "--with", command == Command.register.rawValue {
        guard rest.popFirst() == "facebook" else { throw Problem(description: "--with requires facebook") }
        isWithFacebook = true
      } else if argument.hasPrefix("-"), !argument.hasPrefix("--"), rest.first?.hasPrefix("-") == false {
        // `-key value` pairs are user defaults, as for any app on Apple platforms.
        rest.removeFirst()
      } else if command == nil, !argument.hasPrefix("-") {
        command = argument
      } else {
        throw Problem(description: "unexpected argument '\(argument)'")
      }
    }
    guard let command else { throw Problem(description: "a command is missing") }
    guard let known = Command(rawValue: command) else { throw Problem(description: "unknown command '\(command)'") }
    self.command = known
  }
}

/// The patient's terminal.
struct Screen: Sendable {
  /// Prints a line without buffering, also into a pipe.
  func show(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }

  /// Asks a question and reads a line; nil at the end of the input.
  func ask(_ question: String) -> String? {
    show(question)
    return readLine()
  }
}
