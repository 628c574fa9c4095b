/// A color on a terminal.
public struct TerminalColor: Sendable, Hashable {
  /// The amounts of red, green and blue.
  public var red, green, blue: UInt8

  /// - Parameters:
  ///   - red: the amount of red.
  ///   - green: the amount of green.
  ///   - blue: the amount of blue.
  public init(red: UInt8, green: UInt8, blue: UInt8) {
    self.red = red
    self.green = green
    self.blue = blue
  }

  /// As in CSS: `#ff8000`.
  var css: String {
    "#" + [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

/// One cell of a terminal.
public struct TerminalCell: Sendable, Hashable {
  /// How a cell is drawn.
  public struct Attributes: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Bold.
    public static let bold = Attributes(rawValue: 1)
    /// Italic.
    public static let italic = Attributes(rawValue: 2)
    /// Underlined.
    public static let underline = Attributes(rawValue: 4)
    /// Struck through.
    public static let strikethrough = Attributes(rawValue: 8)
    /// Blinking.
    public static let blink = Attributes(rawValue: 16)
    /// Foreground and background are swapped.
    public static let reverse = Attributes(rawValue: 32)
  }

  /// The character with its combining marks; a space for an empty cell.
  public var text: String
  /// The number of cells that the character takes: 1 or 2. The second cell of a wide character has 0.
  public var width: Int
  /// The color of the character; nil for the terminal's own.
  public var foreground: TerminalColor?
  /// The color behind the character; nil for the terminal's own.
  public var background: TerminalColor?
  /// How the cell is drawn.
  public var attributes: Attributes
}

/// A position on a terminal; the top left is 0, 0.
public struct TerminalPosition: Sendable, Hashable {
  /// The row, from 0.
  public var row: Int
  /// The column, from 0.
  public var column: Int

  /// - Parameters:
  ///   - row: the row, from 0.
  ///   - column: the column, from 0.
  public init(row: Int, column: Int) {
    self.row = row
    self.column = column
  }
}

/// A key of a terminal that has no character, or a character with the control key.
public enum TerminalKey: Sendable, Hashable {
  case enter, tab, backspace, escape, up, down, left, right, insert, delete, home, end, pageUp, pageDown
  /// F1 to F12.
  case function(Int)
  /// A letter with the control key: `.control("c")`.
  case control(Character)
}
