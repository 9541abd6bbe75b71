/** A newer version of the WebApp kind and its controller, with one more field in the spec and one in the status. */
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { Deployment, Service } from "@homeostat/runtime/resource/BuiltIn"
import { keyOf } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import type { StructuralSchema } from "@homeostat/runtime/resource/StructuralSchema"
import {
  defaultContainer,
  desiredDeployment,
  desiredService,
  exclusiveInDeployment,
  manager
} from "@homeostat/webapp/children"
import { observe } from "@homeostat/webapp/status"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Effect, Option } from "effect"

const { definition } = WebApp

const team: StructuralSchema = { type: "string", maxLength: 63, description: "Who runs it." }

/** The schema of a part of the object with the new field. */
const withTeam = (part: "spec" | "status"): StructuralSchema => {
  const schema = definition.schema.properties?.[part]
  return { ...schema, properties: { ...schema?.properties, team } }
}

type Desired = Parameters<typeof WebApp.Desired>[0]

/** The newer kind. The decoder of a WebApp keeps unknown fields, so {@link teamOf} can read the new fields. */
export const NewerWebApp: typeof WebApp = Object.assign(
  Resource.make<WebApp, Desired & { readonly spec: { readonly team?: string } }>({ ...WebApp }),
  {
    definition: {
      ...definition,
      schema: {
        ...definition.schema,
        properties: { ...definition.schema.properties, spec: withTeam("spec"), status: withTeam("status") }
      }
    }
  }
)

/** The field in a spec or a status; undefined if it is missing. */
export const teamOf = (part: object | undefined): string | undefined => {
  const value: unknown = part === undefined ? undefined : Reflect.get(part, "team")
  return typeof value === "string" ? value : undefined
}

/** The annotation of a Deployment with the team. */
export const annotation = "example.test/team"

/** The newer controller. It behaves like the current one, and writes the team to the Deployment and to the status. */
export const newer = Controller.make("webapp", {
  for: NewerWebApp,
  fieldManager: manager,
  owns: [Deployment, Service],
  reconcile: (app) =>
    Effect.gen(function* () {
      const team = teamOf(app.spec)
      const existing = Option.getOrUndefined(yield* Cache.get(Deployment, keyOf(app)))
      const { metadata, ...rest } = desiredDeployment(app, { existing })
      const annotations = team === undefined ? {} : { annotations: { [annotation]: team } }
      const deployment = yield* Owned.apply(
        app,
        Deployment,
        { ...rest, metadata: { ...metadata, ...annotations } },
        { exclusive: exclusiveInDeployment(app, defaultContainer) }
      )
      const service = yield* Owned.apply(app, Service, desiredService(app))
      const status = observe(app, {
        deployment: { object: deployment },
        service: { object: service },
        pods: [],
        scaling: { by: "Spec", replicas: app.spec.replicas, isWanted: false },
        container: defaultContainer,
        now: yield* Clock.currentTimeMillis
      })
      yield* Status.update(app, { ...status, ...(team === undefined ? {} : { team }) })
      return Result.done
    })
})
