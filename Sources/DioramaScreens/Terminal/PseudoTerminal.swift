import DioramaScenarios
import Foundation

/// A pseudo terminal; this process holds the side of the user.
struct PseudoTerminal {
  let master: Int32
  /// The file that the program opens.
  let path: String

  /// - Throws: ``ScreenError`` if the system has none left.
  init() throws {
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard master >= 0 else { throw Self.failure() }
    #if canImport(Darwin)
      guard grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) else {
        close(master)
        throw Self.failure()
      }
      path = String(cString: name)
    #else
      // TIOCSPTLCK and TIOCGPTN: unlockpt(3) and ptsname(3), which Swift does not import.
      var number: Int32 = 0
      guard ioctl(master, 0x4004_5431, &number) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
        close(master)
        throw Self.failure()
      }
      path = "/dev/pts/\(number)"
    #endif
  }

  /// Tells the program its size, with SIGWINCH.
  static func resize(_ master: Int32, rows: Int, columns: Int) {
    var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(master, UInt(TIOCSWINSZ), &size)
  }

  private static func failure() -> ScreenError {
    ScreenError(
      .notStarted, "no pseudo terminal: \(String(cString: strerror(errno))); mount /dev/pts, or close other terminals")
  }
}
