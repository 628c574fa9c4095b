/** Settings of an environment, as in diorama.json. All are optional; the command checks them. */
export interface Settings {
  /** Backends by name: an origin such as `https://api.example.com`, or an object as in diorama.json. */
  upstreams?: Record<string, string | Record<string, unknown>>;
  /** What to do with requests (default: `once`). The variable `DIORAMA_MODE` goes first. */
  mode?: "once" | "replay" | "record" | "extend" | "proxy" | "mock";
  /** How time runs; frozen by default, in replay at the instant of the recording. */
  clock?: {
    kind?: "system" | "frozen" | "ticking" | "scaled" | "manual";
    start?: string;
    rate?: number;
    timeZone?: string;
    locale?: string;
  };
  /** The recording's path from the test's folder (default: `Cassettes/<file>/<suite>/<test>`). */
  cassette?: string;
  toggles?: Record<string, unknown>;
  values?: Record<string, unknown>;
  /** Names of free ports, for programs that listen themselves. */
  ports?: string[];
  seed?: string;
  /** Resources of pools to lease, such as test accounts, by name: a pool, or an object. */
  resources?: Record<string, string | { pool: string; where?: Record<string, string>; waitSeconds?: number }>;
  /** Any other setting of diorama.json. */
  [name: string]: unknown;
}

/** What has happened in an environment; the members are those of `diorama env report --json`. */
export interface Report {
  ok: boolean;
  mode: string;
  requests: Record<string, number>;
  unmatched: { method: string; url: string }[];
  [name: string]: unknown;
}

/** The clock that the programs in an environment see. */
export interface Clock {
  now(): Promise<Date>;
  /** Moves the clock forward; resolves to what it shows once every program of the environment has applied that. */
  advance(seconds: number, options?: { sleepers?: number }): Promise<Date>;
  /** Sets the clock to a date, or a time such as `2018-10-08T09:00:00Z`. */
  set(instant: Date | string, options?: { sleepers?: number }): Promise<Date>;
}

/** A leased resource, such as a test account. */
export interface Resource {
  readonly pool: string;
  readonly name: string;
  readonly attributes: Record<string, string>;
  /** Passwords and the like. */
  readonly secrets: Record<string, string>;
}

/** The environment of a test. */
export class Environment {
  private constructor();
  /** The id, for the command `diorama env`. */
  readonly id: string;
  readonly name: string;
  readonly mode: "record" | "replay" | "extend" | "proxy" | "mock";
  /** The path of the recording, or null. */
  readonly cassette: string | null;
  /** The local URLs of the upstreams, by name. */
  readonly endpoints: Record<string, string>;
  readonly ports: Record<string, number>;
  /** Leased resources by name, such as test accounts. */
  readonly resources: Record<string, Resource>;
  readonly seed: string;
  readonly values: Record<string, unknown>;
  /** Variables for a program: this process's, and those by which it finds the environment. */
  readonly environ: Record<string, string>;
  readonly clock: Clock;
  /** The local URL of an upstream, with a path such as `/users?page=1`. */
  readonly url: (upstream: string, path?: string) => string;
  /** A random string that is recorded, and the same in replay. */
  readonly string: (key: string, options?: { length?: number; alphabet?: string }) => Promise<string>;
  /** Changes toggles and values (null removes one) or the mode. */
  update(changes: { toggles?: Record<string, unknown>; values?: Record<string, unknown>; mode?: string }): Promise<void>;
  /** What has happened so far. */
  report(): Promise<Report>;
}

/** A failed command of Diorama, or an environment that failed. */
export class DioramaError extends Error {}

interface TestContext {
  readonly name: string;
  diagnostic(message: string): void;
  after(hook: () => unknown): void;
}

/** For node:test: the environment of a test, which ends with it and fails it by its report. */
export function environment(t: TestContext, settings?: Settings): Promise<Environment>;
/** The same around the test's body, for Node 18, which does not tell hooks whether a test failed. */
export function environment<Result>(
  t: TestContext, settings: Settings, body: (environment: Environment) => Result | Promise<Result>,
): Promise<Result>;

/** A fixture for vitest: `test.extend({ diorama: vitest(settings) })`. */
export function vitest(settings?: Settings): (context: any, use: (environment: Environment) => Promise<void>) => Promise<void>;

/** A fixture for Playwright: `test.extend({ diorama: playwright(settings) })`. */
export function playwright(
  settings?: Settings,
): (fixtures: any, use: (environment: Environment) => Promise<void>, testInfo: any) => Promise<void>;

/** Variables for `webServer.env` of Playwright's configuration; needs the reporter `["diorama"]`. */
export function webServerEnv(settings?: Settings): Record<string, string>;

/** Playwright's reporter that ends the environment of `webServerEnv`. */
export default class Reporter {
  printsToStdio(): boolean;
  onEnd(result: { status: string }): Promise<{ status: "failed" } | undefined>;
}
