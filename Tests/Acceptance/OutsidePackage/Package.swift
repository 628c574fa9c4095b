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
  ]
)
