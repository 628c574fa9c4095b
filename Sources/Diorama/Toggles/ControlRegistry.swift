import Basics
import LaunchContract

/// The toggles, values and user defaults that a test can set in an app, to document them and to find misspelled names.
///
/// ```swift
/// let registry: ControlRegistry = [.toggle(.skipOnboarding), .value(.location)]
/// let controls = try AppControls.launch(declaring: registry)
/// print(registry)
/// ```
///
/// If a contract sets an undeclared toggle or value, the launch fails with an error that suggests the nearest name. User
/// defaults are checked only if the app declares any. Without a registry, nothing is checked.
public struct ControlRegistry: Sendable, ExpressibleByArrayLiteral {
  /// One toggle, value or user default.
  public struct Declaration: Sendable {
    enum Kind: String, Sendable, CaseIterable {
      case toggle
      case value
      case userDefault = "user default"
    }

    let kind: Kind
    /// The name that tests use.
    public let name: String
    /// The name of its type; for an enumeration with the possible values.
    public let type: String
    /// The default as JSON, a string without quotes; empty for a user default.
    public let defaultText: String
    /// Its purpose; may be empty.
    public let purpose: String

    /// Declares a toggle.
    public static func toggle<Value>(_ toggle: Toggle<Value>) -> Declaration {
      Declaration(.toggle, toggle.declared)
    }

    /// Declares a value.
    public static func value<Value>(_ key: ValueKey<Value>) -> Declaration {
      Declaration(.value, key.declared)
    }

    /// Declares a user default that the app reads through `UserDefaults`.
    ///
    /// - Parameters:
    ///   - name: the key.
    ///   - type: the type that the app reads.
    ///   - purpose: its purpose, in a sentence.
    /// - Returns: the declaration.
    public static func userDefault<Value>(_ name: String, _ type: Value.Type, purpose: String = "") -> Declaration {
      Declaration(kind: .userDefault, name: name, type: "\(type)", defaultText: "", purpose: purpose)
    }

    private init(kind: Kind, name: String, type: String, defaultText: String, purpose: String) {
      self.kind = kind
      self.name = name
      self.type = type
      self.defaultText = defaultText
      self.purpose = purpose
    }

    private init<Value>(_ kind: Kind, _ declared: Declared<Value>) {
      self.init(
        kind: kind, name: declared.name, type: declared.form.typeName,
        defaultText: declared.form.write(declared.defaultValue).text, purpose: declared.purpose)
    }
  }

  /// The declarations, in the app's order.
  public let declarations: [Declaration]

  /// Creates a registry.
  public init(_ declarations: [Declaration]) {
    self.declarations = declarations
  }

  /// Creates a registry.
  public init(arrayLiteral elements: Declaration...) {
    declarations = elements
  }
}

extension ControlRegistry: CustomStringConvertible {
  /// A table with a line for each declaration: kind, name, type, default and purpose.
  public var description: String {
    let header = ["kind", "name", "type", "default", "purpose"]
    let rows = [header] + declarations.map { [$0.kind.rawValue, $0.name, $0.type, $0.defaultText, $0.purpose] }
    let widths = header.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      let line = cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }
}

#if DEBUG || Controlled
  extension ControlRegistry {
    /// The names of a kind, in order.
    func names(_ kind: Declaration.Kind) -> [String] {
      declarations.filter { $0.kind == kind }.map(\.name)
    }

    /// Checks that a contract sets only declared names, and that each name is declared once.
    ///
    /// - Throws: ``DioramaError`` of kind `contract` with each problem and the nearest name.
    func check(_ contract: LaunchContract) throws(DioramaError) {
      var problems: [String] = []
      for kind in Declaration.Kind.allCases {
        let known = names(kind)
        for name in Set(known).sorted() where known.count(where: { $0 == name }) > 1 {
          problems.append("the \(kind.rawValue) \(name) is declared more than once; declare it once")
        }
        if kind == .userDefault, known.isEmpty { continue }
        let (field, given) =
          switch kind {
          case .toggle: ("toggles", contract.toggles)
          case .value: ("values", contract.values)
          case .userDefault: ("defaults", contract.defaults)
          }
        for name in given.keys.sorted() where !known.contains(name) {
          problems.append("\(field).\(name): " + Self.unknown("this \(kind.rawValue)", name, among: known))
        }
      }
      guard problems.isEmpty else {
        throw DioramaError(.contract, "launch contract: " + problems.joined(separator: "; "))
      }
    }

    /// The message for an undeclared name.
    static func unknown(_ subject: String, _ name: String, among known: [String]) -> String {
      let nearest = EditDistance.nearest(to: name, among: known).first
      return "\(subject) is not declared by the app" + (nearest.map { "; the nearest is \($0)" } ?? "")
    }
  }
#endif
