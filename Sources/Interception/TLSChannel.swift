import Basics
// For the flags of recv(2), which a release build does not find otherwise.
import CEpoll
import CGnuTLS
import Glibc
import HTTPMessages
import HTTPServer

/// The server's side of a TLS connection (versions 1.2 and 1.3), used from one thread at a time.
///
/// It owns the descriptor. After ``handshake()`` has returned `.done`, it is a ``DuplexChannel``.
final class TLSChannel: HalfClosableChannel, @unchecked Sendable {
  /// The state of a handshake.
  enum Progress {
    case done
    /// Wait for the descriptor.
    case waiting(forWriting: Bool)
    case failed(Failure)
  }

  /// Why a handshake failed.
  enum Failure {
    /// The client refused our certificate, with this alert.
    case certificateRefused(String)
    /// The client closed the connection after our certificate: it refused it, or does not need the connection any more.
    case closedAfterCertificate
    case other(String)
  }

  /// What all sessions of an interceptor share.
  final class Settings: @unchecked Sendable {
    fileprivate let priorities: gnutls_priority_t
    fileprivate var ticketKey = gnutls_datum_t()

    /// - Throws: `CodedError` if GnuTLS fails.
    init() throws(CodedError) {
      var priorities: gnutls_priority_t?
      var code = gnutls_priority_init(&priorities, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2", nil)
      // A key of this process: sessions are resumed within it only.
      if code == 0 { code = gnutls_session_ticket_key_generate(&ticketKey) }
      guard code == 0, let priorities else {
        if let priorities { gnutls_priority_deinit(priorities) }
        throw CodedError(
          .inputOutput, "GnuTLS cannot be set up: \(String(cString: gnutls_strerror(code))); check its installation",
          at: "TLS of intercepted connections")
      }
      self.priorities = priorities
    }

    deinit {
      gnutls_priority_deinit(priorities)
      diorama_gnutls_free(ticketKey.data)
    }
  }

  /// TLS records hold at most 2^14 bytes of content, and 256 and a header more (RFC 8446, 5.2).
  private static let recordSize = 16_384 + 256 + 5

  let descriptor: Int32
  private let session: gnutls_session_t
  private let settings: Settings
  private let credentials: ServerCredentials
  /// Called when the client has sent something after the handshake: it trusts the certificate. Nil from then on.
  var onFirstBytes: (() -> Void)?
  var onClose: (@Sendable () -> Void)?
  /// Received, not yet taken by GnuTLS.
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384 + 512, alignment: 16)
  private var buffered = 0..<0
  /// The number of bytes received last, at the start of the buffer.
  private var received = 0
  private var hasSentCertificate = false
  private var isWritePending = false
  private var hasSentClose = false
  private(set) var hasFailed = false
  /// Why the client refused the certificate after the handshake; nil if it has not said so.
  private(set) var refusal: String?

  /// - Parameters:
  ///   - descriptor: a non-blocking socket, which the channel owns unless this throws.
  ///   - credentials: the certificate and key.
  ///   - protocols: those offered by ALPN (RFC 7301).
  ///   - settings: what all sessions share.
  /// - Throws: `CodedError` if GnuTLS fails.
  init(
    _ descriptor: Int32, credentials: ServerCredentials, protocols: [String], settings: Settings
  ) throws(CodedError) {
    var session: gnutls_session_t?
    // No GNUTLS_ENABLE_EARLY_DATA: requests of early data could be replayed.
    var code = gnutls_init(&session, UInt32(GNUTLS_SERVER) | UInt32(GNUTLS_NONBLOCK) | UInt32(GNUTLS_NO_SIGNAL))
    if code == 0 { code = gnutls_priority_set(session, settings.priorities) }
    if code == 0 {
      code = gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(credentials.handle))
    }
    if code == 0 { code = gnutls_session_ticket_enable_server(session, &settings.ticketKey) }
    if code == 0 { code = Self.offer(protocols, session) }
    guard code == 0, let session else {
      if let session { gnutls_deinit(session) }
      buffer.deallocate()
      throw CodedError(
        .inputOutput, "GnuTLS cannot start a session: \(String(cString: gnutls_strerror(code)))",
        at: "TLS of an intercepted connection")
    }
    self.session = session
    self.descriptor = descriptor
    self.settings = settings
    self.credentials = credentials
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_IGNORE)
    // Sending uses the descriptor itself. Receiving has a buffer, because GnuTLS asks for each record's header first.
    gnutls_transport_set_ptr2(
      session, Unmanaged.passUnretained(self).toOpaque(), UnsafeMutableRawPointer(bitPattern: Int(descriptor)))
    gnutls_transport_set_pull_function(session) { context, bytes, count in
      guard let context, let bytes else { return 0 }
      return Unmanaged<TLSChannel>.fromOpaque(context)._withUnsafeGuaranteedRef {
        $0.pull(UnsafeMutableRawBufferPointer(start: bytes, count: count))
      }
    }
    gnutls_handshake_set_hook_function(session, UInt32(GNUTLS_HANDSHAKE_CERTIFICATE_PKT.rawValue), GNUTLS_HOOK_POST) {
      session, _, _, isIncoming, _ in
      if isIncoming == 0, let context = gnutls_session_get_ptr(session) {
        Unmanaged<TLSChannel>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.hasSentCertificate = true }
      }
      return 0
    }
    gnutls_session_set_ptr(session, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit {
    gnutls_deinit(session)
    buffer.deallocate()
  }

  private static func offer(_ protocols: [String], _ session: gnutls_session_t?) -> Int32 {
    // GnuTLS copies the names.
    var bytes = protocols.flatMap { Array($0.utf8) }
    return bytes.withUnsafeMutableBufferPointer { buffer in
      var start = 0
      let names = protocols.map { name in
        defer { start += name.utf8.count }
        return gnutls_datum_t(data: buffer.baseAddress.map { $0 + start }, size: UInt32(name.utf8.count))
      }
      let flags = UInt32(GNUTLS_ALPN_SERVER_PRECEDENCE.rawValue)
      return gnutls_alpn_set_protocols(session, names, UInt32(names.count), flags)
    }
  }

  // MARK: The handshake

  /// Continues the handshake; call it when the descriptor has become ready.
  func handshake() -> Progress {
    while true {
      let code = gnutls_handshake(session)
      if code == 0 { return .done }
      if code == GNUTLS_E_AGAIN { return .waiting(forWriting: gnutls_record_get_direction(session) == 1) }
      guard gnutls_error_is_fatal(code) != 0 else { continue }
      if code == GNUTLS_E_FATAL_ALERT_RECEIVED { return .failed(Self.failure(gnutls_alert_get(session))) }
      if code == GNUTLS_E_DECRYPTION_FAILED, let alert = plainAlert { return .failed(Self.failure(alert)) }
      let isGone = [GNUTLS_E_PREMATURE_TERMINATION, GNUTLS_E_PULL_ERROR, GNUTLS_E_PUSH_ERROR].contains(code)
      if isGone {
        return .failed(
          hasSentCertificate
            ? .closedAfterCertificate
            : .other("the connection was closed during the handshake"))
      }
      gnutls_alert_send_appropriate(session, code)
      return .failed(.other(String(cString: gnutls_strerror(code))))
    }
  }

  /// A fatal alert among the records received last that is not encrypted although it should be: OpenSSL refuses a
  /// certificate before it begins to encrypt what it sends.
  private var plainAlert: gnutls_alert_description_t? {
    var start = 0
    while start + 7 <= received {
      let length = Int(buffer[start + 3]) << 8 | Int(buffer[start + 4])
      if buffer[start] == 21, length == 2, buffer[start + 5] == 2 {
        return gnutls_alert_description_t(rawValue: UInt32(buffer[start + 6]))
      }
      start += 5 + length
    }
    return nil
  }

  private static func failure(_ alert: gnutls_alert_description_t) -> Failure {
    let name = gnutls_alert_get_strname(alert).map { String(cString: $0) } ?? "alert \(alert.rawValue)"
    // RFC 8446, 6.2: those that concern a certificate.
    let refusals: Set = [
      GNUTLS_A_BAD_CERTIFICATE.rawValue, GNUTLS_A_UNSUPPORTED_CERTIFICATE.rawValue,
      GNUTLS_A_CERTIFICATE_REVOKED.rawValue, GNUTLS_A_CERTIFICATE_EXPIRED.rawValue,
      GNUTLS_A_CERTIFICATE_UNKNOWN.rawValue, GNUTLS_A_UNKNOWN_CA.rawValue, GNUTLS_A_ACCESS_DENIED.rawValue,
    ]
    let text = "the client sent the alert \(name.hasPrefix("GNUTLS_A_") ? name.dropFirst(9).lowercased() : name)"
    return refusals.contains(alert.rawValue) ? .certificateRefused(text) : .other(text)
  }

  /// The protocol chosen by ALPN; nil if the client offered none.
  var selectedProtocol: String? {
    var datum = gnutls_datum_t()
    guard gnutls_alpn_get_selected_protocol(session, &datum) == 0 else { return nil }
    return String(decoding: UnsafeBufferPointer(start: datum.data, count: Int(datum.size)), as: UTF8.self)
  }

  private func pull(_ target: UnsafeMutableRawBufferPointer) -> Int {
    if buffered.isEmpty {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
      guard count > 0 else {
        if count < 0 { gnutls_transport_set_errno(session, errno) }
        return count
      }
      buffered = 0..<count
      received = count
    }
    let count = min(target.count, buffered.count)
    target.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[buffered.prefix(count)]))
    buffered = buffered.dropFirst(count)
    return count
  }

  // MARK: DuplexChannel

  func read(into target: UnsafeMutableRawBufferPointer) -> Int? {
    while true {
      let count = gnutls_record_recv(session, target.baseAddress, target.count)
      if count > 0 {
        onFirstBytes.take()?()
        return count
      }
      if count == 0 { return nil }
      switch Int32(count) {
      case GNUTLS_E_AGAIN: return 0
      case GNUTLS_E_REHANDSHAKE:
        // TLS 1.2 only; the client decides whether to continue without (RFC 5246, 7.2.2).
        gnutls_alert_send(session, GNUTLS_AL_WARNING, GNUTLS_A_NO_RENEGOTIATION)
      case let code where gnutls_error_is_fatal(code) == 0: continue
      case GNUTLS_E_PREMATURE_TERMINATION:
        // Many programs close without close_notify; HTTP's own framing tells whether a message is complete.
        return nil
      case GNUTLS_E_FATAL_ALERT_RECEIVED:
        if case .certificateRefused(let cause) = Self.failure(gnutls_alert_get(session)) { refusal = cause }
        hasFailed = true
        return nil
      default:
        hasFailed = true
        return nil
      }
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var written = 0
    while written < bytes.count || isWritePending {
      // "this function must be called again, with the exact same parameters; alternatively you could provide a NULL
      // pointer for data, and 0 for size" (gnutls_record_send(3)).
      let count =
        isWritePending
        ? gnutls_record_send(session, nil, 0)
        : gnutls_record_send(session, bytes.baseAddress.map { $0 + written }, bytes.count - written)
      isWritePending = false
      if count > 0 {
        written += count
      } else if count == GNUTLS_E_AGAIN {
        isWritePending = true
        return written
      } else if gnutls_error_is_fatal(Int32(count)) != 0 || count == 0 {
        hasFailed = true
        return nil
      }
    }
    return written
  }

  func endWriting() -> Bool {
    if !hasSentClose {
      let code = gnutls_bye(session, GNUTLS_SHUT_WR)
      if code == GNUTLS_E_AGAIN { return false }
      hasSentClose = true
    }
    shutdown(descriptor, Int32(SHUT_WR))
    return true
  }

  func close() {
    onClose?()
    Glibc.close(descriptor)
  }
}
