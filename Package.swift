// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "diorama",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Diorama", targets: ["Diorama"]),
    .executable(name: "diorama", targets: ["DioramaCommand"]),
    .executable(name: "clinic", targets: ["Clinic"]),
    .executable(name: "clinic-backend", targets: ["ClinicBackend"]),
  ],
  targets: [
    // System libraries: one module map and one commented shim each.
    .systemLibrary(
      name: "CLibUUID", pkgConfig: "uuid",
      providers: [.apt(["uuid-dev"]), .brew(["ossp-uuid"])]),
    .systemLibrary(
      name: "CMicroHTTPD", pkgConfig: "libmicrohttpd",
      providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl",
      providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
    .systemLibrary(
      name: "CCompression", pkgConfig: "libbrotlienc",
      providers: [.apt(["zlib1g-dev", "libbrotli-dev"]), .brew(["brotli"])]),
    .systemLibrary(
      name: "CGnuTLS", pkgConfig: "gnutls",
      providers: [.apt(["libgnutls28-dev"]), .brew(["gnutls"])]),

    // The street, low houses first: an arrow only points up this list.
    .target(name: "HTTPMessages"),
    .target(name: "LaunchContract"),
    .target(name: "Diorama", dependencies: ["LaunchContract", "CLibUUID"]),
    .target(name: "HTTPServer", dependencies: ["HTTPMessages", "CMicroHTTPD"]),
    .target(name: "HTTPClient", dependencies: ["HTTPMessages", "CCurl"]),
    .target(name: "Cassettes", dependencies: ["HTTPMessages", "CCompression", "CGnuTLS"]),
    .target(
      name: "EnvironmentService",
      dependencies: ["HTTPMessages", "LaunchContract", "Diorama", "HTTPServer", "HTTPClient", "Cassettes"]),
    .executableTarget(
      name: "DioramaCommand",
      dependencies: ["EnvironmentService", "Diorama", "LaunchContract", "Cassettes", "HTTPMessages"]),
    .executableTarget(name: "Clinic", dependencies: ["Diorama"], path: "Sources/Examples/Clinic/App"),
    .executableTarget(
      name: "ClinicBackend", dependencies: ["HTTPServer", "HTTPMessages"],
      path: "Sources/Examples/Clinic/Backend"),
    .executableTarget(
      name: "Benchmarks", dependencies: ["Cassettes", "HTTPMessages"]),

    .testTarget(name: "HTTPMessagesTests", dependencies: ["HTTPMessages"]),
    .testTarget(name: "LaunchContractTests", dependencies: ["LaunchContract"]),
    .testTarget(name: "DioramaTests", dependencies: ["Diorama", "LaunchContract"]),
    .testTarget(name: "HTTPServerTests", dependencies: ["HTTPServer", "HTTPMessages"]),
    .testTarget(name: "HTTPClientTests", dependencies: ["HTTPClient", "HTTPServer", "HTTPMessages"]),
    .testTarget(name: "CassettesTests", dependencies: ["Cassettes", "HTTPMessages"]),
    .testTarget(
      name: "EnvironmentServiceTests",
      dependencies: [
        "EnvironmentService", "Cassettes", "HTTPServer", "HTTPClient", "HTTPMessages", "LaunchContract",
      ]),
    .testTarget(
      name: "DioramaCommandTests",
      dependencies: ["DioramaCommand", "HTTPServer", "HTTPMessages", "Clinic", "ClinicBackend"]),
  ],
  swiftLanguageModes: [.v6]
)

// One loop over all targets, so that none can forget: strict imports keep C types from leaking, and a
// warning is an error everywhere.
for target in package.targets where target.type != .system {
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("MemberImportVisibility"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      .treatAllWarnings(as: .error),
    ]
}
