/** An overlay that `kubectl apply -k` installs works in a pod, with the permissions of its own roles only. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Port from "@homeostat/testkit/envtest/Port"
import { Effect } from "effect"
import * as Claims from "../backup/Claims.ts"
import * as Managed from "../Managed.ts"
import { type Installation, installed, namespace, type Scene } from "./Installed.ts"
import * as Overlay from "./Overlay.ts"

const samples = join(Overlay.folder, "samples")

/** Applies the sample WebApp, and waits until it is Running with its children. */
const webapp = ({ kubectl }: Scene, where: string) =>
  Effect.gen(function* () {
    yield* kubectl("apply", "-n", where, "-f", join(samples, "webapp.yaml"))
    yield* kubectl("wait", "-n", where, "webapp/demo-app", "--for=jsonpath={.status.phase}=Running", "--timeout=40s")
    const children = yield* kubectl("get", "deployment,service", "-n", where, "-l", "app=demo-app", "-o", "name")
    expect(children.split("\n")).toEqual(["deployment.apps/demo-app", "service/demo-app"])
  })

/** Creates PersistentVolumes for the claims of a sample, as an administrator does. */
const volumes = ({ apply }: Scene, where: string, ...claims: ReadonlyArray<string>) =>
  Effect.forEach(claims, (name) =>
    apply({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: `${where}-${name}` },
      spec: {
        accessModes: ["ReadWriteOnce"],
        capacity: { storage: "5Gi" },
        claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: where, name },
        nfs: { server: "volumes.test", path: `/${name}` }
      }
    })
  )

/** Applies the sample Backup that needs no bucket, and waits until a Job with restic has saved the volume. */
const backup = (scene: Scene, where: string) =>
  Effect.gen(function* () {
    const { kubectl, kubelet } = scene
    yield* Claims.write(kubelet.claim(where, "photos"), { "holiday.jpg": "sea" })
    yield* volumes(scene, where, "photos", "backups")
    yield* kubectl("apply", "-n", where, "-f", join(samples, "backup-to-volume.yaml"))
    yield* kubectl("wait", "-n", where, "backup/photos", "--for=jsonpath={.status.phase}=Completed", "--timeout=60s")
    const images = yield* kubectl(
      ...["get", "job", "-n", where, "-o", "jsonpath={.items[*].spec.template.spec.containers[*].image}"]
    )
    // The Jobs of the run and of its maintenance use the same image.
    expect([...new Set(images.split(" "))]).toEqual(["homeostat-mover:0.2.0-dev"])
    expect(yield* kubectl("get", "secret", "-n", where, "photos-backup-credentials", "-o", "name")).not.toBe("")
  })

/** The response of /metrics to a request with this token, or without a token. */
const metrics = ({ ports }: Scene, token?: string) =>
  Effect.promise(async () => {
    const response = await fetch(`https://${Port.host}:${ports.metrics}/metrics`, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      tls: { rejectUnauthorized: false }
    })
    return { status: response.status, text: await response.text() }
  })

/** The lines of a log about missing permissions. */
const refusals = (log: string): ReadonlyArray<string> =>
  log.split("\n").filter((line) => /forbidden|add to a (Cluster)?Role/i.test(line))

/** Installs the monitoring overlay, and reads the metrics with the token that the overlay creates for Prometheus. */
const monitored = (scene: Scene) =>
  Effect.gen(function* () {
    const { install, kubectl } = scene
    expect((yield* metrics(scene)).status).toBe(401)
    const installation = yield* install("monitoring")
    const secret = kubectl("get", "secret", "-n", namespace, "homeostat-metrics-reader", "-o", "jsonpath={.data.token}")
    const token = yield* Managed.eventually("its token", secret, (token) => token !== "")
    const page = yield* metrics(scene, Buffer.from(token, "base64").toString())
    expect(page.status).toBe(200)
    expect(page.text).toMatch(/^process_resident_memory_bytes \d+$/m)
    return installation
  })

/** Deletes all objects and then the overlay, as deploy/README.md describes, and expects that nothing remains. */
const uninstall = ({ kubectl }: Scene, { overlay }: Installation) =>
  Effect.gen(function* () {
    yield* kubectl("delete", "webapps,backups,restores", "--all", "--all-namespaces", "--timeout=40s")
    yield* kubectl("delete", "-k", overlay, "--ignore-not-found", "--timeout=60s")
    const left = yield* kubectl("get", "crd,clusterrole,clusterrolebinding,namespace", "-o", "name")
    expect(left.split("\n").filter((name) => /homeostat|kubedojo|backup\.example/.test(name))).toEqual([])
  })

describe("Installed by kubectl apply -k", () => {
  installed(
    "the default overlay reconciles both kinds in a pod, serves its metrics to authorized callers, and is removed completely",
    (scene) =>
      Effect.gen(function* () {
        const { cluster, install, log } = scene
        yield* install("default")
        const where = yield* cluster.namespace("shop")
        yield* webapp(scene, where)
        yield* backup(scene, where)
        expect(refusals(yield* log)).toEqual([])
        const monitoring = yield* monitored(scene)
        yield* uninstall(scene, monitoring)
      })
  )

  installed("the namespaced overlay works in its namespaces, without permissions in others", (scene) =>
    Effect.gen(function* () {
      const { cluster, install, kubectl, log } = scene
      const { account } = yield* install("namespaced")
      const elsewhere = yield* cluster.namespace("elsewhere")
      yield* kubectl("apply", "-n", elsewhere, "-f", join(samples, "webapp.yaml"))
      yield* webapp(scene, "default")
      expect(yield* kubectl("get", "webapp/demo-app", "-n", elsewhere, "-o", "jsonpath={.status}")).toBe(
        '{"observedGeneration":-1}'
      )
      const may = (where: string) =>
        cluster.kubectl(["auth", "can-i", "list", "webapps", `--as=${account}`, "-n", where])
      expect((yield* may("default")).stdout.trim()).toBe("yes")
      expect((yield* may(elsewhere)).stdout.trim()).toBe("no")
      expect(refusals(yield* log)).toEqual([])
    })
  )
})
