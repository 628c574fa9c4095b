import Basics
import Foundation
import LaunchContract

extension Error {
  /// The system's error message, such as `Permission denied`. Foundation's own messages about files name no cause (`The
  /// data couldn't be read…`) and differ between platforms.
  package var systemReason: String {
    if let error = self as? CodedError { return error.description }
    // Only on Apple platforms does `as? NSError` succeed for every error.
    let cause = ((self as NSError).userInfo[NSUnderlyingErrorKey] as? any Error) ?? self
    guard (cause as NSError).domain == NSPOSIXErrorDomain else { return "unknown reason" }
    return String(cString: strerror(Int32((cause as NSError).code)))
  }
}
