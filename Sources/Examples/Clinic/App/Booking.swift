import Diorama
import Foundation

/// The booking of a new patient.
struct Booking {
  let api: ClinicAPI
  let controls: AppControls
  let screen: Screen

  /// Books the first future slot and prints each step.
  func run() async throws {
    let user = try await Registration(api: api, controls: controls).register()
    try await api.openSession(token: user.token)
    screen.show("registered \(user.email)")

    guard let clinic = try await api.clinics().first else { throw ClinicError(description: "no clinics") }
    let slot = try await firstSlot(of: clinic)

    let appointment = try await api.book(
      slot, symptom: try controls.strings.string("symptom", length: 24),
      reference: try controls.strings.uuid("booking"),
      requestedAt: controls.clock.now, token: user.token)
    screen.show("booked \(moment(appointment.startsAt)) at \(appointment.clinic) for \(appointment.symptom)")
    screen.show("appointment \(appointment.id)")

    let document = try await api.document(at: appointment.confirmation)
    guard document.starts(with: Data("%PDF-".utf8)) else {
      throw ClinicError(description: "\(appointment.confirmation): the confirmation is not a PDF")
    }
    screen.show("confirmation of \(document.count) bytes")
  }

  /// The first slot in the future. The backend's list may be out of date.
  private func firstSlot(of clinic: ClinicAPI.Clinic) async throws -> ClinicAPI.Slot {
    let slots = try await api.slots(of: clinic)
    guard let last = slots.last else { throw ClinicError(description: "\(clinic.name) has no slots") }
    let now = controls.clock.now
    guard let slot = slots.first(where: { $0.startsAt > now }) else {
      throw ClinicError(
        description: "every slot is in the past: the last at \(clinic.name) is \(last.startsAt.formatted(.iso8601)), "
          + "and it is \(now.formatted(.iso8601))")
    }
    return slot
  }

  /// `2018-10-08T09:30:00Z, 10:30 here`: in UTC and in the patient's time zone.
  private func moment(_ date: Date) -> String {
    "\(date.formatted(.iso8601)), \(controls.clock.timeOfDay(date)) here,"
  }
}

extension DioramaClock {
  /// `10:30`, in the patient's time zone.
  func timeOfDay(_ date: Date) -> String {
    let parts = calendar.dateComponents([.hour, .minute], from: date)
    return [parts.hour, parts.minute].map { ($0 ?? 0) < 10 ? "0\($0 ?? 0)" : "\($0 ?? 0)" }.joined(separator: ":")
  }
}

/// The registration of a new patient.
struct Registration {
  let api: ClinicAPI
  let controls: AppControls

  /// Registers a random e-mail address.
  func register() async throws -> (email: String, token: String) {
    let email = try controls.strings.string("email", length: 12) + "@example.com"
    let user = try await api.register(email: email, age: try controls.strings.integer("age", in: 18...99))
    return (email, user.token)
  }
}
