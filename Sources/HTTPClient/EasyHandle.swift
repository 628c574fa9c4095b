import CCurl
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A curl easy handle, used for one transfer after another.
///
/// Constant options are set once; ``prepare(_:)`` sets those that depend on the request.
final class EasyHandle {
  let raw: UnsafeMutableRawPointer

  /// Whether the first line after a status line must not be folded.
  ///
  /// Before 8.1.0, a handle kept the address of the previous transfer's last field. A response that began with a folded
  /// line was joined to it, in freed memory (curl's pull request 11103), so any upstream could crash this process.
  private static let rejectsFoldedStart = curl_version_info(CURLVERSION_FIRST).pointee.version_num < 0x08_01_00

  /// The current transfer.
  private(set) var transfer: Transfer?

  /// The user of the connection without a transfer.
  weak var session: HTTP2Session?

  /// Its trust settings, which never change: curl cannot restore its own defaults.
  let trust: Trust

  private let settings: Settings
  private let problem: UnsafeMutablePointer<CChar>
  private let proxyFields = HeaderList(lines: ["Proxy-Connection:"])
  private var code = CURLE_OK
  /// The result of ``read(into:)`` and ``write(_:)``.
  private var connectionCode = CURLE_OK
  /// The number of TLS handshakes to come with a proxy.
  private var proxyHandshakes = 0
  /// Whether the transfer has a body that curl has copied, and whether it is more than a plain GET.
  private var hasBody = false
  private var isSpecial = false
  /// The last transfer's origin; options that depend only on it are set when it changes.
  private var origin: Origin?

  /// Creates a handle.
  ///
  /// - Parameters:
  ///   - settings: the client's settings.
  ///   - trust: trusted CAs and client certificate.
  ///   - origin: the upstream, for errors.
  ///   - driver: runs its transfers and watches its sockets; must outlive them; nil for a connection without a
  ///     transfer.
  /// - Throws: ``UpstreamError`` if memory is exhausted or an option is not available.
  init(_ settings: Settings, trust: Trust = .usual, origin: Origin, driver: CurlDriver? = nil) throws {
    guard let raw = curl_easy_init() else {
      throw UpstreamError(kind: .other, message: "\(origin): out of memory for a request; free some")
    }
    self.raw = raw
    self.settings = settings
    self.trust = trust
    problem = .allocate(capacity: Int(CURL_ERROR_SIZE))
    problem.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    setConstants()
    setFoldGuard()
    if let driver { setDriver(driver) }
    try check(origin)
  }

  deinit {
    curl_easy_cleanup(raw)
    problem.deallocate()
  }

  /// Sets the options for a transfer and keeps it until ``release()``.
  func prepare(_ transfer: Transfer) throws {
    self.transfer = transfer
    problem[0] = 0
    let proxy = settings.proxy(for: transfer.origin.scheme)
    let isSameOrigin = transfer.origin == origin
    if !isSameOrigin {
      set(CURLOPT_PROXY, proxy)
    }
    if !proxy.isEmpty, transfer.origin.scheme == "http", !proxy.hasPrefix("socks") {
      // Only curl knows whether no_proxy applies; it writes the absolute form for a proxy.
      set(CURLOPT_URL, transfer.origin.description + transfer.target)
      set(CURLOPT_REQUEST_TARGET, nil)
    } else {
      // Sent verbatim, whatever it contains.
      if !isSameOrigin { set(CURLOPT_URL, transfer.origin.description) }
      set(CURLOPT_REQUEST_TARGET, transfer.target)
    }
    origin = transfer.origin
    set(CURLOPT_HTTPHEADER, pointer: transfer.fields.first)
    setMethod(transfer)
    try check(transfer.origin)
  }

  /// Sets the options for a connection without a transfer: TCP, proxy and TLS, without sending a request.
  ///
  /// - Parameters:
  ///   - origin: the upstream.
  ///   - offersHTTP2: whether TLS offers HTTP/2 besides HTTP/1.1.
  /// - Throws: ``UpstreamError`` if an option is not available.
  func prepareConnection(to origin: Origin, offersHTTP2: Bool = false) throws {
    let proxy = settings.proxy(for: origin.scheme)
    set(CURLOPT_PROXY, proxy)
    // The proxy's handshake comes first, and gets HTTP/1.1. An upstream in no_proxy then gets that as well.
    proxyHandshakes = proxy.lowercased().hasPrefix("https:") ? 1 : 0
    if offersHTTP2, origin.scheme == "https" { offerHTTP2() }
    set(CURLOPT_HTTPPROXYTUNNEL, 1)
    set(CURLOPT_URL, origin.description)
    set(CURLOPT_CONNECT_ONLY, 1)
    try check(origin)
  }

  /// Releases the transfer and its memory.
  func release() {
    transfer = nil
    set(CURLOPT_HTTPHEADER, pointer: nil)
    guard hasBody else { return }
    set(CURLOPT_POSTFIELDS, pointer: nil)
    hasBody = false
  }

  /// Describes a transfer that failed with `code`; call it before ``release()``.
  func failure(_ code: CURLcode, to origin: Origin) -> CurlFailure {
    let detail =
      problem[0] == 0
      ? String(cString: curl_easy_strerror(code)) : Self.withoutDuration(String(cString: problem))
    let bareHost = origin.host.drop { $0 == "[" }.prefix { $0 != "]" }
    let isDirect = settings.proxy(for: origin.scheme).isEmpty || detail.contains("to \(bareHost) port \(origin.port) ")
    return CurlFailure(
      code: code, systemError: curl_get_long(raw, CURLINFO_OS_ERRNO),
      connectStatus: curl_get_long(raw, CURLINFO_HTTP_CONNECTCODE), throughProxy: !isDirect,
      isOutOfDescriptors: Self.isOutOfDescriptors, detail: detail,
      authorities: trust.authorities ?? settings.authoritiesPlace)
  }

  /// libcurl's message without durations, so that equal failures have equal messages.
  static func withoutDuration(_ text: String) -> String { text.replacing(#/ after \d+ ms/#, with: "") }

  /// Whether no descriptor is available: curl does not report why it got none.
  private static var isOutOfDescriptors: Bool {
    let descriptor = dup(0)
    if descriptor >= 0 { close(descriptor) }
    return descriptor < 0 && (errno == EMFILE || errno == ENFILE)
  }

  /// The number of bytes of heads and bodies in both directions; nil while connecting.
  var bytesMoved: Int64? {
    guard curl_get_offset(raw, CURLINFO_PRETRANSFER_TIME_T) > 0 else { return nil }
    return curl_get_offset(raw, CURLINFO_SIZE_DOWNLOAD_T) + curl_get_offset(raw, CURLINFO_SIZE_UPLOAD_T)
      + Int64(curl_get_long(raw, CURLINFO_HEADER_SIZE)) + Int64(curl_get_long(raw, CURLINFO_REQUEST_SIZE))
  }

  // MARK: A connection without a transfer

  /// Reads available bytes.
  ///
  /// - Returns: their number, or 0 if there are none; nil at the end of the connection.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    var count = 0
    connectionCode = curl_easy_recv(raw, buffer.baseAddress, buffer.count, &count)
    return connectionCode == CURLE_OK && count > 0 ? count : connectionCode == CURLE_AGAIN ? 0 : nil
  }

  /// Writes what the connection has room for. What is left has to be written next, from the same memory: OpenSSL may
  /// have encrypted it already (SSL_write(3)).
  ///
  /// - Returns: the number of bytes written; nil at the end of the connection.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var count = 0
    connectionCode = curl_easy_send(raw, bytes.baseAddress, bytes.count, &count)
    return connectionCode == CURLE_OK ? count : connectionCode == CURLE_AGAIN ? 0 : nil
  }

  /// Why ``read(into:)`` or ``write(_:)`` returned nil.
  func end(of origin: Origin) -> UpstreamError {
    connectionCode == CURLE_OK ? .cut(origin) : failure(connectionCode, to: origin).error(for: origin)
  }

  /// Whether the server chose HTTP/2; to be asked after ``read(into:)``.
  var hasHTTP2: Bool { curl_has_http2(raw) }

  /// Offers HTTP/2 at TLS if libcurl uses OpenSSL.
  private func offerHTTP2() {
    _ = curl_set_tls_callback(raw, Unmanaged.passUnretained(self).toOpaque()) { _, handshake, context in
      guard let handshake, let context else { return CURLE_OK }
      Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { easy in
        if easy.proxyHandshakes == 0 { curl_offer_http2(handshake) } else { easy.proxyHandshakes -= 1 }
      }
      return CURLE_OK
    }
  }

  // MARK: Setup

  private func setConstants() {
    set(CURLOPT_NOSIGNAL, 1)
    // It keeps the case of names. HTTP/2 is not curl's (HTTP2Session).
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    // Otherwise a cancelled transfer blocks the thread on getaddrinfo.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_PATH_AS_IS, 1)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(CURLOPT_TCP_NODELAY, 1)
    set(CURLOPT_BUFFERSIZE, 32_768)
    set(CURLOPT_UPLOAD_BUFFERSIZE, 65_536)
    set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectMilliseconds)
    set(CURLOPT_NOPROXY, settings.noProxy)
    if let path = settings.unixSocket { set(CURLOPT_UNIX_SOCKET_PATH, path) }
    set(CURLOPT_PROXYHEADER, pointer: proxyFields.first)
    if let file = settings.authoritiesFile {
      set(CURLOPT_CAINFO, file)
      set(CURLOPT_PROXY_CAINFO, file)
    }
    if let folder = settings.authoritiesFolder {
      set(CURLOPT_CAPATH, folder)
      set(CURLOPT_PROXY_CAPATH, folder)
    }
    setTrust()
    set(CURLOPT_ERRORBUFFER, pointer: problem)
    note(curl_set_private_sockets(raw))
    let context = Unmanaged.passUnretained(self).toOpaque()
    note(
      curl_set_transfer_callbacks(
        raw, context,
        { bytes, size, count, context in
          let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
          EasyHandle.watchNextLine(after: line, context)
          // Returning any number other than the byte count ends the transfer (CURLOPT_HEADERFUNCTION).
          return EasyHandle.transfer(of: context)?.takeHeader(line) ?? true ? line.count : 0
        },
        { bytes, size, count, context in
          EasyHandle.transfer(of: context)?.takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        },
        { bytes, size, count, context in
          let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
          return EasyHandle.transfer(of: context)?.readUpload(into: buffer) ?? Int(CURL_READFUNC_ABORT)
        },
        { context, offset, origin in
          guard offset == 0, origin == 0, let transfer = EasyHandle.transfer(of: context) else {
            return CURL_SEEKFUNC_FAIL
          }
          return transfer.rewindUpload() ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
        }))
  }

  /// Makes curl report the line after a status line before it stores it.
  ///
  /// The manual, CURLOPT_DEBUGFUNCTION(3): "CURLINFO_HEADER_IN: The data is header (or header-like) data received from
  /// the peer." It is called only while CURLOPT_VERBOSE is set. A paused transfer stores no fields.
  private static func watchNextLine(after line: UnsafeRawBufferPointer, _ context: UnsafeMutableRawPointer?) {
    guard rejectsFoldedStart, line.starts(with: "HTTP/".utf8), let context else { return }
    Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { _ = curl_set_long($0.raw, CURLOPT_VERBOSE, 1) }
  }

  private func setFoldGuard() {
    guard Self.rejectsFoldedStart else { return }
    note(
      curl_set_debug(
        raw, Unmanaged.passUnretained(self).toOpaque(),
        { raw, kind, bytes, size, context in
          guard kind == CURLINFO_HEADER_IN, let raw else { return 0 }
          curl_set_long(raw, CURLOPT_VERBOSE, 0)
          guard size > 0, let first = bytes?.pointee, first == 0x20 || first == 0x09, let context else { return 0 }
          curl_easy_pause(raw, CURLPAUSE_RECV)
          Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue().transfer?.refuseHead()
          return 0
        }))
  }

  private func setDriver(_ driver: CurlDriver) {
    let context = Unmanaged.passUnretained(driver).toOpaque()
    note(
      curl_set_watched_sockets(
        raw, context,
        { context, _, address in
          guard let context, let address else { return -1 }  // CURL_SOCKET_BAD
          let descriptor = curl_private_socket(address)
          if descriptor >= 0 {
            Unmanaged<CurlDriver>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.opened(descriptor) }
          }
          return descriptor
        },
        { context, descriptor in
          if let context {
            Unmanaged<CurlDriver>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.closes(descriptor) }
          }
          return close(descriptor)
        }))
  }

  private func setTrust() {
    if let file = trust.authorities {
      set(CURLOPT_CAINFO, file)
      // Use these only, without the machine's own.
      set(CURLOPT_CAPATH, nil)
    }
    if trust.isInsecure {
      set(CURLOPT_SSL_VERIFYPEER, 0)
      set(CURLOPT_SSL_VERIFYHOST, 0)
    }
    if let key = trust.pinnedKey { set(CURLOPT_PINNEDPUBLICKEY, key) }
    guard let certificate = trust.clientCertificate else { return }
    set(CURLOPT_SSLCERT, certificate)
    set(CURLOPT_SSLKEY, trust.clientKey ?? certificate)
    // Otherwise OpenSSL would prompt on the terminal for the password of an encrypted key.
    set(CURLOPT_KEYPASSWD, "")
  }

  private func setMethod(_ transfer: Transfer) {
    let upload = transfer.upload
    let whole = upload.whole
    let wasSpecial = isSpecial
    isSpecial = transfer.method != "GET" || whole?.isEmpty != true
    guard wasSpecial || isSpecial else { return }
    // Undoes the previous transfer's options: no upload, a body is wanted.
    set(CURLOPT_HTTPGET, 1)
    switch (transfer.method, whole) {
    case ("GET", let bytes?) where bytes.isEmpty:
      set(CURLOPT_CUSTOMREQUEST, nil)
    case ("HEAD", _):
      set(CURLOPT_CUSTOMREQUEST, nil)
      set(CURLOPT_NOBODY, 1)
    case (let method, let bytes?) where bytes.isEmpty && !["POST", "PUT", "PATCH"].contains(method):
      set(CURLOPT_CUSTOMREQUEST, method)
    case (let method, let bytes?) where bytes.count <= 65_536:
      // Sent in one piece with the head.
      hasBody = true
      set(CURLOPT_CUSTOMREQUEST, method)
      bytes.withUnsafeBytes { note(curl_set_body(raw, $0.baseAddress, Int64($0.count))) }
    case (let method, _):
      set(CURLOPT_CUSTOMREQUEST, method)
      set(CURLOPT_UPLOAD, 1)
      note(curl_set_offset(raw, CURLOPT_INFILESIZE_LARGE, Int64(upload.length ?? -1)))
    }
  }

  private static func transfer(of context: UnsafeMutableRawPointer?) -> Transfer? {
    context.flatMap { Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue().transfer }
  }

  // MARK: Options

  private func set(_ option: CURLoption, _ value: Int) { note(curl_set_long(raw, option, value)) }

  private func set(_ option: CURLoption, _ text: String?) { note(curl_set_text(raw, option, text)) }

  private func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
    note(curl_set_pointer(raw, option, pointer))
  }

  private func note(_ result: CURLcode) {
    if code == CURLE_OK { code = result }
  }

  private func check(_ origin: Origin) throws {
    defer { code = CURLE_OK }
    if code != CURLE_OK { throw failure(code, to: origin).error(for: origin) }
  }
}
