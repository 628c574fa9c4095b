import Foundation

/// All that the backend knows, gone when it ends.
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

  /// - Parameter release: whose clinics there are; nil: those of the first with ids that are others with every run.
  init(release: Release?) {
    clinics = (release ?? .first).clinics.enumerated().map { index, clinic in
      let id = release == nil ? Self.newID() : "00000000-0000-4000-8000-00000000000\(index + 1)"
      return Clinic(id: id, name: clinic.name, postcode: clinic.postcode)
    }
  }

  /// Nil when the address is taken.
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

  /// The same slot keeps its id for as long as the backend runs.
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
