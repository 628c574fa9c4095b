import Basics
import Foundation
import LaunchContract

extension Error {
  /// What the system said, such as `Permission denied`: of Foundation's errors about files, whose own words name no
  /// cause (`The data couldn't be read…`) and differ between platforms.
  package var systemReason: String {
    if let error = self as? CodedError { return error.description }
    // Not `as? NSError`, which it is on Apple's platforms alone.
    let cause = ((self as NSError).userInfo[NSUnderlyingErrorKey] as? any Error) ?? self
    guard (cause as NSError).domain == NSPOSIXErrorDomain else { return "the system does not say why" }
    return String(cString: strerror(Int32((cause as NSError).code)))
  }
}
