/// A screenshot: a picture of a screen, and its text.
public struct Screenshot: Sendable, Equatable {
  /// The name of the screen, or of the moment at which the picture was taken.
  public var name: String
  /// The bytes of the picture.
  public var bytes: [UInt8]
  /// The media type of the picture, such as `image/png`.
  public var mediaType: String
  /// The text on the screen; nil if it is unknown.
  public var text: String?

  /// - Parameters:
  ///   - name: the name of the screen.
  ///   - bytes: the bytes of the picture.
  ///   - mediaType: its media type.
  ///   - text: the text on the screen, if known.
  public init(name: String, bytes: [UInt8], mediaType: String, text: String? = nil) {
    self.name = name
    self.bytes = bytes
    self.mediaType = mediaType
    self.text = text
  }

  /// The extension of a file with this picture: `png`.
  package var fileExtension: String {
    switch mediaType {
    case "image/png": "png"
    case "image/jpeg": "jpg"
    case "image/svg+xml": "svg"
    default: "txt"
    }
  }
}

/// The quality of a screenshot, as in `XCTAttachment.ImageQuality`. Vector images and text ignore it.
public enum ScreenshotQuality: Sendable, CaseIterable {
  /// Lossless: PNG.
  case original
  /// A good JPEG: small, with text that is easy to read.
  case medium
  /// The smallest JPEG on which text can be read.
  case low
}

/// Something that screenshots can be taken of.
///
/// Implementations are the screen of an app under UI test (`XCUIApplication`), a page in headless Chromium and a terminal
/// (`DioramaScreens`), and the output of a ``/DioramaTesting/TestApplication``. For a screen of another kind, implement it, or
/// ``Screen``, and pass it to ``ScenarioScreens/show(_:)``.
public protocol ScreenshotSource: Sendable {
  /// A short name for attachments, such as `terminal`.
  var name: String { get }

  /// Takes a picture of what is shown now.
  ///
  /// - Parameter quality: the quality.
  /// - Returns: the picture.
  /// - Throws: an error if no picture can be taken, such as ``ScreenError``.
  func screenshot(quality: ScreenshotQuality) async throws -> Screenshot
}
