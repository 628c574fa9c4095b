import Basics
import CCurl
import EventLoops
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Runs transfers on one event loop with curl's multi interface, driven by socket events (`libcurl-multi(3)`), and those of
/// HTTP/2 on connections that curl opens.
///
/// Other threads post commands to a mailbox; everything else is used by the loop's thread only. Curl allows no calls
/// from inside its callbacks, so these only note what to do.
final class CurlDriver: @unchecked Sendable {
  enum Command {
    case start(Transfer)
    case cancel(Transfer)
    /// The response's stream has room.
    case resumeReceiving(Transfer)
    /// The request's stream has bytes.
    case resumeSending(Transfer)
    /// End all transfers and accept no more commands.
    case end
  }

  private struct Mailbox {
    var commands: [Command] = []
    var isOver = false
    /// The place in the loop; nil before the first turn, which takes the commands so far.
    var place: EventPlace?
  }

  private let mailbox = Guarded(Mailbox())
  let settings: Settings
  private let multi: UnsafeMutableRawPointer

  // Used by the loop's thread only from here.
  private(set) var place: EventPlace?
  private var commands: [Command] = []
  private var transfers: [Transfer] = []
  private lazy var http2 = HTTP2Connections(self)
  /// Transfers whose head arrived in this round.
  private var heads: [Transfer] = []
  private var idle: [EasyHandle] = []
  /// Handles with their own trust settings.
  private var idleByTrust: [Trust: [EasyHandle]] = [:]
  /// Memory for raw responses, to be reused.
  private var spare: [RawResponse] = []
  /// Sockets whose closing curl reports.
  private var sockets: Set<Int32> = []
  /// When to call curl without an event, and when to check for stalls; in nanoseconds.
  private var timer: UInt64?
  private var nextPatrol: UInt64 = 0
  private var isTornDown = false

  private static let mostIdle = 256

  /// The maximum number of connections, including busy ones; above it, each new one replaces an idle one.
  ///
  /// All drivers of a process together use at most a quarter of its descriptors: there may be one on the loop of each
  /// processor, plus the client's own.
  private static var mostConnections: Int {
    let drivers = min(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))), 4) + 1
    return min(max(Int(getdtablesize()) / 4 / drivers, 2), 10_000)
  }

  /// - Parameter settings: the client's settings.
  /// - Throws: ``UpstreamError`` if libcurl cannot be initialised.
  init(_ settings: Settings) throws {
    self.settings = settings
    try Self.prepare()
    guard let multi = curl_multi_init() else { throw Self.cannotStart }
    self.multi = multi
    configure()
  }

  /// Initialises libcurl once for the process.
  static func prepare() throws {
    guard curlIsReady else { throw Self.cannotStart }
  }

  private static var cannotStart: UpstreamError {
    UpstreamError(kind: .other, message: "cannot initialise libcurl: check its installation and the available memory")
  }

  deinit {
    if !isTornDown { curl_multi_cleanup(multi) }
  }

  /// Runs the driver on the calling thread's loop.
  func run(on loop: EventLoop) {
    let place = loop.add(self)
    self.place = place
    mailbox.withLock { $0.place = place }
  }

  // MARK: From any thread

  /// Whether it no longer accepts commands.
  var isOver: Bool { mailbox.withLock { $0.isOver } }

  /// Posts a command for the loop's thread.
  ///
  /// - Returns: false if the driver has ended and ignores the command.
  @discardableResult
  func post(_ command: Command) -> Bool {
    let (isAccepted, place) = mailbox.withLock { mailbox -> (Bool, EventPlace?) in
      guard !mailbox.isOver else { return (false, nil) }
      mailbox.commands.append(command)
      if case .end = command { mailbox.isOver = true }
      return (true, mailbox.commands.count == 1 ? mailbox.place : nil)
    }
    place?.wake()
    return isAccepted
  }

  /// Called by a transfer from inside curl or nghttp2 when its head has arrived, which is delivered at the end of the
  /// round, perhaps with its body.
  func headCame(of transfer: Transfer) {
    heads.append(transfer)
    if transfer.stream != nil { place?.wake() }
  }

  // MARK: Raw responses

  /// Lends memory for a raw response.
  func takeRaw() -> RawResponse { spare.popLast() ?? RawResponse() }

  func takeBack(_ raw: RawResponse) {
    guard spare.count < 64 else { return }
    raw.reset()
    spare.append(raw)
  }

  // MARK: Commands

  private func takeCommands() {
    mailbox.withLock { swap(&$0.commands, &commands) }
    defer { commands.removeAll(keepingCapacity: true) }
    for command in commands {
      switch command {
      case .start(let transfer): begin(transfer)
      case .cancel(let transfer):
        transfer.isCancelled = true
        end(transfer, CancellationError())
      case .resumeReceiving(let transfer): check(transfer.resume(receiving: true), transfer)
      case .resumeSending(let transfer): check(transfer.resume(sending: true), transfer)
      case .end: tearDown()
      }
    }
  }

  private func begin(_ transfer: Transfer) {
    guard !transfer.isCancelled else { return transfer.end(CancellationError()) }
    do {
      if transfer.isHTTP2, let session = try http2.session(for: transfer) {
        transfer.prepareUpload()
        list(transfer)
        return session.add(transfer)
      }
      let kept = transfer.trust == .usual ? idle.popLast() : idleByTrust[transfer.trust]?.popLast()
      let easy = try kept ?? EasyHandle(settings, trust: transfer.trust, origin: transfer.origin, driver: self)
      try easy.prepare(transfer)
      transfer.prepareUpload()
      transfer.easy = easy
      list(transfer)
      let code = curl_multi_add_handle(multi, easy.raw)
      if code != CURLM_OK {
        end(transfer, UpstreamError.invalid(transfer.origin, String(cString: curl_multi_strerror(code))))
      }
    } catch {
      transfer.end(error)
    }
  }

  private func list(_ transfer: Transfer) {
    transfer.slot = transfers.count
    transfer.activity = Activity(since: monotonicNanoseconds())
    if transfers.isEmpty { nextPatrol = transfer.activity.since + patrolInterval }
    transfers.append(transfer)
  }

  private func takeMessages() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let raw = message.pointee.easy_handle,
        let context = curl_get_private(raw)
      else { continue }
      let code = curl_message_result(message)
      let easy = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
      easy.session?.connected(code)
      guard let transfer = easy.transfer else { continue }
      end(transfer, code == CURLE_OK ? nil : easy.failure(code, to: transfer.origin).error(for: transfer.origin))
    }
  }

  private func check(_ code: CURLcode, _ transfer: Transfer) {
    // CURLE_BAD_FUNCTION_ARGUMENT: it has no connection just now, because curl is opening a new one; it is not paused
    // then.
    guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT, let easy = transfer.easy else { return }
    end(transfer, easy.failure(code, to: transfer.origin).error(for: transfer.origin))
  }

  /// Removes a transfer in any state; an unfinished one loses its connection or its stream.
  func end(_ transfer: Transfer, _ error: (any Error)?) {
    if let stream = transfer.stream.take() {
      stream.session.drop(stream)
      unlist(transfer)
    } else if let easy = transfer.easy.take() {
      curl_multi_remove_handle(multi, easy.raw)
      unlist(transfer)
      easy.release()
      keep(easy)
    } else {
      return
    }
    transfer.end(error)
  }

  private func unlist(_ transfer: Transfer) {
    let last = transfers.removeLast()
    if last !== transfer {
      transfers[transfer.slot] = last
      last.slot = transfer.slot
    }
  }

  // MARK: Connections of HTTP/2

  /// Restarts a transfer that its HTTP/2 connection has not begun.
  func restart(_ transfer: Transfer) {
    guard let stream = transfer.stream.take() else { return }
    stream.session.drop(stream)
    unlist(transfer)
    if !post(.start(transfer)) { transfer.end(UpstreamError.shutDown(transfer.origin)) }
  }

  /// Opens a connection without a transfer, for the handle's session.
  func connect(_ easy: EasyHandle, to origin: Origin) throws {
    let code = curl_multi_add_handle(multi, easy.raw)
    guard code == CURLM_OK else {
      throw UpstreamError.invalid(origin, String(cString: curl_multi_strerror(code)))
    }
  }

  /// Closes the connection of a handle without a transfer.
  func disconnect(_ easy: EasyHandle) {
    curl_multi_remove_handle(multi, easy.raw)
  }

  /// Keeps a handle for the next transfer. If it cannot be kept, its connection still stays with the multi handle.
  private func keep(_ easy: EasyHandle) {
    if easy.trust != .usual {
      idleByTrust[easy.trust, default: []].append(easy)
    } else if idle.count < Self.mostIdle {
      idle.append(easy)
    }
  }

  // MARK: Stalled transfers

  private var patrolInterval: UInt64 { min(max(settings.stallNanoseconds / 4, 5_000_000), 1_000_000_000) }

  private func patrol(_ now: UInt64) {
    nextPatrol = now + patrolInterval
    for transfer in transfers {
      if transfer.isForgotten {
        end(transfer, CancellationError())
      } else if transfer.isPaused {
        transfer.activity.since = now
        // The upstream may have closed the connection, which curl only notices when it continues.
        check(transfer.resume(sending: true), transfer)
      } else if let bytes = transfer.bytesMoved, bytes == transfer.activity.bytes {
        if transfer.mayBeSilent { continue }
        guard now - transfer.activity.since >= settings.stallNanoseconds else { continue }
        transfer.stream?.session.retire()
        end(transfer, UpstreamError.stalled(transfer.origin, after: settings.stallNanoseconds))
      } else {
        transfer.activity = Activity(bytes: transfer.bytesMoved ?? 0, since: now)
      }
    }
  }

  // MARK: Setup and shutdown

  private func configure() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    curl_multi_set_callbacks(
      multi, context,
      { _, descriptor, what, context, _ in
        guard let context else { return 0 }
        Unmanaged<CurlDriver>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.watch(descriptor, for: what) }
        return 0
      },
      { _, milliseconds, context in
        guard let context else { return 0 }
        Unmanaged<CurlDriver>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.timer = milliseconds < 0 ? nil : monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
        }
        return 0
      })
    curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.mostConnections)
    // One request at a time per connection: a slow reader blocks no other transfer.
    curl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
  }

  /// Watches a socket as curl requests.
  private func watch(_ descriptor: Int32, for what: Int32) {
    guard let place else { return }
    guard what & CURL_POLL_REMOVE == 0 else {
      // Most kept connections are reused soon, and each change of the epoll set is a system call.
      return sockets.contains(descriptor) ? place.loop.pause(descriptor) : place.loop.forget(descriptor)
    }
    let readiness = Readiness(
      rawValue: (what & CURL_POLL_IN != 0 ? Readiness.reading.rawValue : 0)
        | (what & CURL_POLL_OUT != 0 ? Readiness.writing.rawValue : 0))
    place.loop.watch(descriptor, for: readiness, at: place)
  }

  /// Curl has opened a socket for a connection, and will report closing it.
  func opened(_ descriptor: Int32) {
    sockets.insert(descriptor)
  }

  func closes(_ descriptor: Int32) {
    sockets.remove(descriptor)
    place?.loop.forget(descriptor)
  }

  private func tearDown() {
    guard !isTornDown else { return }
    isTornDown = true
    for transfer in transfers { end(transfer, UpstreamError.shutDown(transfer.origin)) }
    // No more commands are accepted; fail those posted in the meantime.
    for command in mailbox.withLock({ $0.commands }) {
      if case .start(let transfer) = command { transfer.end(UpstreamError.shutDown(transfer.origin)) }
    }
    mailbox.withLock { $0.commands = [] }
    http2.close()
    idle = []
    idleByTrust = [:]
    curl_multi_cleanup(multi)
    // The loop releases it.
    if let place { place.loop.remove(place) }
  }
}

extension CurlDriver: EventSource {
  func isReady(_ descriptor: Int32, for readiness: Readiness) {
    var bits: Int32 = 0
    if readiness.contains(.reading) { bits |= CURL_CSELECT_IN }
    if readiness.contains(.writing) { bits |= CURL_CSELECT_OUT }
    if readiness.contains(.failure) { bits |= CURL_CSELECT_ERR }
    var running: Int32 = 0
    curl_multi_socket_action(multi, descriptor, bits, &running)
  }

  func turn(now: UInt64) -> UInt64? {
    takeCommands()
    guard !isTornDown else { return nil }
    // A transfer just started is already due.
    if let timer, timer <= monotonicNanoseconds() {
      self.timer = nil
      var running: Int32 = 0
      curl_multi_socket_action(multi, -1, 0, &running)  // CURL_SOCKET_TIMEOUT
    }
    takeMessages()
    for transfer in heads { transfer.handOver() }
    heads.removeAll(keepingCapacity: true)
    guard !transfers.isEmpty else { return timer }
    if now >= nextPatrol { patrol(now) }
    return min(timer ?? .max, nextPatrol)
  }

  func loopEnds() {
    mailbox.withLock { $0.isOver = true }
    takeCommands()
    tearDown()
  }
}

/// Initialised once for the process and never cleaned up, which would not be safe with other users of curl.
private let curlIsReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
