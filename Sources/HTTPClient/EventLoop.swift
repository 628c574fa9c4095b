import CCurl

#if os(Linux)
  import Glibc

  /// Waits for descriptors and for a wake-up from another thread: epoll and an eventfd.
  ///
  /// All of it belongs to one thread, but for ``wake()``. Both descriptors stay open until nobody holds the loop, so
  /// that a late wake-up never writes into a descriptor that is somebody else's by then.
  final class EventLoop: @unchecked Sendable {
    private let poll: Int32
    private let bell: Int32
    private var watched: Set<Int32> = []
    private var events = [epoll_event](repeating: epoll_event(), count: 256)

    init() throws {
      poll = epoll_create1(Int32(EPOLL_CLOEXEC))
      bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
      guard poll >= 0, bell >= 0 else {
        let problem = String(cString: strerror(errno))
        if poll >= 0 { close(poll) }
        if bell >= 0 { close(bell) }
        throw UpstreamError(
          kind: .other, message: "no event loop for upstream requests (\(problem)): raise the limit of open files")
      }
      watch(bell, readable: true, writable: false)
    }

    deinit {
      close(poll)
      close(bell)
    }

    /// Begins to watch a descriptor, or changes what it is watched for.
    func watch(_ descriptor: Int32, readable: Bool, writable: Bool) {
      var event = epoll_event()
      event.events = (readable ? EPOLLIN.rawValue : 0) | (writable ? EPOLLOUT.rawValue : 0)
      event.data.fd = descriptor
      // It may have been closed, and be another one, without a word: then the other call is the right one.
      if watched.insert(descriptor).inserted {
        if epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) != 0, errno == EEXIST {
          epoll_ctl(poll, EPOLL_CTL_MOD, descriptor, &event)
        }
      } else if epoll_ctl(poll, EPOLL_CTL_MOD, descriptor, &event) != 0, errno == ENOENT {
        epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event)
      }
    }

    func forget(_ descriptor: Int32) {
      watched.remove(descriptor)
      epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, nil)
    }

    /// Ends a wait, or the next one; from any thread.
    func wake() {
      eventfd_write(bell, 1)
    }

    /// Waits and hands over what is ready.
    ///
    /// - Parameters:
    ///   - milliseconds: the longest wait; -1: without end.
    ///   - body: gets a descriptor and curl's `CURL_CSELECT_` bits.
    func wait(milliseconds: Int32, _ body: (Int32, Int32) -> Void) {
      let count = epoll_wait(poll, &events, Int32(events.count), milliseconds)
      guard count > 0 else { return }
      for event in events[..<Int(count)] {
        if event.data.fd == bell {
          var rings: eventfd_t = 0
          eventfd_read(bell, &rings)
          continue
        }
        var bits: Int32 = 0
        if event.events & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 { bits |= CURL_CSELECT_IN }
        if event.events & EPOLLOUT.rawValue != 0 { bits |= CURL_CSELECT_OUT }
        if event.events & EPOLLERR.rawValue != 0 { bits |= CURL_CSELECT_ERR }
        body(event.data.fd, bits)
      }
    }
  }
#else
  #error("EventLoop has no kqueue variant yet")
#endif
