/** Tests that the values of a WebApp's Secrets stay in the Secrets. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { Deployment, Event, Secret } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { controller } from "@homeostat/webapp"
import { hashAnnotation } from "@homeostat/webapp/Config"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import * as Recordings from "../replay/Recordings.ts"

const key = { namespace: "default", name: "shop" }
const base64 = (text: string) => Buffer.from(text).toString("base64")

const recordings: Array<Parameters<typeof Recordings.filed>[0]> = []
const lines: Array<string> = []
const logger = Logger.layer([Logger.map(Logger.formatLogFmt, (line) => void lines.push(line))])
const manager = Manager.launch([controller]).pipe(
  Recordings.observed(recordings),
  Effect.provideService(References.MinimumLogLevel, "Trace"),
  Effect.provide(logger)
)
const test = Harness.make({ crds: [Crd.of(WebApp)], manager, logLevel: "Trace" })

test("The values of a WebApp's Secrets are in no recording, log line, Event or object", () =>
  Effect.gen(function* () {
    const [first, second] = ["tulip-7311", "narcissus-2204"]
    yield* Client.create(Secret, { metadata: key, data: { password: base64(first) } })
    const config = [{ secret: "shop", env: {}, keys: ["password"] }]
    yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 1, config } })
    const app = Client.get(WebApp, key)
    yield* eventually("it runs", app, ({ status }) => status?.phase === "Running")
    const hash = Effect.map(
      Client.get(Deployment, key),
      ({ spec }) => spec?.template.metadata?.annotations?.[hashAnnotation]
    )
    const before = yield* hash
    yield* Client.patch(Secret, key, Patch.merge({ data: { password: base64(second) } }))
    yield* eventually("it rolls out", hash, (now) => now !== before)
    yield* TestClock.adjust("1 minute")
    yield* Client.delete(Secret, key)
    yield* eventually("it is Degraded", app, ({ status }) => status?.phase === "Degraded")

    const reads = recordings.flatMap(({ reads }) => reads).filter(({ resource }) => resource === "secrets/v1")
    expect([reads.length > 2, lines.length > 0]).toEqual([true, true])
    const written = [
      ...recordings,
      ...lines,
      yield* Client.list(Event, { namespace: "default" }),
      yield* app,
      yield* Client.get(Deployment, key)
    ].map((one) => JSON.stringify(one))
    for (const value of [first, second, base64(first), base64(second)]) {
      expect(written.filter((text) => text.includes(value))).toEqual([])
    }
  }))
