/**
 * The present text of messages that a review of the documentation found awkward. Each row runs the code that emits the message.
 */
import { describe, expect } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import { backup, understood } from "@homeostat/backup/run/Backups.fixture"
import * as RunStatus from "@homeostat/backup/run/RunStatus"
import * as Summary from "@homeostat/backup/run/Summary"
import * as ApiError from "@homeostat/runtime/client/ApiError"
import * as Client from "@homeostat/runtime/client/Client"
import * as Cluster from "@homeostat/runtime/client/Cluster.fixture"
import * as Fence from "@homeostat/runtime/client/Fence"
import * as Permission from "@homeostat/runtime/client/Permission"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Election from "@homeostat/runtime/command/Election"
import * as Flag from "@homeostat/runtime/command/Flag"
import * as Flags from "@homeostat/runtime/command/Flags"
import * as LogLevelPage from "@homeostat/runtime/command/LogLevelPage"
import * as MetricsPort from "@homeostat/runtime/command/MetricsPort"
import * as Rbac from "@homeostat/runtime/command/Rbac"
import * as Run from "@homeostat/runtime/command/Run"
import * as Tracing from "@homeostat/runtime/command/Tracing"
import * as Verb from "@homeostat/runtime/command/Verb"
import * as Why from "@homeostat/runtime/command/Why"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Ownership from "@homeostat/runtime/controller/Ownership"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Runner from "@homeostat/runtime/controller/Runner"
import { capture, pass, settle, Widget, widget, withWorld } from "@homeostat/runtime/controller/World.fixture"
import * as Callers from "@homeostat/runtime/manager/Callers"
import * as Certificate from "@homeostat/runtime/manager/Certificate"
import * as Crds from "@homeostat/runtime/manager/Crds"
import * as Endpoints from "@homeostat/runtime/manager/Endpoints"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Preflight from "@homeostat/runtime/manager/Preflight"
import * as SelfSigned from "@homeostat/runtime/manager/SelfSigned"
import { answerOf } from "@homeostat/runtime/manager/why/Answer"
import * as Facts from "@homeostat/runtime/manager/why/Why.fixture"
import { CustomResourceDefinition } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as LogLevels from "@homeostat/runtime/telemetry/LogLevels"
import * as Kubeconfig from "@homeostat/testkit/envtest/Kubeconfig"
import { effect } from "@homeostat/testkit/Test"
import { Deferred, Effect, Result as EffectResult, Fiber, Layer, Schema, type Scope } from "effect"
import type { FileSystem } from "effect/FileSystem"
import { TestClock } from "effect/testing"
import { program } from "../../../controllers/main.ts"

const environment = {}
const verbs: ReadonlyArray<Verb.Verb<unknown, FileSystem>> = [Run.verb(program), Why.verb(program)]

/** The text that a command line prints or fails with. */
const commandLine = (...args: ReadonlyArray<string>): Effect.Effect<string> =>
  EffectResult.match(Verb.select(program, verbs, args, 100), {
    onFailure: ({ message }) => Effect.succeed(message),
    onSuccess: (request) =>
      request._tag === "Print"
        ? Effect.succeed(request.text)
        : request.verb.run({ program: program.name, args: request.args, environment }).pipe(
            Effect.flip,
            Effect.map((error) => (error instanceof Error ? error.message : String(error))),
            Effect.provide(NodeFileSystem.layer),
            Effect.catch(() => Effect.die(new Error("the command succeeded")))
          )
  })

/** The error of `why` when the manager responds with this status. */
const whyAfter = (status: number, body: string): Effect.Effect<string> =>
  Effect.acquireUseRelease(
    Effect.sync(() => Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(body, { status }) })),
    ({ port }) =>
      Effect.map(commandLine("why", "webapp/shop", "-n=default", `--probe-address=127.0.0.1:${port}`), (line) =>
        line.replace(`:${port}`, ":PORT")
      ),
    (server) => Effect.promise(() => server.stop(true))
  )

const helpOf = (flags: Flag.Flags): Effect.Effect<string> =>
  Effect.succeed(Flag.describe(Object.values(flags), 1000).join("\n"))

/** The lines that an effect logs. */
const logged = <E, R>(
  body: (lines: ReadonlyArray<string>) => Effect.Effect<unknown, E, R>
): Effect.Effect<string, E, R> =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    return body(lines).pipe(
      Effect.provide(capture(lines)),
      Effect.map(() => lines.join("\n"))
    )
  })

const forbidden = `deployments.apps is forbidden: User "manager" cannot patch resource "deployments" in API group "apps" in the namespace "default"`

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

/**
 * The message if the manager may not create reviews (`forbidden`), or if every caller lacks the permission (`denied`).
 */
const reviewed = (kind: "forbidden" | "denied"): Effect.Effect<string, unknown, Scope.Scope> => {
  const user = { username: "prometheus", uid: "u", groups: [] }
  const send = ({ body }: { readonly body?: unknown }) =>
    Effect.sync(() => {
      const review = JSON.parse(String(body))
      const status = review.kind === "TokenReview" ? { authenticated: true, user } : { allowed: false }
      const headers = new Headers()
      return kind === "forbidden"
        ? {
            status: 403,
            headers,
            body: JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: forbidden })
          }
        : { status: 201, headers, body: JSON.stringify({ ...review, metadata: {}, status }) }
    })
  const transport = Layer.succeed(Transport.Transport, { server: "https://server", send, open: () => Effect.never })
  const layer = Callers.layer().pipe(Layer.provide(Client.layer()), Layer.provide(transport))
  return logged((lines) =>
    Effect.gen(function* () {
      const handler = yield* Callers.guarded(() => Effect.succeed(Endpoints.text(200, "")), { loopback: false })
      const token = `${part({ alg: "none" })}.${part({ sub: "a" })}.c2ln`
      const request = new Request("http://localhost:8081/why", { headers: { authorization: `Bearer ${token}` } })
      const response = yield* handler(request, { address: "10.0.0.7" })
      const text = yield* Effect.promise(() => response.text())
      ;(lines as Array<string>).push(text.trimEnd())
    }).pipe(Effect.provide(layer))
  )
}

const kind = (fields: Schema.Struct.Fields) =>
  CustomResource.make({
    group: Widget.group,
    version: Widget.version,
    kind: Widget.kind,
    spec: Schema.Struct({ size: Schema.Int, ...fields })
  })

const narrowed = Effect.gen(function* () {
  const server = yield* Cluster.make()
  server.put(CustomResourceDefinition, JSON.parse(JSON.stringify(Crd.of(kind({ color: Schema.String })))))
  return yield* logged(() =>
    Effect.provide(Crds.install([kind({})], { program: "sites" }), Layer.provide(Client.layer(), server.transport))
  )
})

const applied = logged(() =>
  Effect.gen(function* () {
    const server = yield* Cluster.make()
    const client = Layer.provide(Client.layer(), server.transport)
    const installing = yield* Effect.forkChild(Effect.provide(Crds.install([kind({})]), client))
    yield* settle
    server.change(CustomResourceDefinition, "widgets.example.com", {
      status: { conditions: [{ type: "Established", status: "True" }] }
    })
    yield* TestClock.adjust("2 seconds")
    yield* Fiber.interrupt(installing)
  })
)

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "homeostat-messages-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const badCertificate = logged((lines) =>
  Effect.gen(function* () {
    const dir = yield* temporary
    const { certificate, key } = SelfSigned.make(["a"], Date.now())
    writeFileSync(join(dir, "tls.crt"), certificate)
    writeFileSync(join(dir, "tls.key"), key)
    const source = yield* Effect.provide(Certificate.ofDir(dir), NodeFileSystem.layer)
    writeFileSync(join(dir, "tls.crt"), "rubbish")
    const watching = yield* Effect.forkChild(source.after(source.first))
    // The source logs an invalid certificate only at the second look, because the files of a Secret may change one after the other.
    while (!lines.some((line) => line.includes("Invalid certificate"))) {
      yield* TestClock.adjust(Certificate.lookEvery)
      yield* Effect.promise(() => Bun.sleep(1))
    }
    yield* Fiber.interrupt(watching)
  })
)

const crashed = logged(() =>
  Effect.gen(function* () {
    const layer = Layer.provide(Manager.layer({ instance: "pod-1" }), (yield* Cluster.make()).transport)
    const begin = yield* Deferred.make<void>()
    const services = yield* Layer.build(layer)
    yield* Effect.provide(
      Manager.start<never>([], {
        leaderElection: {
          identity: "me",
          lease: { namespace: "default", name: "test" },
          state: () => ({ leading: false, holder: undefined }),
          run: () => Effect.andThen(Deferred.await(begin), Effect.die(new Error("boom")))
        }
      }),
      services
    )
    yield* Deferred.succeed(begin, undefined)
    yield* settle
  })
)

const expiredLevel = logged(() =>
  Effect.gen(function* () {
    const levels = yield* LogLevels.make("info")
    let handler: Endpoints.Handler | undefined
    yield* LogLevelPage.serve(levels, ["webapp"]).pipe(
      Effect.provideService(Endpoints.Endpoints, {
        addresses: {},
        route: (_port, _path, page) =>
          Effect.sync(() => {
            handler = page
          })
      }),
      Effect.provideService(Callers.Callers, { guarded: (page) => page })
    )
    const request = new Request("http://localhost/loglevel?level=debug&for=1m", { method: "PUT" })
    yield* handler?.(request, { address: "127.0.0.1" }) ?? Effect.void
    yield* TestClock.adjust("61 seconds")
  })
)

const abandoned = Effect.suspend(() => {
  let found = ""
  const body = withWorld(({ logs, server }) =>
    Effect.gen(function* () {
      server.put(Widget, widget("a"))
      const reconcile = () => Effect.uninterruptible(Effect.as(Effect.sleep("1 minute"), Result.done))
      const controller = Controller.make("widgets", { for: Widget, reconcile, retry: undefined })
      const runner = yield* Runner.prepare(controller, { gracePeriod: "1 second", syncPeriod: 0 })
      const stop = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkScoped(runner.lead(Fence.open, Deferred.await(stop)))
      yield* settle
      yield* Deferred.succeed(stop, undefined)
      yield* pass("10 seconds")
      yield* Fiber.join(fiber)
      found = logs.join("\n")
    })
  )
  return Effect.map(body(), () => found)
})

/** The log lines of `run` on a cluster that does not respond. */
const started = Effect.gen(function* () {
  const dir = yield* temporary
  const path = join(dir, "config")
  writeFileSync(path, Kubeconfig.render({ server: "https://127.0.0.1:1", ca: undefined, user: "a", token: "b" }))
  const lines: Array<string> = []
  const ports = ["--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0"]
  const verb = Run.verb({ ...program, logger: () => capture(lines) })
  const running = yield* verb
    .run({ program: program.name, args: [`--kubeconfig=${path}`, ...ports], environment })
    .pipe(Effect.provide(NodeFileSystem.layer), Effect.forkChild)
  while (!lines.join().includes("https://127.0.0.1:1 (from")) yield* Effect.promise(() => Bun.sleep(5))
  yield* Fiber.interrupt(running)
  return lines.join("\n")
})

const notOwned = (holder: string | undefined, adoptAnnotation?: string) =>
  Effect.succeed(
    new Ownership.NotOwned({ kind: "Deployment", key: "default/x", holder, adoptAnnotation, news: true }).message
  )

const scheduled = Effect.sync(() => {
  const of = backup()
  const facts = {
    understood: understood(of),
    obstacle: undefined,
    course: undefined,
    waiting: undefined,
    sharing: undefined
  }
  return Summary.of(of, RunStatus.draft(of), { ...facts, next: 0, now: 0 }).status.message ?? ""
})

const mistake = (problem: EffectResult.Result<unknown, string>) =>
  Effect.succeed(EffectResult.getOrThrow(EffectResult.flip(problem)))

const rows: ReadonlyArray<
  readonly [was: string, now: Effect.Effect<string, unknown, Scope.Scope>, ...parts: ReadonlyArray<string>]
> = [
  ["say what to do", commandLine(), "Usage:\n  homeostat [command]", "Available Commands:"],
  ["there is no start", commandLine("start"), 'unknown command: "start" (must be one of run, why)'],
  [
    "there is no flag",
    commandLine("run", "--zap-log-level=debug"),
    "unknown flag: --zap-log-level (did you mean --log-level? or see homeostat run --help)"
  ],
  ["one word too many", commandLine("run", "extra"), 'unexpected argument: "extra" (see homeostat run --help)'],
  [
    "is none of",
    commandLine("run", "--log-level=loud"),
    '--log-level: invalid value: "loud" (must be one of trace, debug, info, warn, error)'
  ],
  [
    "is no duration",
    commandLine("run", "--sync-period=10"),
    '--sync-period: invalid duration: "10" (missing unit; write it like 15s, 1m30s or 10h)'
  ],
  ["is no name of a namespace", mistake(Flags.namespaceName("X")), 'invalid namespace: "X" (must be lower-case'],
  ["is no name of an object", mistake(Flags.objectName("X")), 'invalid object name: "X" (must be lower-case'],
  [
    "is no label selector",
    commandLine("run", "--selector=="),
    '--selector: invalid label selector: "=" (write it like'
  ],
  [
    "names no controller",
    commandLine("run", "--controllers=x"),
    '--controllers: unknown controller: "x" (must be one of webapp, backup, restore)'
  ],
  [
    "is no number of workers",
    commandLine("run", "--workers=0"),
    '--workers: invalid number of workers: "0" (must be from 1 to 9999, or NAME=NUMBER pairs such as webapp=16,backup=4)'
  ],
  ["say what to explain", commandLine("why"), "an object is required: KIND/NAME"],
  ["is no object", commandLine("why", "shop"), 'invalid object: "shop" (must be KIND/NAME, such as webapp/shop)'],
  [
    "cannot ask the manager",
    commandLine("why", "webapp/shop", "-n=a", "--probe-address=127.0.0.1:1"),
    "cannot reach the manager at http://127.0.0.1:1: connection refused (if it runs in a cluster, forward its port first: kubectl -n homeostat-system port-forward deployment/homeostat 8081)"
  ],
  [
    "does not answer us",
    whyAfter(403, "no"),
    "http://127.0.0.1:PORT rejected the request: no (use --token-file FILE, or forward its port: kubectl"
  ],
  [
    "explains nothing",
    whyAfter(404, "no"),
    "http://127.0.0.1:PORT has no /why endpoint: the manager may still be starting, may be an older version, or may be a different program"
  ],
  [
    "it takes the verb",
    Effect.succeed(
      Permission.reasonOf(
        ApiError.fromStatus(
          { method: "PATCH", path: "/x" },
          { kind: "Status", reason: "Forbidden", message: forbidden },
          403
        )
      )
    ),
    "requires permission to patch deployments.apps in namespace default"
  ],
  [
    "in the whole cluster",
    Effect.succeed(
      Preflight.describe({
        verb: "list",
        group: "apps",
        resource: "deployments",
        subresource: undefined,
        name: undefined,
        namespace: undefined,
        by: ["controller webapp"]
      })
    ),
    "cannot list deployments.apps cluster-wide, needed by controller webapp: add to a ClusterRole {"
  ],
  [
    "is left as it is in the cluster",
    narrowed,
    "CRD widgets.example.com was not updated, because this version would remove or tighten: ",
    ". This is expected if a newer version of sites installed it. To overwrite it anyway: sites crd | kubectl apply"
  ],
  ["the one before is shown on", badCertificate, "Invalid certificate, keeping the previous one: "],
  ["Nobody can say who may ask", reviewed("forbidden"), "Cannot authorize requests for /why: requires permission to "],
  [
    "U may not get /why",
    reviewed("denied"),
    'prometheus is not allowed to get /why (add this rule to a ClusterRole: {"nonResourceURLs":["/why"],"verbs":["get"]})'
  ],
  ["stopped by a mistake of the runtime", crashed, "FATAL Internal error: the controllers stopped unexpectedly"],
  ["the time of the log level is over", expiredLevel, "INFO The log level of everything has expired and is reset"],
  [
    "leaves 2 reconciles behind",
    abandoned,
    "Controller widgets: 1 reconciles did not stop after being interrupted; abandoning them"
  ],
  ["Controller x starts with 16 workers", abandoned, "INFO Starting controller widgets (16 workers)"],
  ["CRD x is applied", applied, "INFO Applied CRD widgets.example.com"],
  ["Serves metrics on", started, "INFO Serving metrics on 127.0.0.1:", "INFO Serving probes on 127.0.0.1:"],
  ["works on https", started, `INFO homeostat ${program.version} connects to https://127.0.0.1:1 (from `],
  [
    "the Lease they do it by",
    helpOf(Election.flags),
    "Name of the Lease, required with",
    "Namespace of the Lease (default"
  ],
  [
    "a leader that renews the Lease no more",
    helpOf(Election.timing),
    "How long other replicas wait for a leader that does not renew the Lease (default 15s)",
    "How long a leader continues without renewing the Lease (default 10s)"
  ],
  [
    "what traces do with the objects",
    helpOf(Tracing.flags),
    "How traces continue across written objects: link, parent or off (default link)",
    "The annotation that carries the trace (default tracing.k8s.io/traceparent)"
  ],
  [
    "no right more",
    Effect.succeed(Rbac.verb(program).description),
    "Print the minimal RBAC roles, for kubectl apply -f -"
  ],
  [
    "never narrow those of the cluster",
    helpOf({ install: Flags.installCrds }),
    "Install or update CRDs before starting; never removes fields or tightens validation"
  ],
  [
    "a certificate of its own",
    helpOf(MetricsPort.flags),
    "Folder of tls.crt and tls.key for --metrics-secure, reloaded on change (default a self-signed certificate)"
  ],
  [
    "controlled by nobody",
    notOwned(undefined, "apps.kubedojo.io/adopt"),
    "Deployment default/x already exists and has no controller (delete it, or annotate it with apps.kubedojo.io/adopt=true)"
  ],
  [
    "hand it over with the adopt annotation",
    notOwned(undefined),
    "Deployment default/x already exists and has no controller (delete it, or use another name)"
  ],
  [
    "until it is removed or given away",
    notOwned("Site a"),
    "Deployment default/x already exists and is controlled by Site a (delete it, or use another name)"
  ],
  ["it runs by", scheduled, "Scheduled: 0 2 * * * (UTC)."],
  [
    "failed for good",
    Effect.sync(() => answerOf(Facts.cases["failed permanently"]).answer),
    " failed permanently 3m ago (10:18:13Z), and will not be retried until something changes: "
  ]
]

describe("The message that was", () => {
  for (const [was, now, ...parts] of rows) {
    effect(`“${was}”`, () =>
      Effect.gen(function* () {
        const text = yield* now
        for (const part of parts) expect(text).toContain(part)
        expect(text).not.toContain(was)
      })
    )
  }
})
