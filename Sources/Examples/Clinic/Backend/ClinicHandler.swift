import Basics
import Foundation
import HTTPMessages
import HTTPServer

/// The backend's routes.
final class ClinicHandler: RequestHandler {
  private let clock: BackendClock
  private let release: Release
  private let records: Guarded<Records>

  init(clock: BackendClock, release: Release? = nil) {
    self.clock = clock
    self.release = release ?? .first
    records = Guarded(Records(release: release))
  }

  func respond(to request: Request) async throws -> Response {
    do {
      return try route(try await Call(request))
    } catch let problem as Replies.Problem {
      return try problem.response()
    }
  }

  private func route(_ call: Call) throws -> Response {
    guard call.path.first == "v1" else { throw Replies.Problem.notFound("unknown path") }
    switch (call.method, call.path.count > 1 ? call.path[1] : "", Array(call.path.dropFirst(2))) {
    case ("POST", "users", []): return try register(call)
    case ("POST", "sessions", []): return try openSession(call)
    case ("GET", "clinics", []): return try listClinics(call)
    case ("GET", "slots", []): return try listSlots(call)
    case ("GET", "prescriptions", []): return try listPrescriptions(call)
    case ("POST", "appointments", []): return try book(call)
    case ("GET", "appointments", let rest) where rest.count == 1: return try show(call, rest[0])
    case ("GET", "appointments", let rest) where rest.count == 2 && rest[1] == "confirmation.pdf":
      return try confirm(call, rest[0])
    case (_, let name, []) where ["users", "sessions", "appointments"].contains(name):
      throw Replies.Problem(
        status: 405, title: "Method not allowed", detail: "\(call.method) is not allowed for /v1/\(name)", allow: "POST"
      )
    case (_, let name, []) where ["clinics", "slots", "prescriptions"].contains(name):
      throw Replies.Problem(
        status: 405, title: "Method not allowed", detail: "\(call.method) is not allowed for /v1/\(name)", allow: "GET")
    default: throw Replies.Problem.notFound("unknown path")
    }
  }

  // MARK: Users

  private func register(_ call: Call) throws -> Response {
    struct Wish: Decodable {
      var email: String
    }
    struct Answer: Encodable {
      var id, email, token: String
    }
    let email = try call.decode(Wish.self).email
    guard email.contains("@") else { throw Replies.Problem.badRequest("'\(email)' is not an e-mail address") }
    guard let user = records.withLock({ $0.register(email: email) }) else {
      throw Replies.Problem.conflict("\(email) is already registered")
    }
    return try Replies.json(201, Answer(id: user.id, email: user.email, token: user.token))
  }

  private func openSession(_ call: Call) throws -> Response {
    struct Answer: Encodable {
      var user: String
      var expiresAt: Date
    }
    let user = try user(call)
    let session = records.withLock { $0.openSession(for: user) }
    var response = try Replies.json(201, Answer(user: user.id, expiresAt: clock.now + 3_600))
    response.headers.append("Set-Cookie", "session=\(session); Path=/; HttpOnly")
    response.headers.append("Set-Cookie", "region=london; Path=/")
    return response
  }

  private func user(_ call: Call) throws -> Records.User {
    guard let token = call.token else { throw Replies.Problem.unauthorized("send Authorization: Bearer TOKEN") }
    guard let user = records.withLock({ $0.user(token: token) }) else {
      throw Replies.Problem.unauthorized("unknown token")
    }
    return user
  }

  // MARK: Clinics and slots

  private func listClinics(_ call: Call) throws -> Response {
    struct Answer: Encodable {
      var clinics: [Records.Clinic]
      var next: String?
    }
    let all = records.withLock { $0.clinics }
    let pageSize = 3
    guard let page = Int(call.query["page"] ?? "1"), 1...1_000 ~= page else {
      throw Replies.Problem.badRequest("page must be a number from 1")
    }
    let rest = all.dropFirst((page - 1) * pageSize)
    if rest.isEmpty, release == .second { throw Replies.Problem.notFound("unknown page \(page)") }
    let next = rest.count > pageSize ? "\(call.origin)/v1/clinics?page=\(page + 1)" : nil
    var response = try Replies.json(200, Answer(clinics: Array(rest.prefix(pageSize)), next: next))
    if let next { response.headers.append("Link", "<\(next)>; rel=\"next\"") }
    return response
  }

  private func listSlots(_ call: Call) throws -> Response {
    struct Answer: Encodable {
      struct Slot: Encodable {
        var id: String
        var startsAt: Moment
      }
      var slots: [Slot]
    }
    let day = call.query["day"].map { try? Date("\($0)T00:00:00Z", strategy: .iso8601) }
    if case .some(.none) = day { throw Replies.Problem.badRequest("day must be a date such as 2018-10-08") }
    let now = clock.now
    let slots = try records.withLock { records in
      guard let clinic = records.clinics.first(where: { $0.id == call.query["clinic"] }) else {
        throw Replies.Problem.notFound("unknown clinic")
      }
      return Schedule.slots(onDayFrom: day ?? nil, now: now).map { records.slot(of: clinic, at: $0) }
    }
    return try Replies.json(200, Answer(slots: slots.map { .init(id: $0.id, startsAt: release.moment($0.start)) }))
  }

  // MARK: Prescriptions

  /// Always empty: GPs write prescriptions in a separate program.
  private func listPrescriptions(_ call: Call) throws -> Response {
    _ = try user(call)
    return try Replies.json(200, [String]())
  }

  // MARK: Appointments

  private func book(_ call: Call) throws -> Response {
    struct Wish: Decodable {
      var slot, symptom: String
    }
    let user = try user(call)
    let wish = try call.decode(Wish.self)
    let now = clock.now
    let appointment = try records.withLock { records in
      guard let slot = records.slot(id: wish.slot) else { throw Replies.Problem.notFound("unknown slot") }
      guard slot.start > now else { throw Replies.Problem.conflict("the slot is in the past") }
      return records.book(slot, for: user, symptom: wish.symptom, at: now)
    }
    return Replies.seeOther("\(call.origin)/v1/appointments/\(appointment.id)")
  }

  private func show(_ call: Call, _ id: String) throws -> Response {
    struct Answer: Encodable {
      var id, clinic, symptom, confirmation: String
      var startsAt: Date
    }
    let user = try user(call)
    let appointment = try appointment(id, of: user)
    return try Replies.json(
      200,
      Answer(
        id: appointment.id, clinic: appointment.slot.clinic.name, symptom: appointment.symptom,
        confirmation: "\(call.origin)/v1/appointments/\(appointment.id)/confirmation.pdf",
        startsAt: appointment.slot.start))
  }

  /// Requires the cookie instead of the token, for browsers.
  private func confirm(_ call: Call, _ id: String) throws -> Response {
    guard let session = call.cookie("session"), let user = records.withLock({ $0.user(session: session) }) else {
      throw Replies.Problem.unauthorized("open a session and send its cookie")
    }
    let document = ConfirmationDocument(try appointment(id, of: user)).pdf
    let headers: Headers = [
      "Content-Type": "application/pdf", "Content-Disposition": "attachment; filename=\"confirmation.pdf\"",
    ]
    return Response(status: 200, headers: headers, body: .bytes(document))
  }

  private func appointment(_ id: String, of user: Records.User) throws -> Records.Appointment {
    guard let appointment = records.withLock({ $0.appointment(id: id) }), appointment.user.id == user.id else {
      throw Replies.Problem.notFound("unknown appointment")
    }
    return appointment
  }
}
