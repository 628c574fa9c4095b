import Basics
import Foundation
import Testing

@testable import Interception

@Suite("Trust files", .timeLimit(.minutes(5)))
struct TrustFilesTests {
  /// Stands for the root of a system, in the folder `system`, and the folder of the environment, `own`.
  private let folder: CertificateFolder
  private let authority: CertificateAuthority
  /// An authority that the system trusts already.
  private let other: CertificateAuthority
  private var root: String { folder.path + "/system" }
  private var own: String { folder.path + "/own" }

  init() throws {
    folder = try CertificateFolder()
    authority = try CertificateAuthority(environment: "e1", dates: [.now])
    other = try CertificateAuthority(environment: "other", dates: [.now])
    try folder.write("other.pem", other.pem.utf8)
  }

  private func files(_ variables: [String: String] = [:]) throws -> TrustFiles {
    try TrustFiles(authority.trusted, own, variables, root: root)
  }

  private func link(_ path: String, to target: String) throws {
    try FileManager.default.createDirectory(
      atPath: (root + path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: root + path, withDestinationPath: target)
  }

  private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  /// Checks that OpenSSL trusts certificates of both authorities.
  private func verify(_ options: String..., alsoOther: Bool = true) async throws {
    for authority in alsoOther ? [authority, other] : [authority] {
      let leaf = try #require(try authority.credentials(for: "a.example").certificates.first)
      try folder.write("leaf.pem", PEM.encode(leaf).utf8)
      // Both, so that nothing comes from the system.
      try await folder.run(
        ["openssl", "verify", "-no-CAfile", "-no-CApath", "-no-CAstore"] + options + ["leaf.pem"])
    }
  }

  /// Writes a system like Debian.
  private func debian(bundle: String? = nil) throws {
    try folder.write("system/usr/share/ca-certificates/other.crt", other.pem.utf8)
    try link("/etc/ssl/certs/other.pem", to: root + "/usr/share/ca-certificates/other.crt")
    try link("/etc/ssl/certs/\(try other.name.subjectHash).0", to: "other.pem")
    try link("/etc/ssl/certs/lost.pem", to: "/does/not/exist")
    try folder.write("system/etc/ssl/certs/ca-certificates.crt", (bundle ?? other.pem).utf8)
  }

  @Test("are a copy of the system's folder with the authority in the bundle, as PEM and by its hash")
  func copy() async throws {
    try debian()
    let files = try files()
    #expect(files.notes.isEmpty)
    #expect(files.binds.map(\.source) == [own + "/certs"])
    #expect(files.binds.map(\.target) == [root + "/etc/ssl/certs"])
    #expect(try text(files.authorityFile) == authority.pem)
    #expect(try text(files.bundleFile) == other.pem + authority.pem)
    #expect(try text(own + "/certs/ca-certificates.crt") == other.pem + authority.pem)
    #expect(try text(own + "/certs/diorama.pem") == authority.pem)
    let manager = FileManager.default
    #expect(
      try manager.destinationOfSymbolicLink(atPath: own + "/certs/other.pem")
        == root + "/usr/share/ca-certificates/other.crt")
    #expect(try manager.destinationOfSymbolicLink(atPath: own + "/certs/lost.pem") == "/does/not/exist")
    try await verify("-CAfile", files.bundleFile)
    try await verify("-CApath", own + "/certs")
    #expect(try text(root + "/etc/ssl/certs/ca-certificates.crt") == other.pem)
  }

  @Test("contain certificates only, and no key")
  func noKey() throws {
    try debian()
    _ = try files()
    let names = try #require(FileManager.default.enumerator(atPath: own)).compactMap { $0 as? String }
    let keyText = Array("PRIVATE KEY".utf8)
    for name in names {
      let content = FileManager.default.contents(atPath: own + "/" + name).map(Array.init) ?? []
      #expect(content.firstRange(of: keyText) == nil, "\(name)")
    }
    #expect(names.count >= 7)
  }

  @Test("can be read by all users")
  func modes() throws {
    try debian()
    _ = try files()
    let contents = try #require(FileManager.default.enumerator(atPath: own))
    var count = 0
    for case let name as String in contents {
      let attributes = try FileManager.default.attributesOfItem(atPath: own + "/" + name)
      let mode = attributes[.posixPermissions] as? Int
      switch attributes[.type] as? FileAttributeType {
      case .typeDirectory: #expect(mode == 0o755, "\(name)")
      case .typeRegular: #expect(mode == 0o644, "\(name)")
      default: continue
      }
      count += 1
    }
    #expect(count >= 7)
  }

  @Test("have a hash link with the next number if it is taken")
  func takenHash() async throws {
    try debian()
    let hash = try authority.name.subjectHash
    try folder.write("system/etc/ssl/certs/\(hash).0", other.pem.utf8)
    try link("/etc/ssl/certs/\(hash).1", to: "lost.pem")
    _ = try files()
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: own + "/certs/\(hash).2") == "diorama.pem")
    #expect(try text(own + "/certs/\(hash).0") == other.pem)
  }

  @Test("have the hash that OpenSSL computes", arguments: ["e1", "A  b\tC ", " É ÄÖ", "", "login #1, \"x\""])
  func hash(environment: String) async throws {
    let authority = try CertificateAuthority(environment: environment, dates: [.now])
    try folder.write("ca.pem", authority.pem.utf8)
    let hash = try await folder.run("openssl", "x509", "-in", "ca.pem", "-noout", "-subject_hash")
    #expect(try authority.name.subjectHash + "\n" == hash)
  }

  @Test("keep a bundle with any line ends, and without one at its end", arguments: ["\r\n", "\n"])
  func lineEnds(lineEnd: String) async throws {
    let lines = other.pem.split(separator: "\n").joined(separator: lineEnd)
    try debian(bundle: "# The other one" + lineEnd + lines)
    let files = try files()
    #expect(try text(files.bundleFile) == "# The other one" + lineEnd + lines + "\n" + authority.pem)
    try await verify("-CAfile", files.bundleFile)
    let list = try await keys(files.keyStoreFile)
    #expect(list.contains("Your keystore contains 2 entries"))
  }

  @Test("need no folder of the system")
  func missing() async throws {
    let files = try files()
    #expect(files.binds.isEmpty)
    #expect(files.notes.count == 1)
    #expect(files.notes.first?.contains("/etc/ssl/certs") == true)
    #expect(try text(files.bundleFile) == authority.pem)
    try await verify("-CAfile", files.bundleFile, alsoOther: false)
    #expect(try await keys(files.keyStoreFile).contains("Your keystore contains 1 entry"))
  }

  @Test("replace the files of other distributions, never through links")
  func fedora() async throws {
    let bundle = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"
    let store = "/etc/pki/ca-trust/extracted/java/cacerts"
    try folder.write("system" + bundle, other.pem.utf8)
    try folder.write("system" + store, JavaKeyStore.make([other.certificate]))
    try link("/etc/pki/tls/certs/ca-bundle.crt", to: root + bundle)
    try link("/etc/pki/java", to: "ca-trust/extracted/java")
    try link("/etc/pki/tls/certs/java", to: "../../java")
    try link("/etc/ssl/certs", to: "../pki/tls/certs")
    try link("/etc/ssl/cert.pem", to: root + bundle)
    try folder.write("system/etc/pki/ca-trust/source/anchors/company.pem", other.pem.utf8)
    let files = try files()
    let binds = files.binds.map { "\($0.source.dropFirst(own.count)) \($0.target.dropFirst(root.count))" }
    #expect(
      binds == [
        "/certs /etc/pki/tls/certs", "/bundle.pem \(bundle)", "/cacerts \(store)",
        "/anchors-0 /etc/pki/ca-trust/source/anchors",
      ])
    #expect(try text(own + "/anchors-0/diorama.pem") == authority.pem)
    #expect(try text(own + "/anchors-0/company.pem") == other.pem)
    #expect(try text(root + bundle) == other.pem)
    #expect(FolderCopy.read(root + store) == (try JavaKeyStore.make([other.certificate])))
    try await verify("-CAfile", files.bundleFile)
  }

  @Test("have absolute paths, whatever the folder's path is")
  func absolute() throws {
    try debian()
    try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
    try link("/own", to: own)
    let files = try TrustFiles(authority.trusted, root + "/own", [:], root: root)
    #expect(files.binds.first?.source == own + "/certs")
    #expect(files.bundleFile == own + "/bundle.pem")
  }

  @Test("have a Java key store where Java looks for the system's, even without one of the system")
  func addedKeyStore() throws {
    try debian()
    try folder.write("system/etc/ssl/certs/java/README", [])
    let files = try files()
    #expect(FolderCopy.read(own + "/certs/java/cacerts") == FolderCopy.read(files.keyStoreFile))
  }

  @Test("replace a bundle of another name in the system's folder")
  func bundleInside() throws {
    try folder.write("system/etc/pki/tls/certs/ca-bundle.crt", other.pem.utf8)
    try link("/etc/ssl/certs", to: "../pki/tls/certs")
    let files = try files()
    #expect(files.binds.count == 1)
    #expect(try text(own + "/certs/ca-bundle.crt") == other.pem + authority.pem)
  }

  @Test("leave out what is not a file, a folder or a link")
  func pipe() throws {
    try debian()
    #expect(mkfifo(root + "/etc/ssl/certs/pipe", 0o644) == 0)
    #expect(try files().notes.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: own + "/certs/pipe"))
  }

  @Test("leave out and name files that cannot be read", .enabled(if: geteuid() != 0, "root can read every file"))
  func unreadable() throws {
    try debian()
    let path = try folder.write("system/etc/ssl/certs/secret.pem", other.pem.utf8)
    chmod(path, 0)
    let files = try files()
    #expect(files.notes.count == 1)
    #expect(files.notes.first?.hasPrefix(path + " ") == true)
    #expect(!FileManager.default.fileExists(atPath: own + "/certs/secret.pem"))
  }

  @Test("are an error that names the path if they cannot be written")
  func unwritable() throws {
    try folder.write("own", "a file".utf8)
    let error = #expect(throws: CodedError.self) { try files() }
    #expect(error?.kind == .cannotWrite)
    #expect(error?.problem.contains(own) == true)
  }

  @Test("can be written for this system")
  func thisSystem() async throws {
    let files = try TrustFiles.write(authority.trusted, into: own)
    for (source, target) in files.binds {
      #expect(FileKind(path: source) == FileKind(path: target), "\(source) \(target)")
    }
    for path in Set(files.variables.values) { #expect(FileKind(path: path) == .file, "\(path)") }
    try await verify("-CAfile", files.bundleFile, alsoOther: false)
    #expect(try await keys(files.keyStoreFile).contains("diorama-environment") == true)
  }

  // MARK: Java

  private func keys(_ store: String) async throws -> String {
    try await folder.run("keytool", "-list", "-keystore", store, "-storepass", "changeit")
  }

  @Test("keep the entries of the system's Java key store")
  func extendedKeyStore() async throws {
    try debian()
    try await folder.run(
      "keytool", "-importcert", "-noprompt", "-alias", "company", "-file", "other.pem", "-keystore", "old",
      "-storetype", "JKS", "-storepass", "secret")
    let old = try #require(FolderCopy.read(folder.path + "/old"))
    try folder.write("system/etc/ssl/certs/java/cacerts", old)
    let files = try files()
    #expect(files.binds.count == 1)
    #expect(FolderCopy.read(own + "/certs/java/cacerts") == FolderCopy.read(files.keyStoreFile))
    let list = try await keys(files.keyStoreFile)
    #expect(list.contains("Keystore type: JKS"))
    #expect(list.contains("Your keystore contains 2 entries"))
    #expect(list.contains("company, "))
    #expect(list.contains("diorama-environment, "))
    #expect(FolderCopy.read(root + "/etc/ssl/certs/java/cacerts") == old)
  }

  @Test("make a Java key store of the bundle if the system's is PKCS#12")
  func otherKeyStore() async throws {
    try debian()
    try await folder.run(
      "keytool", "-importcert", "-noprompt", "-alias", "company", "-file", "other.pem", "-keystore", "old",
      "-storetype", "PKCS12", "-storepass", "changeit")
    try folder.write("system/etc/ssl/certs/java/cacerts", try #require(FolderCopy.read(folder.path + "/old")))
    let list = try await keys(try files().keyStoreFile)
    #expect(list.contains("Your keystore contains 2 entries"))
    for certificate in [authority.certificate, other.certificate] {
      try folder.write("one.der", certificate)
      let line = try await folder.run(
        "openssl", "x509", "-inform", "der", "-in", "one.der", "-noout", "-fingerprint", "-sha256")
      #expect(list.contains(line.split(separator: "=")[1]))
    }
  }

  @Test("replace the key stores of Java installations, unless they are links to the system's")
  func javaHomes() throws {
    try debian()
    try folder.write("system/etc/ssl/certs/java/cacerts", JavaKeyStore.make([other.certificate]))
    try link("/usr/lib/jvm/java-17/lib/security/cacerts", to: root + "/etc/ssl/certs/java/cacerts")
    for name in [
      "usr/lib/jvm/java-8/jre/lib/security/cacerts", "opt/jdk/lib/security/cacerts",
      "home/.jdks/a/lib/security/cacerts",
      "mine/lib/security/cacerts", "other/lib/security/cacerts",
    ] { try folder.write("system/" + name, "PKCS#12".utf8) }
    try folder.write("system/other/bin/java", [])
    try link("/bin/java", to: root + "/other/bin/java")
    let files = try files([
      "JAVA_HOME": root + "/mine", "PATH": "/does/not/exist:\(root)/bin", "HOME": root + "/home",
    ])
    #expect(
      files.binds.dropFirst().map { String($0.target.dropFirst(root.count)) } == [
        "/mine/lib/security/cacerts", "/other/lib/security/cacerts", "/usr/lib/jvm/java-8/jre/lib/security/cacerts",
        "/opt/jdk/lib/security/cacerts", "/home/.jdks/a/lib/security/cacerts",
      ])
    #expect(files.binds.dropFirst().allSatisfy { $0.source == files.keyStoreFile })
  }

  @Test("are an option of Java where nothing can be mounted", arguments: ["own", "a folder"])
  func javaOption(name: String) async throws {
    let files = try TrustFiles(authority.trusted, folder.path + "/" + name, [:], root: root)
    #expect(files.variables["JAVA_TOOL_OPTIONS"] == nil)
    let variables = files.variablesWithoutMounts(["JAVA_TOOL_OPTIONS": "-Da=b"])
    #expect(files.variables.allSatisfy { variables[$0] == $1 })
    let settings = try await folder.run("java", "-XshowSettings:properties", "-version", environment: variables)
    #expect(settings.contains("javax.net.ssl.trustStore = \(files.keyStoreFile)\n"))
    #expect(settings.contains("    a = b\n"))
  }

  // MARK: Variables

  @Test("set variables of programs with roots of their own")
  func variables() throws {
    let files = try files()
    for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "npm_config_cafile"] {
      #expect(files.variables[name] == files.bundleFile)
    }
    #expect(files.variables["NODE_EXTRA_CA_CERTS"] == files.authorityFile)
    #expect(files.variables["DENO_CERT"] == files.authorityFile)
    #expect(files.variables["COMPOSER_CAFILE"] == nil)
  }

  @Test("contain the certificates of the files that variables name, but not their private keys")
  func merged() async throws {
    try debian()
    let company = try CertificateAuthority(environment: "company", dates: [.now])
    let team = try CertificateAuthority(environment: "team", dates: [.now])
    let key = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
    let crlf = company.pem.split(separator: "\n").joined(separator: "\r\n")
    let companyFile = try folder.write("company.pem", (key + crlf).utf8)
    // Differs from the file that is used for the system's certificates.
    try folder.write("system/etc/ssl/cert.pem", team.pem.utf8)
    let files = try files([
      "SSL_CERT_FILE": companyFile, "COMPOSER_CAFILE": companyFile, "NODE_EXTRA_CA_CERTS": root + "/etc/ssl/cert.pem",
      "PIP_CERT": "",
      "CURL_CA_BUNDLE": root + "/etc/ssl/certs/ca-certificates.crt",
    ])
    #expect(files.notes.isEmpty)
    #expect(try text(files.bundleFile) == other.pem + crlf + "\n" + team.pem + authority.pem)
    for name in ["SSL_CERT_FILE", "COMPOSER_CAFILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "CURL_CA_BUNDLE"] {
      #expect(files.variables[name] == files.bundleFile)
    }
    #expect(try await keys(files.keyStoreFile).contains("Your keystore contains 4 entries"))
  }

  @Test("name variables whose certificates cannot be read")
  func unreadableVariables() throws {
    try debian()
    let files = try files([
      "SSL_CERT_FILE": "/does/not/exist", "REQUESTS_CA_BUNDLE": root + "/etc/ssl/certs",
      "PIP_CERT": try folder.write("empty.pem", "nothing".utf8),
    ])
    #expect(files.notes.count == 3)
    for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"] {
      #expect(files.notes.contains { $0.hasPrefix(name + " ") })
    }
    #expect(try text(files.bundleFile) == other.pem + authority.pem)
  }

  // MARK: Chromium

  @Test(
    "are a managed policy of Chromium beside existing ones",
    arguments: [
      ("/etc/chromium/policies/managed", ""), ("/etc/chromium/policies", "managed/"),
      ("/etc/opt/chrome", "policies/managed/"),
    ])
  func policy(existing: String, missing: String) throws {
    try folder.write("system\(existing)/a/b.json", "{}".utf8)
    let files = try files()
    let bind = try #require(files.binds.first)
    #expect(files.binds.count == 1)
    #expect(bind.target == root + existing)
    #expect(try text(bind.source + "/a/b.json") == "{}")
    let policy = try text(bind.source + "/" + missing + "diorama.json")
    #expect(policy == "{\"CACertificates\":[\"\(Base64.encode(authority.certificate))\"]}\n")
  }
}
