import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Descriptors 0 to 2, which a caller may have closed (`2>&-`).
enum StandardDescriptors {
  /// Opens those that are closed, before anything else is opened.
  ///
  /// The next file or socket would else take the number, and our words for standard error would go into it: into the
  /// recording, say. Output cannot be written to what stands there, as to nothing at all. Close-on-exec: the command finds them closed, as its caller wanted.
  static func open() {
    for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
      #if canImport(Darwin)
        _ = Darwin.open("/dev/null", (descriptor == 0 ? O_RDWR : O_RDONLY) | O_CLOEXEC)
      #else
        _ = Glibc.open("/dev/null", (descriptor == 0 ? O_RDWR : O_RDONLY) | O_CLOEXEC)
      #endif
    }
  }
}
