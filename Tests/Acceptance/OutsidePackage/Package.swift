// swift-tools-version: 6.2
import PackageDescription

// A package of another project. The script beside it puts it three folders below Diorama's.
let package = Package(
  name: "shop",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "diorama", path: "../../..")],
  targets: [
    .executableTarget(name: "shop", dependencies: [.product(name: "Diorama", package: "diorama")]),
    .testTarget(
      name: "ShopTests",
      dependencies: ["shop", .product(name: "DioramaTesting", package: "diorama")],
      exclude: ["Cassettes"]),
    .testTarget(
      name: "ClinicFeaturesTests",
      dependencies: [
        .product(name: "DioramaScenarios", package: "diorama"), .product(name: "DioramaTesting", package: "diorama"),
      ],
      exclude: ["Features/Cassettes"],
      plugins: [.plugin(name: "FeatureTests", package: "diorama")]),
    .testTarget(
      name: "TroubleTests",
      dependencies: [.product(name: "DioramaScenarios", package: "diorama")],
      exclude: ["Features/Cassettes"],
      plugins: [.plugin(name: "FeatureTests", package: "diorama")]),
    .testTarget(
      name: "PluginTests",
      dependencies: [.product(name: "DioramaScenarios", package: "diorama")],
      swiftSettings: [.defaultIsolation(MainActor.self)],
      plugins: [.plugin(name: "FeatureTests", package: "diorama")]),
    .testTarget(
      name: "PluginXCTests",
      dependencies: [.product(name: "DioramaScenarios", package: "diorama")],
      plugins: [.plugin(name: "FeatureTests", package: "diorama")]),
  ]
)
