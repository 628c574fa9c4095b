extension ScenarioTestCase {
  /// Runs a step that describes a situation.
  ///
  /// - Parameters:
  ///   - text: the step's text; `<name>` is a value of an outline's examples.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func Given(
    _ text: String, table: [[String]]? = nil, docString: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) {
    perform(InlineStep("Given", text, table, docString, file, line))
  }

  /// Runs a step that describes a situation, in an `async` test method.
  ///
  /// - Parameters:
  ///   - text: the step's text; `<name>` is a value of an outline's examples.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func Given(
    _ text: String, table: [[String]]? = nil, docString: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) async {
    await perform(InlineStep("Given", text, table, docString, file, line))
  }

  /// Runs a step that does something.
  ///
  /// - Parameters:
  ///   - text: the step's text; `<name>` is a value of an outline's examples.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func When(
    _ text: String, table: [[String]]? = nil, docString: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) {
    perform(InlineStep("When", text, table, docString, file, line))
  }

  /// Runs a step that does something, in an `async` test method.
  ///
  /// - Parameters:
  ///   - text: the step's text; `<name>` is a value of an outline's examples.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func When(
    _ text: String, table: [[String]]? = nil, docString: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) async {
    await perform(InlineStep("When", text, table, docString, file, line))
  }

  /// Runs a step that checks something.
  ///
  /// - Parameters:
  ///   - text: the step's text; `<name>` is a value of an outline's examples.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func Then(
    _ text: String, table: [[String]]? = nil, docString: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) {
    perform(InlineStep("Then", text, table, docString, file, line))
  }

  /// Runs a step that checks something, in an `async` test method.
  ///
  /// - Parameters:
  ///   - text: the step's text; `<name>` is a value of an outline's examples.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func Then(
    _ text: String, table: [[String]]? = nil, docString: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) async {
    await perform(InlineStep("Then", text, table, docString, file, line))
  }

  /// Runs a step of the same kind as the one before.
  ///
  /// - Parameters:
  ///   - text: the step's text; `<name>` is a value of an outline's examples.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func And(
    _ text: String, table: [[String]]? = nil, docString: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) {
    perform(InlineStep("And", text, table, docString, file, line))
  }

  /// Runs a step of the same kind as the one before, in an `async` test method.
  ///
  /// - Parameters:
  ///   - text: the step's text; `<name>` is a value of an outline's examples.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func And(
    _ text: String, table: [[String]]? = nil, docString: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) async {
    await perform(InlineStep("And", text, table, docString, file, line))
  }

  /// Runs a step of the same kind as the one before.
  ///
  /// - Parameters:
  ///   - text: the step's text; `<name>` is a value of an outline's examples.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func But(
    _ text: String, table: [[String]]? = nil, docString: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) {
    perform(InlineStep("But", text, table, docString, file, line))
  }

  /// Runs a step of the same kind as the one before, in an `async` test method.
  ///
  /// - Parameters:
  ///   - text: the step's text; `<name>` is a value of an outline's examples.
  ///   - table: the step's table, including the first row.
  ///   - docString: the step's doc string.
  ///   - file: the file in which failures are reported; by default of the call.
  ///   - line: the line on which failures are reported; by default of the call.
  public func But(
    _ text: String, table: [[String]]? = nil, docString: String? = nil, file: StaticString = #filePath,
    line: UInt = #line
  ) async {
    await perform(InlineStep("But", text, table, docString, file, line))
  }
}
