package import Basics
import CPostgreSQL
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A connection to a PostgreSQL server through libpq, for use by one thread at a time.
///
/// It uses no prepared statements, session settings or session locks, so a pooler such as pgbouncer may run each
/// transaction on another session.
///
/// ```swift
/// let connection = try PostgreSQLConnection(PostgreSQLAddress("postgresql://db.example/diorama"))
/// let rows = try connection.query("SELECT name FROM pools WHERE created_at > $1", .integer(time))
/// ```
package final class PostgreSQLConnection: SQLConnection {
  package let address: PostgreSQLAddress
  package var dialect: SQLDialect { .postgreSQL }
  private let connection: OpaquePointer
  /// How long a statement may take, also on a server that hangs. Locks and statements have shorter limits of their own.
  private static let patience = Duration.seconds(40)

  /// Connects. Takes at most five seconds, unless the address sets `connect_timeout`.
  ///
  /// - Throws: ``CodedError`` of kind `noUpstream` if the server cannot be reached or refuses the connection.
  package init(_ address: PostgreSQLAddress) throws(CodedError) {
    self.address = address
    // "the parameters are processed from start to end … if any key word is repeated, the last value is used": those of
    // the address take precedence.
    let parameters = [
      ("connect_timeout", "5"), ("application_name", "diorama"), ("keepalives_idle", "10"),
      ("keepalives_interval", "5"), ("keepalives_count", "2"), ("tcp_user_timeout", "15000"),
      ("dbname", address.text),
    ]
    let keywords = parameters.map { strdup($0.0) }
    let values = parameters.map { strdup($0.1) }
    defer { for text in keywords + values { free(text) } }
    var keywordList = keywords.map { UnsafePointer<CChar>($0) } + [nil]
    var valueList = values.map { UnsafePointer<CChar>($0) } + [nil]
    guard let connection = PQconnectdbParams(&keywordList, &valueList, 1) else {
      throw CodedError(.inputOutput, "out of memory for a database connection")
    }
    guard PQstatus(connection) == CONNECTION_OK else {
      let reason = Self.line(PQerrorMessage(connection))
      PQfinish(connection)
      throw address.unreachable(reason)
    }
    // The default prints notices to standard error.
    PQsetNoticeProcessor(connection, { _, _ in }, nil)
    self.connection = connection
  }

  deinit {
    PQfinish(connection)
  }

  /// Whether the connection is lost.
  package var isLost: Bool { PQstatus(connection) != CONNECTION_OK }

  package func execute(_ statements: String) throws(CodedError) {
    guard PQsendQuery(connection, statements) == 1 else {
      throw address.unreachable(Self.line(PQerrorMessage(connection)))
    }
    let result = try result()
    defer { PQclear(result) }
    try check(result)
  }

  /// Waits for the last result of a statement that was sent, or the first that is an error.
  ///
  /// PQexec(3) would wait for a server that hangs for as long as that does.
  private func result() throws(CodedError) -> OpaquePointer? {
    let deadline = ContinuousClock.now + Self.patience
    var last: OpaquePointer?
    while true {
      // 1: not everything is sent yet. If the connection is lost, PQgetResult tells why.
      var flushed = PQflush(connection)
      while flushed == 1 || flushed == 0 && PQisBusy(connection) == 1, PQsocket(connection) >= 0 {
        let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
        var descriptor = pollfd(
          fd: PQsocket(connection), events: Int16(flushed == 0 ? POLLIN : POLLIN | POLLOUT), revents: 0)
        guard left > 0, poll(&descriptor, 1, Int32(left.rounded(.up))) >= 0 || errno == EINTR else {
          PQclear(last)
          // What the server sends later must not be treated as the answer to another statement.
          shutdown(PQsocket(connection), Int32(SHUT_RDWR))
          _ = PQconsumeInput(connection)
          throw address.unreachable("it does not answer")
        }
        if PQconsumeInput(connection) == 0 { break }
        flushed = PQflush(connection)
      }
      guard let next = PQgetResult(connection) else { return last }
      // Results after an error are of no interest, but have to be read.
      if let known = last, PQresultStatus(known) == PGRES_FATAL_ERROR {
        PQclear(next)
      } else {
        PQclear(last)
        last = next
      }
    }
  }

  package func query(_ statement: String, _ values: [SQLValue]) throws(CodedError) -> [SQLRow] {
    // Texts end with a zero byte; binary values have a length.
    let bytes: [[UInt8]?] = values.map { value in
      switch value {
      case .null: nil
      case .integer(let number): Array(String(number).utf8) + [0]
      case .text(let text): Array(text.utf8) + [0]
      case .blob(let data): Array(data) + [0]
      }
    }
    let buffers = bytes.map { bytes -> UnsafeMutablePointer<CChar>? in
      guard let bytes else { return nil }
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
      buffer.initialize(from: bytes.map(CChar.init(bitPattern:)), count: bytes.count)
      return buffer
    }
    defer { for buffer in buffers { buffer?.deallocate() } }
    let pointers = buffers.map { UnsafePointer<CChar>($0) }
    let lengths = bytes.map { Int32(($0?.count ?? 1) - 1) }
    let formats = values.map { value -> Int32 in if case .blob = value { 1 } else { 0 } }
    // The server infers the types of the parameters.
    guard
      PQsendQueryParams(connection, statement, Int32(values.count), nil, pointers, lengths, formats, 0) == 1
    else { throw address.unreachable(Self.line(PQerrorMessage(connection))) }
    let result = try result()
    defer { PQclear(result) }
    try check(result)
    let columns = PQnfields(result)
    return (0..<PQntuples(result)).map { row in
      SQLRow((0..<columns).map { column in Self.value(result, row, column) })
    }
  }

  private static func value(_ result: OpaquePointer?, _ row: Int32, _ column: Int32) -> SQLValue {
    guard PQgetisnull(result, row, column) == 0, let text = PQgetvalue(result, row, column) else { return .null }
    // The numbers of built-in types are fixed (pg_type.dat): 20, 21 and 23 are integers, 17 is bytea.
    switch PQftype(result, column) {
    case 20, 21, 23: return Int(String(cString: text)).map(SQLValue.integer) ?? .null
    case 17:
      var count = 0
      guard
        let bytes = PQunescapeBytea(
          UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), &count)
      else { return .null }
      defer { PQfreemem(bytes) }
      return .blob(Data(bytes: bytes, count: count))
    default: return .text(String(cString: text))
    }
  }

  private func check(_ result: OpaquePointer?) throws(CodedError) {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: return
    default: break
    }
    let reason = Self.line(PQresultErrorMessage(result) ?? PQerrorMessage(connection))
    let state = PQresultErrorField(result, diorama_sqlstate).map { String(cString: $0) } ?? ""
    // libpq's own errors have no SQLSTATE, and mean that the connection failed.
    if isLost || state.isEmpty || Self.isTemporary(state) { throw address.unreachable(reason) }
    if state == "42501" {
      throw CodedError(
        .cannotWrite, "the database \(address.name) refuses access (\(reason)); grant the user of --store the right")
    }
    if state.hasPrefix("53") {
      throw CodedError(
        .noUpstream, "the database \(address.name) has run out of resources (\(reason)); free some, then try again")
    }
    throw CodedError(.inputOutput, "the database \(address.name) failed: \(reason) (SQLSTATE \(state))")
  }

  /// Whether a statement that failed with this SQLSTATE may succeed when it is repeated: lost connections (08), conflicts
  /// (40), too many connections (53300), shutdown and start (57P), and time limits (55P03, 57014, 25P03).
  private static func isTemporary(_ state: String) -> Bool {
    state.hasPrefix("08") || state.hasPrefix("40") || state.hasPrefix("57P")
      || ["53300", "55P03", "57014", "25P03"].contains(state)
  }

  private static func line(_ text: UnsafePointer<CChar>?) -> String {
    text.map { String(cString: $0) }?.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
      .joined(separator: "; ") ?? "unknown error"
  }

  /// Waits for notifications of the channels to which the connection listens.
  ///
  /// - Parameters:
  ///   - milliseconds: how long to wait for the first one.
  ///   - wake: a descriptor that ends the wait when it becomes readable.
  /// - Returns: the payloads, without duplicates; empty after the wait.
  /// - Throws: ``CodedError`` if the connection is lost.
  package func notifications(waiting milliseconds: Int32, wake: Int32 = -1) throws(CodedError) -> Set<String> {
    var descriptors = [
      pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0),
      pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
    ]
    var payloads = try received()
    if payloads.isEmpty, poll(&descriptors, 2, milliseconds) > 0 { payloads = try received() }
    return payloads
  }

  private func received() throws(CodedError) -> Set<String> {
    guard PQconsumeInput(connection) == 1, !isLost else {
      throw address.unreachable(Self.line(PQerrorMessage(connection)))
    }
    var payloads: Set<String> = []
    while let notification = PQnotifies(connection) {
      payloads.insert(String(cString: notification.pointee.extra))
      PQfreemem(notification)
    }
    return payloads
  }
}

/// Where a PostgreSQL database is: a connection URI or string of libpq.
package struct PostgreSQLAddress: Sendable, Equatable {
  /// What libpq gets.
  package let text: String
  /// The address for messages and logs: host, port and database, without user and password.
  package let name: String

  /// - Parameters:
  ///   - text: `postgresql://[user@]host[:port]/database[?sslmode=…]`, or `host=… dbname=…`.
  ///   - mayHavePassword: whether a password is allowed, since no other process can read the text.
  /// - Throws: ``CodedError`` of kind `usage` if libpq cannot parse it, or for a password.
  package init(_ text: String, mayHavePassword: Bool = false) throws(CodedError) {
    var message: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(text, &message) else {
      let reason = message.map { String(cString: $0).split(whereSeparator: \.isNewline).joined(separator: " ") }
      PQfreemem(message)
      // libpq quotes what it could not parse, which may hold a password.
      let safe = reason.flatMap { $0.contains("\"") ? nil : $0 } ?? "libpq cannot parse it"
      throw CodedError(
        .usage, "the address of the database is invalid: \(safe); give it as postgresql://user@host:5432/database")
    }
    defer { PQconninfoFree(options) }
    var values: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    if values["password"] != nil || values["sslpassword"] != nil, !mayHavePassword {
      throw CodedError(
        .usage,
        "the address of the database holds a password, which other users could see in the process list; put it into "
          + "the file that PGPASSFILE names (default ~/.pgpass), or give the address as env:VARIABLE")
    }
    self.text = text
    let host = values["host"] ?? values["hostaddr"] ?? "localhost"
    name = "\(host)\(values["port"].map { ":\($0)" } ?? "")/\(values["dbname"] ?? values["user"] ?? "")"
  }

  func unreachable(_ reason: String) -> CodedError {
    let isPassword = ["no password supplied", "password authentication failed"].contains(where: reason.contains)
    let advice =
      isPassword
      ? "put host:port:database:user:password, each as in the address, into ~/.pgpass (mode 0600), or give the address as "
        + "env:VARIABLE"
      : "check that it runs and that this host may connect"
    return CodedError(.noUpstream, "the database \(name) cannot be used: \(reason); \(advice)")
  }
}
