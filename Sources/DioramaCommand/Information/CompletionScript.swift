import Basics

/// `diorama completion`: prints a script that completes command lines in a shell.
enum CompletionCommand {
  static let command: Command = Command(
    "completion", "print a completion script for a shell", usage: ["completion bash|zsh|fish"],
    about: """
      Prints a script that completes commands, options and their values. make install
      installs it for all three shells. To use it without:

        bash  source <(diorama completion bash)
        zsh   diorama completion zsh >"${fpath[1]}/_diorama"
        fish  diorama completion fish | source
      """,
    operands: .choice(["bash", "zsh", "fish"])
  ) { options, _ in
    let script = CompletionScript(root: Main.command)
    switch options.operands.first {
    case "bash": try Output.write(raw: script.bash)
    case "zsh": try Output.write(raw: script.zsh)
    default: try Output.write(raw: script.fish)
    }
    return 0
  }
}

/// Completion scripts, made from the declared commands.
struct CompletionScript {
  private let commands: [Command]

  /// - Parameter root: the command with all others below it.
  init(root: Command) { commands = root.all }

  /// The words that can follow a command.
  private func words(of command: Command) -> [String] {
    if case .choice(let words) = command.operands { return words }
    // `help` takes the names of commands.
    return (command.name == "help" ? commands[0] : command).subcommands.map(\.word)
  }

  /// The first line of a help text, for lists.
  private static func described(_ help: String) -> String {
    var line = help.prefix { $0 != "\n" }
    while line.last == ":" || line.last == ";" || line.last == "." { line.removeLast() }
    return String(line)
  }

  private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: #"'\''"#) + "'" }

  // MARK: bash

  /// For bash 3.2 and later.
  var bash: String {
    """
    # Completion of diorama for bash, made by: diorama completion bash
    _diorama() {
      local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}
      local command= index=1 word words= options= files=
      # bash splits --mode=replay at the equals sign.
      if [[ $current == = ]]; then current=; elif [[ $option == = ]]; then option=${COMP_WORDS[COMP_CWORD-2]}; fi
      while ((index < COMP_CWORD)); do
        word="$command${command:+ }${COMP_WORDS[index]}"
        case $word in
        \(commands.dropFirst().map { Self.quoted($0.name) }.joined(separator: "|"))) command=$word ;;
        *) break ;;
        esac
        ((index++))
      done
      COMPREPLY=()
      for ((; index < COMP_CWORD; index++)); do
        [[ ${COMP_WORDS[index]} == -- && ($command == run || $command == verify) ]] || continue
        if declare -F _command_offset >/dev/null; then _command_offset $((index + 1)); return; fi
        if ((index + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$current")); return; fi
        _diorama_files "$current"
        return
      done
      case "$command $option" in
    \(bashValues)
      esac
      case $command in
    \(bashCommands)
      esac
      if [[ $current == -* ]]; then words="$options --help"; files=; fi
      if [[ -n $files ]]; then _diorama_files "$current"; else COMPREPLY=($(compgen -W "$words" -- "$current")); fi
    }
    _diorama_files() {
      # Names may have spaces.
      local IFS=$'\n'
      COMPREPLY=($(compgen -f -- "$1"))
    }
    complete -o filenames -o bashdefault -F _diorama diorama

    """
  }

  private var bashValues: String {
    commands.flatMap { command in
      command.options.filter(\.needsValue).map { option in
        let words = option.choices.joined(separator: " ")
        let reply = option.takesFile ? #"_diorama_files "$current"; "# : ""
        let choice = words.isEmpty ? "" : #"COMPREPLY=($(compgen -W "\#(words)" -- "$current")); "#
        return "  \(Self.quoted("\(command.name) \(option.name)"))) \(reply)\(choice)return ;;"
      }
    }.joined(separator: "\n")
  }

  private var bashCommands: String {
    commands.map { command in
      let options = command.options.map(\.name).joined(separator: " ")
      return "  \(Self.quoted(command.name))) options='\(options)' "
        + "words='\(words(of: command).joined(separator: " "))'\(command.operands == .files ? " files=1" : "") ;;"
    }.joined(separator: "\n")
  }

  // MARK: zsh

  var zsh: String {
    """
    #compdef diorama
    # Completion of diorama for zsh, made by: diorama completion zsh
    \(commands.reversed().map(zshFunction).joined(separator: "\n"))
    if [[ $funcstack[1] == _diorama ]]; then _diorama "$@"; else compdef _diorama diorama; fi

    """
  }

  private func zshFunction(_ command: Command) -> String {
    var specifications = command.options.map { option in
      let help = Self.zshEscaped(option.help)
      guard let value = option.value, option.needsValue else { return Self.quoted("\(option.name)[\(help)]") }
      let action =
        option.takesFile ? "_files" : option.choices.isEmpty ? " " : "(\(option.choices.joined(separator: " ")))"
      return Self.quoted("*\(option.name)=[\(help)]:\(Self.zshEscaped(value)):\(action)")
    }
    specifications.append("'(- *)'{-h,--help}'[print the help]'")
    switch command.operands {
    case _ where !command.subcommands.isEmpty:
      let words = command.subcommands.map { "\($0.word)\\:\(Self.zshEscaped($0.summary, quotes: true))" }
      specifications += [Self.quoted("1:command:((\(words.joined(separator: " "))))"), "'*::argument:->rest'"]
    case .commandLine: specifications.append("'*:::command:_normal'")
    case .files: specifications.append("'*:file:_files'")
    case .choice, .words:
      let words = words(of: command)
      specifications.append(Self.quoted("*:word:" + (words.isEmpty ? " " : "(\(words.joined(separator: " ")))")))
    case .none: break
    }
    let dispatch = command.subcommands.map { "  rest:\($0.word)) \(Self.function($0)) ;;" }.joined(separator: "\n")
    return """
      \(Self.function(command))() {
        local context state line
        typeset -A opt_args
        _arguments -S -C \\
          \(specifications.joined(separator: " \\\n    "))
      \(command.subcommands.isEmpty ? "}" : "  case $state:$line[1] in\n\(dispatch)\n  esac\n}")

      """
  }

  private static func function(_ command: Command) -> String {
    "_" + ["diorama", command.name].filter { !$0.isEmpty }.joined(separator: "_").replacing(" ", with: "_")
  }

  /// Text of a specification of `_arguments`: on one line, without what has a meaning there.
  private static func zshEscaped(_ text: String, quotes: Bool = false) -> String {
    var result = ""
    for character in described(text) {
      if "[]:\\".contains(character) || quotes && "\"'() ;|&<>$`*?".contains(character) { result.append("\\") }
      result.append(character)
    }
    return result
  }

  // MARK: fish

  var fish: String {
    """
    # Completion of diorama for fish, made by: diorama completion fish
    function __diorama_command
        set -l tokens (commandline -opc)[2..-1]
        set -l command
        for token in $tokens
            switch "$command $token"
                case \(commands.dropFirst().map(fishCase).joined(separator: " "))
                    set command (string trim "$command $token")
                case '*'
                    break
            end
        end
        echo "$command"
    end
    function __diorama_at
        not contains -- -- (commandline -opc)
        and test (__diorama_command) = "$argv[1]"
    end
    function __diorama_run
        set -l tokens (commandline -opc)
        set -l index (contains -i -- -- $tokens)
        and contains (__diorama_command) run verify
        and complete -C (string join ' ' -- (string escape -- $tokens[(math $index + 1)..-1]) (commandline -ct))
    end
    complete -c diorama -f
    complete -c diorama -n 'contains -- -- (commandline -opc)' -a '(__diorama_run)'
    \(commands.flatMap(fishLines).joined(separator: "\n"))

    """
  }

  private func fishCase(_ command: Command) -> String {
    Self.quoted(command.name.contains(" ") ? command.name : " \(command.name)")
  }

  private func fishLines(_ command: Command) -> [String] {
    let at = "complete -c diorama -n \(Self.quoted("__diorama_at \(Self.quoted(command.name))"))"
    func described(_ text: String) -> String { " -d " + Self.quoted(Self.described(text)) }
    var lines = command.subcommands.map { "\(at) -a \($0.word)\(described($0.summary))" }
    if command.subcommands.isEmpty, !words(of: command).isEmpty {
      lines.append("\(at) -a \(Self.quoted(words(of: command).joined(separator: " ")))")
    }
    if command.operands == .files { lines.append("\(at) -F") }
    lines.append("\(at) -s h -l help\(described("print the help"))")
    for option in command.options {
      let value =
        !option.needsValue
        ? ""
        : option.takesFile
          ? " -rF" : " -x" + (option.choices.isEmpty ? "" : " -a \(Self.quoted(option.choices.joined(separator: " ")))")
      lines.append("\(at) -l \(option.name.dropFirst(2))\(value)\(described(option.help))")
    }
    return lines
  }
}
