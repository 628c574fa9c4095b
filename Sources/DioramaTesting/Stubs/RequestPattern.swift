import Basics
import Foundation
import LaunchContract

extension TestEnvironment {
  /// The requests that a stub answers, or that a verification counts.
  ///
  /// ```swift
  /// .get("/patients/{id}").query("details", "true")
  /// .post("/orders").header("X-Plan", "premium").body(\.items[0].count, 2)
  /// ```
  ///
  /// A path can have names in braces for single segments. With a query, it is compared as a whole.
  public struct RequestPattern: Sendable {
    private var members: [String: JSON] = [:]
    private var fields: [String: [String: JSON]] = [:]
    private var bodyPatterns: [JSON] = []
    /// An error to throw when the pattern is used.
    private var failure: DioramaTestingError?

    /// Requests with any method.
    ///
    /// - Parameter path: the path, such as `/patients/{id}`.
    /// - Returns: the pattern.
    public static func any(_ path: String) -> Self { Self("ANY", path) }
    /// `GET` requests.
    ///
    /// - Parameter path: the path, such as `/patients/{id}`.
    /// - Returns: the pattern.
    public static func get(_ path: String) -> Self { Self("GET", path) }
    /// `POST` requests.
    ///
    /// - Parameter path: the path, such as `/patients/{id}`.
    /// - Returns: the pattern.
    public static func post(_ path: String) -> Self { Self("POST", path) }
    /// `PUT` requests.
    ///
    /// - Parameter path: the path, such as `/patients/{id}`.
    /// - Returns: the pattern.
    public static func put(_ path: String) -> Self { Self("PUT", path) }
    /// `PATCH` requests.
    ///
    /// - Parameter path: the path, such as `/patients/{id}`.
    /// - Returns: the pattern.
    public static func patch(_ path: String) -> Self { Self("PATCH", path) }
    /// `DELETE` requests.
    ///
    /// - Parameter path: the path, such as `/patients/{id}`.
    /// - Returns: the pattern.
    public static func delete(_ path: String) -> Self { Self("DELETE", path) }

    /// Requests with a method and a path.
    ///
    /// - Parameters:
    ///   - method: the method as sent, or `ANY`.
    ///   - path: the path, such as `/patients/{id}`.
    public init(_ method: String, _ path: String) {
      members["method"] = .string(method)
      members[path.contains("?") ? "url" : path.contains("{") ? "urlPathTemplate" : "urlPath"] = .string(path)
    }

    /// Only requests to an upstream.
    ///
    /// - Parameter name: the upstream's name.
    /// - Returns: the pattern with this condition.
    public func upstream(_ name: String) -> Self { with { $0.members["upstream"] = .string(name) } }

    /// Only requests with a query parameter.
    ///
    /// - Parameters:
    ///   - name: the parameter's name.
    ///   - value: its decoded value; nil for a parameter that is missing.
    /// - Returns: the pattern with this condition.
    public func query(_ name: String, _ value: String?) -> Self { field("queryParameters", name, value) }

    /// Only requests with a header field.
    ///
    /// - Parameters:
    ///   - name: the field's name, in any case.
    ///   - value: its value; nil for a field that is missing.
    /// - Returns: the pattern with this condition.
    public func header(_ name: String, _ value: String?) -> Self { field("headers", name, value) }

    /// Only requests whose JSON body has a value at a place.
    ///
    /// - Parameters:
    ///   - place: the place, such as `\.items[0].count`.
    ///   - value: the value there; numbers compare by value.
    /// - Returns: the pattern with this condition.
    public func body(_ place: KeyPath<JSONPlace, JSONPlace>, _ value: Value) -> Self {
      let path = JSONPlace()[keyPath: place].path
      return body(value) { .object(["matchesJsonPath": .object(["expression": .string(path), "equalToJson": $0])]) }
    }

    /// Only requests with this JSON body: members in any order, numbers by value.
    ///
    /// - Parameter value: the body.
    /// - Returns: the pattern with this condition.
    public func body(json value: Value) -> Self { body(value) { .object(["equalToJson": $0]) } }

    /// Only requests whose body contains a text.
    ///
    /// - Parameter text: the text.
    /// - Returns: the pattern with this condition.
    public func body(containing text: String) -> Self {
      with { $0.bodyPatterns.append(.object(["contains": .string(text)])) }
    }

    private func body(_ value: Value, _ condition: (JSON) -> JSON) -> Self {
      with { pattern in
        switch value.content {
        case .success(let json):
          // A string here would be parsed as a JSON document.
          let isText = json.string != nil
          let document = isText ? .string(String(decoding: json.encoded(), as: UTF8.self)) : json
          pattern.bodyPatterns.append(condition(document))
        case .failure(let error): pattern.failure = pattern.failure ?? error
        }
      }
    }

    private func field(_ kind: String, _ name: String, _ value: String?) -> Self {
      with {
        $0.fields[kind, default: [:]][name] =
          value.map { .object(["equalTo": .string($0)]) } ?? .object(["absent": .bool(true)])
      }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
      var copy = self
      change(&copy)
      return copy
    }

    /// The pattern in WireMock's form.
    func json() throws(DioramaTestingError) -> JSON {
      if let failure { throw failure }
      var all = members
      for (kind, named) in fields { all[kind] = .object(named) }
      if !bodyPatterns.isEmpty { all["bodyPatterns"] = .array(bodyPatterns) }
      return .object(all)
    }
  }

  /// A place in a JSON body, written as a key path: `\.items[0].count`.
  @dynamicMemberLookup
  public struct JSONPlace: Sendable {
    let path: String
    /// The name of the last member; nil at the beginning and in an array.
    let name: String?

    init() { self.init("$", nil) }

    private init(_ path: String, _ name: String?) { (self.path, self.name) = (path, name) }

    /// A member of an object.
    public subscript(dynamicMember name: String) -> JSONPlace {
      JSONPlace("\(path)[\(String(decoding: JSON.string(name).encoded(), as: UTF8.self))]", name)
    }

    /// A member of an object whose name is not a Swift identifier.
    public subscript(_ name: String) -> JSONPlace { self[dynamicMember: name] }

    /// An element of an array, from 0.
    public subscript(_ index: Int) -> JSONPlace { JSONPlace("\(path)[\(index)]", nil) }
  }
}
