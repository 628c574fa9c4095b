import Diorama
import LaunchContract

/// The toggles of a contract, with what they say and tell.
struct TogglesFixture {
  let warnings = Collected<String>()
  let reports = Collected<Reading>()
  let toggles: Toggles

  struct Reading: Sendable, Equatable {
    var name: String
    var value: ContractValue

    init(_ name: String, _ value: ContractValue) {
      self.name = name
      self.value = value
    }
  }

  init(_ values: [String: ContractValue] = [:], known: [String]? = nil) {
    toggles = Toggles(
      values, known: known, report: { [reports] in reports.add(Reading($0, $1)) },
      warn: { [warnings] in warnings.add($0) })
  }
}

/// A choice that a toggle may be.
enum Theme: String, CaseIterable, Codable, Sendable {
  case light, dark
}

/// A value of an app's own.
struct Place: Codable, Sendable, Equatable {
  var latitude: Double
  var name: String

  static let london = Place(latitude: 51.5, name: "London, by the river")
}

extension Toggle<Bool> {
  static let skipOnboarding = Toggle("skip-onboarding", default: false, purpose: "Goes straight to the booking.")
  static let neverAskForPassword = Toggle("never-ask-for-password", default: false)
}

extension Toggle<Theme> {
  static let theme = Toggle("theme", default: .light)
}

extension Toggle<Place> {
  static let place = Toggle("place", default: .london)
}
