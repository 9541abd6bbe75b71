/** The scene of the backup tests works on both clusters: a mover's Job saves a claim and writes a result. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Job, Pod } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Scene from "./Scene.ts"

const { both } = Scene.make({ crds: [], controllers: [] })

const repository = { password: "correct horse" }

/** A Job with the fields that matter to the cluster, as the controller creates Jobs. */
const job = (scene: Scene.Scene, name: string, args: ReadonlyArray<string>, env: { readonly [name: string]: string }) =>
  Client.create(Job, {
    metadata: { namespace: scene.namespace, name },
    spec: {
      backoffLimit: 0,
      template: {
        spec: {
          restartPolicy: "Never",
          terminationGracePeriodSeconds: 10,
          containers: [
            {
              name: "mover",
              image: Scene.image,
              args,
              env: [
                ...Object.entries({
                  RESTIC_REPOSITORY: "/repository/shop",
                  RESTIC_CACHE_DIR: "/cache",
                  TMPDIR: "/tmp",
                  DATA_DIR: "/data",
                  RESULT: "/dev/termination-log",
                  BACKUP_HOST: scene.namespace,
                  BACKUP_TAG: `${scene.namespace}/${name}`,
                  ...env
                }).map(([name, value]) => ({ name, value })),
                { name: "RESTIC_PASSWORD", valueFrom: { secretKeyRef: { name: "keys", key: "RESTIC_PASSWORD" } } }
              ],
              volumeMounts: [
                { name: "app", mountPath: "/data/app", readOnly: true },
                { name: "repository", mountPath: "/repository" },
                { name: "cache", mountPath: "/cache" },
                { name: "tmp", mountPath: "/tmp" }
              ]
            }
          ],
          volumes: [
            { name: "app", persistentVolumeClaim: { claimName: "app", readOnly: true } },
            { name: "repository", persistentVolumeClaim: { claimName: "repository" } },
            { name: "cache", emptyDir: {} },
            { name: "tmp", emptyDir: {} }
          ]
        }
      }
    }
  })

both("A mover saves a claim to a repository in another claim, and its message is the report", (scene) =>
  Effect.gen(function* () {
    yield* Scene.credentials(scene, "keys")
    yield* Scene.claim(scene, "app", { files: { "docs/a.txt": "first", "b.bin": new Uint8Array(100_000) } })
    const folder = yield* Scene.claim(scene, "repository")
    yield* job(scene, "save", ["preflight", "backup"], { INIT: "1" })
    yield* Managed.eventually("the Job is complete", Client.get(Job, scene.key("save")), ({ status }) =>
      (status?.conditions ?? []).some(({ status, type }) => type === "Complete" && status === "True")
    )
    const [pod] = yield* Scene.podsOf(scene, "save")
    const message = pod?.status?.containerStatuses?.[0]?.state?.terminated?.message ?? ""
    const result = JSON.parse(message)
    expect(result).toMatchObject({ reason: "Succeeded", snapshots: [{ pvc: "app", files: 2 }] })
    const saved = { ...repository, repository: `${folder}/shop` }
    const [snapshot] = yield* Scene.snapshots(scene, saved)
    expect(snapshot).toMatchObject({ hostname: `${scene.namespace}/app`, tags: [`${scene.namespace}/save`] })
    expect((yield* scene.restic(saved, "dump", "latest", "/docs/a.txt")).stdout).toBe("first")
    expect(yield* Scene.locks(scene, saved)).toEqual([])
  })
)

both("A pod runs on the node of its claim, and two nodes have the same files", (scene) =>
  Effect.gen(function* () {
    const other = yield* scene.addNode(`${scene.namespace}-other`)
    yield* Scene.credentials(scene, "keys")
    yield* Scene.claim(scene, "app", { node: other.name, files: { a: "first" } })
    yield* Scene.claim(scene, "repository")
    yield* job(scene, "save", ["preflight", "backup"], { INIT: "1" })
    const pods = yield* Managed.eventually("the pod is done", Scene.podsOf(scene, "save"), (all) =>
      all.some(({ status }) => status?.phase === "Succeeded")
    )
    expect(pods.map(({ spec }) => spec?.nodeName)).toEqual([other.name])
  })
)

both("A pod with an unbound claim waits, and the scheduler reports the reason", (scene) =>
  Effect.gen(function* () {
    yield* Scene.unboundClaim(scene, "app")
    yield* Scene.claim(scene, "repository")
    yield* job(scene, "save", ["preflight", "backup"], { INIT: "1" })
    const waits = yield* Managed.eventually(
      "it waits",
      Effect.flatMap(Scene.podsOf(scene, "save"), ([pod]) => Client.get(Pod, scene.key(pod?.metadata.name ?? ""))),
      ({ status }) => status?.conditions?.some(({ reason }) => reason === "Unschedulable") === true
    )
    expect(waits.status?.conditions?.find(({ type }) => type === "PodScheduled")?.message).toContain(
      "pod has unbound immediate PersistentVolumeClaims"
    )
  })
)

both("A mover excludes files of a volume by patterns, even if the container has a folder with that name", (scene) =>
  Effect.gen(function* () {
    yield* Scene.credentials(scene, "keys")
    yield* Scene.claim(scene, "app", { files: { "tmp/a": "scratch", "b/tmp/a": "kept", c: "kept" } })
    yield* Scene.claim(scene, "repository")
    yield* job(scene, "save", ["preflight", "backup"], { INIT: "1", EXCLUDES: "/tmp" })
    const [pod] = yield* Managed.eventually("the pod is done", Scene.podsOf(scene, "save"), (all) =>
      all.some(({ status }) => status?.phase === "Succeeded")
    )
    const message = pod?.status?.containerStatuses?.[0]?.state?.terminated?.message ?? ""
    expect(JSON.parse(message)).toMatchObject({ snapshots: [{ pvc: "app", files: 2 }] })
  })
)
