/** This version reads objects that were stored under the CRDs of a release, with all their fields. */
import { expect } from "bun:test"
import { join } from "node:path"
import * as Client from "@homeostat/runtime/client/Client"
import * as Kinds from "@homeostat/runtime/command/Kinds"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import { live } from "@homeostat/testkit/Test"
import { Glob } from "bun"
import { Effect } from "effect"
import { loadAll } from "js-yaml"
import { program } from "../../../controllers/main.ts"
import * as Managed from "../Managed.ts"
import { type Definition, releases, type Stored } from "./Released.ts"

const kinds = Kinds.of(program)

const samples = join(import.meta.dir, "../../../deploy/samples")

/** Samples with fields that the releases lack. `released` has their former text. */
const newer: ReadonlySet<string> = new Set(["holiday-is-back", "photos-again"])

/** The current samples, which users may have stored under a release. */
const shown = (
  (await Promise.all(
    [...new Glob("*.yaml").scanSync(samples)].map(async (path) => loadAll(await Bun.file(join(samples, path)).text()))
  ).then((documents) => documents.flat())) as ReadonlyArray<Stored>
).filter(({ metadata }) => !newer.has(metadata.name))

interface Answer {
  readonly status: number
  readonly body: string
}

/** The object in a response of the server. */
const stored = ({ body, status }: Answer): Stored => {
  expect([status, status < 300 ? "" : body]).toEqual([status, ""])
  return JSON.parse(body)
}

/** Creates an object with its status, and returns the object as the server then returns it. */
const store = (cluster: ControlPlane, namespace: string, { spec }: Definition, object: Stored) =>
  Effect.gen(function* () {
    const [version] = spec.versions
    const collection = `/apis/${spec.group}/${version?.name}/namespaces/${namespace}/${spec.names.plural}`
    const metadata = { ...object.metadata, namespace }
    const made = stored(
      yield* cluster.request("POST", `${collection}?fieldValidation=Strict`, { body: { ...object, metadata } })
    )
    const path = `${collection}/${object.metadata.name}`
    if (object.status !== undefined) {
      stored(yield* cluster.request("PUT", `${path}/status`, { body: { ...made, status: object.status } }))
    }
    const before = stored(yield* cluster.request("GET", path))
    expect(before).toMatchObject({
      spec: object.spec,
      ...(object.status === undefined ? {} : { status: object.status })
    })
    return { path, kind: object.kind, before }
  })

for (const { definitions, objects, version } of releases) {
  live(
    `Stored objects of ${version} can be read, decoded and changed with the definitions of this version`,
    () =>
      Effect.gen(function* () {
        const cluster = yield* Shared.own()
        yield* cluster.install(...definitions)
        const [namespace, sampled] = [yield* cluster.namespace("stored"), yield* cluster.namespace("sampled")]
        const of = (where: string, all: ReadonlyArray<Stored>) =>
          Effect.forEach(
            all.flatMap((object) =>
              definitions
                .filter(({ spec }) => spec.names.kind === object.kind)
                .map((definition) => ({ definition, object }))
            ),
            ({ definition, object }) => store(cluster, where, definition, object)
          )
        const all = [...(yield* of(namespace, objects)), ...(yield* of(sampled, shown))]
        expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(definitions.map(({ spec }) => spec.names.kind)))

        yield* Effect.gen(function* () {
          // Installs the CRDs even if they narrow; `--install-crds` would not.
          yield* cluster.install(...kinds.map((kind) => Crd.of(kind)))
          for (const { before, kind: name, path } of all) {
            const now = stored(yield* cluster.request("GET", path))
            // New defaults may add fields.
            expect(now).toMatchObject({
              spec: before.spec,
              ...(before.status === undefined ? {} : { status: before.status })
            })
            const kind = kinds.find((kind) => kind.kind === name)
            if (kind === undefined) return yield* Effect.die(new Error(`there is no ${name}`))
            const { metadata } = yield* Client.get(kind, { namespace: path.split("/")[5], name: before.metadata.name })
            // The server validates the whole object and its status, so it rejects stored values that are now invalid.
            const body = { ...now, metadata: { ...metadata, labels: { again: "yes" } } }
            const changed = stored(yield* cluster.request("PUT", `${path}?fieldValidation=Strict`, { body }))
            expect(changed.spec).toEqual(now.spec)
            const again = stored(yield* cluster.request("PUT", `${path}/status`, { body: changed }))
            expect(again.status).toEqual(now.status)
          }
        }).pipe(Effect.provide(yield* Managed.client(cluster)))
      }).pipe(Effect.timeout("100 seconds")),
    200_000
  )
}
