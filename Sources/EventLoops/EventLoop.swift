import CEpoll
import HTTPMessages
import Synchronization

#if os(Linux)
  import Glibc

  /// A thread that waits for descriptors, for times and for other threads, on behalf of its sources.
  ///
  /// A server's connections and the transfers to which they lead can so live on one thread, and nothing has to be
  /// handed from one to another.
  ///
  /// ```swift
  /// let loop = try EventLoop(named: "http")
  /// let place = loop.add(source)  // before the start, or on the loop's own thread
  /// try loop.start()
  /// place.wake()                  // from any thread: the source gets a turn
  /// loop.stop()
  /// ```
  /// It keeps its sources until it ends. Both descriptors stay open until nobody holds the loop, so that a late wake-up
  /// never writes into a descriptor that is somebody else's by then.
  package final class EventLoop: @unchecked Sendable {
    /// Why there is none.
    package struct Failure: Error, CustomStringConvertible {
      /// The system's words.
      package let description: String

      init(_ code: Int32) { description = String(cString: strerror(code)) }
    }

    private struct Entry {
      let source: any EventSource
      let place: EventPlace
      /// When its next turn is due.
      var next: UInt64?
    }

    private enum State {
      case new
      case running(pthread_t)
      case ended
    }

    private let name: String
    private let poll: Int32
    private let bell: Int32
    private let isEnding = Atomic(false)
    private let state = Guarded(State.new)

    // Of the thread alone from its start on.
    private var entries: [Entry] = []
    private var watched: [Int32: Watch] = [:]
    private var events = [epoll_event](repeating: epoll_event(), count: 256)

    /// A descriptor in the set.
    private struct Watch {
      let entry: Int
      var interest: UInt32
      /// Nobody wants its events for now.
      var isPaused = false
      /// It has been ready all the same: once may be from before the pause.
      var isStray = false
    }

    /// Makes a loop, without a thread yet.
    ///
    /// - Parameter name: of the thread, as `top -H` shows it; at most 15 bytes.
    /// - Throws: ``Failure`` where there are no more descriptors.
    package init(named name: String) throws(Failure) {
      self.name = name
      poll = epoll_create1(Int32(EPOLL_CLOEXEC))
      bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
      let code = errno
      guard poll >= 0, bell >= 0 else {
        if poll >= 0 { close(poll) }
        if bell >= 0 { close(bell) }
        throw Failure(code)
      }
      var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(fd: bell))
      epoll_ctl(poll, EPOLL_CTL_ADD, bell, &event)
    }

    deinit {
      close(poll)
      close(bell)
    }

    // MARK: From any thread

    /// The loop whose thread calls; nil on any other thread.
    package static var current: EventLoop? {
      pthread_getspecific(currentKey).map { Unmanaged<EventLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Starts the thread.
    ///
    /// - Throws: ``Failure`` where the system has none left.
    package func start() throws(Failure) {
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
          Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().run()
          return nil
        }, context.toOpaque())
      pthread_sigmask(SIG_SETMASK, &old, nil)
      guard code == 0 else {
        context.release()
        throw Failure(code)
      }
      state.withLock { $0 = .running(thread) }
    }

    /// Ends the thread, and waits for that unless it is the one that calls; any number of times, from any thread.
    package func stop() {
      isEnding.store(true, ordering: .sequentiallyConsistent)
      ring()
      let state = state.withLock { state in
        defer { state = .ended }
        return state
      }
      // Without a thread nobody else lets go of the sources.
      if case .new = state { return end() }
      guard case .running(let thread) = state else { return }
      if pthread_equal(thread, pthread_self()) != 0 {
        pthread_detach(thread)
      } else {
        pthread_join(thread, nil)
      }
    }

    /// Ends a wait, or the next one.
    func ring() {
      eventfd_write(bell, 1)
    }

    // MARK: Before the start, or on the loop's thread

    /// Takes a source in; its first turn comes at once.
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

    /// Takes a source out, with what it watches.
    package func remove(_ place: EventPlace) {
      guard let index = entries.firstIndex(where: { $0.place === place }) else { return }
      for (descriptor, watch) in watched where watch.entry == index { forget(descriptor) }
      // The others keep their numbers; the next one that comes takes this one.
      entries[index] = Entry(source: Nothing(), place: EventPlace(self))
    }

    /// Begins to watch a descriptor, or changes what it is watched for.
    package func watch(_ descriptor: Int32, for readiness: Readiness, at place: EventPlace) {
      let interest =
        (readiness.contains(.reading) ? EPOLLIN.rawValue : 0) | (readiness.contains(.writing) ? EPOLLOUT.rawValue : 0)
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

    /// Nobody wants a descriptor's events for now.
    ///
    /// It stays in the set: that it is watched again for the same costs no call then. Only for descriptors whose closing
    /// is told by ``forget(_:)``.
    package func pause(_ descriptor: Int32) {
      watched[descriptor]?.isPaused = true
    }

    /// Ends the watch of a descriptor, before it is closed.
    package func forget(_ descriptor: Int32) {
      guard watched.removeValue(forKey: descriptor) != nil else { return }
      epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, nil)
    }

    private func set(_ operation: Int32, _ descriptor: Int32, _ interest: UInt32) {
      var event = epoll_event(events: interest, data: epoll_data_t(fd: descriptor))
      guard epoll_ctl(poll, operation, descriptor, &event) != 0 else { return }
      // It may have been closed, and be another one, without a word: then the other call is the right one.
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
        timeout = turns()
      }
      end()
      pthread_setspecific(Self.currentKey, nil)
    }

    private func end() {
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

    /// Gives a turn to each source that is due, and to those that become so by another's turn.
    ///
    /// - Returns: for how long nothing is due, in milliseconds; -1: until something happens.
    private func turns() -> Int32 {
      var now = monotonicNanoseconds()
      // A bound, since what is ready meanwhile must not wait for ever.
      for _ in 0..<4 {
        var hadTurn = false
        var index = 0
        // By number: a turn may add a source.
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

    /// Stands where a source has been.
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
