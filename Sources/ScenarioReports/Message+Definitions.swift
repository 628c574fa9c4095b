package import Gherkin

// Messages about the program and its definitions: the types, and members in JSON, of Cucumber's messages.
extension Message {
  /// The program that wrote the messages, and its system.
  package struct Meta: Codable, Hashable, Sendable {
    /// The version of the schema.
    package var protocolVersion: String
    /// The program that ran the scenarios.
    package var implementation: Product
    /// The language or its runtime.
    package var runtime: Product
    /// The operating system.
    package var os: Product
    /// The processor's architecture.
    package var cpu: Product
    /// The continuous integration server; nil for none.
    package var ci: Ci?

    package init(
      protocolVersion: String, implementation: Product, runtime: Product, os: Product, cpu: Product, ci: Ci? = nil
    ) {
      self.protocolVersion = protocolVersion
      self.implementation = implementation
      self.runtime = runtime
      self.os = os
      self.cpu = cpu
      self.ci = ci
    }
  }

  /// A program or system with its version.
  package struct Product: Codable, Hashable, Sendable {
    /// The name.
    package var name: String
    /// The version.
    package var version: String?

    package init(name: String, version: String? = nil) {
      self.name = name
      self.version = version
    }
  }

  /// A build on a continuous integration server.
  package struct Ci: Codable, Hashable, Sendable {
    /// The name of the server.
    package var name: String
    /// The page of the build.
    package var url: String?
    /// The number of the build.
    package var buildNumber: String?
    /// What was built.
    package var git: Git?

    package init(name: String, url: String? = nil, buildNumber: String? = nil, git: Git? = nil) {
      self.name = name
      self.url = url
      self.buildNumber = buildNumber
      self.git = git
    }
  }

  /// A commit.
  package struct Git: Codable, Hashable, Sendable {
    /// The URL of the repository.
    package var remote: String
    /// The commit's hash.
    package var revision: String
    /// The branch.
    package var branch: String?
    /// The tag.
    package var tag: String?

    package init(remote: String, revision: String, branch: String? = nil, tag: String? = nil) {
      self.remote = remote
      self.revision = revision
      self.branch = branch
      self.tag = tag
    }
  }

  /// Code that runs before or after a run, a scenario or a step.
  package struct Hook: Codable, Hashable, Sendable {
    /// The id.
    package var id: String
    /// The name for people.
    package var name: String?
    /// The place in code.
    package var sourceReference: SourceReference
    /// The tags of the scenarios that it runs for; nil for all.
    package var tagExpression: String?
    /// When it runs.
    package var type: HookType?

    package init(
      id: String, name: String? = nil, sourceReference: SourceReference, tagExpression: String? = nil,
      type: HookType? = nil
    ) {
      self.id = id
      self.name = name
      self.sourceReference = sourceReference
      self.tagExpression = tagExpression
      self.type = type
    }
  }

  /// A parameter type of Cucumber Expressions.
  package struct ParameterType: Codable, Hashable, Sendable {
    /// The name, as in `{name}`.
    package var name: String
    /// What it matches.
    package var regularExpressions: [String]
    /// Whether a regular expression with the same group means this type.
    package var preferForRegularExpressionMatch: Bool
    /// Whether snippets use it.
    package var useForSnippets: Bool
    /// The id.
    package var id: String
    /// The place in code.
    package var sourceReference: SourceReference?

    package init(
      name: String, regularExpressions: [String], preferForRegularExpressionMatch: Bool, useForSnippets: Bool,
      id: String, sourceReference: SourceReference? = nil
    ) {
      self.name = name
      self.regularExpressions = regularExpressions
      self.preferForRegularExpressionMatch = preferForRegularExpressionMatch
      self.useForSnippets = useForSnippets
      self.id = id
      self.sourceReference = sourceReference
    }
  }

  /// A parameter type that an expression uses, and that is not defined.
  package struct UndefinedParameterType: Codable, Hashable, Sendable {
    /// The expression.
    package var expression: String
    /// The name of the type.
    package var name: String

    package init(expression: String, name: String) {
      self.expression = expression
      self.name = name
    }
  }

  /// A step definition.
  package struct StepDefinition: Codable, Hashable, Sendable {
    /// The id.
    package var id: String
    /// What it matches.
    package var pattern: StepDefinitionPattern
    /// The place in code.
    package var sourceReference: SourceReference

    package init(id: String, pattern: StepDefinitionPattern, sourceReference: SourceReference) {
      self.id = id
      self.pattern = pattern
      self.sourceReference = sourceReference
    }
  }

  /// The pattern of a step definition.
  package struct StepDefinitionPattern: Codable, Hashable, Sendable {
    /// The expression.
    package var source: String
    /// The language of the expression.
    package var type: StepDefinitionPatternType

    package init(source: String, type: StepDefinitionPatternType) {
      self.source = source
      self.type = type
    }
  }

  /// What to add for an undefined step.
  package struct Suggestion: Codable, Hashable, Sendable {
    /// The id.
    package var id: String
    /// The step.
    package var pickleStepId: String
    /// The code to add, in one or several forms.
    package var snippets: [Snippet]

    package init(id: String, pickleStepId: String, snippets: [Snippet]) {
      self.id = id
      self.pickleStepId = pickleStepId
      self.snippets = snippets
    }
  }

  /// Code to paste.
  package struct Snippet: Codable, Hashable, Sendable {
    /// The programming language, such as `swift`.
    package var language: String
    /// The code.
    package var code: String

    package init(language: String, code: String) {
      self.language = language
      self.code = code
    }
  }

  /// A place in code or in a feature file.
  package struct SourceReference: Codable, Hashable, Sendable {
    /// The path or URL of the file.
    package var uri: String?
    /// The method, as written by the JVM's implementations.
    package var javaMethod: JavaMethod?
    /// The stack frame, as written by the JVM's implementations.
    package var javaStackTraceElement: JavaStackTraceElement?
    /// The line and the column.
    package var location: Location?

    package init(
      uri: String? = nil, javaMethod: JavaMethod? = nil, javaStackTraceElement: JavaStackTraceElement? = nil,
      location: Location? = nil
    ) {
      self.uri = uri
      self.javaMethod = javaMethod
      self.javaStackTraceElement = javaStackTraceElement
      self.location = location
    }
  }

  /// A method of the JVM.
  package struct JavaMethod: Codable, Hashable, Sendable {
    /// The class.
    package var className: String
    /// The method.
    package var methodName: String
    /// The types of its parameters.
    package var methodParameterTypes: [String]

    package init(className: String, methodName: String, methodParameterTypes: [String]) {
      self.className = className
      self.methodName = methodName
      self.methodParameterTypes = methodParameterTypes
    }
  }

  /// A stack frame of the JVM.
  package struct JavaStackTraceElement: Codable, Hashable, Sendable {
    /// The class.
    package var className: String
    /// The file.
    package var fileName: String
    /// The method.
    package var methodName: String

    package init(className: String, fileName: String, methodName: String) {
      self.className = className
      self.fileName = fileName
      self.methodName = methodName
    }
  }

  /// When a hook runs.
  package enum HookType: String, Codable, Hashable, Sendable {
    case beforeTestRun = "BEFORE_TEST_RUN"
    case afterTestRun = "AFTER_TEST_RUN"
    case beforeTestCase = "BEFORE_TEST_CASE"
    case afterTestCase = "AFTER_TEST_CASE"
    case beforeTestStep = "BEFORE_TEST_STEP"
    case afterTestStep = "AFTER_TEST_STEP"
  }

  /// The language of a step definition's pattern.
  package enum StepDefinitionPatternType: String, Codable, Hashable, Sendable {
    case cucumberExpression = "CUCUMBER_EXPRESSION"
    case regularExpression = "REGULAR_EXPRESSION"
  }
}
