// Gives each test an environment of Diorama: recorded network traffic, a fixed clock, random values, free ports.
//
//   test("lists users", async (t) => {
//     const { url } = await environment(t, { upstreams: { api: "https://api.example.com" } });
//     const users = await (await fetch(url("api", "/users"))).json();
//   });
//
// The settings are those of diorama.json, which it reads, too. Types and descriptions are in diorama.d.ts.

import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

/** A failed command of Diorama, or an environment that failed. The message says what happened and what to do. */
export class DioramaError extends Error {
  constructor(message) {
    super(message);
    this.name = "DioramaError";
    // The stack would only show this module.
    this.stack = `DioramaError: ${message}`;
  }
}

/** The environment of a test. */
export class Environment {
  #endpoints;
  #variables;
  // Whether the test has used the endpoints, and whether it has used anything else of its environment.
  #usesNetwork = false;
  #usesOthers = false;

  constructor(answer) {
    const { document, environment } = answer.contract;
    this.id = answer.id;
    this.name = answer.name;
    this.mode = answer.mode;
    this.cassette = answer.cassette ?? null;
    this.#endpoints = answer.endpoints;
    this.#variables = environment;
    const { ports, resources = {} } = answer;
    for (const [name, value] of Object.entries({ ports, resources, seed: document.seed, values: document.values })) {
      const get = () => {
        this.#usesOthers = true;
        return value;
      };
      Object.defineProperty(this, name, { enumerable: true, get });
    }
    this.clock = {
      now: async () => {
        this.#usesOthers = true;
        return new Date((await this.report()).clock.now);
      },
      advance: (seconds, options) => this.#move(["--advance", String(seconds)], options),
      set: (instant, options) => this.#move(["--set", instant instanceof Date ? instant.toISOString() : instant], options),
    };
  }

  get endpoints() {
    this.#usesNetwork = true;
    return { ...this.#endpoints };
  }

  // A property of its own, so that it can be destructured.
  url = (upstream, place = "") => {
    const endpoints = this.endpoints;
    if (Object.hasOwn(endpoints, upstream)) return endpoints[upstream] + place;
    throw new DioramaError(`there is no upstream '${upstream}'; declared are ${Object.keys(endpoints).join(", ") || "none"}`);
  };

  get environ() {
    this.#usesNetwork = true;
    const variables = { ...process.env, ...this.#variables };
    if (Object.keys(variables).some((name) => /^(http|https|all)_proxy$/i.test(name))) {
      // The endpoints are on this machine.
      for (const name of ["no_proxy", "NO_PROXY"]) {
        variables[name] = [variables[name], "127.0.0.1", "localhost"].filter(Boolean).join(",");
      }
    }
    return variables;
  }

  string = async (key, { length = 12, alphabet } = {}) => {
    this.#usesOthers = true;
    const { DIORAMA_CONTROL: control, DIORAMA_TOKEN: token } = this.#variables;
    const answer = await fetch(`${control}/strings`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ key, length, alphabet }),
    });
    const content = await answer.json();
    if (!answer.ok) throw new DioramaError(content.detail ?? content.title);
    return content.value;
  };

  async update({ toggles = {}, values = {}, mode } = {}) {
    this.#usesOthers = true;
    const words = [];
    for (const [name, value] of Object.entries(toggles)) words.push("--toggle", `${name}=${JSON.stringify(value)}`);
    for (const [name, value] of Object.entries(values)) words.push("--value", `${name}=${JSON.stringify(value)}`);
    if (mode) words.push("--mode", mode);
    await run(["env", "update", this.id, ...words]);
  }

  async report() {
    return JSON.parse((await run(["env", "report", this.id, "--json"], { accepting: [0, 3] })).output);
  }

  async end({ failed = false } = {}) {
    // A test that uses nothing of its environment probably talks to the live backend.
    const expects = this.#usesNetwork || !this.#usesOthers;
    const words = [...(failed ? ["--failed"] : []), ...(expects ? ["--expect-requests"] : [])];
    const { status, output } = await run(["env", "delete", this.id, ...words], { accepting: [0, 3] });
    return { ok: status === 0, text: output.trimEnd() };
  }

  async #move(words, { sleepers } = {}) {
    this.#usesOthers = true;
    if (sleepers !== undefined) words.push("--sleepers", String(sleepers));
    return new Date(JSON.parse((await run(["env", "update", this.id, ...words, "--json"])).output).now);
  }
}

/** For node:test: the environment of a test, which ends with it. */
export async function environment(t, settings = {}, body = undefined) {
  if (!body && !("passed" in t)) {
    throw new DioramaError("this version of Node does not tell whether a test failed; pass its body: environment(t, settings, body)");
  }
  const names = t.fullName?.split(" > ") ?? [t.name];
  const file = t.filePath ?? process.argv[1];
  // Node 20 compares the pattern with a test's own name, later versions with the whole name.
  const pattern = names.at(-1).replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") + "$";
  const own = await create(t, file, names, settings, `node --test --test-name-pattern=${quoted(pattern)} ${quoted(relative(file))}`);
  // TAP escapes line breaks within a comment.
  const say = (text) => text.split("\n").forEach((line) => t.diagnostic(line));
  if (!body) {
    t.after(() => finish(own, { failed: !t.passed, say }));
    return own;
  }
  return around(own, say, () => body(own));
}

/** For vitest: `test.extend({ diorama: vitest(settings) })`. */
export const vitest = (settings = {}) => async ({ task }, use) => {
  const names = [task.name];
  for (let suite = task.suite; suite?.name && suite !== task.file && !suite.filepath; suite = suite.suite) names.unshift(suite.name);
  const file = task.file.filepath;
  const own = await create(task, file, names, settings, `vitest run ${quoted(relative(file))} -t ${quoted(names.join(" "))}`);
  const say = (text) => console.log(text);
  await around(own, say, () => use(own), () => task.result?.state === "fail");
};

/** For Playwright: `test.extend({ diorama: playwright(settings) })`. */
export const playwright = (settings = {}) => async ({}, use, testInfo) => {
  const project = testInfo.project?.name;
  const names = [...testInfo.titlePath.slice(1), ...(project ? [project] : [])];
  const command = `playwright test ${quoted(relative(testInfo.file))}:${testInfo.line}`;
  const own = await create(testInfo.testId ?? testInfo, testInfo.file, names, settings, command);
  const say = (text) => console.log(text);
  await around(own, say, () => use(own), () => testInfo.status !== testInfo.expectedStatus);
};

/** For `webServer.env` of Playwright's configuration: the variables of one environment for the whole run. */
export function webServerEnv(settings = {}) {
  // Playwright reads its configuration again in each worker.
  if (!process.env.DIORAMA_WEB_SERVER) {
    const file = path.resolve("web-server");
    const { words, input } = request(file, { cassette: "Cassettes/web-server", name: "web server", ...settings }, "playwright test");
    let answer;
    try {
      answer = execFileSync("diorama", words, { input, cwd: path.dirname(file), encoding: "utf8", stdio: ["pipe", "pipe", "pipe"] });
    } catch (error) {
      throw failure(error, error.stderr);
    }
    process.env.DIORAMA_WEB_SERVER = answer;
  }
  return JSON.parse(process.env.DIORAMA_WEB_SERVER).contract.environment;
}

/** Playwright's reporter `["diorama"]`: ends the environment of `webServerEnv`, and fails the run if that failed. */
export default class Reporter {
  printsToStdio() {
    return false;
  }

  async onEnd(result) {
    if (!process.env.DIORAMA_WEB_SERVER) return undefined;
    const own = new Environment(JSON.parse(process.env.DIORAMA_WEB_SERVER));
    const failed = result.status !== "passed";
    const { ok, text } = await own.end({ failed });
    console.log(`diorama: ${text}`);
    return ok ? undefined : { status: "failed" };
  }
}

/** Runs a test in its environment, and ends that: with the test's own failure, else with the environment's. */
async function around(own, say, body, hasFailed = () => false) {
  let result;
  try {
    result = await body();
  } catch (error) {
    // The test's own failure counts, whatever else fails.
    await finish(own, { failed: true, say }).catch((other) => say(`diorama: ${other.message}`));
    throw error;
  }
  await finish(own, { failed: hasFailed(), say });
  return result;
}

async function finish(own, { failed, say }) {
  const { ok, text } = await own.end({ failed });
  if (!ok && !failed) throw new DioramaError(text);
  if (!ok) say(`diorama: ${text}`);
  else if (["record", "extend"].includes(own.mode)) say(`diorama: ${failed ? text : text.split("\n")[0]}`);
}

/** The tests of this process by their cassettes. */
const owners = new Map();

async function create(owner, file, names, settings, command) {
  if (!settings.cassette) {
    const place = [file, ...names].join("\0");
    if ((owners.get(place) ?? owner) !== owner) {
      throw new DioramaError(
        `another test of ${relative(file)} is named '${names.join(" > ")}', too, and would use the same cassette; ` +
          "rename one of them, or give one the setting cassette",
      );
    }
    owners.set(place, owner);
  }
  const { words, input } = request(file, settings, command, names);
  return new Environment(JSON.parse((await run(words, { input, cwd: path.dirname(file) })).output));
}

/** The command line that creates an environment, and its input. */
function request(file, settings, command, names = []) {
  const project = projectFile(path.dirname(file));
  const own = {
    name: names.join(" > ").replace(/[\u0000-\u001f\u007f-\u009f]/g, " ").slice(0, 200) || undefined,
    caller: "node",
    command,
    ...settings,
    cassette: settings.cassette ? path.resolve(path.dirname(file), settings.cassette) : cassette(file, names, project),
  };
  const words = ["env", "create", "--json", "--settings", "-", "--owner", String(process.pid)];
  return { words: [...words, ...(project ? ["--config", project] : ["--no-config"])], input: JSON.stringify(own) };
}

/**
 * The absolute path of a test's recording, without extension: `Cassettes/<file>/<suite>/<test>` beside the test's file, or
 * with the file's whole path in the folder that the project file names.
 */
function cassette(file, names, project) {
  const parts = [path.basename(file), ...names.map(safe)];
  try {
    const shared = project && JSON.parse(fs.readFileSync(project, "utf8")).cassettes;
    const place = project && path.relative(path.dirname(project), path.dirname(file));
    if (shared && !place.startsWith("..")) return path.resolve(path.dirname(project), shared, place, ...parts);
  } catch {
    // The command reports a project file that is broken.
  }
  return path.resolve(path.dirname(file), "Cassettes", ...parts);
}

/**
 * Any text as a file name: without separators, dots and control characters; short. Where the result could also be that of
 * another text, or on some file system its file, a digest of the text follows. No other name contains its `~`.
 */
function safe(text) {
  // Spaces become hyphens, so a text with hyphens needs the digest.
  if (text.length <= 100 && /^[a-z0-9_]+( [a-z0-9_]+)*$/.test(text)) return text.replaceAll(" ", "-");
  const readable = text.replace(/[^A-Za-z0-9_]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return `${readable}~${createHash("sha256").update(text).digest("hex").slice(0, 12)}`;
}

/** The nearest diorama.json, up to the working directory or the repository's root. */
function projectFile(folder) {
  for (let place = folder; ; place = path.dirname(place)) {
    const isRoot = fs.existsSync(path.join(place, ".git"));
    const file = path.join(place, "diorama.json");
    if (fs.existsSync(file)) {
      const root = process.cwd();
      const isOurs = place === folder || place === root || place.startsWith(root + path.sep);
      return isOurs || isRoot || isInRepository(place) ? file : null;
    }
    if (isRoot || place === path.dirname(place)) return null;
  }
}

function isInRepository(place) {
  return fs.existsSync(path.join(place, ".git")) || (place !== path.dirname(place) && isInRepository(path.dirname(place)));
}

const relative = (file) => path.relative(process.cwd(), file) || file;
const quoted = (text) => (/^[\w./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Runs the command diorama. */
function run(words, { input = "", cwd, accepting = [0] } = {}) {
  return new Promise((resolve, reject) => {
    const child = execFile("diorama", words, { cwd, maxBuffer: 64 << 20 }, (error, output, errors) => {
      const status = error ? error.code : 0;
      if (accepting.includes(status)) resolve({ status, output });
      else reject(failure(error, errors));
    });
    child.stdin.on("error", () => {}); // The command may end before it has read all.
    child.stdin.end(input);
  });
}

function failure(error, errors = "") {
  if (error.code === "ENOENT") {
    return new DioramaError("the command diorama is not in PATH; install it with `make install` in Diorama's sources");
  }
  const line = errors.trim().split("\n").pop() || error.message;
  return new DioramaError(line.replace(/^diorama: (--settings: )?/, "").replace(/; see diorama env create --help$/, ""));
}
