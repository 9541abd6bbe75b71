/** The compiled program's command line, where it needs no cluster. */
import { describe, expect } from "bun:test"
import { X509Certificate } from "node:crypto"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Kubeconfig from "@homeostat/testkit/envtest/Kubeconfig"
import * as Port from "@homeostat/testkit/envtest/Port"
import { live } from "@homeostat/testkit/Test"
import { Clock, Effect } from "effect"
import { loadAll } from "js-yaml"
import { program } from "../../../controllers/main.ts"
import manifest from "../../../package.json" with { type: "json" }
import * as Binary from "./Binary.ts"
import * as Running from "./Running.ts"
import { definitions } from "./Scene.ts"

/** The first test builds the program. */
const buildMillis = 120_000

const names = program.controllers.map(({ name }) => name).join(", ")

/** Help with each wrapped entry on one line. */
const unwrapped = (help: string): string => help.replaceAll(/\n {10,}(?!--)/g, " ")

/** Runs several command lines, a few at a time. */
const each = <A, B, E, R>(cases: ReadonlyArray<A>, check: (one: A) => Effect.Effect<B, E, R>) =>
  Effect.forEach(cases, check, { concurrency: 3, discard: true })

describe("The program", () => {
  live(
    "prints its version",
    () =>
      Effect.gen(function* () {
        const environment = Binary.bare(yield* Directory.make)
        yield* Binary.path
        const end = yield* Binary.run(["version"], environment)
        expect(end).toMatchObject({ code: 0, stderr: "" })
        // A build of a commit between two releases names the commit.
        expect(end.stdout.split("\n")[0]).toMatch(/^homeostat \d+\.\d+\.\d+(-dev(\+[0-9a-f]{8}(-dirty)?)?)?$/)
        expect(end.stdout).toStartWith(`homeostat ${manifest.version}`)
        process.stdout.write(`  version: ${Math.round(end.livedMillis)} ms from start to end\n`)
      }),
    buildMillis
  )

  live("prints the CustomResourceDefinitions of its kinds for kubectl", () =>
    Effect.gen(function* () {
      const end = yield* Binary.run(["crd"], Binary.bare(yield* Directory.make))
      expect(end).toMatchObject({ code: 0, stderr: "" })
      expect(definitions.map(({ spec }) => spec.names.kind)).toEqual(
        expect.arrayContaining(["WebApp", "Backup", "Restore"])
      )
      expect(loadAll(end.stdout)).toEqual(JSON.parse(JSON.stringify(definitions)))
      const json = yield* Binary.run(["crd", "-o", "json"], Binary.bare(yield* Directory.make))
      expect(JSON.parse(json.stdout)).toEqual({ apiVersion: "v1", kind: "List", items: loadAll(end.stdout) })
    })
  )

  live("fails with a line if it cannot write its output", () =>
    Effect.gen(function* () {
      const executable = yield* Binary.path
      const environment = Binary.bare(yield* Directory.make)
      yield* each(["crd", "version", "run --help", "--version"], (words) =>
        Effect.gen(function* () {
          const program = yield* Running.start(["sh", "-c", `"$0" ${words} > /dev/full`, executable], environment)
          const stderr = "homeostat: cannot write to standard output: no space left on device\n"
          expect(yield* program.ended("40 seconds")).toMatchObject({ code: 1, stderr })
        })
      )
    })
  )

  live("ends without a line, as after SIGPIPE, if the reader of its output has ended", () =>
    Effect.gen(function* () {
      const executable = yield* Binary.path
      const environment = Binary.bare(yield* Directory.make)
      yield* each(["crd", "version", "run --help"], (words) =>
        Effect.gen(function* () {
          const command = `(sleep 1; "$0" ${words}; echo $? >&2) | true`
          const program = yield* Running.start(["sh", "-c", command, executable], environment)
          expect(yield* program.ended("40 seconds")).toMatchObject({ code: 0, stderr: "141\n" })
        })
      )
    })
  )

  live("writes its output once into a slow pipe", () =>
    Effect.gen(function* () {
      const executable = yield* Binary.path
      const environment = Binary.bare(yield* Directory.make)
      const manifests = "manifests --metrics-secure --service-account default/homeostat"
      const printed = (command: string) =>
        Effect.flatMap(Running.start(["sh", "-c", command, executable], environment), (program) =>
          program.ended("40 seconds")
        )
      const whole = yield* printed(`"$0" ${manifests}`)
      const slow = yield* printed(`"$0" ${manifests} | (sleep 1; cat)`)
      expect(whole.stdout.length).toBeGreaterThan(100_000)
      expect(slow).toMatchObject({ code: 0, stderr: "" })
      expect(slow.stdout === whole.stdout).toBe(true)
    })
  )

  live("lists verbs and flags with help", () =>
    Effect.gen(function* () {
      const environment = Binary.bare(yield* Directory.make)
      const run = yield* Binary.run(["run", "--help"], environment)
      expect(run).toMatchObject({ code: 0, stderr: "" })
      const help = unwrapped(run.stdout)
      const flags = Array.from(help.matchAll(/^ {6}--([a-z-]+)/gm), ([, name]) => name)
      expect(flags).toEqual([
        "kubeconfig",
        "context",
        "namespace",
        "controllers",
        "selector",
        "workers",
        "sync-period",
        "graceful-shutdown-timeout",
        "install-crds",
        "leader-elect",
        "leader-elect-resource-name",
        "leader-elect-resource-namespace",
        "leader-elect-lease-duration",
        "leader-elect-renew-deadline",
        "leader-elect-retry-period",
        "metrics-bind-address",
        "health-probe-bind-address",
        "metrics-secure",
        "metrics-cert-dir",
        "webhooks",
        "webhook-bind-address",
        "webhook-url",
        "webhook-cert-dir",
        "webhook-client-ca",
        "webhook-client-name",
        "recordings",
        "recordings-memory",
        "cache-memory",
        "opaque-tokens",
        "log-level",
        "log-format",
        "trace-propagation",
        "trace-annotation"
      ])
      // The tables of docs/operations.md list all flags with their defaults.
      const page = yield* Effect.promise(() => Bun.file(join(import.meta.dir, "../../../docs/operations.md")).text())
      const documented = new Map(
        Array.from(page.matchAll(/^\| `--([a-z-]+)` +\| (.*?) +\|/gm), ([, name, cell]) => [name, cell])
      )
      expect([...documented.keys()].sort()).toEqual(flags.toSorted())
      const defaults = Array.from(help.matchAll(/^ {6}--([a-z-]+) .* \(default (\S+)\)$/gm), ([, ...parts]) => parts)
      expect(defaults.length).toBeGreaterThan(10)
      for (const [name, value] of defaults) {
        expect([name, documented.get(name)]).toEqual([name, value === "all" ? value : `\`${value}\``])
      }
      const settings = Array.from(
        help.matchAll(/^ {2}(HOMEOSTAT_\S+) {2,}(.*) \(default (.*)\)$/gm),
        ([, ...parts]) => parts
      )
      expect(settings.map(([variable, , otherwise]) => [variable, otherwise])).toEqual([
        ["HOMEOSTAT_BACKUP_MOVER_IMAGE", "homeostat-mover:0.2.0-dev"],
        ["HOMEOSTAT_BACKUP_MAX_JOBS", "10"],
        ["HOMEOSTAT_BACKUP_START_TIMEOUT", "10m"],
        ["HOMEOSTAT_BACKUP_RETRY_PERIOD", "30s"],
        ["HOMEOSTAT_BACKUP_PREFLIGHT_TIMEOUT", "40s"],
        ["HOMEOSTAT_BACKUP_IMAGES", "*"],
        ["HOMEOSTAT_BACKUP_ALLOW_ROOT", "true"],
        ["HOMEOSTAT_BACKUP_MAX_DEADLINE", "8760h"],
        ["HOMEOSTAT_BACKUP_DESTINATION", "none"],
        ["HOMEOSTAT_BACKUP_ENDPOINT", "none"],
        ["HOMEOSTAT_BACKUP_CACHE_SIZE", "10Gi"],
        ["HOMEOSTAT_BACKUP_TEMPORARY_SIZE", "1Gi"],
        ["HOMEOSTAT_BACKUP_MOVER_RESOURCES", "none"]
      ])
      const rows = Array.from(page.matchAll(/^\| `(HOMEOSTAT_\S+)` +\| `(\S+)`/gm), ([, ...cells]) => cells)
      expect(rows).toEqual(settings.map(([variable, , otherwise]) => [variable ?? "", otherwise ?? ""]))
      // The output has neither colors nor paragraphs, so that a user can scan it.
      expect(run.stdout).not.toContain("\u001b")
      expect(run.stdout.split("\n").length).toBeLessThan(100)
      expect(Math.max(...run.stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100)

      const overview = yield* Binary.run(["--help"], environment)
      expect(overview.stdout.match(/^ {2}(run|crd|version) {2}/gm)).toHaveLength(3)
    })
  )
})

const noAddress = (flag: string, text: string): string =>
  `${flag}: invalid bind address: "${text}" (write it like :8080, 127.0.0.1:8080 or [::1]:8080, or 0 for none)`

describe("An invalid command line causes exit code 2 and one line with the error", () => {
  const mistakes: ReadonlyArray<readonly [args: ReadonlyArray<string>, line: string]> = [
    [
      ["help", "start"],
      `unknown command: "start" (must be one of run, crd, rbac, manifests, preflight, plan, why, writes, replay, version, mover)`
    ],
    [
      ["start"],
      `unknown command: "start" (must be one of run, crd, rbac, manifests, preflight, plan, why, writes, replay, version, mover)`
    ],
    [["run", "--bogus"], "unknown flag: --bogus (see homeostat run --help)"],
    [
      ["run", "--zap-log-level=debug"],
      "unknown flag: --zap-log-level (did you mean --log-level? or see homeostat run --help)"
    ],
    [["crd", "--context", "x"], "unknown flag: --context (see homeostat crd --help)"],
    [["run", "webapp"], `unexpected argument: "webapp" (see homeostat run --help)`],
    [["--leader-elect"], "unknown flag: --leader-elect (write it after a command: homeostat run --leader-elect)"],
    [
      ["rbac", "--service-account", "homeostat"],
      `--service-account: invalid service account: "homeostat" (write it like homeostat-system/homeostat)`
    ],
    [
      ["manifests", "--service-account", "Home/homeostat"],
      `--service-account: invalid namespace: "Home" (must be lower-case letters, digits and dashes, at most 63)`
    ],
    [["run", "--namespace"], "value required: --namespace NAME"],
    [["run", "--controllers", "webapp,cron"], `--controllers: unknown controller: "cron" (must be one of ${names})`],
    [
      ["run", "--workers", "0"],
      `--workers: invalid number of workers: "0" (must be from 1 to 9999, or NAME=NUMBER pairs such as webapp=16,backup=4)`
    ],
    [["run", "--workers", "cron=3"], `--workers: unknown controller: "cron=3" (must be one of ${names})`],
    [["run", "--sync-period", "soon"], `--sync-period: invalid duration: "soon" (write it like 15s, 1m30s or 10h)`],
    [["run", "--sync-period", "0s"], `--sync-period: invalid duration: "0s" (must be at least 1s)`],
    [
      ["run", "--graceful-shutdown-timeout=-5s"],
      `--graceful-shutdown-timeout: invalid duration: "-5s" (write it like 15s, 1m30s or 10h)`
    ],
    [["run", "--log-format", "xml"], `--log-format: invalid value: "xml" (must be one of json, pretty)`],
    [
      ["run", "--log-level", "loud"],
      `--log-level: invalid value: "loud" (must be one of trace, debug, info, warn, error)`
    ],
    [
      ["run", "--selector", "app in web"],
      `--selector: invalid label selector: "app in web" (write it like app=web,tier in (a,b))`
    ],
    [
      ["run", "--namespace", "Shop"],
      `--namespace: invalid namespace: "Shop" (must be lower-case letters, digits and dashes, at most 63)`
    ],
    [["run", "--leader-elect=maybe"], `--leader-elect: invalid value: "maybe" (must be true or false)`],
    [
      ["run", "--leader-elect-resource-namespace", "a/b"],
      `--leader-elect-resource-namespace: invalid namespace: "a/b" (must be lower-case letters, digits and dashes, at most 63)`
    ],
    [
      ["run", "--leader-elect-resource-name", "My Lease"],
      `--leader-elect-resource-name: invalid object name: "My Lease" (must be lower-case letters, digits, dashes and dots, at most 253)`
    ],
    ...(["run", "rbac", "manifests", "preflight"] as const).map(
      (verb) =>
        [
          [verb, "--leader-elect", "--leader-elect-resource-namespace=a", "--namespace=a", "--controllers=webapp"],
          "--leader-elect-resource-name: required with --leader-elect and --controllers and --namespace (one name for each manager that works beside others; a manager keeps its name when its flags change)"
        ] as const
    ),
    [
      ["run", "--leader-elect-retry-period", "2"],
      `--leader-elect-retry-period: invalid duration: "2" (missing unit; write it like 15s, 1m30s or 10h)`
    ],
    [
      ["run", "--leader-elect", "--leader-elect-lease-duration=10s"],
      "--leader-elect-lease-duration (10s) must be longer than --leader-elect-renew-deadline (10s), or a second leader could start before the first has stopped"
    ],
    [
      ["run", "--leader-elect", "--leader-elect-retry-period=9s"],
      "--leader-elect-renew-deadline (10s) must be longer than 1.2 times --leader-elect-retry-period (9s), or one late renewal ends a leadership"
    ],
    [
      ["run", "--leader-elect", "--leader-elect-retry-period=0s"],
      "--leader-elect-retry-period (0) must be longer than 0"
    ],
    [
      ["run", "--webhook-bind-address", "0"],
      `--webhook-bind-address: invalid bind address: "0" (write it like :8080, 127.0.0.1:8080 or [::1]:8080)`
    ],
    [["run", "--metrics-bind-address", "8080"], noAddress("--metrics-bind-address", "8080")],
    [["run", "--metrics-bind-address", "::1:8080"], noAddress("--metrics-bind-address", "::1:8080")],
    [["run", "--health-probe-bind-address", ":65536"], noAddress("--health-probe-bind-address", ":65536")]
  ]
  live("for each flag", () =>
    Effect.gen(function* () {
      const environment = Binary.plain(yield* Directory.make)
      yield* each(mistakes, ([args, line]) =>
        Effect.map(Binary.run(args, environment), (end) =>
          expect(end).toMatchObject({ code: 2, stdout: "", stderr: `homeostat: ${line}\n` })
        )
      )
    })
  )

  live("for each flag that is set by an environment variable, with the name of the variable", () =>
    Effect.gen(function* () {
      const environment = Binary.plain(yield* Directory.make)
      const variables: ReadonlyArray<readonly [name: string, value: string, line: string]> = [
        ["NAMESPACE", "a,B", `invalid namespace: "B"`],
        ["CONTROLLERS", "cron", `unknown controller: "cron"`],
        ["SELECTOR", "=", `invalid label selector: "="`],
        ["WORKERS", "many", `invalid number of workers: "many"`],
        ["SYNC_PERIOD", "10", `invalid duration: "10"`],
        ["GRACEFUL_SHUTDOWN_TIMEOUT", "x", `invalid duration: "x"`],
        ["INSTALL_CRDS", "perhaps", `invalid value: "perhaps" (must be true or false)`],
        ["LEADER_ELECT", "yes", `invalid value: "yes" (must be true or false)`],
        ["LEADER_ELECT_RESOURCE_NAME", "-", `invalid object name: "-"`],
        ["LEADER_ELECT_RESOURCE_NAMESPACE", "-", `invalid namespace: "-"`],
        ["LEADER_ELECT_LEASE_DURATION", "long", `invalid duration: "long"`],
        ["LEADER_ELECT_RENEW_DEADLINE", "1", `invalid duration: "1"`],
        ["LEADER_ELECT_RETRY_PERIOD", "-1s", `invalid duration: "-1s"`],
        ["METRICS_BIND_ADDRESS", "metrics", `invalid bind address: "metrics"`],
        ["HEALTH_PROBE_BIND_ADDRESS", "[::1]", `invalid bind address: "[::1]"`],
        ["LOG_LEVEL", "loud", `invalid value: "loud" (must be one of`],
        ["LOG_FORMAT", "xml", `invalid value: "xml" (must be one of`]
      ]
      yield* each(variables, ([name, value, line]) =>
        Effect.map(Binary.run(["run"], { ...environment, [`HOMEOSTAT_${name}`]: value }), (end) => {
          expect(end.code).toBe(2)
          expect(end.stderr).toStartWith(`homeostat: HOMEOSTAT_${name}: ${line}`)
          expect(end.stderr.trimEnd()).not.toContain("\n")
        })
      )
    })
  )
})

live("An error after the flags is a JSON line if the log is JSON", () =>
  Effect.gen(function* () {
    // With FORCE_COLOR, as on a terminal, Bun colours what a program prints with console.error.
    const environment = { ...Binary.bare(yield* Directory.make), FORCE_COLOR: "1" }
    const cases: ReadonlyArray<readonly [code: number, args: ReadonlyArray<string>, variables: object, msg: string]> = [
      [
        1,
        ["--kubeconfig=/dev/null"],
        {},
        "kubeconfig /dev/null has no contexts (choose another file, or add one with kubectl config set-context)"
      ],
      [
        2,
        ["--leader-elect", "--selector=a=b"],
        {},
        "--leader-elect-resource-name: required with --leader-elect and --selector ("
      ],
      [2, [], { HOMEOSTAT_BACKUP_MAX_JOBS: "x" }, `HOMEOSTAT_BACKUP_MAX_JOBS: invalid number of movers: "x" (`],
      [2, [], { BUN_OPTIONS: "--smol" }, "forbidden environment variable: BUN_OPTIONS ("]
    ]
    yield* each(cases, ([code, args, variables, msg]) =>
      Effect.map(Binary.run(["run", "--log-format=json", ...args], { ...environment, ...variables }), (end) => {
        expect([end.code, end.stdout]).toEqual([code, ""])
        const lines = end.stderr
          .trimEnd()
          .split("\n")
          .map((line): { readonly level: string; readonly msg: string } => JSON.parse(line))
        expect(lines.filter(({ level }) => level === "error")).toEqual([
          expect.objectContaining({ msg: expect.stringContaining(msg) })
        ])
      })
    )
  })
)

describe("An invalid setting of a controller causes exit code 2 and one line with its name", () => {
  const wrong: ReadonlyArray<readonly [name: string, value: string, line: string]> = [
    ["MOVER_IMAGE", "my image", `invalid image: "my image" (must not contain spaces)`],
    ["MAX_JOBS", "0", `invalid number of movers: "0" (must be a whole number, at least 1)`],
    ["MAX_JOBS", "many", `invalid number of movers: "many" (must be a whole number, at least 1)`],
    ["START_TIMEOUT", "10", `invalid duration: "10" (missing unit; write it like 15s, 1m30s or 10h)`],
    ["RETRY_PERIOD", "500ms", `invalid duration: "500ms" (must be at least 1s)`],
    ["PREFLIGHT_TIMEOUT", "soon", `invalid duration: "soon" (write it like 15s, 1m30s or 10h)`]
  ]
  live("before a request to a cluster", () =>
    Effect.gen(function* () {
      const environment = Binary.plain(yield* Directory.make)
      yield* each(wrong, ([name, value, line]) => {
        const variable = `HOMEOSTAT_BACKUP_${name}`
        return Effect.map(Binary.run(["run"], { ...environment, [variable]: value }), (end) =>
          expect(end).toMatchObject({ code: 2, stdout: "", stderr: `homeostat: ${variable}: ${line}\n` })
        )
      })
    })
  )
})

describe("A port that is in use causes exit code 1 and one line with the flag", () => {
  for (const flag of ["--metrics-bind-address", "--health-probe-bind-address"]) {
    live(flag, () =>
      Effect.gen(function* () {
        const taken = yield* Effect.acquireRelease(
          Effect.sync(() => Bun.listen({ hostname: Port.host, port: 0, socket: { data: () => {} } })),
          (listener) => Effect.sync(() => listener.stop(true))
        )
        const address = `${Port.host}:${taken.port}`
        const end = yield* Binary.run(["run", flag, address], Binary.plain(yield* Directory.make))
        expect(end).toMatchObject({
          code: 1,
          stdout: "",
          stderr: `homeostat: cannot listen on ${address}, from ${flag}: another process listens there\n`
        })
      })
    )
  }
})

const access = { server: "https://127.0.0.1:1", ca: undefined, user: "somebody", token: "secret-token" }

const kubeconfigIn = (folder: string, text: string) => {
  const path = join(folder, `${crypto.randomUUID()}.yaml`)
  return Effect.as(
    Effect.promise(() => writeFile(path, text)),
    path
  )
}

describe("An invalid setting of the cluster causes exit code 1 and one line with the error and its source", () => {
  live("in the kubeconfig", () =>
    Effect.gen(function* () {
      const home = yield* Directory.make
      const environment = Binary.plain(home)
      const good = yield* kubeconfigIn(home, Kubeconfig.render(access))
      const list = yield* kubeconfigIn(home, "- not\n- a mapping\n")
      const torn = yield* kubeconfigIn(home, "clusters: [\n")
      const bare = yield* kubeconfigIn(home, "apiVersion: v1\nkind: Config\nclusters: []\n")
      const missing = join(home, "missing")
      const cases: ReadonlyArray<readonly [args: ReadonlyArray<string>, environment: object, line: string]> = [
        [
          ["run"],
          {},
          `no cluster: neither --kubeconfig nor KUBECONFIG is set, this is not a pod (KUBERNETES_SERVICE_HOST is not set), and ${home}/.kube/config does not exist`
        ],
        [["run", "--kubeconfig", missing], {}, `kubeconfig ${missing} (from --kubeconfig) does not exist`],
        [
          ["run"],
          { HOMEOSTAT_KUBECONFIG: missing },
          `kubeconfig ${missing} (from HOMEOSTAT_KUBECONFIG) does not exist`
        ],
        [["run"], { KUBECONFIG: missing }, `kubeconfig ${missing} (from KUBECONFIG) does not exist`],
        [
          ["run", "--kubeconfig", good, "--context", "prod"],
          {},
          `kubeconfig ${good} has no context "prod" (there are envtest)`
        ],
        [
          ["run"],
          { KUBECONFIG: good, HOMEOSTAT_CONTEXT: "prod" },
          `kubeconfig ${good} has no context "prod" (there are envtest)`
        ],
        [["run", "--kubeconfig", list], {}, `${list} is not a kubeconfig (it must be a mapping of kind Config in v1)`],
        [["run", "--kubeconfig", torn], {}, `kubeconfig ${torn} is not YAML:`],
        [
          ["run", "--kubeconfig", bare],
          {},
          `kubeconfig ${bare} has no contexts (choose another file, or add one with kubectl config set-context)`
        ],
        [["run", "--kubeconfig", home], {}, `kubeconfig ${home} (from --kubeconfig) cannot be read:`]
      ]
      yield* each(cases, ([args, variables, line]) =>
        Effect.map(Binary.run(args, { ...environment, ...variables }), (end) => {
          expect(end).toMatchObject({ code: 1, stdout: "" })
          expect(end.stderr).toStartWith(`homeostat: ${line}`)
          expect(end.stderr.trimEnd()).not.toContain("\n")
        })
      )
    })
  )

  live("but a missing namespace of the Lease is an invalid command line, exit code 2", () =>
    Effect.gen(function* () {
      const home = yield* Directory.make
      const path = yield* kubeconfigIn(home, Kubeconfig.render(access))
      const end = yield* Binary.run(["run", "--kubeconfig", path, "--leader-elect"], Binary.plain(home))
      expect(end).toMatchObject({
        code: 2,
        stderr:
          "homeostat: --leader-elect-resource-namespace: required, because neither a pod nor the kubeconfig context has a namespace\n"
      })
    })
  )

  live("at the server: a certificate that is not trusted or is for another host, or rejected credentials", () =>
    Effect.gen(function* () {
      const home = yield* Directory.make
      const authority = yield* Certificates.authority
      const other = yield* Certificates.authority
      const ours = yield* serving(yield* authority.server({ dns: ["localhost"], ip: ["127.0.0.1"] }))
      const elsewhere = yield* serving(yield* authority.server({ dns: ["elsewhere.example"], ip: [] }))
      const ca = authority.certificate
      const past = yield* expired(authority.client("somebody", []))
      const hourAgo = Math.floor((yield* Clock.currentTimeMillis) / 1000) - 3600
      const refused = "the server does not accept the credentials (401 Unauthorized)"
      const cases: ReadonlyArray<
        readonly [server: string, ca: string, reason: string, user?: Partial<Kubeconfig.Access>]
      > = [
        [
          ours,
          other.certificate,
          "the server's certificate is not signed by the configured certificate authority (UNABLE_TO_VERIFY_LEAF_SIGNATURE)"
        ],
        [
          elsewhere,
          ca,
          "the server's certificate is not for this host name (see tls-server-name) (ERR_TLS_CERT_ALTNAME_INVALID)"
        ],
        [ours, ca, refused],
        [
          ours,
          ca,
          `${refused}: the token expired at ${new Date(hourAgo * 1000).toISOString()}`,
          { token: webToken({ exp: hourAgo }) }
        ],
        [
          ours,
          ca,
          `${refused}: the client certificate expired at ${new X509Certificate(past.certificate).validToDate.toISOString()}`,
          { token: undefined, cert: past.certificate, key: past.key }
        ]
      ]
      yield* each(cases, ([server, ca, reason, user]) =>
        Effect.gen(function* () {
          const path = yield* kubeconfigIn(home, Kubeconfig.render({ ...access, ...user, server, ca }))
          const end = yield* Binary.run(["run", "--kubeconfig", path], Binary.plain(home))
          expect(end.code).toBe(1)
          expect(end.stderr.trimEnd().split("\n").at(-1)).toBe(
            `homeostat: cannot work on ${server}, from context "envtest" of ${path} (--kubeconfig): ${reason}`
          )
          expect(end.stderr).not.toContain(access.token)
        })
      )
    })
  )

  live(
    "at a server that does not answer, for each command that does not wait for it",
    () =>
      Effect.gen(function* () {
        const server = `https://127.0.0.1:${yield* Port.free}`
        const home = yield* Directory.make
        const { certificate } = yield* Certificates.authority
        const path = yield* kubeconfigIn(home, Kubeconfig.render({ ...access, server, ca: certificate }))
        yield* each(["preflight", "preflight -o json", "plan", "plan -o json"], (command) =>
          Effect.gen(function* () {
            const end = yield* Binary.run([...command.split(" "), "--kubeconfig", path], Binary.plain(home))
            expect(end).toMatchObject({ code: 1, stdout: "" })
            const source = `cannot work on ${server}, from context "envtest" of ${path} (--kubeconfig)`
            expect(end.stderr).toStartWith(`homeostat: ${source}: `)
            expect(end.stderr).toEndWith(`connection refused, nothing listens there (${server}, ECONNREFUSED)\n`)
          })
        )
      }),
    // Each command repeats its first request for some seconds.
    60_000
  )
})

const webToken = (claims: object): string =>
  ["{}", JSON.stringify(claims), "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".")

/** Issues a certificate with the clock set back by a year. */
const expired = <A, E, R>(issue: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) =>
    Effect.provideService(issue, Clock.Clock, {
      ...clock,
      currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now - 365 * 24 * 60 * 60 * 1000)
    })
  )

/** A TLS server with this certificate that rejects every client. */
const serving = (pair: Certificates.Pair) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        Bun.serve({
          hostname: "127.0.0.1",
          port: 0,
          tls: { cert: pair.certificate, key: pair.key },
          fetch: () => Response.json({ kind: "Status", code: 401, reason: "Unauthorized" }, { status: 401 })
        })
      ),
      (server) => Effect.promise(() => server.stop(true))
    ),
    (server) => `https://127.0.0.1:${server.port}`
  )
