package import Basics
import CGnuTLS
import Foundation

/// The files and variables with which programs trust the certificate authority of an environment.
///
/// What the system trusts stays trusted. Nothing of the system is changed: the files are copies, which are mounted over
/// the originals where the programs of the environment run.
package struct TrustFiles: Sendable {
  /// What must be mounted, in this order: a file over a file, or a folder over a folder. All targets exist.
  package private(set) var binds: [(source: String, target: String)] = []
  /// What must be set for programs that have roots of their own, or read a file that these variables name.
  package private(set) var variables: [String: String] = [:]
  /// The certificate of the authority as PEM.
  package let authorityFile: String
  /// What the system trusts and the authority, as PEM.
  package let bundleFile: String
  /// What the system trusts and the authority, as a Java key store with the password `changeit`.
  package let keyStoreFile: String
  /// What could not be taken over, one sentence each.
  package private(set) var notes: [String] = []

  /// Writes the files.
  ///
  /// - Parameters:
  ///   - authority: the certificate of the environment's authority.
  ///   - folder: where to write; created if it does not exist. It must be visible to the programs under the same path,
  ///     and should be in memory, such as in `/dev/shm`: some hundred links are created, which takes one millisecond
  ///     there, but more than a hundred on a busy disk.
  ///   - variables: the variables that the programs would get. Files with trusted certificates that they name are merged,
  ///     and `HOME`, `JAVA_HOME` and `PATH` tell where Java is installed.
  /// - Returns: what to mount and to set.
  /// - Throws: `CodedError` of kind `cannotWrite` if a file cannot be written.
  package static func write(
    _ authority: AuthorityCertificate, into folder: String,
    variables: [String: String] = ProcessInfo.processInfo.environment
  ) throws(CodedError) -> TrustFiles {
    try TrustFiles(authority, folder, variables, root: "")
  }

  /// Returns the variables for programs that run without the mounts.
  ///
  /// Java then needs an option, about which it prints a line on standard error.
  ///
  /// - Parameter inherited: the variables that the programs would get.
  /// - Returns: what to set, which includes ``variables``.
  package func variablesWithoutMounts(_ inherited: [String: String]) -> [String: String] {
    let option = "-Djavax.net.ssl.trustStore=\(keyStoreFile)"
    // Options are separated by white space, unless quoted (JVM Tool Interface, JAVA_TOOL_OPTIONS).
    let quoted = option.contains(where: \.isWhitespace) ? "\"\(option)\"" : option
    let options = [inherited["JAVA_TOOL_OPTIONS"], quoted].compactMap { $0 }.joined(separator: " ")
    return variables.merging(["JAVA_TOOL_OPTIONS": options]) { $1 }
  }

  // MARK: Where programs look

  /// The folder in which OpenSSL, Go and others look for certificates, by default or on most distributions.
  private static let certificates = "/etc/ssl/certs"

  /// Files with all trusted certificates, of Debian, Fedora, openSUSE and Alpine. See `root_linux.go` of Go.
  private static let bundles = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
  ]

  private static let keyStores = [
    "/etc/ssl/certs/java/cacerts", "/etc/pki/ca-trust/extracted/java/cacerts", "/etc/pki/java/cacerts",
  ]

  /// Folders with certificates that p11-kit reads itself, for GnuTLS and NSS on Fedora, openSUSE and Arch.
  private static let anchors = [
    "/etc/pki/ca-trust/source/anchors", "/etc/pki/trust/anchors", "/etc/ca-certificates/trust-source/anchors",
  ]

  /// Folders of browsers for their policies. They need not contain any policy yet.
  private static let browsers = ["/etc/chromium", "/etc/opt/chrome"]

  /// Variables that name a file with all trusted certificates.
  private static let bundleVariables = [
    "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "HEX_CACERTS_PATH", "HTTPLIB2_CA_CERTS", "NIX_SSL_CERT_FILE",
    "PERL_LWP_SSL_CA_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "WEBSOCKET_CLIENT_CA_BUNDLE",
    "npm_config_cafile",
  ]

  /// The same, but programs find the certificates without them, by `SSL_CERT_FILE` or the mounts. They are only replaced.
  private static let replacedVariables = [
    "BUNDLE_SSL_CA_CERT", "COMPOSER_CAFILE", "HTTPS_CA_FILE", "JULIA_SSL_CA_ROOTS_PATH", "NPM_CONFIG_CAFILE",
    "SYSTEM_CERTIFICATE_PATH", "YARN_HTTPS_CA_FILE_PATH",
  ]

  /// Variables that name a file with certificates to trust in addition.
  private static let additionalVariables = ["DENO_CERT", "NODE_EXTRA_CA_CERTS"]

  // MARK: Writing

  /// Writes the files.
  ///
  /// - Parameters:
  ///   - authority: the certificate of the environment's authority.
  ///   - folder: where to write.
  ///   - inherited: the variables that the programs would get.
  ///   - root: precedes the paths of the system, for tests.
  /// - Throws: `CodedError` of kind `cannotWrite`.
  init(
    _ authority: AuthorityCertificate, _ folder: String, _ inherited: [String: String], root: String
  ) throws(CodedError) {
    // A relative path, too, and one that leads through links.
    let own = try FolderCopy(FolderCopy(FolderCopy.resolve(folder) ?? folder).resolved)
    authorityFile = own.path + "/authority.pem"
    bundleFile = own.path + "/bundle.pem"
    keyStoreFile = own.path + "/cacerts"
    let pem = Array(authority.pem.utf8)
    let bundle = merge(inherited, root: root) + pem
    let keyStore = try Self.keyStore(authority, bundle, root: root)
    try own.write(pem, to: "authority.pem")
    try own.write(bundle, to: "bundle.pem")
    try own.write(keyStore, to: "cacerts")

    let certificates = try mirror(root + Self.certificates, as: "certs", in: own)
    try replace(Self.bundles.map { root + $0 }, with: bundle, of: bundleFile, in: certificates)
    try replace(
      Self.keyStores.map { root + $0 } + Self.javaHomes(inherited, root: root), with: keyStore, of: keyStoreFile,
      in: certificates)
    if let copy = certificates?.copy { try Self.complete(copy, authority, bundle, keyStore) }
    for (index, folder) in Self.anchors.enumerated() {
      try mirror(root + folder, as: "anchors-\(index)", in: own)?.copy.write(pem, to: "diorama.pem")
    }
    try addPolicies(authority, in: own, root: root)

    for name in Self.bundleVariables { variables[name] = bundleFile }
    for name in Self.replacedVariables where inherited[name] != nil { variables[name] = bundleFile }
    for name in Self.additionalVariables {
      variables[name] = inherited[name]?.isEmpty == false ? bundleFile : authorityFile
    }
  }

  /// Returns the certificates of the system, and those in files that variables name, as PEM.
  private mutating func merge(_ inherited: [String: String], root: String) -> [UInt8] {
    let system = FolderCopy.firstReadable(Self.bundles.map { root + $0 })
    if system == nil {
      notes.append(
        "The system has no file with trusted certificates (\(Self.bundles[0]) or its like): programs trust only those of "
          + "the environment.")
    }
    var merged = system?.bytes ?? []
    // Some files end without a newline.
    if let last = merged.last, last != 0x0A { merged.append(0x0A) }
    // Each file once.
    var known = Set([system.flatMap { FolderCopy.resolve($0.path) }])
    for name in Self.bundleVariables + Self.replacedVariables + Self.additionalVariables {
      guard let path = inherited[name], !path.isEmpty else { continue }
      guard known.insert(FolderCopy.resolve(path) ?? path).inserted else { continue }
      let found = FolderCopy.read(path).map(PEM.certificates)
      if found?.isEmpty != false {
        let reason = found == nil ? "is not a file that can be read" : "contains no certificate as PEM"
        notes.append("\(name) is replaced, and what it named is not trusted: \(path) \(reason).")
      }
      for certificate in found ?? [] { merged += certificate + [0x0A] }
    }
    return merged
  }

  /// Returns the system's Java key store with the authority added, or one of the bundle if it is not JKS.
  private static func keyStore(
    _ authority: AuthorityCertificate, _ bundle: [UInt8], root: String
  ) throws(CodedError) -> [UInt8] {
    if let existing = FolderCopy.firstReadable(keyStores.map { root + $0 })?.bytes,
      let extended = try JavaKeyStore.adding(authority.certificate, alias: "diorama-environment", to: existing)
    {
      return extended
    }
    return try JavaKeyStore.make(PEM.certificates(in: bundle).compactMap(PEM.decode))
  }

  /// Adds to the copied folder what the system does not have, and the authority with its hash.
  private static func complete(
    _ copy: FolderCopy, _ authority: AuthorityCertificate, _ bundle: [UInt8], _ keyStore: [UInt8]
  ) throws(CodedError) {
    if !copy.contains("ca-certificates.crt") { try copy.write(bundle, to: "ca-certificates.crt") }
    // Not through a link, which leads out of the copy.
    let hasOwnFolder = FileKind(path: copy.path + "/java") ?? .folder == .folder
    if hasOwnFolder, !copy.contains("java/cacerts") { try copy.write(keyStore, to: "java/cacerts") }
    try copy.write(Array(authority.pem.utf8), to: "diorama.pem")
    let hash = try authority.name.subjectHash
    var number = 0
    while copy.contains("\(hash).\(number)") { number += 1 }
    try copy.link("\(hash).\(number)", to: "diorama.pem")
  }

  /// Adds a policy to what Chromium and Chrome read, where the system has a folder for it.
  private mutating func addPolicies(
    _ authority: AuthorityCertificate, in own: FolderCopy, root: String
  ) throws(CodedError) {
    let policy = Array("{\"CACertificates\":[\"\(Base64.encode(authority.certificate))\"]}\n".utf8)
    for (index, folder) in Self.browsers.enumerated() {
      // In the innermost folder that exists.
      for missing in ["", "managed/", "policies/managed/"] {
        let existing = root + folder + "/policies/managed/".dropLast(missing.count)
        guard let copy = try mirror(existing, as: "policies-\(index)", in: own)?.copy else { continue }
        try copy.write(policy, to: missing + "diorama.json")
        break
      }
    }
  }

  /// Copies a folder of the system, and mounts the copy over it.
  ///
  /// - Returns: the copy, and the folder's path without links; nil if there is no such folder.
  private mutating func mirror(
    _ folder: String, as name: String, in own: FolderCopy
  ) throws(CodedError) -> (copy: FolderCopy, target: String)? {
    guard let target = FolderCopy.resolve(folder), FileKind(path: target) == .folder else { return nil }
    let copy = try FolderCopy(own.path + "/" + name)
    let unreadable = try copy.copy(target)
    notes += unreadable.map { "\($0) cannot be read, and is missing where programs of the environment run." }
    binds.append((copy.path, target))
    return (copy, target)
  }

  /// Replaces files of the system: in the copied folder if they are there, otherwise by mounting.
  private mutating func replace(
    _ paths: [String], with bytes: [UInt8], of file: String, in certificates: (copy: FolderCopy, target: String)?
  ) throws(CodedError) {
    var known: Set<String> = []
    for path in paths {
      guard let path = FolderCopy.resolve(path), FileKind(path: path) == .file, known.insert(path).inserted else {
        continue
      }
      if let certificates, path.hasPrefix(certificates.target + "/") {
        try certificates.copy.write(bytes, to: String(path.dropFirst(certificates.target.count + 1)))
      } else {
        binds.append((file, path))
      }
    }
  }

  /// Returns where key stores of installed Java versions can be.
  private static func javaHomes(_ inherited: [String: String], root: String) -> [String] {
    var homes = [inherited["JAVA_HOME"]].compactMap { $0 }
    let programs = (inherited["PATH"] ?? "").split(separator: ":").map { "\($0)/java" }
    if let program = programs.first(where: { FileKind(path: $0) != nil }).flatMap(FolderCopy.resolve) {
      // HOME/bin/java.
      homes.append(((program as NSString).deletingLastPathComponent as NSString).deletingLastPathComponent)
    }
    var collections = ["/usr/lib/jvm", "/usr/java", "/opt", "/opt/java"].map { root + $0 }
    if let home = inherited["HOME"] {
      // Of SDKMAN, Gradle's tool chains and IntelliJ.
      collections += ["/.sdkman/candidates/java", "/.gradle/jdks", "/.jdks"].map { home + $0 }
    }
    homes += collections.flatMap { folder in FolderCopy.names(in: folder).map { folder + "/" + $0 } }
    // Java 8 has it in a folder of the runtime.
    return homes.flatMap { [$0 + "/lib/security/cacerts", $0 + "/jre/lib/security/cacerts"] }
  }
}

extension DistinguishedName {
  /// The name of an OpenSSL link to a certificate with this subject, without the number at its end: eight digits, as
  /// `openssl x509 -subject_hash` prints them.
  var subjectHash: String {
    get throws(CodedError) {
      let hash = try digest(GNUTLS_DIG_SHA1, of: canonical).prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
      let digits = String(hash, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }
  }
}
