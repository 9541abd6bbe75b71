/** The texts of the admission rules in kubectl. A real and the embedded API server call the compiled binary. */
import { describe, expect } from "bun:test"
import * as Eventually from "@homeostat/testkit/Eventually"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import { type Sample, samples } from "./Rules.fixture.ts"
import * as Scene from "./Scene.ts"

const warnings = (stderr: string): ReadonlyArray<string> =>
  stderr.split("\n").filter((line) => line.startsWith("Warning: "))

const expectOf = (sample: Sample, { exitCode, stderr }: { readonly exitCode: number; readonly stderr: string }) => {
  const { denied, warned = [] } = sample
  const seen = { sample: sample.name, stderr }
  if (denied === undefined) expect({ ...seen, exitCode }).toEqual({ ...seen, exitCode: 0 })
  else expect({ ...seen, contains: stderr.includes(denied) }).toEqual({ ...seen, contains: true })
  expect({ ...seen, count: denied === undefined ? warnings(stderr).length : 0 }).toEqual({
    ...seen,
    count: warned.length
  })
  for (const text of warned) expect(stderr).toContain(text)
}

describe.each([
  ["a real", Shared.real],
  ["the embedded", Shared.embedded]
] as const)("The admission rules, on %s API server,", (_, on) => {
  on(
    "answer kubectl apply and a server dry run with their texts",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("rules")
        const replica = yield* Scene.replica(cluster, yield* Scene.freePort)
        yield* Scene.ready(replica)
        const inNamespace = (sample: Sample, index: number) => ({
          ...sample.manifest,
          metadata: { ...sample.manifest.metadata, namespace, name: `${sample.manifest.metadata.name}-${index}` }
        })
        // The API server needs a moment until it calls a new webhook and evaluates a new policy.
        const probe = (spec: object) => ({
          apiVersion: "apps.kubedojo.io/v1beta1",
          kind: "WebApp",
          metadata: { namespace, name: "probe" },
          spec
        })
        yield* Eventually.eventually(
          "the policies are in force",
          Scene.kubectl(cluster, ["apply", "--dry-run=server", "-f", "-"], probe({ image: "nginx" })),
          ({ stderr }) => stderr.includes("Warning: ")
        )
        const backup = { apiVersion: "backup.example.com/v1", kind: "Backup", metadata: { namespace, name: "probe" } }
        yield* Eventually.eventually(
          "the webhooks are in force",
          Scene.kubectl(cluster, ["apply", "--dry-run=server", "-f", "-"], {
            ...backup,
            spec: { source: "pvc/data", schedule: "61 * * * *", destination: "s3://bucket" }
          }),
          ({ exitCode }) => exitCode !== 0
        )
        for (const [index, sample] of samples.entries()) {
          const object = inNamespace(sample, index)
          const { scale, status, update } = sample
          if (update === undefined && scale === undefined) {
            expectOf(sample, yield* Scene.kubectl(cluster, ["apply", "--dry-run=server", "-f", "-"], object))
            expectOf(sample, yield* Scene.kubectl(cluster, ["apply", "-f", "-"], object))
          } else {
            const created = yield* Scene.kubectl(cluster, ["apply", "-f", "-"], object)
            expect({ sample: sample.name, ...created }).toMatchObject({ exitCode: 0 })
            const place = [
              `${object.kind.toLowerCase()}s.${object.apiVersion.split("/")[0]}`,
              object.metadata.name,
              `--namespace=${namespace}`
            ]
            const patch = (value: object) => ["patch", ...place, "--type=merge", `--patch=${JSON.stringify(value)}`]
            if (status !== undefined) {
              const written = yield* Scene.kubectl(cluster, [...patch({ status }), "--subresource=status"])
              expect({ sample: sample.name, ...written }).toMatchObject({ exitCode: 0 })
            }
            const write = update === undefined ? ["scale", ...place, `--replicas=${scale}`] : patch(update)
            expectOf(sample, yield* Scene.kubectl(cluster, [...write, "--dry-run=server"]))
            expectOf(sample, yield* Scene.kubectl(cluster, write))
          }
        }
        const restore = yield* Scene.kubectl(cluster, [
          "get",
          "restores.backup.example.com",
          `--namespace=${namespace}`,
          "-o",
          "json"
        ])
        expect(restore.stdout).toContain('"backup.example.com/requested-by"')
      }),
    Scene.options
  )

  on(
    "record the creator of a Restore, also of one that claims or has a deletionTimestamp",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("creator")
        yield* Effect.flatMap(Scene.replica(cluster, yield* Scene.freePort), Scene.ready)
        const restore = (metadata: object) => ({
          apiVersion: "backup.example.com/v1",
          kind: "Restore",
          metadata: { namespace, name: "mine", ...metadata },
          spec: { backupRef: "cart", targetPVC: "data" }
        })
        const create = Scene.kubectl(
          cluster,
          ["apply", "--server-side", "-f", "-", "-o", "json", "--dry-run=server"],
          restore({ deletionTimestamp: "2020-01-01T00:00:00Z" })
        )
        yield* Eventually.eventually("the creator is recorded", create, ({ stdout }) =>
          stdout.includes('"backup.example.com/requested-by": "')
        )
        const place = ["restores.backup.example.com", "mine", `--namespace=${namespace}`]
        const patch = (metadata: object) =>
          Scene.kubectl(cluster, ["patch", ...place, "--type=merge", `--patch=${JSON.stringify({ metadata })}`])
        const made = yield* Scene.kubectl(cluster, ["create", "-f", "-"], restore({ finalizers: ["example.com/mine"] }))
        expect(made).toMatchObject({ exitCode: 0 })
        expect(yield* Scene.kubectl(cluster, ["delete", ...place, "--wait=false"])).toMatchObject({ exitCode: 0 })
        const forged = yield* Eventually.eventually(
          "the policy is in force",
          patch({ annotations: { "backup.example.com/requested-by": "mallory" } }),
          ({ exitCode }) => exitCode !== 0
        )
        expect(forged.stderr).toContain("field is immutable")
        expect(yield* patch({ finalizers: null })).toMatchObject({ exitCode: 0 })
      }),
    Scene.options
  )

  on(
    "of dead managers do not block deletions, other kinds, or the removal of the namespace",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("dead")
        yield* Effect.scoped(Effect.flatMap(Scene.replica(cluster, yield* Scene.freePort), Scene.ready))
        const object = (kind: string, spec: object) => ({
          apiVersion: kind === "WebApp" ? "apps.kubedojo.io/v1beta1" : "backup.example.com/v1",
          kind,
          metadata: { namespace, name: "left", finalizers: ["example.com/mine"] },
          spec
        })
        const admitted = (args: ReadonlyArray<string>, input?: object) =>
          Effect.map(Scene.kubectl(cluster, args, input), (outcome) => expect(outcome).toMatchObject({ exitCode: 0 }))
        const place = `--namespace=${namespace}`
        yield* admitted(["apply", "-f", "-"], object("WebApp", { image: "nginx:1.27" }))
        yield* admitted(["apply", "-f", "-"], object("Backup", { source: "pvc/data", destination: "s3://bucket" }))
        yield* admitted(["apply", "-f", "-"], {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { namespace, name: "other" }
        })
        for (const kind of ["webapps.apps.kubedojo.io", "backups.backup.example.com"]) {
          yield* admitted(["delete", kind, "left", place, "--wait=false"])
          yield* admitted(["patch", kind, "left", place, "--type=merge", '--patch={"metadata":{"finalizers":null}}'])
        }
        yield* admitted(["delete", "namespace", namespace, "--timeout=60s"])
      }),
    Scene.options
  )
})
