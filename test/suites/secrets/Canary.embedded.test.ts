/**
 * Tests that no output of a program quotes the value of a Secret: log, spans, `/why`, metrics, recordings, replays, Events, conditions, and
 * plans in each format. The API server and the controller quote the values in errors, and the controller writes them in texts of its own.
 */
import { expect } from "bun:test"
import { Logs, MetricsText, Traces } from "@homeostat/observability"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import type { Transport } from "@homeostat/runtime/client/Transport"
import * as Kinds from "@homeostat/runtime/command/Kinds"
import * as Access from "@homeostat/runtime/controller/Access"
import * as Attempt from "@homeostat/runtime/controller/Attempt"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import * as Trigger from "@homeostat/runtime/controller/Trigger"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import * as Endpoints from "@homeostat/runtime/manager/Endpoints"
import * as Health from "@homeostat/runtime/manager/Health"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as MetricsPage from "@homeostat/runtime/manager/MetricsPage"
import * as Document from "@homeostat/runtime/manager/recordings/Document"
import * as PlanDocument from "@homeostat/runtime/plan/Document"
import * as Plan from "@homeostat/runtime/plan/Plan"
import * as PlanText from "@homeostat/runtime/plan/Text"
import * as ReplayText from "@homeostat/runtime/replay/Text"
import * as BuiltIn from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Tracing from "@homeostat/runtime/telemetry/Tracing"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Faults from "@homeostat/testkit/Faults"
import * as Simulation from "@homeostat/testkit/Simulation"
import { live } from "@homeostat/testkit/Test"
import { Context, Data, Effect, Result as EffectResult, Layer, Logger, References, Schedule, Schema } from "effect"
import * as Recordings from "../replay/Recordings.ts"

/** The values. Each has this word, also in the encoding of a Secret, so that one search finds them all. */
const canary = "canary"
const password = `${canary}-in-a-coal-mine`
const pin = `${canary}-4711-0815`
const variable = `${canary}-of-a-variable`
const stated = `${canary}-that-is-stated`
const encoded = [password, stated].map((value) => Buffer.from(value).toString("base64"))

const Vault = CustomResource.make({
  group: "suites.homeostat.dev",
  version: "v1",
  kind: "Vault",
  spec: Schema.Struct({
    what: Schema.String,
    env: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })))
  }),
  status: Schema.Struct({ conditions: Schema.optionalKey(Condition.list) })
})

type Vault = typeof Vault.Type

const namespace = "default"
const credentials = { namespace, name: "credentials" }

const configOf = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ pin: Schema.Number })))

const text = (data: BuiltIn.Secret["data"], name: string): string =>
  Buffer.from(data?.[name] ?? "", "base64").toString()

const page = (name: string, of: string) => ({ metadata: { name }, data: { text: `the password is ${of}` } })

const deployment = ({ metadata: { name }, spec }: Vault) => ({
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "app", image: "nginx", env: spec.env ?? [] }] }
    }
  }
})

const cached = Effect.map(Effect.flatMap(Cache.get(BuiltIn.Secret, credentials), Effect.fromOption), ({ data }) => data)
const fresh = Effect.map(Client.get(BuiltIn.Secret, credentials), ({ data }) => data)

/** The acts of a Vault, by `spec.what`. */
class LoginFailed extends Data.TaggedError("LoginFailed")<{ readonly message: string }> {}

const acts = {
  "quoted by the API server, in a copy": (vault: Vault) =>
    Effect.flatMap(cached, (data) => Owned.apply(vault, BuiltIn.ConfigMap, page("rejected", text(data, "password")))),
  "copied and accepted": (vault: Vault) =>
    Effect.flatMap(cached, (data) => Owned.apply(vault, BuiltIn.ConfigMap, page("accepted", text(data, "password")))),
  "quoted by the API server, in a Secret": (vault: Vault) =>
    Owned.apply(vault, BuiltIn.Secret, { metadata: { name: "rejected" }, stringData: { word: stated } }),
  "quoted by the API server, in a variable": (vault: Vault) =>
    Owned.apply(vault, BuiltIn.Deployment, deployment(vault)),
  "in an error": () =>
    Effect.flatMap(fresh, (data) => new LoginFailed({ message: `no login as ${text(data, "password")}` })),
  "in a permanent error": () =>
    Effect.flatMap(
      fresh,
      (data) => new TerminalError({ message: `no login as ${text(data, "password")}`, cause: data })
    ),
  "in a defect": () => Effect.flatMap(cached, (data) => Effect.die(new Error(`no login as ${data?.password}`))),
  "in a decode error": () => Effect.flatMap(cached, (data) => configOf(text(data, "config"))),
  "in texts of the controller": (vault: Vault) =>
    Effect.gen(function* () {
      const word = text(yield* cached, "password")
      yield* Effect.logWarning(`Logs in as ${word}`, { word })
      yield* Effect.annotateCurrentSpan("login", word)
      yield* EventRecorder.record({ regarding: vault, type: "Normal", reason: "LoggedIn", note: `As ${word}` })
      yield* Status.update(vault, {
        conditions: [Condition.false(Condition.Ready, { reason: "LoggedIn", message: `As ${word}` })]
      })
    }).pipe(Effect.withSpan("login"))
} as const

const isAct = (what: string): what is keyof typeof acts => what in acts

const names = Object.keys(acts)

const controller = Controller.make("vaults", {
  for: Vault,
  owns: [BuiltIn.ConfigMap, BuiltIn.Secret, BuiltIn.Deployment],
  watches: [Trigger.on(BuiltIn.Secret, { map: () => [] })],
  access: [Access.get(BuiltIn.Secret)],
  retry: Schedule.spaced("1 hour"),
  reconcile: (vault) =>
    Effect.gen(function* () {
      const { what } = vault.spec
      if (isAct(what)) yield* acts[what](vault)
      return Result.done
    })
})

/** The API server rejects an object, and quotes its values. */
const rejecting = (faults: Faults.Faults): void => {
  const quote = (quoted: string) =>
    Faults.answer(422, { message: `Object "x" is invalid: data: Invalid value: "${quoted}": no` })
  faults.on({ verb: "patch", kind: BuiltIn.ConfigMap, name: "rejected" }, quote(`the password is ${password}`))
  faults.on({ verb: "patch", kind: BuiltIn.Secret }, quote(`${stated} or ${encoded[1]}`))
  faults.on({ verb: "patch", kind: BuiltIn.Deployment }, quote(variable))
}

/** A collector of spans. */
const collector = Effect.gen(function* () {
  const bodies: Array<string> = []
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: async (request) => {
          bodies.push(await request.text())
          return Response.json({})
        }
      })
    ),
    (server) => Effect.promise(() => server.stop(true))
  )
  // The SDK reads these variables from the process.
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_TRACES_SAMPLER: "always_on",
    OTEL_BSP_SCHEDULE_DELAY: "20"
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => Object.assign(process.env, environment)),
    () =>
      Effect.sync(() => {
        for (const name of Object.keys(environment)) delete process.env[name]
      })
  )
  return { bodies, environment }
})

const local = { hostname: "127.0.0.1", port: 0 }

const fetched = (address: string | undefined, path: string): Effect.Effect<string> =>
  Effect.promise(async () => (await fetch(`http://${address}${path}`)).text())

/** The plan for the cluster, in all formats. */
const planned = (transport: Layer.Layer<Transport>) =>
  Effect.gen(function* () {
    const simulation = yield* Simulation.make
    const kinds = Kinds.of({ controllers: [controller] })
    const plan = yield* Plan.make([controller], Layer.empty, { simulation, kinds }).pipe(Effect.provide(transport))
    const document = PlanDocument.of(plan, { name: "test", version: "1" }, [])
    return { json: JSON.stringify(document), text: PlanText.text(document), markdown: PlanText.markdown(document) }
  })

/** The replay of a recording, as text and as JSON. */
const replayed = (body: string) =>
  Effect.gen(function* () {
    const document = Document.parse(body)
    if (typeof document === "string") return yield* Effect.die(new Error(document))
    const report = yield* Recordings.replayed([controller], document)
    return `${ReplayText.render(report)}\n${JSON.stringify(report)}`
  })

/** The outputs of a manager and of a plan. */
const outputs = Effect.gen(function* () {
  const lines: Array<string> = []
  const { bodies, environment } = yield* collector
  const cluster = yield* EmbeddedCluster.make({ crds: [Crd.of(Vault)], seed: 1 })
  const faults = Faults.make()
  rejecting(faults)
  const transport = faults.over(cluster.transport)
  const ports = yield* Layer.build(Layer.provideMerge(Health.layer, Endpoints.layer({ metrics: local, probes: local })))
  const { addresses } = Context.get(ports, Endpoints.Endpoints)
  const exporting = EffectResult.getOrThrow(Traces.make({ name: "test", version: "1", instance: "test", environment }))
  const logs = Logger.layer([Logger.map(Logs.json, (line) => void lines.push(line)), Logger.tracerLogger])
  const services = yield* Layer.build(Manager.layer({ instance: "test" }).pipe(Layer.provide(transport)))
  const managed = Effect.gen(function* () {
    const { attempts } = yield* exporting ?? Effect.die(new Error("no tracing"))
    yield* MetricsPage.serve([MetricsText.format])
    return yield* Manager.start([controller], {}).pipe(Attempt.observedBy(attempts))
  }).pipe(
    Effect.provideService(Tracing.Tracing, { propagation: "link", annotation: Tracing.annotation }),
    Effect.provide(services),
    Effect.provide(ports),
    Effect.provide(logs),
    Effect.provideService(References.MinimumLogLevel, "Debug")
  )
  yield* managed
  yield* Effect.gen(function* () {
    yield* Client.create(BuiltIn.Secret, {
      metadata: credentials,
      stringData: { password, config: JSON.stringify({ user: "shop-user", pin }) }
    })
    for (const [index, what] of names.entries()) {
      const env = [{ name: "DB_PASSWORD", value: variable }]
      yield* Client.create(Vault, { metadata: { namespace, name: `vault-${index}` }, spec: { what, env } })
    }
  }).pipe(Effect.provide(cluster.client))
  const vaults = names.map((_, index) => `vault-${index}`)
  const why = (name: string, format: string) =>
    fetched(addresses.probes, `/why?kind=vault&namespace=${namespace}&name=${name}&output=${format}`)
  yield* Effect.forEach(vaults, (name) =>
    eventually(`an attempt of ${name}`, why(name, "text"), (shown) => /\nAttempts /.test(shown))
  )
  // Events are written in the background, and spans are exported there.
  yield* Effect.sleep("1 second")
  const list = yield* fetched(addresses.probes, "/recordings?output=json")
  const { recordings }: { readonly recordings: ReadonlyArray<{ readonly reconcileID: string }> } = JSON.parse(list)
  const documents = yield* Effect.forEach(recordings, ({ reconcileID }) =>
    fetched(addresses.probes, `/recordings?trace=${reconcileID}`)
  )
  const inCluster = yield* Effect.all([Client.list(BuiltIn.Event), Client.list(Vault)]).pipe(
    Effect.provide(cluster.client)
  )
  const plan = yield* planned(cluster.transport)
  return {
    log: lines.join("\n"),
    spans: bodies.join("\n"),
    why: (yield* Effect.forEach(vaults, (name) => why(name, "text"))).join("\n"),
    "why as JSON": (yield* Effect.forEach(vaults, (name) => why(name, "json"))).join("\n"),
    metrics: yield* fetched(addresses.metrics, "/metrics"),
    "list of recordings": `${list}\n${yield* fetched(addresses.probes, "/recordings")}`,
    recordings: documents.join("\n"),
    replays: (yield* Effect.forEach(documents, replayed)).join("\n"),
    events: JSON.stringify(inCluster[0].items),
    conditions: JSON.stringify(inCluster[1].items.map(({ status }) => status)),
    plan: plan.text,
    "plan as JSON": plan.json,
    "plan as Markdown": plan.markdown
  }
}).pipe(Effect.scoped)

live(
  "no output of a program has the value of a Secret",
  () =>
    Effect.gen(function* () {
      const all = yield* outputs
      // Each output is about the Vaults.
      const reported: { readonly [output in keyof typeof all]: RegExp } = {
        log: /no login as .*Logs in as |Logs in as .*no login as /s,
        spans: /no login as .*Logs in as |Logs in as .*no login as /s,
        why: /no login as .*Expected number|Expected number.*no login as /s,
        "why as JSON": /no login as /,
        metrics: /controller="vaults"/,
        "list of recordings": /no login as /,
        recordings: /no login as /,
        replays: /no login as /,
        events: /no login as .*"As |"As .*no login as /s,
        conditions: /no login as /,
        plan: /no login as /,
        "plan as JSON": /no login as .*"data\.text"|"data\.text".*no login as /,
        "plan as Markdown": /no login as /
      }
      for (const [name, pattern] of Object.entries(reported)) {
        expect([name, all[name as keyof typeof all]]).toEqual([name, expect.stringMatching(pattern)])
      }
      const leaks = Object.entries(all).flatMap(([name, output]) =>
        output
          .split("\n")
          .filter((line) => [canary, ...encoded].some((value) => line.includes(value)))
          .map((line) => {
            const at = Math.max(0, ...[canary, ...encoded].map((value) => line.indexOf(value)))
            return `${name}: ${line.slice(Math.max(0, at - 100), at + 60)}`
          })
      )
      expect(leaks).toEqual([])
    }),
  60_000
)
