import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The clinic's backend, call by call.
struct ClinicAPI {
  struct User: Decodable {
    var id: String
    var token: String
  }

  struct Clinic: Decodable {
    var id: String
    var name: String
  }

  struct ClinicPage: Decodable {
    var clinics: [Clinic]
    /// An absolute URL.
    var next: URL?
  }

  struct Slot: Decodable {
    var id: String
    var startsAt: Date
  }

  struct Appointment: Decodable {
    var id: String
    var clinic: String
    var symptom: String
    var startsAt: Date
    /// An absolute URL.
    var confirmation: URL
  }

  private let base: URL
  private let transport = Transport()

  init(_ base: URL) {
    self.base = base
  }

  func register(email: String, age: Int) async throws -> User {
    struct Wish: Encodable {
      var email: String
      var age: Int
    }
    return try await transport.json("POST", base.appending(path: "v1/users"), body: Wish(email: email, age: age))
  }

  /// Opens a session, whose cookie the system keeps for us.
  func openSession(token: String) async throws {
    _ = try await transport.send("POST", base.appending(path: "v1/sessions"), token: token)
  }

  func clinics() async throws -> [Clinic] {
    var clinics: [Clinic] = []
    var next: URL? = base.appending(path: "v1/clinics")
    while let url = next {
      let page: ClinicPage = try await transport.json("GET", url)
      clinics += page.clinics
      next = page.next
    }
    return clinics
  }

  /// The next slots, in order.
  func slots(of clinic: Clinic) async throws -> [Slot] {
    struct Answer: Decodable {
      var slots: [Slot]
    }
    let url = base.appending(path: "v1/slots").appending(queryItems: [URLQueryItem(name: "clinic", value: clinic.id)])
    let answer: Answer = try await transport.json("GET", url)
    return answer.slots
  }

  /// Books, and follows the redirect to the appointment.
  func book(
    _ slot: Slot, symptom: String, reference: UUID, requestedAt: Date, token: String
  ) async throws -> Appointment {
    struct Wish: Encodable {
      var slot: String
      var symptom: String
      var reference: UUID
      var requestedAt: Date
    }
    let wish = Wish(slot: slot.id, symptom: symptom, reference: reference, requestedAt: requestedAt)
    return try await transport.json("POST", base.appending(path: "v1/appointments"), body: wish, token: token)
  }

  /// Downloads a document from an absolute URL that the backend gave.
  func document(at url: URL) async throws -> Data {
    try await transport.send("GET", url)
  }
}
