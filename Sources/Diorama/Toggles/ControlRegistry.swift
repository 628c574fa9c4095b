import LaunchContract

/// All that a test can set in an app, as the app declares it: for people to read, and to catch a test's misspellings.
///
/// ```swift
/// let registry: ControlRegistry = [.toggle(.skipOnboarding), .value(.location)]
/// let controls = try AppControls.launch(declaring: registry)
/// print(registry)
/// ```
///
/// A contract that sets a toggle or a value which is not declared ends the launch with an error that names the nearest
/// one; so does a user default, once the app declares any. Without a registry nothing is checked.
public struct ControlRegistry: Sendable, ExpressibleByArrayLiteral {
  /// One thing that a test can set.
  public struct Declaration: Sendable {
    enum Kind: String, Sendable, CaseIterable {
      case toggle
      case value
      case userDefault = "user default"
    }

    let kind: Kind
    /// The name by which a test sets it.
    public let name: String
    /// The name of its type; of a choice with the names to choose from.
    public let type: String
    /// What it is without a test, as JSON, a string without its quotes; empty where it has no default.
    public let defaultText: String
    /// What it is for; may be empty.
    public let purpose: String

    /// A toggle of the app.
    public static func toggle<Value>(_ toggle: Toggle<Value>) -> Declaration {
      Declaration(.toggle, toggle.declared)
    }

    /// A value of the app.
    public static func value<Value>(_ key: ValueKey<Value>) -> Declaration {
      Declaration(.value, key.declared)
    }

    /// A user default that the app reads through `UserDefaults`.
    ///
    /// - Parameters:
    ///   - name: its key.
    ///   - type: what the app reads it as.
    ///   - purpose: what it is for, in a sentence.
    /// - Returns: its declaration, which the check of a contract knows.
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

  /// In the order in which the app has them.
  public let declarations: [Declaration]

  /// A registry of these.
  public init(_ declarations: [Declaration]) {
    self.declarations = declarations
  }

  /// A registry of these.
  public init(arrayLiteral elements: Declaration...) {
    declarations = elements
  }
}

extension ControlRegistry: CustomStringConvertible {
  /// A table for people: kind, name, type, default and purpose, a declaration a line.
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
