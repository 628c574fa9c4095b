import Diorama
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A patient's app on the command line: `clinic book` registers, finds a slot, books it and gets the confirmation;
/// `clinic visit` stays signed in for a while, and asks for the PIN when that is over.
///
/// It is written as any app would be. All that it has of Diorama is that it takes time, random input, secrets, switches
/// and backends from `AppControls`.
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
      }
    } catch let error as Options.Problem {
      fail("\(error.description)\n\(Options.usage)", status: 64)
    } catch {
      fail("\(error)", status: 1)
    }
  }

  /// What a test may set here.
  private static let registry: ControlRegistry = [.toggle(.skipOnboarding), .toggle(.neverAskForPIN)]

  /// The keychain where there is one; elsewhere what a patient gives us is gone with the app.
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
