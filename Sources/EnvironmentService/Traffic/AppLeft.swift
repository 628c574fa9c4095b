import HTTPMessages
import HTTPServer

extension Error {
  /// Whether it says that the app has broken off what it had asked for: in its upload, or before it had the whole answer.
  var isAppLeaving: Bool {
    self is ClientGone || self is BytePipe.ReaderGone || self is CancellationError
  }
}
