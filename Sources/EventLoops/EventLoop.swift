package import Basics
import CEpoll
import HTTPMessages
import Synchronization

#if os(Linux)
  import Glibc

  /// A thread that waits for descriptors, timeouts and other threads on behalf of its sources.
  ///
  /// A server's connections and the upstream transfers they start can share one thread, without handing work between
  /// threads.
  ///
  /// ```swift
  /// let loop = try EventLoop(named: "http")
  /// let place = loop.add(source)  // before the start, or on the loop's thread
  /// try loop.start()
  /// place.wake()                  // on any thread: gives the source a turn
  /// loop.stop()
  /// ```
  /// The loop keeps its sources until it ends. Its own descriptors stay open until the loop is deallocated, so a late
  /// wake-up never writes to a descriptor that has been reused.
  package final class EventLoop: @unchecked Sendable {
    private struct Entry {
      let source: any EventSource
      let place: EventPlace
      /// When the next turn is due.
      var next: UInt64?
    }

    private enum State {
      case new
      case running(pthread_t)
      case ended
    }

    /// Work posted by other threads.
    private struct Jobs {
      var waiting: [@Sendable () -> Void] = []
      var isOver = false
    }

    private let name: String
    private let poll: Int32
    private let bell: Int32
    private let isEnding = Atomic(false)
    private let state = Guarded(State.new)
    private let jobs = Guarded(Jobs())

    // Accessed by the thread only, once it has started.
    private var entries: [Entry] = []
    private var watched: [Int32: Watch] = [:]
    private var events = [epoll_event](repeating: epoll_event(), count: 256)

    /// A descriptor in the epoll set.
    private struct Watch {
      let entry: Int
      var interest: UInt32
      /// Its events are ignored for now.
      var isPaused = false
      /// An event arrived while paused: the first one may predate the pause.
      var isStray = false
    }

    /// Creates a loop without starting its thread.
    ///
    /// - Parameter name: the thread's name, as shown by `top -H`; at most 15 bytes.
    /// - Throws: a `CodedError` with the system's error message if no descriptors are left.
    package init(named name: String) throws(CodedError) {
      self.name = name
      poll = epoll_create1(Int32(EPOLL_CLOEXEC))
      bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
      let code = errno
      guard poll >= 0, bell >= 0 else {
        if poll >= 0 { close(poll) }
        if bell >= 0 { close(bell) }
        throw CodedError(.inputOutput, String(cString: strerror(code)))
      }
      var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(fd: bell))
      epoll_ctl(poll, EPOLL_CTL_ADD, bell, &event)
    }

    deinit {
      close(poll)
      close(bell)
    }

    // MARK: From any thread

    /// The loop of the calling thread; nil on other threads.
    package static var current: EventLoop? {
      pthread_getspecific(currentKey).map { Unmanaged<EventLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Starts the thread.
    ///
    /// - Throws: a `CodedError` with the system's error message if the system cannot create a thread.
    package func start() throws(CodedError) {
      let context = Unmanaged.passRetained(self)
      // Leave signals to the program's other threads. This also protects the thread from SIGPIPE.
      var all = sigset_t()
      var old = sigset_t()
      sigfillset(&all)
      pthread_sigmask(SIG_BLOCK, &all, &old)
      var thread = pthread_t()
      let code = pthread_create(
        &thread, nil,
        { context in
          guard let context else { return nil }
          Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().run()
          return nil
        }, context.toOpaque())
      pthread_sigmask(SIG_SETMASK, &old, nil)
      guard code == 0 else {
        context.release()
        throw CodedError(.inputOutput, String(cString: strerror(code)))
      }
      state.withLock { $0 = .running(thread) }
    }

    /// Ends the thread and waits for its end, unless called on the thread itself. May be called repeatedly, on any thread.
    package func stop() {
      isEnding.store(true, ordering: .sequentiallyConsistent)
      ring()
      let state = state.withLock { state in
        defer { state = .ended }
        return state
      }
      // No thread is running that would release the sources.
      if case .new = state { return end() }
      guard case .running(let thread) = state else { return }
      if pthread_equal(thread, pthread_self()) != 0 {
        pthread_detach(thread)
      } else {
        pthread_join(thread, nil)
      }
    }

    /// Runs a closure on the loop's thread, before the next turns of its sources. Use it to add a source to a running loop.
    ///
    /// - Parameter job: the work, which must not wait.
    /// - Returns: false if the loop has ended and the closure will not run.
    @discardableResult
    package func enqueue(_ job: @escaping @Sendable () -> Void) -> Bool {
      let isAccepted = jobs.withLock { jobs in
        if !jobs.isOver { jobs.waiting.append(job) }
        return !jobs.isOver
      }
      if isAccepted { ring() }
      return isAccepted
    }

    /// Ends the current wait, or the next one.
    func ring() {
      eventfd_write(bell, 1)
    }

    // MARK: Before the start, or on the loop's thread

    /// Adds a source, which gets its first turn at once.
    package func add(_ source: any EventSource) -> EventPlace {
      let place = EventPlace(self)
      place.isDue.store(true, ordering: .relaxed)
      let entry = Entry(source: source, place: place)
      if let free = entries.firstIndex(where: { $0.source is Nothing }) {
        entries[free] = entry
      } else {
        entries.append(entry)
      }
      return place
    }

    /// Removes a source and its watched descriptors.
    package func remove(_ place: EventPlace) {
      guard let index = entries.firstIndex(where: { $0.place === place }) else { return }
      for (descriptor, watch) in watched where watch.entry == index { forget(descriptor) }
      // The others keep their index; the next source added reuses this one.
      entries[index] = Entry(source: Nothing(), place: EventPlace(self))
    }

    /// Starts watching a descriptor, or changes the events to watch for.
    package func watch(_ descriptor: Int32, for readiness: Readiness, at place: EventPlace) {
      let interest =
        (readiness.contains(.reading) ? EPOLLIN.rawValue : 0) | (readiness.contains(.writing) ? EPOLLOUT.rawValue : 0)
        | (readiness.contains(.changes) ? EPOLLET.rawValue : 0)
      if var watch = watched[descriptor], entries[watch.entry].place === place {
        if watch.interest != interest { set(EPOLL_CTL_MOD, descriptor, interest) }
        watch.interest = interest
        watch.isPaused = false
        watch.isStray = false
        watched[descriptor] = watch
      } else if let entry = entries.firstIndex(where: { $0.place === place }) {
        watched[descriptor] = Watch(entry: entry, interest: interest)
        set(EPOLL_CTL_ADD, descriptor, interest)
      }
    }

    /// Ignores a descriptor's events for now.
    ///
    /// The descriptor stays in the epoll set, so watching it again for the same events costs no system call. Call
    /// ``forget(_:)`` before closing it.
    package func pause(_ descriptor: Int32) {
      watched[descriptor]?.isPaused = true
    }

    /// Stops watching a descriptor. Call this before closing it.
    package func forget(_ descriptor: Int32) {
      guard watched.removeValue(forKey: descriptor) != nil else { return }
      epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, nil)
    }

    private func set(_ operation: Int32, _ descriptor: Int32, _ interest: UInt32) {
      var event = epoll_event(events: interest, data: epoll_data_t(fd: descriptor))
      guard epoll_ctl(poll, operation, descriptor, &event) != 0 else { return }
      // The descriptor may have been closed and reused unnoticed; then the other operation is the right one.
      if errno == EEXIST { epoll_ctl(poll, EPOLL_CTL_MOD, descriptor, &event) }
      if errno == ENOENT { epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) }
    }

    // MARK: The thread

    private func run() {
      diorama_name_this_thread(name)
      pthread_setspecific(Self.currentKey, Unmanaged.passUnretained(self).toOpaque())
      var timeout: Int32 = 0
      while true {
        wait(timeout)
        guard !isEnding.load(ordering: .sequentiallyConsistent) else { break }
        for job in takeJobs() { job() }
        timeout = turns()
      }
      end()
      pthread_setspecific(Self.currentKey, nil)
    }

    private func takeJobs(isLast: Bool = false) -> [@Sendable () -> Void] {
      jobs.withLock { jobs in
        if isLast { jobs.isOver = true }
        guard !jobs.waiting.isEmpty else { return [] }
        defer { jobs.waiting = [] }
        return jobs.waiting
      }
    }

    private func end() {
      for job in takeJobs(isLast: true) { job() }
      var index = 0
      while index < entries.count {
        entries[index].source.loopEnds()
        index += 1
      }
      entries = []
    }

    private func wait(_ milliseconds: Int32) {
      let count = epoll_wait(poll, &events, Int32(events.count), milliseconds)
      guard count > 0 else { return }
      for index in 0..<Int(count) {
        let descriptor = events[index].data.fd
        if descriptor == bell {
          var rings: eventfd_t = 0
          eventfd_read(bell, &rings)
          continue
        }
        guard let watch = watched[descriptor] else { continue }
        guard !watch.isPaused else {
          if watch.isStray { forget(descriptor) } else { watched[descriptor]?.isStray = true }
          continue
        }
        let readiness = Readiness(events: events[index].events)
        entries[watch.entry].place.isDue.store(true, ordering: .relaxed)
        entries[watch.entry].source.isReady(descriptor, for: readiness)
      }
    }

    /// Gives a turn to each source that is due, including those woken by other sources' turns.
    ///
    /// - Returns: the time until the next turn in milliseconds; -1 to wait for an event.
    private func turns() -> Int32 {
      var now = monotonicNanoseconds()
      // Bounded, so ready descriptors are not starved.
      for _ in 0..<4 {
        var hadTurn = false
        var index = 0
        // By index: a turn may add a source.
        while index < entries.count {
          let isDue = entries[index].place.isDue.exchange(false, ordering: .sequentiallyConsistent)
          if isDue || entries[index].next.map({ $0 <= now }) ?? false {
            entries[index].next = entries[index].source.turn(now: now)
            hadTurn = true
          }
          index += 1
        }
        guard hadTurn else { break }
        now = monotonicNanoseconds()
      }
      guard !entries.contains(where: { $0.place.isDue.load(ordering: .sequentiallyConsistent) }) else { return 0 }
      guard let next = entries.lazy.compactMap(\.next).min() else { return -1 }
      return next <= now ? 0 : Int32(min((next - now + 999_999) / 1_000_000, 60_000))
    }

    /// A placeholder for a removed source.
    private final class Nothing: EventSource {
      func isReady(_ descriptor: Int32, for readiness: Readiness) {}
      func turn(now: UInt64) -> UInt64? { nil }
      func loopEnds() {}
    }

    private static let currentKey: pthread_key_t = {
      var key = pthread_key_t()
      pthread_key_create(&key, nil)
      return key
    }()
  }

  extension Readiness {
    fileprivate init(events: UInt32) {
      self.init(
        rawValue: (events & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 ? Self.reading.rawValue : 0)
          | (events & EPOLLOUT.rawValue != 0 ? Self.writing.rawValue : 0)
          | (events & EPOLLERR.rawValue != 0 ? Self.failure.rawValue : 0))
    }
  }
#else
  #error("EventLoop has no kqueue variant yet")
#endif
