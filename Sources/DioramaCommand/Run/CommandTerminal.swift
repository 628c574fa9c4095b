import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The terminal that a command may read from, and which process group has it: ours or the command's.
///
/// The command gets it at once when both its input and its output are at the terminal. Else somebody beside us may have
/// a use for it (`diorama run … | less`), and the command gets it when it asks: the system stops a background process
/// that reads the terminal.
struct CommandTerminal: ~Copyable {
  private let descriptor: Int32
  /// Whether the command is to have it whenever we do.
  private var isHandedOver: Bool

  /// Finds the controlling terminal, if there is one.
  init() {
    descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC)
    isHandedOver = isatty(0) == 1 && isatty(1) == 1
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The terminal, if the command is to have it from its first moment: a key that is typed at its first word would else
  /// be meant for us.
  var atStart: Int32? { isHandedOver && foreground == getpgrp() ? descriptor : nil }

  /// There is no command, though one may have had the terminal for a moment.
  func keep() {
    if isHandedOver, descriptor >= 0 { give(to: getpgrp()) }
  }

  /// The command runs, or goes on.
  func handOver(to group: pid_t) {
    if isHandedOver, foreground == getpgrp() { give(to: group) }
  }

  /// The command was stopped because it used the terminal in the background.
  ///
  /// - Returns: whether it has it now; false when it is not ours to give.
  mutating func ask(by group: pid_t) -> Bool {
    guard descriptor >= 0, foreground == getpgrp() || foreground == group else { return false }
    isHandedOver = true
    give(to: group)
    return true
  }

  /// The command has ended or stopped.
  func takeBack(from group: pid_t) {
    if foreground == group { give(to: getpgrp()) }
  }

  private var foreground: pid_t { descriptor >= 0 ? tcgetpgrp(descriptor) : -1 }

  /// A background process that changes the foreground group is stopped by SIGTTOU unless that is ignored.
  private func give(to group: pid_t) {
    let old = signal(SIGTTOU, SIG_IGN)
    tcsetpgrp(descriptor, group)
    signal(SIGTTOU, old)
  }
}
