import Foundation

/// Reads what a program says, as it comes, on the thread that calls ``run(_:)``.
///
/// It waits in poll(2) for both pipes and for a bell, which whoever waits for the program rings at its end: a pipe alone
/// does not say that its program is gone, since what the program has started may hold it open for ever.
final class OutputReader {
  /// What is in one pipe at most: as large as a pipe can be made without privileges.
  private static let largestPipe = 1 << 20
  /// How long the program's group, which is killed with it, has to be gone.
  private static let grace = Duration.seconds(1)

  private let descriptors: [Int32]
  private let group: pid_t
  private var waiting: [pollfd]
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)

  /// - Parameters:
  ///   - output: the reading end of its standard output; this closes it, and the others.
  ///   - errors: that of its standard error.
  ///   - bell: becomes readable once the program has ended and its group has been killed.
  ///   - group: the program's process group.
  init(output: Int32, errors: Int32, bell: Int32, group: pid_t) {
    descriptors = [output, errors, bell]
    self.group = group
    waiting = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  }

  deinit {
    for descriptor in descriptors { close(descriptor) }
    buffer.deallocate()
  }

  /// Reads until the program and its group are gone and all that they said is here.
  ///
  /// - Parameter take: gets what has come.
  func run(_ take: (LaunchedProcess.Stream, UnsafeRawBufferPointer) -> Void) {
    while waiting[2].revents == 0 { readOnce(timeout: -1, take) }
    waiting[2].fd = -1
    // Whoever was killed takes a moment to go, and closes its ends of the pipes with that.
    let limit = ContinuousClock.now + Self.grace
    while isOpen, kill(-group, 0) == 0, ContinuousClock.now < limit { readOnce(timeout: 10, take) }
    // No more than they can have left there: strangers may hold the pipes, and still be writing.
    var rest = Self.largestPipe
    while isOpen, rest > 0 {
      let count = readOnce(timeout: 0, take)
      if count == 0 { return }
      rest -= count
    }
  }

  /// Whether there is a pipe that has not come to its end.
  private var isOpen: Bool { waiting[0].fd >= 0 || waiting[1].fd >= 0 }

  /// Waits until something can be read, and takes one piece of each pipe: whoever speaks without end drowns neither the
  /// other stream nor the bell.
  ///
  /// - Returns: how much.
  @discardableResult
  private func readOnce(timeout: Int32, _ take: (LaunchedProcess.Stream, UnsafeRawBufferPointer) -> Void) -> Int {
    // A signal cuts the waiting short, and says nothing.
    guard poll(&waiting, nfds_t(waiting.count), timeout) > 0 else { return 0 }
    var all = 0
    for (place, stream) in [LaunchedProcess.Stream.output, .errors].enumerated() where waiting[place].revents != 0 {
      let count = read(waiting[place].fd, buffer.baseAddress, buffer.count)
      if count > 0 {
        take(stream, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        all += count
      } else if count == 0 || errno != EINTR {
        // At its end poll(2) is no longer asked about it.
        waiting[place].fd = -1
      }
    }
    return all
  }
}
