import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The API of the clinic's backend.
struct ClinicAPI {
  struct User: Codable {
    var id: String
    var email: String
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

  struct Prescription: Codable {
    var medicine: String
    /// In milligrams.
    var dose: Int
    /// The name of the GP who wrote it.
    var doctor: String
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

  /// Registers the owner of a Facebook account.
  func register(facebookToken: String) async throws -> User {
    try await transport.json("POST", base.appending(path: "v1/users"), body: ["facebookToken": facebookToken])
  }

  /// Opens a session. The system stores its cookie.
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

  /// Books a slot and follows the redirect to the appointment.
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

  /// What GPs have prescribed to the patient.
  func prescriptions(token: String) async throws -> [Prescription] {
    try await transport.json("GET", base.appending(path: "v1/prescriptions"), token: token)
  }

  /// Downloads a document from an absolute URL.
  func document(at url: URL) async throws -> Data {
    try await transport.send("GET", url)
  }
}

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An error between the app and its backend, on one line.
struct ClinicError: Error, CustomStringConvertible {
  var description: String
  /// Whether another attempt may succeed: the connection failed, or the backend did.
  var isTemporary = false
}

/// Requests and responses, usually JSON.
struct Transport {
  private let session: URLSession

  init() {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 30
    configuration.urlCache = nil
    session = URLSession(configuration: configuration)
  }

  /// Sends a request and decodes the response.
  func json<Answer: Decodable>(
    _ method: String, _ url: URL, body: (some Encodable)? = Never?.none, token: String? = nil
  ) async throws -> Answer {
    let data = try await send(method, url, body: body, token: token)
    do {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      return try decoder.decode(Answer.self, from: data)
    } catch {
      throw ClinicError(description: "\(method) \(url): cannot decode the response")
    }
  }

  /// Sends a request and returns the response's body. Follows redirects.
  func send(
    _ method: String, _ url: URL, body: (some Encodable)? = Never?.none, token: String? = nil
  ) async throws -> Data {
    var request = URLRequest(url: url)
    request.httpMethod = method
    if let body {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      encoder.dateEncodingStrategy = .iso8601
      request.httpBody = try encoder.encode(body)
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    }
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    let (data, response) = try await answer(to: request, "\(method) \(url)")
    guard let status = (response as? HTTPURLResponse)?.statusCode, 200..<300 ~= status else {
      throw refusal("\(method) \(url)", response, data)
    }
    return data
  }

  private func answer(to request: URLRequest, _ call: String) async throws -> (Data, URLResponse) {
    do {
      return try await session.data(for: request)
    } catch {
      let reason = (error as NSError).localizedDescription.split(whereSeparator: \.isNewline).first ?? "no response"
      throw ClinicError(description: "\(call): \(reason)", isTemporary: true)
    }
  }

  /// The backend's explanation: a problem document's detail, otherwise the first line.
  private func refusal(_ call: String, _ response: URLResponse, _ data: Data) -> ClinicError {
    struct Problem: Decodable {
      var detail: String
    }
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    let problem = try? JSONDecoder().decode(Problem.self, from: data)
    let firstLine = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
    return ClinicError(
      description: "\(call): status \(status): \(problem?.detail ?? firstLine ?? "no reason given")",
      isTemporary: status >= 500)
  }
}
