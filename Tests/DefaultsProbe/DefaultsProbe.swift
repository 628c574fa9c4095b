import Diorama
import Foundation

/// Prints the values in `UserDefaults.standard` for the keys in the variable `KEYS`, from every accessor, as JSON.
@main
struct DefaultsProbe {
  private struct Found: Encodable {
    var bool: Bool
    var integer: Int
    var double: Double
    var string: String?
    var array: [String]?
    var dictionary: [String]?
    var data: Data?
    var date: Date?
    /// The result of a cast to the type, if it succeeds.
    var isBool: Bool
    var integers: [Int]?
  }

  static func main() throws {
    _ = try AppControls.launch()
    let defaults = UserDefaults.standard
    let keys = try JSONDecoder().decode(
      [String].self, from: Data(ProcessInfo.processInfo.environment["KEYS", default: "[]"].utf8))
    var found: [String: Found] = [:]
    for key in keys {
      guard let object = defaults.object(forKey: key) else { continue }
      found[key] = Found(
        bool: defaults.bool(forKey: key), integer: defaults.integer(forKey: key), double: defaults.double(forKey: key),
        string: object as? String, array: defaults.array(forKey: key)?.map { "\(type(of: $0))" },
        dictionary: defaults.dictionary(forKey: key)?.keys.sorted(), data: defaults.data(forKey: key),
        date: object as? Date, isBool: object is Bool, integers: object as? [Int])
    }
    print(String(decoding: try JSONEncoder().encode(found), as: UTF8.self))
  }
}
