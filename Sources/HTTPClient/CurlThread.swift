import CCurl
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The thread that runs all transfers of a client: curl's multi interface, driven by its sockets (`libcurl-multi(3)`).
///
/// Other threads leave commands in a mailbox; everything else belongs to the thread alone. Curl allows no call from
/// within its callbacks, so these only note what has to happen.
final class CurlThread: @unchecked Sendable {
  enum Command {
    case start(Transfer)
    case cancel(Transfer)
    /// There is room in the response's stream.
    case resumeReceiving(Transfer)
    /// There are bytes in the request's stream.
    case resumeSending(Transfer)
  }

  private struct Mailbox {
    var commands: [Command] = []
    var isStopping = false
    var thread: pthread_t?
  }

  private let mailbox = Guarded(Mailbox())
  private let events: EventLoop
  private let settings: Settings
  private let multi: UnsafeMutableRawPointer

  // Of the thread alone from here.
  private var commands: [Command] = []
  private var transfers: [Transfer] = []
  /// Those whose head has come in this round.
  private var heads: [Transfer] = []
  private var idle: [EasyHandle] = []
  /// Those that trust others than is usual.
  private var idleByTrust: [Trust: [EasyHandle]] = [:]
  /// When curl wants to be called without an event, and when to look for stalls; nanoseconds.
  private var timer: UInt64?
  private var nextPatrol: UInt64 = 0

  private static let mostIdle = 256

  init(_ settings: Settings) throws {
    self.settings = settings
    events = try EventLoop()
    guard curlIsReady, let multi = curl_multi_init() else {
      throw UpstreamError(kind: .other, message: "libcurl does not start: look at its installation and at memory")
    }
    self.multi = multi
  }

  /// Starts the thread, which keeps this object until ``stop()``.
  func start() throws {
    configure()
    let context = Unmanaged.passRetained(self)
    // Signals are for the threads of the program, not for this one; SIGPIPE cannot end it either.
    var all = sigset_t()
    var old = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &old)
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<CurlThread>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    pthread_sigmask(SIG_SETMASK, &old, nil)
    guard code == 0 else {
      curl_multi_cleanup(multi)
      context.release()
      let problem = String(cString: strerror(code))
      throw UpstreamError(kind: .other, message: "no thread for upstream requests (\(problem)): end something")
    }
    mailbox.withLock { $0.thread = thread }
  }

  /// Ends the thread and waits for that; any number of times, from any thread.
  func stop() {
    let thread = mailbox.withLock { mailbox in
      mailbox.isStopping = true
      return mailbox.thread.take()
    }
    guard let thread else { return }
    events.wake()
    if pthread_equal(thread, pthread_self()) != 0 {
      pthread_detach(thread)
    } else {
      pthread_join(thread, nil)
    }
  }

  /// Leaves a command for the thread.
  ///
  /// - Returns: false when the thread is ending and will not look at it.
  @discardableResult
  func post(_ command: Command) -> Bool {
    let (isAccepted, isFirst) = mailbox.withLock { mailbox in
      guard !mailbox.isStopping else { return (false, false) }
      mailbox.commands.append(command)
      return (true, mailbox.commands.count == 1)
    }
    if isFirst { events.wake() }
    return isAccepted
  }

  /// Called by a transfer from within curl: its head is handed over at the end of the round, perhaps with its body.
  func headCame(of transfer: Transfer) {
    heads.append(transfer)
  }

  // MARK: The loop

  private func run() {
    var running: Int32 = 0
    while true {
      events.wait(milliseconds: wait()) { descriptor, bits in
        curl_multi_socket_action(multi, descriptor, bits, &running)
      }
      guard takeCommands() else { break }
      let now = monotonicNanoseconds()
      if let timer, timer <= now {
        self.timer = nil
        curl_multi_socket_action(multi, -1, 0, &running)  // CURL_SOCKET_TIMEOUT
      }
      takeMessages()
      for transfer in heads { transfer.handOver() }
      heads.removeAll(keepingCapacity: true)
      if !transfers.isEmpty, now >= nextPatrol { patrol(now) }
    }
    tearDown()
  }

  private func wait() -> Int32 {
    var next = timer
    if !transfers.isEmpty { next = min(next ?? .max, nextPatrol) }
    guard let next else { return -1 }
    let now = monotonicNanoseconds()
    return next <= now ? 0 : Int32(min((next - now + 999_999) / 1_000_000, 60_000))
  }

  private func takeCommands() -> Bool {
    let isStopping = mailbox.withLock { mailbox in
      swap(&mailbox.commands, &commands)
      return mailbox.isStopping
    }
    defer { commands.removeAll(keepingCapacity: true) }
    for command in commands {
      switch command {
      case .start(let transfer):
        if isStopping { transfer.end(UpstreamError.shutDown(transfer.origin)) } else { begin(transfer) }
      case .cancel(let transfer):
        transfer.isCancelled = true
        end(transfer, CancellationError())
      case .resumeReceiving(let transfer): check(transfer.resume(receiving: true), transfer)
      case .resumeSending(let transfer): check(transfer.resume(sending: true), transfer)
      }
    }
    return !isStopping
  }

  private func begin(_ transfer: Transfer) {
    guard !transfer.isCancelled else { return transfer.end(CancellationError()) }
    do {
      let kept = transfer.trust == .usual ? idle.popLast() : idleByTrust[transfer.trust]?.popLast()
      let easy = try kept ?? EasyHandle(settings, trust: transfer.trust, origin: transfer.origin)
      try easy.prepare(transfer)
      transfer.prepareUpload()
      transfer.easy = easy
      transfer.slot = transfers.count
      transfer.activity.since = monotonicNanoseconds()
      if transfers.isEmpty { nextPatrol = transfer.activity.since + patrolInterval }
      transfers.append(transfer)
      let code = curl_multi_add_handle(multi, easy.raw)
      if code != CURLM_OK {
        end(transfer, UpstreamError.invalid(transfer.origin, String(cString: curl_multi_strerror(code))))
      }
    } catch {
      transfer.end(error)
    }
  }

  private func takeMessages() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let raw = message.pointee.easy_handle,
        let context = curl_get_private(raw)
      else { continue }
      let code = curl_message_result(message)
      let easy = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
      guard let transfer = easy.transfer else { continue }
      end(transfer, code == CURLE_OK ? nil : easy.failure(code, to: transfer.origin).error(for: transfer.origin))
    }
  }

  private func check(_ code: CURLcode, _ transfer: Transfer) {
    // 43: it has no connection just now, because curl is making a new one; it is not paused then.
    guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT, let easy = transfer.easy else { return }
    end(transfer, easy.failure(code, to: transfer.origin).error(for: transfer.origin))
  }

  /// Takes a transfer out, whatever state it is in; one that is not done loses its connection.
  private func end(_ transfer: Transfer, _ error: (any Error)?) {
    guard let easy = transfer.easy.take() else { return }
    curl_multi_remove_handle(multi, easy.raw)
    let last = transfers.removeLast()
    if last !== transfer {
      transfers[transfer.slot] = last
      last.slot = transfer.slot
    }
    easy.release()
    if easy.trust != .usual {
      idleByTrust[easy.trust, default: []].append(easy)
    } else if idle.count < Self.mostIdle {
      idle.append(easy)
    }
    transfer.end(error)
  }

  // MARK: Transfers that stand still

  private var patrolInterval: UInt64 { min(max(settings.stallNanoseconds / 4, 5_000_000), 1_000_000_000) }

  private func patrol(_ now: UInt64) {
    nextPatrol = now + patrolInterval
    for transfer in transfers {
      guard let easy = transfer.easy else { continue }
      if transfer.isForgotten {
        end(transfer, CancellationError())
      } else if transfer.isPaused {
        transfer.activity.since = now
        // The upstream may have ended the connection meanwhile, which curl only sees when it goes on.
        check(transfer.resume(sending: true), transfer)
      } else if let bytes = easy.bytesMoved, bytes == transfer.activity.bytes {
        if transfer.mayBeSilent { continue }
        guard now - transfer.activity.since >= settings.stallNanoseconds else { continue }
        end(transfer, UpstreamError.stalled(transfer.origin, after: settings.stallNanoseconds))
      } else {
        transfer.activity = Activity(bytes: easy.bytesMoved ?? 0, since: now)
      }
    }
  }

  // MARK: Beginning and end

  private func configure() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    curl_multi_set_callbacks(
      multi, context,
      { _, descriptor, what, context, _ in
        guard let context else { return 0 }
        let thread = Unmanaged<CurlThread>.fromOpaque(context).takeUnretainedValue()
        if what == CURL_POLL_REMOVE {
          thread.events.forget(descriptor)
        } else {
          thread.events.watch(
            descriptor, readable: what & CURL_POLL_IN != 0, writable: what & CURL_POLL_OUT != 0)
        }
        return 0
      },
      { _, milliseconds, context in
        guard let context else { return 0 }
        let thread = Unmanaged<CurlThread>.fromOpaque(context).takeUnretainedValue()
        thread.timer = milliseconds < 0 ? nil : monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
        return 0
      })
    // Busy connections count as well, and above this number an idle one is closed for every new one.
    curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, min(max(Int(getdtablesize()) / 2, 64), 10_000))
  }

  private func tearDown() {
    for transfer in transfers { end(transfer, UpstreamError.shutDown(transfer.origin)) }
    // No command is accepted any more; what came meanwhile gets its answer.
    _ = takeCommands()
    idle = []
    idleByTrust = [:]
    curl_multi_cleanup(multi)
  }
}

/// Once for the process, and for good: curl has no counterpart that is safe beside other users of it.
private let curlIsReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

func monotonicNanoseconds() -> UInt64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}
