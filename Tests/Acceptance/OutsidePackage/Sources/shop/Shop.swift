import Diorama
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Buys what its arguments say, and prints what the shop answers.
@main
struct Shop {
  static func main() async throws {
    let controls = try AppControls.launch()
    let shop = controls.endpoint("shop", default: URL(fileURLWithPath: "/"))
    let order = try controls.strings.string("order", length: 8)
    let greeting = controls.toggles[.isPolite] ? "please" : "now"
    for item in CommandLine.arguments.dropFirst().prefix(while: { !$0.hasPrefix("-") }) {
      let url = shop.appending(path: "\(item)/\(order)")
      let (data, _) = try await URLSession.shared.data(from: url)
      print("\(item), \(greeting): \(String(decoding: data, as: UTF8.self)), \(controls.clock.now.formatted(.iso8601))")
    }
  }
}

extension Toggle<Bool> {
  static let isPolite = Toggle("polite", default: false)
}
