package import Foundation
package import Gherkin

// Messages about what happened in a run: the types, and members in JSON, of Cucumber's messages.
extension Message {
  /// The start of a run.
  package struct TestRunStarted: Codable, Hashable, Sendable {
    /// When it started.
    package var timestamp: Timestamp
    /// The id.
    package var id: String?

    package init(timestamp: Timestamp, id: String? = nil) {
      self.timestamp = timestamp
      self.id = id
    }
  }

  /// The end of a run.
  package struct TestRunFinished: Codable, Hashable, Sendable {
    /// Why it failed, apart from its scenarios.
    package var message: String?
    /// Whether it succeeded.
    package var success: Bool
    /// When it ended.
    package var timestamp: Timestamp
    /// The error apart from those of scenarios.
    package var exception: Exception?
    /// The run.
    package var testRunStartedId: String?

    package init(
      message: String? = nil, success: Bool, timestamp: Timestamp, exception: Exception? = nil,
      testRunStartedId: String? = nil
    ) {
      self.message = message
      self.success = success
      self.timestamp = timestamp
      self.exception = exception
      self.testRunStartedId = testRunStartedId
    }
  }

  /// The start of a hook of the run.
  package struct TestRunHookStarted: Codable, Hashable, Sendable {
    /// The id.
    package var id: String
    /// The run.
    package var testRunStartedId: String
    /// The hook.
    package var hookId: String
    /// The process or thread.
    package var workerId: String?
    /// When it started.
    package var timestamp: Timestamp

    package init(
      id: String, testRunStartedId: String, hookId: String, workerId: String? = nil, timestamp: Timestamp
    ) {
      self.id = id
      self.testRunStartedId = testRunStartedId
      self.hookId = hookId
      self.workerId = workerId
      self.timestamp = timestamp
    }
  }

  /// The end of a hook of the run.
  package struct TestRunHookFinished: Codable, Hashable, Sendable {
    /// The execution of the hook.
    package var testRunHookStartedId: String
    /// The result.
    package var result: TestStepResult
    /// When it ended.
    package var timestamp: Timestamp

    package init(testRunHookStartedId: String, result: TestStepResult, timestamp: Timestamp) {
      self.testRunHookStartedId = testRunHookStartedId
      self.result = result
      self.timestamp = timestamp
    }
  }

  /// A scenario with the hooks and step definitions that run for it.
  package struct TestCase: Codable, Hashable, Sendable {
    /// The id.
    package var id: String
    /// The scenario.
    package var pickleId: String
    /// The hooks and steps, in order.
    package var testSteps: [TestStep]
    /// The run.
    package var testRunStartedId: String?

    package init(id: String, pickleId: String, testSteps: [TestStep], testRunStartedId: String? = nil) {
      self.id = id
      self.pickleId = pickleId
      self.testSteps = testSteps
      self.testRunStartedId = testRunStartedId
    }
  }

  /// A hook or a step of a test case.
  package struct TestStep: Codable, Hashable, Sendable {
    /// The hook; nil for a step.
    package var hookId: String?
    /// The id.
    package var id: String
    /// The step; nil for a hook.
    package var pickleStepId: String?
    /// The matching definitions: none if undefined, several if ambiguous; nil for a hook.
    package var stepDefinitionIds: [String]?
    /// The arguments for each definition; nil for a hook.
    package var stepMatchArgumentsLists: [StepMatchArgumentsList]?

    package init(
      hookId: String? = nil, id: String, pickleStepId: String? = nil, stepDefinitionIds: [String]? = nil,
      stepMatchArgumentsLists: [StepMatchArgumentsList]? = nil
    ) {
      self.hookId = hookId
      self.id = id
      self.pickleStepId = pickleStepId
      self.stepDefinitionIds = stepDefinitionIds
      self.stepMatchArgumentsLists = stepMatchArgumentsLists
    }
  }

  /// The arguments of a step for one definition.
  package struct StepMatchArgumentsList: Codable, Hashable, Sendable {
    /// The arguments in order.
    package var stepMatchArguments: [StepMatchArgument]

    package init(stepMatchArguments: [StepMatchArgument]) {
      self.stepMatchArguments = stepMatchArguments
    }
  }

  /// An argument in the text of a step.
  package struct StepMatchArgument: Codable, Hashable, Sendable {
    /// What was matched.
    package var group: Group
    /// The parameter type; nil for a regular expression.
    package var parameterTypeName: String?

    package init(group: Group, parameterTypeName: String? = nil) {
      self.group = group
      self.parameterTypeName = parameterTypeName
    }
  }

  /// A matched part of a step's text.
  package struct Group: Codable, Hashable, Sendable {
    /// The groups within it.
    package var children: [Group]?
    /// The offset in the text in UTF-16 code units; nil if nothing was matched.
    package var start: Int?
    /// The text; nil if nothing was matched.
    package var value: String?

    package init(children: [Group]? = nil, start: Int? = nil, value: String? = nil) {
      self.children = children
      self.start = start
      self.value = value
    }
  }

  /// The start of an attempt at a test case.
  package struct TestCaseStarted: Codable, Hashable, Sendable {
    /// The number of the attempt, from 0.
    package var attempt: Int
    /// The id.
    package var id: String
    /// The test case.
    package var testCaseId: String
    /// The process or thread.
    package var workerId: String?
    /// When it started.
    package var timestamp: Timestamp

    package init(attempt: Int, id: String, testCaseId: String, workerId: String? = nil, timestamp: Timestamp) {
      self.attempt = attempt
      self.id = id
      self.testCaseId = testCaseId
      self.workerId = workerId
      self.timestamp = timestamp
    }
  }

  /// The end of an attempt at a test case.
  package struct TestCaseFinished: Codable, Hashable, Sendable {
    /// The attempt.
    package var testCaseStartedId: String
    /// When it ended.
    package var timestamp: Timestamp
    /// Whether another attempt follows.
    package var willBeRetried: Bool

    package init(testCaseStartedId: String, timestamp: Timestamp, willBeRetried: Bool) {
      self.testCaseStartedId = testCaseStartedId
      self.timestamp = timestamp
      self.willBeRetried = willBeRetried
    }
  }

  /// The start of a hook or step.
  package struct TestStepStarted: Codable, Hashable, Sendable {
    /// The attempt.
    package var testCaseStartedId: String
    /// The hook or step.
    package var testStepId: String
    /// When it started.
    package var timestamp: Timestamp

    package init(testCaseStartedId: String, testStepId: String, timestamp: Timestamp) {
      self.testCaseStartedId = testCaseStartedId
      self.testStepId = testStepId
      self.timestamp = timestamp
    }
  }

  /// The end of a hook or step.
  package struct TestStepFinished: Codable, Hashable, Sendable {
    /// The attempt.
    package var testCaseStartedId: String
    /// The hook or step.
    package var testStepId: String
    /// The result.
    package var testStepResult: TestStepResult
    /// When it ended.
    package var timestamp: Timestamp

    package init(
      testCaseStartedId: String, testStepId: String, testStepResult: TestStepResult, timestamp: Timestamp
    ) {
      self.testCaseStartedId = testCaseStartedId
      self.testStepId = testStepId
      self.testStepResult = testStepResult
      self.timestamp = timestamp
    }
  }

  /// The result of a hook or step.
  package struct TestStepResult: Codable, Hashable, Sendable {
    /// How long it took.
    package var duration: Duration
    /// The error, with its stack trace if there is one.
    package var message: String?
    /// The status.
    package var status: TestStepResultStatus
    /// The error.
    package var exception: Exception?

    package init(
      duration: Duration, message: String? = nil, status: TestStepResultStatus, exception: Exception? = nil
    ) {
      self.duration = duration
      self.message = message
      self.status = status
      self.exception = exception
    }
  }

  /// An error.
  package struct Exception: Codable, Hashable, Sendable {
    /// The type.
    package var type: String
    /// The message.
    package var message: String?
    /// The stack trace.
    package var stackTrace: String?

    package init(type: String, message: String? = nil, stackTrace: String? = nil) {
      self.type = type
      self.message = message
      self.stackTrace = stackTrace
    }
  }

  /// A text, picture or file that a step, a hook or the run left.
  package struct Attachment: Codable, Hashable, Sendable {
    /// The text, or the bytes in Base64.
    package var body: String
    /// The encoding of the body.
    package var contentEncoding: AttachmentContentEncoding
    /// The name for people.
    package var fileName: String?
    /// The media type, such as `image/png`.
    package var mediaType: String
    /// The feature file that it belongs to.
    package var source: Source?
    /// The attempt; nil for the run.
    package var testCaseStartedId: String?
    /// The step or hook; nil for the whole attempt.
    package var testStepId: String?
    /// Where the body is, if it is not here.
    package var url: String?
    /// The run; nil for an attempt.
    package var testRunStartedId: String?
    /// The execution of a hook of the run.
    package var testRunHookStartedId: String?
    /// When it was made.
    package var timestamp: Timestamp?

    package init(
      body: String, contentEncoding: AttachmentContentEncoding, fileName: String? = nil, mediaType: String,
      source: Source? = nil, testCaseStartedId: String? = nil, testStepId: String? = nil, url: String? = nil,
      testRunStartedId: String? = nil, testRunHookStartedId: String? = nil, timestamp: Timestamp? = nil
    ) {
      self.body = body
      self.contentEncoding = contentEncoding
      self.fileName = fileName
      self.mediaType = mediaType
      self.source = source
      self.testCaseStartedId = testCaseStartedId
      self.testStepId = testStepId
      self.url = url
      self.testRunStartedId = testRunStartedId
      self.testRunHookStartedId = testRunHookStartedId
      self.timestamp = timestamp
    }
  }

  /// An attachment whose body is elsewhere.
  package struct ExternalAttachment: Codable, Hashable, Sendable {
    /// Where the body is.
    package var url: String
    /// The media type.
    package var mediaType: String
    /// The attempt; nil for the run.
    package var testCaseStartedId: String?
    /// The step or hook.
    package var testStepId: String?
    /// The execution of a hook of the run.
    package var testRunHookStartedId: String?
    /// When it was made.
    package var timestamp: Timestamp?

    package init(
      url: String, mediaType: String, testCaseStartedId: String? = nil, testStepId: String? = nil,
      testRunHookStartedId: String? = nil, timestamp: Timestamp? = nil
    ) {
      self.url = url
      self.mediaType = mediaType
      self.testCaseStartedId = testCaseStartedId
      self.testStepId = testStepId
      self.testRunHookStartedId = testRunHookStartedId
      self.timestamp = timestamp
    }
  }

  /// The encoding of an attachment's body.
  package enum AttachmentContentEncoding: String, Codable, Hashable, Sendable {
    /// Text as it is.
    case identity = "IDENTITY"
    case base64 = "BASE64"
  }

  /// The status of a hook or step.
  package enum TestStepResultStatus: String, Codable, Hashable, Sendable, CaseIterable {
    case unknown = "UNKNOWN"
    case passed = "PASSED"
    case skipped = "SKIPPED"
    case pending = "PENDING"
    case undefined = "UNDEFINED"
    case ambiguous = "AMBIGUOUS"
    case failed = "FAILED"
  }

  /// An instant.
  package struct Timestamp: Codable, Hashable, Sendable {
    /// Seconds since 1970.
    package var seconds: Int
    /// The fraction, 0 to 999,999,999.
    package var nanos: Int

    package init(seconds: Int, nanos: Int) {
      self.seconds = seconds
      self.nanos = nanos
    }

    /// - Parameter date: the instant; rounded down to microseconds.
    package init(_ date: Date) {
      let interval = date.timeIntervalSince1970
      let whole = interval.rounded(.down)
      self.init(seconds: Int(whole), nanos: Int((interval - whole) * 1_000_000) * 1000)
    }

    /// Seconds since 1970 with the fraction.
    package var interval: Double { Double(seconds) + Double(nanos) / 1_000_000_000 }
  }

  /// A length of time.
  package struct Duration: Codable, Hashable, Sendable {
    /// Whole seconds.
    package var seconds: Int
    /// The fraction, 0 to 999,999,999.
    package var nanos: Int

    package init(seconds: Int, nanos: Int) {
      self.seconds = seconds
      self.nanos = nanos
    }

    /// - Parameter duration: not negative.
    package init(_ duration: Swift.Duration) {
      let (seconds, attoseconds) = duration.components
      self.init(seconds: Int(seconds), nanos: Int(attoseconds / 1_000_000_000))
    }

    /// The length in seconds.
    package var interval: Double { Double(seconds) + Double(nanos) / 1_000_000_000 }
  }
}
