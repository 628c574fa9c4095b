// The program that the plugin FeatureTests runs. It is apart from its code so that tests can link the code.
import FeatureTestSources
import Foundation

FeatureTestGenerator.main(Array(CommandLine.arguments.dropFirst()))
// Skips the leak check of `swift test --sanitize=address`, which reports values that Swift keeps until the end.
_exit(0)
