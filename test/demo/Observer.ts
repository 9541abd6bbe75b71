/** Follows the objects in the demo's namespace, and writes a line for each change of a phase, an Event or a pod. */
import { Backup } from "@homeostat/backup/kinds/Backup"
import { Restore } from "@homeostat/backup/kinds/Restore"
import type * as Client from "@homeostat/runtime/client/Client"
import { Deployment, Event, Pod } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type { Resource } from "@homeostat/runtime/resource/Resource"
import { follow } from "@homeostat/testkit/Follow"
import { WebApp } from "@homeostat/webapp/WebApp"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Narrator } from "./Narrator.ts"

/** The kinds whose Events the demo shows. It shows pods by their state instead. */
const storied: ReadonlySet<string> = new Set(["WebApp", "Deployment", "Backup", "Restore"])

const stateOf = (pod: Pod): string =>
  pod.metadata.deletionTimestamp === undefined
    ? (pod.status?.containerStatuses?.[0]?.state?.waiting?.reason ?? pod.status?.phase ?? "Pending")
    : "Terminating"

/** Follows the objects until the end of the Scope. */
export const observe = (
  narrator: Narrator,
  namespace: string
): Effect.Effect<void, never, Client.Client | Scope.Scope> =>
  Effect.gen(function* () {
    /** The last text for each key. A text that did not change is not written again. */
    const reported = new Map<string, string>()
    const once = (key: string, text: string, report: Effect.Effect<void>): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (reported.get(key) === text) return Effect.void
        reported.set(key, text)
        return report
      })
    const webapp = (app: WebApp) => {
      const { name } = app.metadata
      const { phase = "not seen yet", readyReplicas = 0 } = app.status ?? {}
      const state = `${phase}, ${readyReplicas} of ${app.spec.replicas} ready`
      return Effect.andThen(
        narrator.show(`webapp/${name}`, `${state}, ${app.spec.image}`),
        once(`webapp/${name}`, phase, narrator.report("webapp", `${name} is ${state}`))
      )
    }
    /** Shows the phase of a Backup or Restore, with the message once the run has ended. */
    const run =
      (who: "backup" | "restore") =>
      ({ metadata: { name }, status }: Backup | Restore) => {
        const { message, phase = "not seen yet" } = status ?? {}
        const state = /^(Completed?|Failed)$/.test(phase) ? `${phase}: ${message}` : phase
        return Effect.andThen(
          narrator.show(`${who}/${name}`, state),
          once(`${who}/${name}`, phase, narrator.report(who, `${name} is ${state}`))
        )
      }
    const deployment = ({ metadata, status }: Deployment) =>
      narrator.show(`deployment/${metadata.name}`, `${status?.availableReplicas ?? 0} available`)
    const event = ({ metadata, note = "", reason = "", regarding, type }: Event) =>
      storied.has(regarding?.kind ?? "")
        ? once(metadata.uid, reason, narrator.report("event", `${type} ${reason}: ${note}`))
        : Effect.void
    const pod = (seen: Pod) => narrator.show(`pod/${seen.metadata.name}`, stateOf(seen))
    const watch = <A extends KubernetesObject>(
      kind: Resource<A, never>,
      seen: (object: A) => Effect.Effect<void>,
      prefix?: string
    ) =>
      Effect.forkScoped(
        follow(
          kind,
          { namespace },
          {
            seen,
            gone: ({ metadata }) =>
              prefix === undefined
                ? Effect.void
                : Effect.andThen(
                    narrator.show(`${prefix}/${metadata.name}`, undefined),
                    prefix === "pod" ? Effect.void : narrator.report("cluster", `${prefix} ${metadata.name} is gone`)
                  )
          }
        )
      )
    yield* watch(WebApp, webapp, "webapp")
    yield* watch(Backup, run("backup"), "backup")
    yield* watch(Restore, run("restore"), "restore")
    yield* watch(Deployment, deployment, "deployment")
    yield* watch(Event, event)
    yield* watch(Pod, pod, "pod")
  })
