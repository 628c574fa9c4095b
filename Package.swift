// swift-tools-version: 6.2
import PackageDescription

// What a test process needs to run environments itself, with the C libraries of the service. On other platforms, and with
// this variable, a daemon runs them.
let isEmbedding = Context.environment["DIORAMA_WITHOUT_EMBEDDED_HOSTING"] == nil
let embeddedHosting: [Target.Dependency] = (isEmbedding ? ["EnvironmentService", "PortLeases", "Transforms"] : [])
  .map { .target(name: $0, condition: .when(platforms: [.linux, .macOS])) }

let package = Package(
  name: "diorama",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Diorama", targets: ["Diorama"]),
    .library(name: "DioramaTesting", targets: ["DioramaTesting"]),
    .library(name: "DioramaURLSession", targets: ["DioramaURLSession"]),
    .library(name: "DioramaScenarios", targets: ["DioramaScenarios"]),
    // A product of its own, since it needs Chromium and libvterm.
    .library(name: "DioramaScreens", targets: ["DioramaScreens"]),
    .plugin(name: "FeatureTests", targets: ["FeatureTests"]),
    // A product of its own, so that no app links libsecret by accident.
    .library(name: "DioramaSecretService", targets: ["DioramaSecretService"]),
    .executable(name: "diorama", targets: ["DioramaCommand"]),
    // A process of its own, in C: namespaces are entered by a program with one thread.
    .executable(name: "diorama-isolate", targets: ["IsolationHelper"]),
    .executable(name: "clinic", targets: ["Clinic"]),
    .executable(name: "clinic-backend", targets: ["ClinicBackend"]),
  ],
  traits: [
    // In a release build the app looks for a launch contract only with this (in a debug build always).
    .trait(name: "Controlled", description: "Lets a release build of an app be controlled by a launch contract")
  ],
  targets: [
    // System libraries: one module map and one commented shim each.
    .systemLibrary(
      name: "CLibUUID", pkgConfig: "uuid",
      providers: [.apt(["uuid-dev"])]),
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
      name: "CYAML", pkgConfig: "yaml-0.1",
      providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),
    .systemLibrary(
      name: "CPCRE2", pkgConfig: "libpcre2-8",
      providers: [.apt(["libpcre2-dev"]), .brew(["pcre2"])]),
    .systemLibrary(
      name: "CLibXML2", pkgConfig: "libxml-2.0",
      providers: [.apt(["libxml2-dev"]), .brew(["libxml2"])]),
    .systemLibrary(
      name: "CGnuTLS", pkgConfig: "gnutls",
      providers: [.apt(["libgnutls28-dev"]), .brew(["gnutls"])]),
    .systemLibrary(
      name: "CSecret", pkgConfig: "libsecret-1",
      providers: [.apt(["libsecret-1-dev"])]),
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(
      name: "CPostgreSQL", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .systemLibrary(
      name: "CSodium", pkgConfig: "libsodium",
      providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
    .systemLibrary(
      name: "CNGHTTP2", pkgConfig: "libnghttp2",
      providers: [.apt(["libnghttp2-dev"]), .brew(["libnghttp2"])]),
    .systemLibrary(
      name: "CProtobuf", pkgConfig: "protobuf",
      providers: [.apt(["libprotobuf-dev", "libprotoc-dev"]), .brew(["protobuf"])]),
    .systemLibrary(
      name: "CVTerm", pkgConfig: "vterm",
      providers: [.apt(["libvterm-dev"]), .brew(["libvterm"])]),
    .systemLibrary(name: "CPosixSpawn"),
    .systemLibrary(name: "CEpoll"),
    // What `diorama version` prints. A variable, since SwiftPM caches what a manifest reads from git.
    .target(
      name: "CBuild",
      cSettings: [.define("DIORAMA_COMMIT", to: "\"\(Context.environment["DIORAMA_COMMIT"] ?? "unknown")\"")]),

    .executableTarget(name: "IsolationHelper", exclude: ["PROTOCOL.md"]),

    // Each target depends only on targets above it.
    .target(name: "Basics"),
    .target(name: "HTTPMessages", dependencies: ["Basics"]),
    .target(name: "LaunchContract", dependencies: ["Basics"]),
    .target(name: "EnvironmentConfiguration", dependencies: ["Basics", "HTTPMessages", "LaunchContract"]),
    .target(name: "LocalHTTP", dependencies: ["Basics"]),
    .target(name: "Diorama", dependencies: ["Basics", "LaunchContract", "LocalHTTP", "CLibUUID"]),
    .target(
      name: "DioramaSecretService",
      dependencies: ["Diorama", .target(name: "CSecret", condition: .when(platforms: [.linux]))]),
    .target(name: "EventLoops", dependencies: ["Basics", "HTTPMessages", "CEpoll"]),
    .target(
      name: "HTTPServer", dependencies: ["Basics", "HTTPMessages", "EventLoops", "CEpoll", "CMicroHTTPD", "CNGHTTP2"]),
    .target(
      name: "Interception", dependencies: ["Basics", "HTTPMessages", "EventLoops", "HTTPServer", "CEpoll", "CGnuTLS"]),
    .target(name: "HTTPClient", dependencies: ["Basics", "HTTPMessages", "EventLoops", "CCurl", "CNGHTTP2"]),
    .target(
      name: "Cassettes",
      dependencies: ["Basics", "EnvironmentConfiguration", "HTTPMessages", "LaunchContract", "CCompression", "CPCRE2"]),
    .target(
      name: "CassetteConversion", dependencies: ["Basics", "Cassettes", "HTTPMessages", "LaunchContract", "CYAML"]),
    .target(
      name: "CassetteChecks",
      dependencies: ["Basics", "Cassettes", "CassetteConversion", "HTTPMessages", "LaunchContract"]),
    .target(
      name: "Transforms",
      dependencies: ["Basics", "Cassettes", "GRPCSchemas", "HTTPMessages", "LaunchContract", "CGnuTLS"]),
    .target(
      name: "Stubs", dependencies: ["Basics", "Cassettes", "EnvironmentConfiguration", "HTTPMessages", "CLibXML2"]),
    .target(name: "CGRPCSchemas", dependencies: ["CProtobuf"]),
    .target(name: "GRPCSchemas", dependencies: ["Basics", "CGRPCSchemas"]),
    .target(name: "PortLeases", dependencies: ["Basics", "HTTPMessages"]),
    .target(
      name: "ChildProcesses",
      dependencies: [.target(name: "CPosixSpawn", condition: .when(platforms: [.linux]))]),
    .target(
      name: "Isolation",
      dependencies: [
        "Basics", "ChildProcesses", "EventLoops", .target(name: "CPosixSpawn", condition: .when(platforms: [.linux])),
      ]),
    .target(name: "ControlAPI", dependencies: ["Basics", "EnvironmentConfiguration", "LaunchContract"]),
    .target(name: "RunComparison", dependencies: ["Basics", "ControlAPI", "EnvironmentConfiguration"]),
    .target(
      name: "DaemonClient",
      dependencies: [
        "Basics", "ControlAPI", "ChildProcesses", "EnvironmentConfiguration", "LaunchContract", "LocalHTTP",
      ]
        + (isEmbedding ? ["HTTPClient", "HTTPMessages"] : [])
        .map { .target(name: $0, condition: .when(platforms: [.linux, .macOS])) }),
    .target(
      name: "EnvironmentService",
      dependencies: [
        "Basics", "HTTPMessages", "LaunchContract", "EnvironmentConfiguration", "ControlAPI", "Diorama", "HTTPServer",
        "HTTPClient", "Cassettes", "Transforms", "Stubs", "CassetteChecks", "CassetteConversion", "GRPCSchemas",
        .target(name: "Interception", condition: .when(platforms: [.linux])),
      ]),
    .target(name: "Databases", dependencies: ["Basics", "CPostgreSQL", "CSQLite"]),
    .target(
      name: "Fleet",
      dependencies: [
        "Basics", "ControlAPI", "Databases", "EnvironmentConfiguration", "LaunchContract", "PortLeases", "CSodium",
      ]),
    .target(
      name: "Daemon",
      dependencies: [
        "Basics", "EnvironmentService", "EnvironmentConfiguration", "PortLeases", "ControlAPI", "ChildProcesses",
        "Databases", "Fleet", "HTTPServer", "HTTPMessages", "Cassettes", "LaunchContract", "CEpoll",
        .target(name: "Interception", condition: .when(platforms: [.linux])),
      ],
      exclude: ["THREATS.md"]),
    .target(
      name: "DioramaTesting",
      dependencies: [
        "Basics", "EnvironmentConfiguration", "DaemonClient", "ControlAPI", "ChildProcesses", "Diorama",
        "LaunchContract", "HTTPMessages", "LocalHTTP", "RunComparison",
      ] + embeddedHosting),
    .target(name: "DioramaURLSession", dependencies: ["Basics", "DioramaTesting", "HTTPMessages"]),
    .target(name: "Gherkin"),
    .target(name: "CucumberExpressions", dependencies: ["Basics"]),
    .target(name: "ScenarioReports", dependencies: ["Basics", "Gherkin"]),
    .target(
      name: "DioramaScenarios",
      dependencies: [
        "Basics", "ControlAPI", "CucumberExpressions", "DioramaTesting", "EnvironmentConfiguration", "Gherkin",
        "HTTPMessages", "ScenarioReports",
      ]),
    .target(
      name: "DioramaScreens",
      dependencies: [
        "Basics", "ChildProcesses", "DioramaScenarios", "DioramaTesting", "LaunchContract",
        .target(name: "CVTerm", condition: .when(platforms: [.linux, .macOS])),
      ]),
    .target(name: "FeatureTestSources", dependencies: ["Basics", "EnvironmentConfiguration", "Gherkin"]),
    .executableTarget(name: "FeatureTestGenerator", dependencies: ["FeatureTestSources"]),
    .plugin(
      name: "FeatureTests", capability: .buildTool(), dependencies: ["FeatureTestGenerator"],
      path: "Sources/FeatureTests"),
    .executableTarget(
      name: "DioramaCommand",
      dependencies: [
        "Basics", "EnvironmentService", "EnvironmentConfiguration", "Daemon", "DaemonClient", "ControlAPI",
        "ChildProcesses", "Isolation", "PortLeases", "Diorama", "LaunchContract", "Cassettes", "HTTPMessages",
        "CassetteConversion", "CassetteChecks", "Transforms", "FeatureTestSources", "Gherkin", "CucumberExpressions",
        "ScenarioReports", "HTTPServer", "Interception", "LocalHTTP", "RunComparison",
        "CBuild",
      ]),
    .executableTarget(name: "Clinic", dependencies: ["Diorama"], path: "Sources/Examples/Clinic/App"),
    .executableTarget(
      name: "ClinicBackend", dependencies: ["Basics", "HTTPServer", "HTTPMessages"],
      path: "Sources/Examples/Clinic/Backend"),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "Basics", "EnvironmentService", "EnvironmentConfiguration", "ControlAPI", "Diorama", "LaunchContract",
        "Cassettes", "Databases", "Fleet", "HTTPMessages", "HTTPServer",
      ]),

    .target(
      name: "TestSupport", dependencies: ["Basics", "ChildProcesses", "HTTPMessages"], path: "Tests/TestSupport"),
    // The smallest app that follows its environment, for tests that need a process of its own.
    .executableTarget(name: "FollowingApp", dependencies: ["Diorama"], path: "Tests/FollowingApp"),
    // A program whose user defaults tests look at from outside.
    .executableTarget(name: "DefaultsProbe", dependencies: ["Diorama"], path: "Tests/DefaultsProbe"),
    // A server for clients that speak HTTP/2 and gRPC.
    .executableTarget(name: "HTTP2Echo", dependencies: ["HTTPServer", "HTTPMessages"], path: "Tests/HTTP2Echo"),
    // Checks credential stores with many threads.
    .target(
      name: "CredentialConcurrency", dependencies: ["Diorama", "DioramaTesting"], path: "Tests/CredentialConcurrency"),
    // What throws bytes at the parsers: make fuzz builds it with libFuzzer.
    .target(
      name: "FuzzedParsers",
      dependencies: [
        "Basics", "Cassettes", "CassetteConversion", "CassetteChecks", "Transforms", "Stubs", "EnvironmentService",
        "EnvironmentConfiguration", "ControlAPI", "LaunchContract", "GRPCSchemas", "HTTPMessages", "Gherkin",
        "CucumberExpressions",
      ],
      path: "Tests/Fuzzing/Parsers"),
    .executableTarget(name: "Fuzzing", dependencies: ["FuzzedParsers"], path: "Tests/Fuzzing/Driver"),
    .testTarget(name: "FuzzedParsersTests", dependencies: ["FuzzedParsers"]),
    .testTarget(name: "BasicsTests", dependencies: ["TestSupport", "Basics"]),
    .testTarget(name: "HTTPMessagesTests", dependencies: ["Basics", "HTTPMessages"]),
    .testTarget(name: "LaunchContractTests", dependencies: ["Basics", "LaunchContract"]),
    .testTarget(
      name: "DioramaTests",
      dependencies: [
        "Basics", "LocalHTTP", "TestSupport", "CredentialConcurrency", "DefaultsProbe", "Diorama", "DioramaTesting",
        "LaunchContract",
      ]),
    .testTarget(
      name: "DioramaSecretServiceTests",
      dependencies: ["TestSupport", "CredentialConcurrency", "DioramaSecretService", "DioramaTesting"]),
    .testTarget(
      name: "ClinicTests",
      dependencies: ["Basics", "TestSupport", "DioramaTesting", "Clinic", "ClinicBackend", "LaunchContract"],
      exclude: ["Cassettes"]),
    .testTarget(name: "EventLoopsTests", dependencies: ["Basics", "TestSupport", "EventLoops", "HTTPMessages"]),
    .testTarget(
      name: "HTTPServerTests", dependencies: ["Basics", "TestSupport", "HTTPServer", "EventLoops", "HTTPMessages"]),
    .testTarget(
      name: "HTTP2ServerTests",
      dependencies: [
        "Basics", "TestSupport", "HTTP2Echo", "HTTPServer", "EventLoops", "HTTPMessages", "CNGHTTP2",
      ]),
    .testTarget(
      name: "InterceptionTests",
      dependencies: [
        "Basics", "TestSupport", "ChildProcesses", "Interception", "HTTPServer", "EventLoops", "HTTPMessages",
        "CGnuTLS",
      ]),
    .testTarget(
      name: "IsolationTests", dependencies: ["Basics", "TestSupport", "ChildProcesses", "EventLoops", "Isolation"]),
    .testTarget(
      name: "HTTPClientTests",
      dependencies: ["Basics", "TestSupport", "HTTPClient", "HTTPServer", "EventLoops", "HTTPMessages"]),
    // Tests of CassetteConversion, too, which need the same samples.
    .testTarget(
      name: "CassettesTests",
      dependencies: [
        "Basics", "TestSupport", "Cassettes", "CassetteConversion", "EnvironmentConfiguration", "HTTPMessages",
        "LaunchContract",
      ],
      exclude: ["Fixtures"]),
    .testTarget(
      name: "CassetteChecksTests",
      dependencies: ["Basics", "Cassettes", "CassetteChecks", "CassetteConversion", "HTTPMessages"]),
    .testTarget(
      name: "TransformsTests",
      dependencies: ["Basics", "TestSupport", "Cassettes", "Transforms", "HTTPMessages", "LaunchContract"]),
    .testTarget(name: "GRPCSchemasTests", dependencies: ["Basics", "TestSupport", "GRPCSchemas"]),
    .testTarget(name: "PortLeasesTests", dependencies: ["Basics", "TestSupport", "PortLeases", "HTTPMessages"]),
    .testTarget(
      name: "RunComparisonTests",
      dependencies: ["Basics", "ControlAPI", "EnvironmentConfiguration", "RunComparison"]),
    .testTarget(
      name: "DaemonTests",
      dependencies: [
        "Basics", "TestSupport", "Daemon", "DaemonClient", "ControlAPI", "EnvironmentService",
        "EnvironmentConfiguration", "PortLeases", "HTTPServer", "HTTPClient", "HTTPMessages", "Cassettes",
        "ChildProcesses", "Databases", "Fleet", "LaunchContract",
      ]),
    .testTarget(
      name: "FleetTests",
      dependencies: [
        "Basics", "TestSupport", "ChildProcesses", "ControlAPI", "Databases", "EnvironmentConfiguration", "Fleet",
        "PortLeases",
      ]),
    .testTarget(
      name: "EnvironmentServiceTests",
      dependencies: [
        "Basics", "TestSupport", "EnvironmentService", "EnvironmentConfiguration", "ControlAPI", "PortLeases",
        "Diorama", "FollowingApp", "HTTP2Echo", "Cassettes", "Transforms", "Stubs", "HTTPServer", "HTTPClient",
        "HTTPMessages", "GRPCSchemas", "LaunchContract",
        .target(name: "Interception", condition: .when(platforms: [.linux])),
      ]),
    .testTarget(
      name: "DioramaTestingTests",
      dependencies: [
        "Basics", "Diorama", "DioramaTesting", "ControlAPI", "TestSupport", "Cassettes", "EnvironmentService",
        "EnvironmentConfiguration", "Daemon", "DaemonClient", "LaunchContract", "HTTPMessages", "HTTPServer",
        "Clinic", "ClinicBackend", "DioramaCommand",
      ]),
    .testTarget(
      name: "DioramaURLSessionTests",
      dependencies: ["Basics", "DioramaTesting", "DioramaURLSession", "HTTPMessages", "HTTPServer", "TestSupport"]),
    .testTarget(
      name: "StubsTests",
      dependencies: ["Basics", "Stubs", "Cassettes", "HTTPMessages", "TestSupport"],
      exclude: ["Fixtures"]),
    .testTarget(name: "GherkinTests", dependencies: ["Basics", "Gherkin"], exclude: ["Fixtures"]),
    .testTarget(
      name: "CucumberExpressionsTests", dependencies: ["Basics", "CassetteConversion", "CucumberExpressions"],
      exclude: ["Fixtures"]),
    .testTarget(
      name: "ScenarioReportsTests", dependencies: ["Basics", "Gherkin", "ScenarioReports"], exclude: ["Fixtures"]),
    .testTarget(
      name: "FeatureTestGeneratorTests",
      dependencies: ["Basics", "EnvironmentConfiguration", "FeatureTestSources", "Gherkin", "TestSupport"]),
    .testTarget(
      name: "DioramaScenariosTests",
      dependencies: [
        "Basics", "Clinic", "ClinicBackend", "CucumberExpressions", "DioramaScenarios", "DioramaTesting", "Gherkin",
        "HTTPMessages", "ScenarioReports", "TestSupport",
      ],
      exclude: ["Fixtures"]),
    // The clinic's story as feature files. Its scenarios replay; outside_features.py records them.
    .testTarget(
      name: "ClinicFeaturesTests", dependencies: ["Clinic", "DioramaScenarios", "DioramaTesting"],
      exclude: ["Features/Cassettes"], plugins: ["FeatureTests"]),
    .testTarget(
      name: "DioramaScreensTests",
      dependencies: [
        "Basics", "DioramaScenarios", "DioramaScreens", "DioramaTesting", "Gherkin", "HTTPMessages", "TestSupport",
      ]),
    .testTarget(
      name: "DioramaCommandTests",
      dependencies: [
        "Basics", "TestSupport", "DioramaCommand", "ControlAPI", "EnvironmentConfiguration", "LaunchContract",
        "HTTPServer", "HTTPMessages", "Clinic", "ClinicBackend",
      ],
      exclude: ["WrongInputs.txt"]),
  ],
  swiftLanguageModes: [.v6],
  // libprotobuf's headers need it.
  cxxLanguageStandard: .cxx17
)

// Warnings are errors only when `swift` runs in this folder. A package that depends on Diorama compiles it with
// -suppress-warnings, which `--build-system swiftbuild` does not combine with -warnings-as-errors. The shell sets PWD, so
// `make` and a plain `swift build` pass the same flags and share what they have built. `make lint` checks the result.
let isRootPackage = Context.environment["PWD"] == Context.packageDirectory
let strictSettings: [SwiftSetting] = isRootPackage ? [.treatAllWarnings(as: .error)] : []

// `make test-thread` and `make test-address` leave out test targets: `DIORAMA_WITHOUT_TARGETS=GherkinTests,StubsTests`.
let omitted = Set((Context.environment["DIORAMA_WITHOUT_TARGETS"] ?? "").split(separator: ",").map(String.init))
package.targets.removeAll { omitted.contains($0.name) }
package.products.removeAll { product in
  let targets =
    (product as? Product.Library)?.targets ?? (product as? Product.Executable)?.targets
    ?? (product as? Product.Plugin)?.targets ?? []
  return targets.contains(where: omitted.contains)
}

// What gives unmodified programs the clock of an environment uses seccomp and glibc. ClockPreload is no product: SwiftPM links
// every dynamic library with the Swift runtime, which must not be loaded into other programs. Config/clock-library builds it.
#if os(Linux)
  package.targets += [
    .target(name: "ClockSupervision"),
    .target(name: "ClockPreload", cSettings: [.headerSearchPath("../ClockSupervision/include")]),
  ]
  for target in package.targets where ["Isolation", "IsolationHelper"].contains(target.name) {
    target.dependencies.append("ClockSupervision")
  }
#endif

let inC: Set = ["CBuild", "CGRPCSchemas", "ClockSupervision", "ClockPreload", "IsolationHelper"]

// One loop, so that no target is left out. SwiftPM rejects settings on plugins and system libraries.
for target in package.targets where [.regular, .executable, .test].contains(target.type) && !inC.contains(target.name) {
  target.swiftSettings =
    (target.swiftSettings ?? []) + strictSettings + [
      // C types do not leak out of the module that imports them.
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
}
