import Testing

@testable import Isolation

#if os(Linux)
  @Suite("The configuration of name resolution")
  struct NameResolutionTests {
    @Test(
      "finds hosts in files and by DNS only",
      arguments: [
        ("", "hosts: files dns\n"),
        ("passwd: files\n  hosts:\tmymachines resolve dns\n# end", "hosts: files dns\npasswd: files\n# end"),
      ])
    func switching(text: String, result: String) {
      #expect(NameResolution.switching(text) == result)
    }
  }
#endif
