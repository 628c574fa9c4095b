import Diorama
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A patient's app on the command line: `clinic book` registers, finds a slot, books it and gets the confirmation.
///
/// It is written as any app would be. All that it has of Diorama is that it takes time, random input, switches and
/// backends from `AppControls`.
@main
struct ClinicApp {
  static func main() async {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      let controls = try AppControls.launch()
      if !controls.toggles[.skipOnboarding] { print(onboarding) }
      let backend = controls.endpoint("clinic", default: options.backend)
      try await Booking(api: ClinicAPI(backend), controls: controls).run { print($0) }
    } catch let error as Options.Problem {
      fail("\(error.description)\n\(Options.usage)", status: 64)
    } catch {
      fail("\(error)", status: 1)
    }
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
  /// Goes straight to the booking.
  static let skipOnboarding = Toggle("skip-onboarding", default: false)
}
