/** The scene without external programs: simulated movers on the cluster of the lane. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { Job } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Scene from "./Scene.ts"

const { pretended } = Scene.make({ crds: [], controllers: [] })

pretended(
  "A pretended mover ends with the exit code of the test, which the podFailurePolicy of its Job evaluates",
  (scene) =>
    Effect.gen(function* () {
      const rules = [{ action: "FailJob", onExitCodes: { operator: "In", values: [42] } }]
      const { namespace } = scene
      yield* Client.create(Job, {
        metadata: { namespace, name: "save" },
        spec: {
          podFailurePolicy: { rules },
          template: { spec: { restartPolicy: "Never", containers: [{ name: "mover", image: Scene.image }] } }
        }
      })
      const failed = yield* Managed.eventually("it fails", Client.get(Job, scene.key("save")), ({ status }) =>
        (status?.conditions ?? []).some(({ status, type }) => type === "Failed" && status === "True")
      )
      expect(failed.status?.conditions?.find(({ type }) => type === "Failed")?.reason).toBe("PodFailurePolicy")
      const [pod] = yield* Scene.podsOf(scene, "save")
      expect(pod?.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
        exitCode: 42,
        message: '{"reason":"WrongPassword"}'
      })
    }),
  { node: { pods: () => ({ ends: { after: 100, exitCode: 42, message: '{"reason":"WrongPassword"}' } }) } }
)

pretended(
  "A namespace with a running mover is removed after the deletion of the mover's pod",
  (scene) =>
    Effect.gen(function* () {
      const { cluster, namespace } = scene
      yield* Scene.claim(scene, "app")
      const volumes = [{ name: "app", persistentVolumeClaim: { claimName: "app" } }]
      const containers = [{ name: "mover", image: Scene.image }]
      yield* Client.create(Job, {
        metadata: { namespace, name: "save" },
        spec: { template: { spec: { restartPolicy: "Never", containers, volumes } } }
      })
      yield* Managed.eventually("it runs", Scene.podsOf(scene, "save"), (all) =>
        all.some(({ status }) => status?.phase === "Running")
      )
      const path = `/api/v1/namespaces/${namespace}`
      yield* cluster.request("DELETE", path)
      yield* Managed.eventually("its pod ends", Scene.podsOf(scene, "save"), (all) =>
        all.every(({ metadata }) => metadata.deletionTimestamp !== undefined)
      )
      yield* Managed.eventually("it is gone", cluster.request("GET", path), ({ status }) => status === 404)
    }),
  { node: { pods: () => ({ stopped: { after: "1 second", exitCode: 143 } }) } }
)
