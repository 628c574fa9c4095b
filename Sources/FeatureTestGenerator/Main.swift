import Gherkin

@main enum Main {
  static func main() {}
}
