import Foundation

/// The backend's data, in memory.
struct Records: Sendable {
  struct User: Sendable {
    var id: String
    var email: String
    var token: String
  }

  struct Clinic: Sendable, Encodable {
    var id: String
    var name: String
    /// Nil in the second release.
    var postcode: String?
  }

  struct Slot: Sendable {
    var id: String
    var clinic: Clinic
    var start: Date
  }

  struct Appointment: Sendable {
    var id: String
    var user: User
    var slot: Slot
    var symptom: String
    var bookedAt: Date
  }

  let clinics: [Clinic]
  private var usersByEmail: [String: User] = [:]
  private var usersByToken: [String: User] = [:]
  private var usersBySession: [String: User] = [:]
  private var slots: [String: Slot] = [:]
  private var slotIDs: [String: String] = [:]
  private var appointments: [String: Appointment] = [:]

  /// - Parameter release: determines the clinics; nil for those of the first release with IDs that change with every run.
  init(release: Release?) {
    clinics = (release ?? .first).clinics.enumerated().map { index, clinic in
      let id = release == nil ? Self.newID() : "00000000-0000-4000-8000-00000000000\(index + 1)"
      return Clinic(id: id, name: clinic.name, postcode: clinic.postcode)
    }
  }

  /// Nil if the address is registered already.
  mutating func register(email: String) -> User? {
    guard usersByEmail[email] == nil else { return nil }
    let user = User(id: Self.newID(), email: email, token: Self.newSecret())
    usersByEmail[email] = user
    usersByToken[user.token] = user
    return user
  }

  func user(token: String) -> User? { usersByToken[token] }

  func user(session: String) -> User? { usersBySession[session] }

  mutating func openSession(for user: User) -> String {
    let session = Self.newSecret()
    usersBySession[session] = user
    return session
  }

  /// A slot keeps its ID while the backend runs.
  mutating func slot(of clinic: Clinic, at start: Date) -> Slot {
    let place = "\(clinic.id) \(start.timeIntervalSince1970)"
    let slot = Slot(id: slotIDs[place] ?? Self.newID(), clinic: clinic, start: start)
    slotIDs[place] = slot.id
    slots[slot.id] = slot
    return slot
  }

  func slot(id: String) -> Slot? { slots[id] }

  mutating func book(_ slot: Slot, for user: User, symptom: String, at now: Date) -> Appointment {
    let appointment = Appointment(id: Self.newID(), user: user, slot: slot, symptom: symptom, bookedAt: now)
    appointments[appointment.id] = appointment
    return appointment
  }

  func appointment(id: String) -> Appointment? { appointments[id] }

  private static func newID() -> String { UUID().uuidString.lowercased() }

  private static func newSecret() -> String {
    (newID() + newID()).replacing("-", with: "")
  }
}

/// The free slots of a clinic: the next half-hours, so that the response changes every hour.
enum Schedule {
  private static let slotLength: TimeInterval = 30 * 60
  private static let day: TimeInterval = 24 * 60 * 60

  /// The starts of the free slots.
  ///
  /// The client may be in another time zone. So a day within a day of now counts as today, and today starts at the next
  /// full hour and may extend beyond midnight.
  ///
  /// - Parameters:
  ///   - dayStart: midnight in UTC at the start of the requested day; nil for the next slots.
  ///   - now: the current time.
  /// - Returns: six starts in order; none for a past day.
  static func slots(onDayFrom dayStart: Date?, now: Date) -> [Date] {
    if let dayStart, now >= dayStart + 2 * day { return [] }
    var first = Date(timeIntervalSince1970: (now.timeIntervalSince1970 / 3_600).rounded(.up) * 3_600)
    if let dayStart, dayStart > now + day { first = dayStart + 9 * 3_600 }
    return (0..<6).map { first + Double($0) * slotLength }
  }
}

/// The releases of the backend. The second one is incompatible, which `diorama cassette check --live` detects.
///
/// In the second release a clinic has no postcode (a removed field), a slot starts at seconds since 1970 (a changed type),
/// a page after the last is not found (a changed status), and Hackney is called Dalston (a changed value).
enum Release: Int {
  case first = 1
  case second = 2

  var clinics: [(name: String, postcode: String?)] {
    let clinics = [
      ("Chelsea", "SW3"), ("Shoreditch", "E1"), ("Hackney", "E8"), ("Brixton", "SW2"), ("Camden", "NW1"),
    ]
    guard self == .second else { return clinics }
    return clinics.map { name, _ in (name == "Hackney" ? "Dalston" : name, nil) }
  }

  func moment(_ date: Date) -> Moment {
    self == .second ? .seconds(Int(date.timeIntervalSince1970)) : .date(date)
  }
}

/// A time in a response, in the format of a release.
enum Moment: Encodable {
  case date(Date)
  case seconds(Int)

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .date(let date): try container.encode(date)
    case .seconds(let seconds): try container.encode(seconds)
    }
  }
}

/// The backend's clock, which runs from a given date.
struct BackendClock: Sendable {
  private let start: Date
  private let origin = ContinuousClock.now

  init(_ start: Date) {
    self.start = start
  }

  var now: Date {
    start + (ContinuousClock.now - origin) / .seconds(1)
  }
}
