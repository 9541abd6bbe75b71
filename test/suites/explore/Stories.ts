/** The stories of the shipped controllers. */
import { backup, restore } from "@homeostat/backup"
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import * as RepositoryQueue from "@homeostat/backup/repository/RepositoryQueue"
import * as Needs from "@homeostat/backup/run/Needs"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { ConfigMap, Deployment, Namespace, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Explore from "@homeostat/testkit/Explore"
import * as SimulatedPods from "@homeostat/testkit/kubelet/SimulatedPods"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Claims from "../backup/Claims.ts"
import * as PretendedMover from "../backup/PretendedMover.ts"
import * as Virtual from "../backup/Virtual.ts"
import * as ByHand from "../webapp/ByHand.ts"

const shop = { namespace: "default", name: "shop" }

const config = [{ configMap: shop.name, env: {} }]
const scaled = { autoscaling: { min: 3, max: 5 }, networkPolicy: { allowFrom: [{ webApp: "cart" }] } }
const unscaled = { autoscaling: null, networkPolicy: null, disruptionBudget: { none: {} } }

/** The story of a WebApp from its creation to its deletion. */
export const webapp = Explore.story({
  controllers: [controller],
  // Another client's template makes another ReplicaSet, and the Deployment controller keeps its name while the desired replicas are 0.
  ignore: ["Deployment: status.conditions[Progressing].message"],
  steps: [
    Explore.step("create", Client.create(WebApp, { metadata: shop, spec: { image: "nginx:1.27", replicas: 1 } })),
    Explore.step(
      "new image and missing ConfigMap",
      Client.patch(WebApp, shop, Patch.merge({ spec: { image: "nginx:1.28", config } }))
    ),
    Explore.step("ConfigMap created", Client.create(ConfigMap, { metadata: shop, data: { theme: "dark" } })),
    Explore.step("scale", Client.patch(WebApp, shop, Patch.merge({ spec: { replicas: 2 } }))),
    Explore.step("ConfigMap changed", Client.patch(ConfigMap, shop, Patch.merge({ data: { theme: "light" } }))),
    Explore.step("expose", Client.patch(WebApp, shop, Patch.merge({ spec: { expose: { host: "shop.test" } } }))),
    Explore.step("drift", Client.patch(Deployment, shop, Patch.merge({ spec: { replicas: 0 } }))),
    Explore.step("Service deleted", Client.delete(Service, shop)),
    Explore.step("no longer expose", Client.patch(WebApp, shop, Patch.merge({ spec: { expose: null } }))),
    Explore.step("delete", Client.delete(WebApp, shop))
  ]
})

/** The numbers of pods. No HPA controller runs here, so that they stay as another client sets them while an autoscaler exists. */
const podCounts = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"]
const counts = [
  "Deployment: spec.replicas",
  "PodDisruptionBudget: status.",
  ...["Deployment", "WebApp"].flatMap((kind) => podCounts.map((field) => `${kind}: status.${field}`)),
  ...["Ready", "DeploymentReady"].map((type) => `WebApp: status.conditions[${type}].message`)
]

/** The story of a WebApp that gets and loses an autoscaler, a budget and a NetworkPolicy. */
export const webappWithAutoscaler = Explore.story({
  controllers: [controller],
  ignore: counts,
  steps: [
    Explore.step("create", Client.create(WebApp, { metadata: shop, spec: { image: "nginx:1.27", replicas: 3 } })),
    Explore.step("autoscaling", Client.patch(WebApp, shop, Patch.merge({ spec: scaled }))),
    Explore.step("autoscaling removed", Client.patch(WebApp, shop, Patch.merge({ spec: unscaled }))),
    Explore.step("delete", Client.delete(WebApp, shop))
  ]
})

const change = (spec: object) => Client.patch(WebApp, shop, Patch.merge({ spec }), { fieldManager: "kubectl-patch" })

const unpullable = { metadata: { annotations: { [SimulatedPods.imagePullError]: "" } } }

/** The story of a WebApp with a failed rollout, which comes back, and of `kubectl rollout undo`. */
export const rollback = Explore.story({
  controllers: [controller],
  // The cause of the failure names a pod, if the cache has its trouble at that time.
  ignore: [
    "ControllerRevision: metadata.annotations.apps.kubedojo.io/failed",
    // A Deployment that was deleted and created again has neither: an undo takes the first one from the old ReplicaSet, and a change of
    // the pod template sets the second one.
    "Deployment: metadata.annotations.apps.kubedojo.io/missed-before",
    "Deployment: metadata.annotations.apps.kubedojo.io/rollout-started",
    ...["Ready", "DeploymentReady", "Stalled", "RolledBack"].map((type) => `WebApp: status.conditions[${type}].message`)
  ],
  steps: [
    Explore.step(
      "create",
      Client.create(WebApp, {
        metadata: shop,
        spec: { image: "nginx:1.27", replicas: 2, rollback: "Auto", progressDeadlineSeconds: 60 }
      })
    ),
    Explore.step("failing image", change({ image: "nginx:gone", podTemplate: unpullable }), "3 minutes"),
    Explore.step("scale", change({ replicas: 3 }), "3 minutes"),
    Explore.step("working image", change({ image: "nginx:1.28", podTemplate: null }), "1 minute"),
    Explore.step("undo", ByHand.undo({ namespace: shop.namespace, key: () => shop }), "1 minute"),
    Explore.step("next image", change({ image: "nginx:1.29" }), "1 minute"),
    Explore.step("rollback removed", change({ rollback: null }))
  ]
})

const migrate = { name: "migrate", command: ["migrate"] }
const smoke = { name: "smoke", command: ["smoke"], when: "After" } as const

/** The story of a WebApp with jobs, which returns to its first image. A job that runs twice breaks a promise. */
export const webappWithJobs = Explore.story({
  controllers: [controller],
  steps: [
    Explore.step(
      "create",
      Client.create(WebApp, { metadata: shop, spec: { image: "nginx:1.27", replicas: 1, jobs: [migrate] } }),
      "1 minute"
    ),
    Explore.step("new image", Client.patch(WebApp, shop, Patch.merge({ spec: { image: "nginx:1.28" } })), "1 minute"),
    Explore.step(
      "old image",
      Client.patch(WebApp, shop, Patch.merge({ spec: { image: "nginx:1.27", jobs: [migrate, smoke] } })),
      "1 minute"
    ),
    Explore.step("delete", Client.delete(WebApp, shop))
  ]
})

/** Each mover pod succeeds after a minute. */
const pods: SimulatedPods.Pods = (pod) => {
  const mover = PretendedMover.read(pod)
  return mover === undefined ? undefined : PretendedMover.succeeds(mover)
}

const { namespace } = Virtual

const before = Effect.gen(function* () {
  yield* Client.create(Namespace, { metadata: { name: namespace } })
  yield* Virtual.secret("shop")
  yield* Claims.bound(namespace, "app")
  yield* Claims.bound(namespace, "store")
})

export const backups = {
  controllers: [backup, restore],
  manager: (settings: Manager.Settings & { readonly instance: string }) =>
    Effect.suspend(() =>
      Manager.launch([backup, restore], settings).pipe(
        // Each process has its own services.
        Effect.provideService(RepositoryQueue.RepositoryQueue, RepositoryQueue.make()),
        Effect.provideService(Needs.Needs, Needs.make())
      )
    ),
  cluster: { kubelet: { pods } },
  before
}

/** The story of a Backup that runs twice, is suspended and deleted. */
export const backupStory = Explore.story({
  ...backups,
  steps: [
    Explore.step("create", Virtual.create("shop"), "3 minutes"),
    Explore.step("run again", Virtual.annotate("shop", "run", "1"), "3 minutes"),
    Explore.step("suspend", Virtual.change("shop", { spec: { suspend: true } })),
    Explore.step("delete", Client.delete(Backup, Virtual.key("shop")), "3 minutes")
  ]
})

/** The story of a Restore into a new claim. */
export const restoreStory = Explore.story({
  ...backups,
  before: before.pipe(Effect.andThen(Virtual.create("shop"))),
  steps: [
    Explore.step("backup", Effect.void, "5 minutes"),
    Explore.step(
      "restore",
      Client.create(Restore, { metadata: Virtual.key("back"), spec: { backupRef: "shop", targetPVC: "app" } }),
      "5 minutes"
    ),
    Explore.step("delete", Client.delete(Restore, Virtual.key("back")), "1 minute")
  ]
})
