import Testing

// An initializer for each number of values. With parameter packs, the compiler (6.3.1) crashes on closures that are
// nonisolated(nonsending).
extension StepDefinition {
  /// Defines a step whose closure takes no value.
  ///
  /// - Parameters:
  ///   - expression: a Cucumber Expression.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping () async throws -> Void
  ) {
    self.init(
      .expression(expression), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      []
    ) { values in
      { try await body() }
    }
  }

  /// Defines a step whose closure takes 1 value, the table or doc string included.
  ///
  /// - Parameters:
  ///   - expression: a Cucumber Expression.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init<A1>(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping (A1) async throws -> Void
  ) {
    self.init(
      .expression(expression), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      [A1.self]
    ) { values in
      let value1 = try values.next(A1.self)
      return { try await body(value1) }
    }
  }

  /// Defines a step whose closure takes 2 values, the table or doc string included.
  ///
  /// - Parameters:
  ///   - expression: a Cucumber Expression.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init<A1, A2>(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping (A1, A2) async throws -> Void
  ) {
    self.init(
      .expression(expression), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      [A1.self, A2.self]
    ) { values in
      let (value1, value2) = (try values.next(A1.self), try values.next(A2.self))
      return { try await body(value1, value2) }
    }
  }

  /// Defines a step whose closure takes 3 values, the table or doc string included.
  ///
  /// - Parameters:
  ///   - expression: a Cucumber Expression.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init<A1, A2, A3>(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping (A1, A2, A3) async throws -> Void
  ) {
    self.init(
      .expression(expression), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      [A1.self, A2.self, A3.self]
    ) { values in
      let (value1, value2, value3) = (try values.next(A1.self), try values.next(A2.self), try values.next(A3.self))
      return { try await body(value1, value2, value3) }
    }
  }

  /// Defines a step whose closure takes 4 values, the table or doc string included.
  ///
  /// - Parameters:
  ///   - expression: a Cucumber Expression.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init<A1, A2, A3, A4>(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping (A1, A2, A3, A4) async throws -> Void
  ) {
    self.init(
      .expression(expression), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      [A1.self, A2.self, A3.self, A4.self]
    ) { values in
      let (value1, value2, value3, value4) = (
        try values.next(A1.self), try values.next(A2.self), try values.next(A3.self), try values.next(A4.self)
      )
      return { try await body(value1, value2, value3, value4) }
    }
  }

  /// Defines a step whose closure takes 5 values, the table or doc string included.
  ///
  /// - Parameters:
  ///   - expression: a Cucumber Expression.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init<A1, A2, A3, A4, A5>(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping (A1, A2, A3, A4, A5) async throws -> Void
  ) {
    self.init(
      .expression(expression), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      [A1.self, A2.self, A3.self, A4.self, A5.self]
    ) { values in
      let (value1, value2, value3, value4, value5) = (
        try values.next(A1.self), try values.next(A2.self), try values.next(A3.self), try values.next(A4.self),
        try values.next(A5.self)
      )
      return { try await body(value1, value2, value3, value4, value5) }
    }
  }

  /// Defines a step whose closure takes 6 values, the table or doc string included.
  ///
  /// - Parameters:
  ///   - expression: a Cucumber Expression.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init<A1, A2, A3, A4, A5, A6>(
    _ expression: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping (A1, A2, A3, A4, A5, A6) async throws -> Void
  ) {
    self.init(
      .expression(expression), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      [A1.self, A2.self, A3.self, A4.self, A5.self, A6.self]
    ) { values in
      let (value1, value2, value3, value4, value5, value6) = (
        try values.next(A1.self), try values.next(A2.self), try values.next(A3.self), try values.next(A4.self),
        try values.next(A5.self), try values.next(A6.self)
      )
      return { try await body(value1, value2, value3, value4, value5, value6) }
    }
  }

  /// Defines a step with exactly this text.
  ///
  /// - Parameters:
  ///   - text: the text, in which no character is special.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init(
    exactly text: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping () async throws -> Void
  ) {
    self.init(
      .matcher(ExactText(source: text)), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      []
    ) { values in
      { try await body() }
    }
  }

  /// Defines a step with exactly this text, whose closure takes its table or doc string.
  ///
  /// - Parameters:
  ///   - text: the text, in which no character is special.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init<A1>(
    exactly text: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping (A1) async throws -> Void
  ) {
    self.init(
      .matcher(ExactText(source: text)), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      [A1.self]
    ) { values in
      let value1 = try values.next(A1.self)
      return { try await body(value1) }
    }
  }

  /// Defines a step by a regular expression, whose match the closure takes.
  ///
  /// ```swift
  /// When(/she booked slot (?<number>\d+)/) { match in print(match.number) }
  /// ```
  ///
  /// - Parameters:
  ///   - regex: a regular expression, which must match the whole text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init<Output>(
    _ regex: Regex<Output>, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping (Output) async throws -> Void
  ) {
    self.init(
      .regex(RegexMatcher(regex)), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      []
    ) { values in
      let output = try values.output(of: regex)
      return { try await body(output) }
    }
  }

  /// Defines a step by a regular expression, whose match the closure takes, then its table or doc string.
  ///
  /// ```swift
  /// When(/she booked slot (?<number>\d+)/) { match in print(match.number) }
  /// ```
  ///
  /// - Parameters:
  ///   - regex: a regular expression, which must match the whole text.
  ///   - fileID: the file ID of the definition; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  ///   - body: runs the step.
  public init<Output, A1>(
    _ regex: Regex<Output>, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
    column: Int = #column,
    _ body: @escaping (Output, A1) async throws -> Void
  ) {
    self.init(
      .regex(RegexMatcher(regex)), SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column),
      [A1.self]
    ) { values in
      let output = try values.output(of: regex)
      let value1 = try values.next(A1.self)
      return { try await body(output, value1) }
    }
  }

  /// What all initializers do.
  init(
    _ pattern: Definition.Pattern, _ place: SourceLocation, _ types: [Any.Type],
    _ bind: @escaping (inout StepValues) throws -> () async throws -> Void
  ) {
    self.init(Step(kind: .definition(Definition(pattern: pattern, place: place, types: types, bind: bind))))
  }
}
