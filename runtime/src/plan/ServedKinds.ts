/** Makes the API server in memory serve the kinds that requests need. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { ApiError } from "../client/ApiError.ts"
import type { Response } from "../client/Response.ts"
import * as Answers from "./Answers.ts"
import * as Definitions from "./Definitions.ts"
import * as Live from "./Live.ts"
import * as Once from "./Once.ts"
import type { Collection, Simulation } from "./Simulation.ts"
import type { Copied } from "./Snapshot.ts"
import type * as Target from "./Target.ts"

/** The sources of definitions. */
export interface Options {
  readonly client: Live.Reader
  readonly simulation: Simulation
  /** The CRDs of the program. */
  readonly own: (collection: Collection) => object | undefined
  /** Whether the CRDs of the program replace those of the cluster. */
  readonly installs: boolean
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/**
 * Serves the kind of a target, and gives undefined, or the response of the API server of the cluster that does not serve it.
 *
 * The definition of a custom kind comes from the cluster. Without the permission to read it, it is that of the program. A kind without
 * either has a definition that accepts everything. A kind with a conversion webhook is served in the first version that a request needs.
 */
export const make = (options: Options): Effect.Effect<(target: Target.Target) => Copied, never, Scope.Scope> =>
  Effect.map(Once.make<Response | undefined, ApiError>(), (once) => {
    const { client, own, simulation } = options

    const install = (definition: object, { group, plural, version }: Target.Target): Copied =>
      Effect.flatMap(
        simulation.transport.send({
          method: "POST",
          path: definitions,
          template: definitions,
          headers: { accept: "application/json", "content-type": "application/json" },
          body: JSON.stringify(definition),
          repeatable: false
        }),
        ({ body, status }) => {
          if (status === 201) return Effect.succeed(undefined)
          // Only a definition with a webhook lacks a version.
          const why = `a plan calls no conversion webhook, so it has one version of ${plural}.${group}, and not ${version}`
          return status === 409
            ? Effect.succeed(Answers.impossible(why))
            : Effect.die(new Error(`the plan cannot serve a custom kind in memory: ${body.trim()}`))
        }
      )

    /** A kind without a readable definition. It may also be of an aggregated API, or a built-in kind that is missing in memory. */
    const accept = (target: Target.Target): Copied =>
      Effect.flatMap(
        Live.answered(Live.resources(client, target)),
        Result.match({
          onFailure: (refused): Copied => Effect.succeed(refused),
          onSuccess: (resources) => {
            const found = resources.find(({ name }) => name === target.plural)
            return found === undefined
              ? Effect.succeed(Answers.notServed)
              : install(Definitions.permissive(target, found.kind, found.namespaced), target)
          }
        })
      )

    const define = (target: Target.Target): Copied => {
      const ours = own(target)
      if (ours !== undefined && options.installs) return install(ours, target)
      const found = Live.read<Definitions.Definition>(client, `${definitions}/${target.plural}.${target.group}`)
      return Effect.flatMap(
        Live.answered(found),
        Result.match({
          onFailure: (refused) =>
            refused.status === 403 && ours !== undefined ? install(ours, target) : accept(target),
          onSuccess: (definition) => {
            const plain = Definitions.plain(definition, target.version)
            return plain === undefined ? Effect.succeed(Answers.notServed) : install(plain, target)
          }
        })
      )
    }

    return (target) =>
      simulation.served(target) !== undefined
        ? Effect.succeed(undefined)
        : once.run(`${target.group}/${target.version}/${target.plural}`, define(target))
  })
