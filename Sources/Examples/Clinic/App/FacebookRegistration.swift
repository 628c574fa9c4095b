import Foundation

/// The registration of a patient with a Facebook account.
struct FacebookRegistration {
  let api: ClinicAPI
  let facebook: FacebookAPI
  let screen: Screen

  /// Asks for the code that Facebook shows after login, and registers the account's owner.
  func run() async throws {
    guard let code = screen.ask("log in with Facebook, and enter the code it shows:") else { return }
    let user = try await api.register(facebookToken: facebook.token(for: code))
    screen.show("registered \(user.email) with Facebook")
  }
}

/// The part of Facebook's API that login uses.
struct FacebookAPI {
  static let live = URL(string: "https://graph.facebook.com") ?? URL(filePath: "/")

  private let base: URL
  private let transport = Transport()

  init(_ base: URL) {
    self.base = base
  }

  /// Requests the token for a login code.
  func token(for code: String) async throws -> String {
    struct Answer: Decodable {
      var token: String
      enum CodingKeys: String, CodingKey { case token = "access_token" }
    }
    let url = base.appending(path: "oauth/access_token")
      .appending(queryItems: [URLQueryItem(name: "code", value: code)])
    let answer: Answer = try await transport.json("GET", url)
    return answer.token
  }
}
