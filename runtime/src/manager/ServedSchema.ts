/**
 * Compares the schema of a custom kind that the API server serves with that of the program. Another program may have applied an older
 * CRD, and then the API server drops fields at every read and write. A controller that went on would undo what these fields ask for. So it
 * takes no object while the spec lacks fields. Lost fields of the status only make its reports poorer.
 *
 * The schema comes from the OpenAPI document of the kind's group and version, which every authenticated user may read (the ClusterRole
 * `system:discovery`): the roles of a manager have no permission for CRDs. The API server ends the watches of a kind when its CRD
 * changes. So the manager reads the schema at the start and after each end of a watch. Without an answer the state is unknown, and
 * the controller goes on.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type { Informer } from "../cache/Cache.ts"
import * as Client from "../client/Client.ts"
import * as Permission from "../client/Permission.ts"
import * as Hold from "../controller/Hold.ts"
import type * as CustomResource from "../resource/CustomResource.ts"
import { apiVersionOf, nameOf } from "../resource/Resource.ts"
import * as SchemaFields from "../resource/SchemaFields.ts"
import * as Metric from "../telemetry/Metric.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import type { Note } from "./Health.ts"

/** The fields of the program's schema that the served one lacks. */
export interface Lost {
  readonly spec: ReadonlyArray<string>
  readonly status: ReadonlyArray<string>
}

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value)

const at = (node: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce((value, name) => (isNode(value) && Object.hasOwn(value, name) ? value[name] : undefined), node)

/** The schema of a kind in an OpenAPI document; undefined if it has none. */
const schemaIn = (document: unknown, { group, kind, version }: CustomResource.Any): unknown => {
  const schemas = at(document, "components", "schemas")
  if (!isNode(schemas)) return undefined
  return Object.values(schemas).find((schema) => {
    const names = at(schema, "x-kubernetes-group-version-kind")
    return (
      Array.isArray(names) &&
      names.some((each) => at(each, "group") === group && at(each, "version") === version && at(each, "kind") === kind)
    )
  })
}

/** The lost fields by an OpenAPI document; undefined if it does not have the kind. */
export const lostIn = (document: unknown, resource: CustomResource.Any): Lost | undefined => {
  const served = schemaIn(document, resource)
  if (served === undefined) return undefined
  // A CRD that keeps unknown fields loses none.
  const keepsAll = at(served, "x-kubernetes-preserve-unknown-fields") === true
  const lost = (part: "spec" | "status", own: SchemaFields.Fields | undefined): ReadonlyArray<string> => {
    const theirs = at(served, "properties", part)
    if (own === undefined) return []
    return theirs === undefined ? (keepsAll ? [] : [part]) : SchemaFields.lacking(own, theirs, part)
  }
  const { spec, status } = resource.definition.fields()
  return { spec: lost("spec", spec), status: lost("status", status) }
}

/** The lost fields in one line. */
const shown = 5
const listed = (fields: ReadonlyArray<string>): string =>
  [...fields.slice(0, shown), ...(fields.length > shown ? [`${fields.length - shown} more`] : [])].join(", ")

/** The follower of a kind. */
export interface ServedSchema {
  readonly hold: Hold.Hold
  /** Why the controllers of the kind take no object, in one line; undefined if they may. */
  readonly problem: () => string | undefined
  /** The check of `/readyz`. */
  readonly check: () => string | Note | undefined
  /** Follows the kind. */
  readonly run: (informer: Pick<Informer, "onRestart" | "synced">) => Effect.Effect<never, never, Client.Client>
}

/** The limit for the first answer, for which the workers wait, in ms. */
const timeoutMillis = 5000

/** The times of the reads after the end of a watch: the API server publishes a new schema some seconds after a change. */
const delays = ["1 second", "9 seconds"] as const

/** A follower, whose workers wait for the first answer. `program` prints the right CRD. */
export const make = (resource: CustomResource.Any, program: string): Effect.Effect<ServedSchema> =>
  Effect.map(Metrics.Metrics, (registry) => {
    const name = nameOf(resource)
    const hold = Hold.make(true)
    let lost: Lost | undefined
    let unknown: string | undefined = "it is not read yet"
    const gauge = (part: keyof Lost) => registry.gauge(Metric.crdLostFields, { kind: name, part })
    const problem = (): string | undefined =>
      lost === undefined || lost.spec.length === 0
        ? undefined
        : `the CRD ${name} of the cluster lacks fields of this program: ${listed(lost.spec)} (apply the CRD of this program: ${program} crd)`
    const read = Client.raw({ method: "GET", path: `/openapi/v3/apis/${apiVersionOf(resource)}`, timeoutMillis }).pipe(
      Effect.map(({ body }) => lostIn(JSON.parse(body), resource)),
      Effect.map((found) => found ?? `the OpenAPI document of ${apiVersionOf(resource)} does not have it`),
      Effect.catch((error) => Effect.succeed(Permission.reasonOf(error))),
      Effect.catchDefect(() => Effect.succeed("the OpenAPI document is not valid"))
    )
    const look = Effect.gen(function* () {
      const before = problem()
      const found = yield* read
      if (typeof found === "string") unknown = found
      else {
        unknown = undefined
        lost = found
        gauge("spec").set(found.spec.length)
        gauge("status").set(found.status.length)
      }
      const after = problem()
      hold.set(after !== undefined)
      if (after !== undefined && after !== before)
        yield* Effect.logError(`No object of ${name} is reconciled: ${after}`)
      if (after === undefined && before !== undefined)
        yield* Effect.logInfo(`Objects of ${name} are reconciled again: the CRD has all fields of this program`)
    })
    return {
      hold,
      problem,
      check: () => {
        const held = problem()
        if (held !== undefined) return held
        if (unknown !== undefined) return { note: `the schema is unknown: ${unknown}` }
        return lost === undefined || lost.status.length === 0
          ? undefined
          : { note: `the CRD lacks ${listed(lost.status)}, which the API server drops` }
      },
      run: (informer) =>
        Effect.gen(function* () {
          const ended = yield* Latch.make(false)
          yield* Effect.acquireRelease(
            Effect.sync(() => informer.onRestart(() => ended.openUnsafe())),
            (forget) => Effect.sync(forget)
          )
          // The kind may be missing before, or the API server may not answer.
          yield* Effect.andThen(informer.synced, look)
          while (true) {
            yield* ended.await
            ended.closeUnsafe()
            for (const delay of delays) yield* Effect.delay(look, delay)
          }
        }).pipe(Effect.scoped)
    }
  })
