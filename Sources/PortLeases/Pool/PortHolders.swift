/// Who holds what, in words: for the error of a pool that has nothing left.
struct PortHolders {
  private static let most = 5
  private let leases: [PortLease]

  init(_ leases: [PortLease]) { self.leases = leases }

  /// The largest holders first, in one line.
  var description: String {
    guard !leases.isEmpty else { return "nothing is leased" }
    var groups: [Holder: [PortLease]] = [:]
    for lease in leases { groups[Holder(lease), default: []].append(lease) }
    let sorted = groups.sorted {
      ($1.value.count, $0.value[0].port) < ($0.value.count, $1.value[0].port)
    }
    var words = sorted.prefix(Self.most).map { "\($0.description): \(Self.ports($1))" }
    let rest = sorted.dropFirst(Self.most)
    if !rest.isEmpty { words.append("\(rest.count) more: \(Self.count(rest.reduce(0) { $0 + $1.value.count }))") }
    return words.joined(separator: "; ")
  }

  private enum Holder: Hashable {
    case environment(String)
    case process(PortOwner)
    case nobody

    init(_ lease: PortLease) {
      if let environment = lease.environment {
        self = .environment(environment)
      } else if let owner = lease.owner {
        self = .process(owner)
      } else {
        self = .nobody
      }
    }

    var description: String {
      switch self {
      case .environment(let id): "environment \(id)"
      case .process(let owner):
        "process \(owner.pid) (\(owner.name ?? (owner.isAlive ? "running" : "gone, but something listens")))"
      case .nobody: "no owner, for a time"
      }
    }
  }

  private static func ports(_ leases: [PortLease]) -> String {
    let names = leases.compactMap(\.name).sorted()
    let shown = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", …" : "")
    return count(leases.count) + (names.isEmpty ? "" : " (\(shown))")
  }

  private static func count(_ count: Int) -> String { count == 1 ? "1 port" : "\(count) ports" }
}
