import Basics

/// `diorama help`: prints the help of a command, or the manual page.
enum HelpCommand {
  static let command: Command = Command(
    "help", "print the help of a command", usage: ["help [COMMAND …]", "help --man"],
    about: """
      Prints the same as the command's --help. With --man, prints the manual page,
      which make install installs as diorama.1.
      """,
    options: [.init("--man", nil, "print the manual page, for man -l -")], operands: .words
  ) { options, _ in
    let words = options.operands + (options.rest ?? [])
    if options.has("--man") {
      guard words.isEmpty else { throw CodedError(usage: "--man is one page for all commands", command: "help") }
      try Output.write(raw: ManualPage.text(of: Main.command))
    } else {
      try Output.write(raw: try Main.command.command(words).help)
    }
    return 0
  }
}

/// The manual page `diorama(1)`, made from the declared commands, in the language of man(7).
enum ManualPage {
  /// The text of the page for a command with all others below it.
  static func text(of root: Command) -> String {
    var lines = [
      ".TH DIORAMA 1 \(Build.date) \"diorama \(Build.version)\" \"User Commands\"", ".SH NAME",
      "diorama \\- \(escaped(root.summary))", ".SH SYNOPSIS",
    ]
    lines += forms(root.subcommands.flatMap(\.usage))
    lines += [".SH DESCRIPTION"] + prose(root.about) + [".PP"] + prose(root.notes) + [".SH COMMANDS"]
    for command in root.all where !command.name.isEmpty {
      lines += [".SS \(escaped("diorama \(command.name)"))"] + forms(command.usage) + [".PP"] + prose(command.about)
      let groups = Options.groups(of: command.options)
      for group in groups {
        if groups.count > 1 { lines += [".PP", "\\fI\(escaped(group.title))\\fR"] }
        for option in group.options {
          let space = option.isValueOptional ? "" : " "
          let value = option.value.map { "\(space)\\fI\(escaped($0))\\fR" } ?? ""
          lines += [".TP", "\\fB\(escaped(option.name))\\fR\(value)"] + prose(option.help)
        }
      }
      if !command.notes.isEmpty { lines += [".PP"] + prose(command.notes) }
    }
    lines += [".SH EXIT STATUS"] + entries(exitStatuses) + [".SH ENVIRONMENT"] + entries(variables)
    lines += [".SH FILES"] + entries(files)
    return lines.joined(separator: "\n") + "\n"
  }

  private static let exitStatuses: [(String, String)] = [
    ("0", "Success."),
    ("1", "cassette diff, check --live and check --openapi: something changed, or contradicts the document."),
    ("1", "doctor: programs cannot be isolated by namespaces."),
    (
      "3",
      "run, env report and env delete: the environment failed, though the command succeeded. verify: the runs differ."
    ),
    ("64", "The command line or the configuration is wrong."),
    ("65", "A cassette, project file, contract or state folder is broken; a recording has expired."),
    ("66", "There is no such cassette, file, environment or leased port."),
    ("69", "No upstream can be reached, no daemon is running, or no port is left."),
    ("73", "A file or folder cannot be written."),
    ("74", "Reading failed, standard output cannot be written, or the system refused something."),
    ("75", "A time-out: an app did not apply a change; serve: a second signal ended the daemon."),
    ("126, 127", "run: the command cannot be run, or was not found."),
    ("other", "run: the status of the command, or 128 plus the signal that killed it."),
  ]

  private static let variables: [(String, String)] = [
    ("CI", "If it is set, mode once never records."),
    ("DIORAMA_MODE", "The mode of run and env create, unless --mode is given."),
    ("DIORAMA_HOME", "The daemon's state folder."),
    ("DIORAMA_ENVIRONMENT", "The id of the environment that the env commands use."),
    ("DIORAMA_CONTRACT", "The launch contract that the contract commands read."),
    ("DIORAMA_ISOLATE_HELPER", "The path of diorama-isolate, if it is not where make install puts it."),
    ("NO_COLOR, CLICOLOR_FORCE", "No colors; colors even where the output is no terminal."),
  ]

  private static let files: [(String, String)] = [
    ("diorama.json", "The project file: settings for all environments below its folder."),
    (
      "PATH.har, PATH.strings.json, PATH.bodies",
      "A cassette: its interactions, its random values, and its bodies above 256 KiB."
    ),
    ("PATH.har.partial", "A recording that is running, or was killed. cassette check --recover recovers it."),
    ("PATH.failed.har", "The recording of a run that failed."),
    ("PATH.previous.har", "The cassette that was replaced by check --recover or shortened by prune."),
  ]

  private static func entries(_ entries: [(String, String)]) -> [String] {
    entries.flatMap { [".TP", "\\fB\(escaped($0.0))\\fR"] + prose($0.1) }
  }

  private static func forms(_ usage: [String]) -> [String] {
    usage.enumerated().flatMap { ($0 == 0 ? [] : [".br"]) + ["\\fBdiorama\\fR \(escaped($1))"] }
  }

  /// Paragraphs become filled text. Indented lines, and lines with columns, stay as they are.
  private static func prose(_ text: String) -> [String] {
    var lines: [String] = []
    var isLiteral = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let isEmpty = line.allSatisfy { $0 == " " }
      if !isEmpty, line.contains("  ") != isLiteral {
        isLiteral.toggle()
        lines += isLiteral ? [".RS", ".EX"] : [".EE", ".RE"]
      }
      // An empty line between paragraphs; .PP would end an option's indentation.
      if !isEmpty {
        lines += Options.wrapped(String(line), to: 70).map(escaped)
      } else if lines.last != ".sp" {
        lines.append(".sp")
      }
    }
    return lines + (isLiteral ? [".EE", ".RE"] : [])
  }

  /// The text without anything that troff would interpret.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "'": result += "\\(aq"
      case "`": result += "\\(ga"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      case "…": result += "..."
      case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
      default: result += "\\[u\(String(format4(scalar.value)))]"
      }
    }
    return result.hasPrefix(".") ? "\\&" + result : result
  }

  private static func format4(_ value: UInt32) -> String {
    let digits = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
