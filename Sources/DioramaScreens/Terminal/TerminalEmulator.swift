import CVTerm
import DioramaScenarios

/// A terminal's state, as libvterm keeps it. Not safe for concurrent use; a lock guards it.
final class TerminalEmulator: @unchecked Sendable {
  private let terminal: OpaquePointer
  private let screen: OpaquePointer
  private var callbacks = VTermScreenCallbacks()
  /// What the terminal sends to the program: keys, and answers to its questions.
  private var output: [UInt8] = []
  private(set) var isCursorVisible = true
  private(set) var title = ""

  /// - Throws: ``ScreenError`` without memory, the only reason for which vterm_new fails.
  init(rows: Int, columns: Int) throws(ScreenError) {
    guard let terminal = vterm_new(Int32(rows), Int32(columns)), let screen = vterm_obtain_screen(terminal) else {
      throw ScreenError(.notStarted, "no memory for a terminal of \(columns) × \(rows) cells; use a smaller one")
    }
    self.terminal = terminal
    self.screen = screen
    vterm_set_utf8(terminal, 1)
    let me = Unmanaged.passUnretained(self).toOpaque()
    vterm_output_set_callback(
      terminal,
      { bytes, count, me in
        guard let bytes, let me else { return }
        let raw = UnsafeRawBufferPointer(start: bytes, count: count)
        Unmanaged<TerminalEmulator>.fromOpaque(me).takeUnretainedValue().output += raw
      }, me)
    callbacks.settermprop = { property, value, me in
      guard let value, let me else { return 0 }
      let emulator = Unmanaged<TerminalEmulator>.fromOpaque(me).takeUnretainedValue()
      switch property {
      case VTERM_PROP_CURSORVISIBLE: emulator.isCursorVisible = value.pointee.boolean != 0
      case VTERM_PROP_TITLE: emulator.title = value.pointee.string.map { String(cString: $0) } ?? ""
      default: break
      }
      return 1
    }
    vterm_screen_enable_altscreen(screen, 1)
    vterm_screen_reset(screen, 1)
    // libvterm keeps the pointer, so the memory must not move.
    callbackMemory.initialize(to: callbacks)
    vterm_screen_set_callbacks(screen, callbackMemory, me)
  }

  private let callbackMemory = UnsafeMutablePointer<VTermScreenCallbacks>.allocate(capacity: 1)

  deinit {
    vterm_free(terminal)
    callbackMemory.deallocate()
  }

  /// Takes output of the program.
  ///
  /// - Returns: what the terminal answers.
  func write(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    vterm_input_write(terminal, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    return takeOutput()
  }

  /// The bytes that a key sends, which depend on the modes that the program has set.
  func bytes(for key: TerminalKey) -> [UInt8] {
    if case .control(let character) = key {
      for scalar in character.unicodeScalars { vterm_keyboard_unichar(terminal, scalar.value, VTERM_MOD_CTRL) }
    } else {
      vterm_keyboard_key(terminal, Self.code(key), VTERM_MOD_NONE)
    }
    return takeOutput()
  }

  private func takeOutput() -> [UInt8] {
    defer { output = [] }
    return output
  }

  private static func code(_ key: TerminalKey) -> VTermKey {
    switch key {
    case .enter: VTERM_KEY_ENTER
    case .tab: VTERM_KEY_TAB
    case .backspace: VTERM_KEY_BACKSPACE
    case .escape: VTERM_KEY_ESCAPE
    case .up: VTERM_KEY_UP
    case .down: VTERM_KEY_DOWN
    case .left: VTERM_KEY_LEFT
    case .right: VTERM_KEY_RIGHT
    case .insert: VTERM_KEY_INS
    case .delete: VTERM_KEY_DEL
    case .home: VTERM_KEY_HOME
    case .end: VTERM_KEY_END
    case .pageUp: VTERM_KEY_PAGEUP
    case .pageDown: VTERM_KEY_PAGEDOWN
    case .function(let number): VTermKey(VTERM_KEY_FUNCTION_0.rawValue + UInt32(max(0, min(number, 63))))
    case .control: VTERM_KEY_NONE
    }
  }

  func resize(rows: Int, columns: Int) {
    vterm_set_size(terminal, Int32(rows), Int32(columns))
    vterm_screen_flush_damage(screen)
  }

  var size: (rows: Int, columns: Int) {
    var rows: Int32 = 0
    var columns: Int32 = 0
    vterm_get_size(terminal, &rows, &columns)
    return (Int(rows), Int(columns))
  }

  var cursor: TerminalPosition {
    var position = VTermPos()
    vterm_state_get_cursorpos(vterm_obtain_state(terminal), &position)
    return TerminalPosition(row: Int(position.row), column: Int(position.col))
  }

  /// All cells, row by row.
  var cells: [[TerminalCell]] {
    let (rows, columns) = size
    return (0..<rows).map { row in
      var cells: [TerminalCell] = []
      while cells.count < columns {
        let cell = cell(row, cells.count)
        cells.append(cell)
        if cell.width == 2, cells.count < columns {
          var rest = cell
          rest.text = ""
          rest.width = 0
          cells.append(rest)
        }
      }
      return cells
    }
  }

  private func cell(_ row: Int, _ column: Int) -> TerminalCell {
    var cell = VTermScreenCell()
    vterm_screen_get_cell(screen, VTermPos(row: Int32(row), col: Int32(column)), &cell)
    let text = withUnsafeBytes(of: cell.chars) { raw in
      var text = String.UnicodeScalarView()
      for value in raw.bindMemory(to: UInt32.self) {
        guard value != 0 else { break }
        text.append(Unicode.Scalar(value) ?? "\u{FFFD}")
      }
      return String(text)
    }
    var attributes: TerminalCell.Attributes = []
    if cell.attrs.bold != 0 { attributes.insert(.bold) }
    if cell.attrs.italic != 0 { attributes.insert(.italic) }
    if cell.attrs.underline != 0 { attributes.insert(.underline) }
    if cell.attrs.strike != 0 { attributes.insert(.strikethrough) }
    if cell.attrs.blink != 0 { attributes.insert(.blink) }
    if cell.attrs.reverse != 0 { attributes.insert(.reverse) }
    return TerminalCell(
      text: text.isEmpty ? " " : text, width: max(1, Int(cell.width)), foreground: color(cell.fg),
      background: color(cell.bg), attributes: attributes)
  }

  /// nil for the terminal's own colors.
  private func color(_ color: VTermColor) -> TerminalColor? {
    guard UInt32(color.type) & VTERM_COLOR_DEFAULT_MASK.rawValue == 0 else { return nil }
    var color = color
    vterm_screen_convert_color_to_rgb(screen, &color)
    return TerminalColor(red: color.rgb.red, green: color.rgb.green, blue: color.rgb.blue)
  }
}
