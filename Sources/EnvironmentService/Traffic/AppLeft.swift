import HTTPMessages
import HTTPServer

extension Error {
  /// Whether the error means that the app disconnected, during its upload or before it received the whole response.
  var isAppLeaving: Bool {
    self is ClientGone || self is BytePipe.ReaderGone || self is CancellationError
  }
}
