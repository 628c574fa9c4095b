// The program that the plugin FeatureTests runs. It is apart from its code so that tests can link the code.
import FeatureTestSources

FeatureTestGenerator.main(Array(CommandLine.arguments.dropFirst()))
