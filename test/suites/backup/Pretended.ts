/**
 * Scenes on the cluster of the lane with simulated movers. Movers complete all operations in a moment, unless the test plans otherwise.
 * Intervals in the settings are short.
 */
import { Backup } from "@homeostat/backup/kinds/Backup"
import * as Settings from "@homeostat/backup/Settings"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Pod, Secret } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import { Duration, Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Backups from "./Backups.ts"
import * as PretendedMover from "./PretendedMover.ts"
import * as Scene from "./Scene.ts"

/** The options of one test. */
export interface Options extends Pick<Scene.Options, "timeoutMillis" | "control"> {
  /** Plans each mover. For undefined, the mover completes all its operations in half a second. */
  readonly movers?: PretendedMover.Movers | undefined
  readonly node?: Scene.Options["node"]
  readonly settings?: Partial<Settings.Values> | undefined
}

/** These intervals are shorter than for real programs, because these tests mostly wait. */
const quick: Settings.Values = { ...Backups.quick, retryPeriod: Duration.millis(500) }

/** Declares a test. */
export const test = <A, E>(
  name: string,
  body: (scene: Scene.Scene) => Effect.Effect<A, E, Scope.Scope | Client.Client>,
  { movers = () => undefined, node, settings, ...options }: Options = {}
): void =>
  Backups.pretended(
    name,
    (scene) => body(scene).pipe(Effect.provideService(Settings.Settings, { ...quick, ...settings })),
    {
      ...options,
      node: {
        ...node,
        pods: (pod) => {
          const mover = PretendedMover.read(pod)
          return mover && (movers(mover) ?? PretendedMover.succeeds(mover, "500 millis"))
        }
      }
    }
  )

/** Creates what most tests need: a claim to save, a claim for the repository, and the Secret of the Backup `shop`. */
export const shop = (scene: Scene.Scene) =>
  Effect.andThen(
    Effect.all([Scene.claim(scene, "app"), Scene.claim(scene, "store")]),
    Scene.credentials(scene, "shop-backup-credentials")
  )

/** Waits until Ready is False for a reason and with this text. Returns the message. */
export const obstacle = (scene: Scene.Scene, name: string, reason: string, says = "") =>
  Effect.map(
    Backups.until(scene, name, `it is not ready: ${reason} ${says}`, ({ conditions }) => {
      const ready = Condition.find(conditions, "Ready")
      return ready?.status === "False" && ready.reason === reason && (ready.message ?? "").includes(says)
    }),
    (backup) => Backups.condition(backup, "Ready")?.message ?? ""
  )

/** Requests a run of a Backup by annotation, and waits for its end. */
export const again = (scene: Scene.Scene, name: string, token: string) =>
  Effect.andThen(
    annotate(scene, name, token),
    Backups.until(scene, name, `the run ${token} has ended`, ({ lastManualTrigger }) => lastManualTrigger === token)
  )

/** Requests a run of a Backup by annotation. */
export const annotate = (scene: Scene.Scene, name: string, token: string) =>
  Client.patch(Backup, scene.key(name), Patch.merge({ metadata: { annotations: { "backup.example.com/run": token } } }))

/** Writes keys of a Secret. */
export const keys = (scene: Scene.Scene, name: string, stringData: { readonly [key: string]: string }) =>
  Client.patch(Secret, scene.key(name), Patch.merge({ stringData }))

/** Creates a pod on a node that mounts a claim. */
export const user = (
  { namespace }: Scene.Scene,
  name: string,
  {
    claim,
    node,
    ...spec
  }: { readonly claim: string; readonly node: string; readonly tolerations?: ReadonlyArray<object> }
) =>
  Effect.andThen(
    Client.create(Pod, {
      metadata: { namespace, name },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: 0,
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: claim } }],
        containers: [
          { name: "app", image: "registry.test/app:1", volumeMounts: [{ name: "data", mountPath: "/data" }] }
        ],
        ...spec
      }
    }),
    Managed.eventually(
      `pod ${name} runs`,
      Client.get(Pod, { namespace, name }),
      ({ status }) => status?.phase === "Running"
    )
  )

/** Records every state of the scene's objects of a kind from now on, to the end of the scope. */
export const record = <A extends KubernetesObject, D>({ namespace }: Scene.Scene, kind: Resource.Resource<A, D>) =>
  Effect.gen(function* () {
    const seen: Array<A> = []
    const { resourceVersion } = yield* Client.page(kind, { namespace })
    const watch = yield* Client.watch(kind, { namespace, resourceVersion })
    yield* Effect.gen(function* () {
      for (const event of yield* watch.next) {
        if (event.type === "ADDED" || event.type === "MODIFIED")
          seen.push(yield* Effect.fromResult(kind.decode(event.object)))
      }
    }).pipe(Effect.forever, Effect.forkScoped)
    return (): ReadonlyArray<A> => seen
  })

/** Removes immediate repetitions from the values. */
export const steps = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> =>
  values.filter((value, index) => index === 0 || value !== values[index - 1])
