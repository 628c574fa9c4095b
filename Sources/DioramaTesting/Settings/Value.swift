import Basics
import LaunchContract

extension TestEnvironment {
  /// What a toggle, a user default or an app's own key is set to: a literal, or anything `Encodable`.
  ///
  /// ```swift
  /// .environment(
  ///   toggles: ["skip-onboarding": true, "slots-per-page": 20],
  ///   values: ["location": .init(Location(latitude: 51.5, longitude: -0.1))])
  /// ```
  ///
  /// Types are kept as written: an integer literal is a whole number, and `1.0` is not.
  public struct Value: Sendable {
    let content: Result<JSON, DioramaTestingError>

    init(_ content: JSON) {
      self.content = .success(content)
    }

    /// Takes a value as its JSON; what JSON cannot hold (infinity, not a number) is an error when the environment is
    /// provisioned.
    ///
    /// - Parameter value: what the app is to read; the app decodes it with a plain `JSONDecoder`.
    public init(_ value: some Encodable) {
      do {
        let data = try JSON.encode(value)
        content = .success(try JSON.decode(JSON.self, from: data, source: "\(type(of: value))"))
      } catch {
        content = .failure(.init(.usage, "a value of type \(type(of: value)) has no JSON: \(error)"))
      }
    }
  }
}

extension TestEnvironment.Value: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// A switch: `true` or `false`.
  public init(booleanLiteral value: Bool) { self.init(JSON.bool(value)) }

  /// A whole number.
  public init(integerLiteral value: Int) { self.init(JSON.int(value)) }

  /// A number with a fraction, if only `.0`.
  public init(floatLiteral value: Double) { self.init(JSON.double(value)) }

  /// A text.
  public init(stringLiteral value: String) { self.init(JSON.string(value)) }

  /// A list of values.
  public init(arrayLiteral elements: TestEnvironment.Value...) {
    content = Result { () throws(DioramaTestingError) in
      var values: [JSON] = []
      for element in elements { values.append(try element.content.get()) }
      return .array(values)
    }
  }

  /// Values by name; of two of one name the later counts.
  public init(dictionaryLiteral elements: (String, TestEnvironment.Value)...) {
    content = Result { () throws(DioramaTestingError) in
      var values: [String: JSON] = [:]
      for (name, element) in elements { values[name] = try element.content.get() }
      return .object(values)
    }
  }
}

extension [String: TestEnvironment.Value] {
  /// As the contract holds them.
  func contractValues(_ what: String) throws(DioramaTestingError) -> [String: JSON] {
    var values: [String: JSON] = [:]
    for (name, value) in self {
      do throws(DioramaTestingError) {
        values[name] = try value.content.get()
      } catch {
        throw DioramaTestingError(.usage, "\(what) '\(name)': \(error.description)")
      }
    }
    return values
  }
}
