/** The API server accepts the manifests in deploy/samples, and the YAML in the docs, unchanged. */
import { describe, expect, test } from "bun:test"
import { basename, join } from "node:path"
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Destination from "@homeostat/backup/repository/Destination"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Glob } from "bun"
import { Effect, Result } from "effect"
import { loadAll } from "js-yaml"
import { definitions } from "../binary/Scene.ts"

const folder = join(import.meta.dir, "../../../deploy/samples")

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: { readonly [field: string]: unknown }
}

const read = async (path: string) => ({
  name: basename(path),
  manifests: loadAll(await Bun.file(join(folder, path)).text()) as ReadonlyArray<Manifest>
})

const samples = await Promise.all([...new Glob("*.yaml").scanSync(folder)].toSorted().map(read))

/** The YAML blocks of a page of the docs. */
const shown = async (page: string) => {
  const text = await Bun.file(join(folder, "../../docs", page)).text()
  const blocks = Array.from(text.matchAll(/^```yaml\n(.*?)^```$/gms), ([, block = ""]) => block)
  return { name: `docs/${page}`, manifests: blocks.flatMap((block) => loadAll(block)) as ReadonlyArray<Manifest> }
}

const documented = await shown("backup.md")

const backups = samples.flatMap(({ manifests }) => manifests.filter(({ kind }) => kind === Backup.kind))

const collections: { readonly [kind: string]: string } = {
  Secret: "api/v1/secrets",
  PersistentVolumeClaim: "api/v1/persistentvolumeclaims",
  ...Object.fromEntries(
    definitions.map(({ spec: { group, names, versions } }) => [
      names.kind,
      `apis/${group}/${versions[0]?.name}/${names.plural}`
    ])
  )
}

/** Creates a manifest like `kubectl apply --dry-run=server`. The server validates all fields, rejects unknown ones, and stores nothing. */
const tried = (cluster: ControlPlane, namespace: string, manifest: Manifest) => {
  const [, group, plural] = /^(.*)\/([a-z]+)$/.exec(collections[manifest.kind] ?? "") ?? []
  const where = `/${group}/namespaces/${manifest.metadata.namespace ?? namespace}/${plural}`
  return cluster.request("POST", `${where}?dryRun=All&fieldValidation=Strict`, { body: manifest })
}

test("there is a sample for each kind, and for the common destinations", () => {
  expect(new Set(samples.flatMap(({ manifests }) => manifests.map(({ kind }) => kind)))).toEqual(
    new Set(Object.keys(collections))
  )
  const schemes = backups.map(({ spec }) =>
    Result.match(Destination.parse(String(spec?.destination)), {
      onFailure: (why) => why,
      onSuccess: ({ _tag }) => _tag
    })
  )
  expect(new Set(schemes)).toEqual(new Set(["S3", "Pvc", "Rest"]))
})

test("the docs show the first steps and a restore", () => {
  expect(documented.manifests.map(({ kind }) => kind)).toEqual(["Secret", "Backup", "Restore", "Restore", "Restore"])
})

test("backup.yaml is the sample of the tutorial", () => {
  expect(backups.find(({ metadata }) => metadata.name === "my-app-backup")).toEqual({
    apiVersion: "backup.example.com/v1",
    kind: "Backup",
    metadata: { name: "my-app-backup", namespace: "default" },
    spec: {
      source: "my-application-pvc",
      schedule: "0 2 * * *",
      destination: "s3://my-backup-bucket",
      retentionPolicy: "30d"
    }
  })
})

describe("Samples", () => {
  for (const { manifests, name } of [...samples, documented]) {
    Shared.cluster(
      `${name} is accepted as it is`,
      (cluster) =>
        Effect.gen(function* () {
          yield* cluster.install(...definitions)
          const namespace = yield* cluster.namespace("samples")
          for (const manifest of manifests) {
            const { body, status } = yield* tried(cluster, namespace, manifest)
            expect([manifest.kind, status, status === 201 ? "" : body]).toEqual([manifest.kind, 201, ""])
          }
        }),
      Envtest.everything
    )
  }
})
