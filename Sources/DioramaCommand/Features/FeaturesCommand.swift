import Basics

/// `diorama features`: checks, lists and formats feature files.
enum FeaturesCommand {
  static let command = Command(
    "features", "check, list and format feature files",
    usage: ["features check|list|format|steps|report [option …] [PATH …]"],
    about: """
      PATH is a feature file, or a folder that is searched for *.feature and
      *.feature.md; the default is the current folder. Hidden folders are skipped.
      """,
    subcommands: [
      FeaturesCheck.command, FeaturesList.command, FeaturesFormat.command, FeaturesSteps.command,
      FeaturesReport.command,
    ])

  static let stepsOption = Options.Option(
    "--steps", "PATH", "a Swift file or a folder with step definitions; repeatable (default: the folders of PATH)"
  )
}
