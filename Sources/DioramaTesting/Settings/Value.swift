import Basics
import LaunchContract

extension TestEnvironment {
  /// The value of a toggle, a user default or one of the app's own keys: a literal, or any `Encodable` value.
  ///
  /// ```swift
  /// .environment(
  ///   toggles: ["skip-onboarding": true, "slots-per-page": 20],
  ///   values: ["location": .init(Location(latitude: 51.5, longitude: -0.1))])
  /// ```
  ///
  /// The type of a literal is kept: `1` is an integer, `1.0` a floating-point number.
  public struct Value: Sendable {
    let content: Result<JSON, DioramaTestingError>

    init(_ content: JSON) {
      self.content = .success(content)
    }

    /// Creates a value from its JSON encoding. Provisioning fails if JSON cannot represent it, such as infinity or NaN.
    ///
    /// - Parameter value: the value for the app, which decodes it with a `JSONDecoder` with default settings.
    public init(_ value: some Encodable) {
      do {
        let data = try JSON.encode(value)
        content = .success(try JSON.decode(JSON.self, from: data, source: "\(type(of: value))"))
      } catch {
        content = .failure(.init(.usage, "a value of type \(type(of: value)) cannot be encoded as JSON: \(error)"))
      }
    }
  }
}

extension TestEnvironment.Value: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// A Boolean value.
  public init(booleanLiteral value: Bool) { self.init(JSON.bool(value)) }

  /// An integer.
  public init(integerLiteral value: Int) { self.init(JSON.int(value)) }

  /// A floating-point number.
  public init(floatLiteral value: Double) { self.init(JSON.double(value)) }

  /// A string.
  public init(stringLiteral value: String) { self.init(JSON.string(value)) }

  /// A list of values.
  public init(arrayLiteral elements: TestEnvironment.Value...) {
    content = Result { () throws(DioramaTestingError) in
      var values: [JSON] = []
      for element in elements { values.append(try element.content.get()) }
      return .array(values)
    }
  }

  /// Values by name. If a name is repeated, the last one counts.
  public init(dictionaryLiteral elements: (String, TestEnvironment.Value)...) {
    content = Result { () throws(DioramaTestingError) in
      var values: [String: JSON] = [:]
      for (name, element) in elements { values[name] = try element.content.get() }
      return .object(values)
    }
  }
}

extension [String: TestEnvironment.Value] {
  /// The values in the form of the launch contract.
  func contractValues(_ what: String) throws(DioramaTestingError) -> [String: JSON] {
    var values: [String: JSON] = [:]
    for (name, value) in self {
      do { values[name] = try value.content.get() } catch {
        throw DioramaTestingError(.usage, "\(what) '\(name)': \(error.description)")
      }
    }
    return values
  }
}
