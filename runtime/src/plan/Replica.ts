/**
 * The transport of a plan: reads and writes reach an API server in memory, which has copies of the objects of the cluster. Every later
 * read and watch shows the writes. Only reads reach the cluster, and with `dryRuns` also a dry run of the first write of each object.
 *
 * Events are ignored, and so are Leases: neither is a part of a plan.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import type * as ApiError from "../client/ApiError.ts"
import * as Disconnect from "../client/Disconnect.ts"
import { infoOf, type Request } from "../client/Request.ts"
import type { Response } from "../client/Response.ts"
import * as Transport from "../client/Transport.ts"
import { Reconciliation } from "../controller/Reconciliation.ts"
import { Mapping } from "../controller/Sources.ts"
import { keyString } from "../resource/KubernetesObject.ts"
import type * as SecretValues from "../telemetry/SecretValues.ts"
import * as Answers from "./Answers.ts"
import * as DryRun from "./DryRun.ts"
import * as Endings from "./Endings.ts"
import * as ReadOnly from "./ReadOnly.ts"
import type { Simulation } from "./Simulation.ts"
import * as Snapshots from "./Snapshot.ts"
import * as Target from "./Target.ts"
import * as Write from "./Write.ts"

/** The parts of a replica. */
export interface Options {
  /** The transport to the cluster, which cannot write. */
  readonly live: Transport.Transport["Service"]
  readonly simulation: Simulation
  readonly serve: (target: Target.Target) => Snapshots.Copied
  readonly snapshot: Snapshots.Snapshot
  readonly endings: Endings.Endings
  /** Whether a dry run in the cluster decides the first write of each object. */
  readonly dryRuns: boolean
  /** Learns the values of the written Secrets. */
  readonly secrets: Pick<SecretValues.SecretValues, "learn">
  /** Receives each write that changes an object. */
  readonly wrote: (write: Write.Write) => void
  /** Receives the error that makes the plan impossible. */
  readonly failed: (error: ApiError.ApiError) => Effect.Effect<void>
}

/** The most writes of one reconciled object. A controller that writes more does not come to rest. */
export const mostWrites = 200

const isEvent = ({ group, plural }: Target.Target): boolean =>
  plural === "events" && (group === "" || group === "events.k8s.io")

const isLease = ({ group, plural }: Target.Target): boolean => group === "coordination.k8s.io" && plural === "leases"

const reconcileOf = (context: Context.Context<never>): Endings.Reconcile | undefined => {
  const found = Context.getOption(context as Context.Context<Reconciliation>, Reconciliation)
  if (Option.isNone(found)) return undefined
  const { controller, object, resource } = found.value
  return { controller, kind: resource.kind, key: keyString(object.metadata) }
}

/** The part of a plan that an effect runs in: a reconcile, or a map of a controller; undefined outside of both. */
export const partOf = (context: Context.Context<never>): Endings.Part | undefined => {
  const controller = Context.get(context, Mapping)
  return reconcileOf(context) ?? (controller === undefined ? undefined : { controller })
}

const isDefinition = ({ group, plural }: Target.Target): boolean =>
  group === "apiextensions.k8s.io" && plural === "customresourcedefinitions"

/** The subresources that the API server in memory has. Others, such as `log`, are read from the cluster. */
const simulated = new Set(["", "status", "scale"])

/** The name in the body of a creation, or in its response. */
const namedIn = (body: string | undefined): string => {
  const object = JSON.parse(body ?? "{}") as { readonly metadata?: { readonly name?: string } }
  return object.metadata?.name ?? ""
}

/** The transport. */
export const make = (options: Options): Effect.Effect<Transport.Transport["Service"]> =>
  Effect.map(Semaphore.make(1), (turn) => {
    const { endings, live, serve, simulation, snapshot } = options
    const { transport } = simulation
    const counts = new Map<string, number>()
    /** The objects that the plan has created. */
    const created = new Set<string>()

    /** Without a response of the cluster, there is no plan. */
    const fatal = <A>(request: Request, effect: Effect.Effect<A, ApiError.ApiError>) =>
      Effect.catch(effect, (error) =>
        Effect.andThen(
          options.failed(error),
          Effect.fail(Disconnect.make(infoOf(request), live.server, "PLAN", "the plan has failed"))
        )
      )

    /** Serves and copies what a request needs. Gives the response of a cluster that refuses it. */
    const prepared = (request: Request, target: Target.Target) =>
      fatal(
        request,
        Effect.flatMap(
          serve(target),
          (refused): Snapshots.Copied => (refused === undefined ? snapshot.copy(target) : Effect.succeed(refused))
        )
      )

    /** A refused read ends its part of the plan: the program itself may have the permission, or another version. */
    const refusal = (request: Request, refused: Response, part: Endings.Part | undefined): Response => {
      if (part === undefined || (refused.status !== 403 && refused.status !== 400)) return refused
      const reason = Answers.reasonOf(request, refused)
      endings.end(part, reason)
      return Answers.ended(reason)
    }

    const read = (request: Request, target: Target.Target, part: Endings.Part | undefined) =>
      Effect.flatMap(prepared(request, target), (refused) =>
        refused === undefined ? transport.send(request) : Effect.succeed(refusal(request, refused, part))
      )

    const record = (
      request: Request,
      target: Target.Target,
      before: object | undefined,
      part: Endings.Part | undefined
    ): void => {
      snapshot.touch(target)
      const kind = simulation.served(target)?.kind ?? target.plural
      const apiVersion = target.group === "" ? target.version : `${target.group}/${target.version}`
      const { name, namespace, subresource } = target
      const place = {
        target: { apiVersion, kind, ...(namespace !== "" && { namespace }), name },
        ...(subresource !== "" && { subresource })
      }
      const after = simulation.find(target, namespace, name)
      if (before === undefined) created.add(Target.keyOf(target))
      options.secrets.learn(after, Target.isSecrets(target))
      const write = isLease(target) ? undefined : Write.of(request, place, before, after)
      if (write === undefined) return
      const reconcile = part?.key === undefined ? undefined : part
      const by = reconcile && { controller: reconcile.controller, object: Endings.objectOf(reconcile) }
      options.wrote({ ...by, ...write })
      if (reconcile === undefined) return
      const id = `${reconcile.controller} ${reconcile.key}`
      const count = (counts.get(id) ?? 0) + 1
      counts.set(id, count)
      if (count >= mostWrites) endings.end(reconcile, `its reconciles do not come to rest after ${mostWrites} writes`)
    }

    const find = (target: Target.Target) => simulation.find(target, target.namespace, target.name)

    /** Writes in memory. One write at a time, so that the state before it is certain. */
    const apply = (request: Request, target: Target.Target, part: Endings.Part | undefined) =>
      Effect.gen(function* () {
        if (target.name !== "" || request.method === "DELETE") {
          const targets = target.name === "" ? yield* selected(request, target) : [target]
          const before = targets.map((each) => [each, find(each)] as const)
          const response = yield* transport.send(request)
          if (response.status < 300) for (const [each, state] of before) record(request, each, state, part)
          return response
        }
        const response = yield* transport.send(request)
        if (response.status < 300) record(request, { ...target, name: namedIn(response.body) }, undefined, part)
        return response
      }).pipe(turn.withPermits(1))

    /** The objects that a deletion of a collection selects. */
    const selected = (request: Request, target: Target.Target) =>
      Effect.map(
        transport.send({ ...request, method: "GET", body: undefined, headers: { accept: "application/json" } }),
        ({ body }) => {
          const { items = [] } = JSON.parse(body) as {
            readonly items?: ReadonlyArray<{
              readonly metadata: { readonly name: string; readonly namespace?: string }
            }>
          }
          return items.map(({ metadata: { name, namespace = "" } }) => ({ ...target, name, namespace }))
        }
      )

    const dryRun = (request: Request, target: Target.Target, part: Endings.Part | undefined) =>
      Effect.gen(function* () {
        const before = find(target)
        const asked = DryRun.of(request)
        const response = yield* Effect.tapError(live.send(asked), options.failed)
        // Only the plan serves the kind.
        if (DryRun.isUnserved(response)) return yield* apply(request, target, part)
        if (response.status >= 400) {
          const reason = DryRun.unsupported(request, response)
          if (reason === undefined || part === undefined) return response
          endings.end(part, reason)
          return Answers.ended(reason)
        }
        const object = JSON.parse(response.body)
        // A stored answer would neither remove an object nor serve a kind.
        const isApplied = request.method === "DELETE" || target.subresource === "scale" || isDefinition(target)
        if (isApplied || DryRun.isRemoved(object)) return yield* apply(request, target, part)
        snapshot.put(target, object)
        record(request, target, before, part)
        const { accept = "application/json" } = request.headers
        const path = Target.objectPath(target)
        const shown = yield* transport.send({ ...request, method: "GET", path, body: undefined, headers: { accept } })
        return { ...response, body: shown.body }
      })

    const write = (request: Request, path: Target.Target, part: Endings.Part | undefined) =>
      Effect.gen(function* () {
        const target = request.method === "POST" && path.name === "" ? { ...path, name: namedIn(request.body) } : path
        const isGenerated = request.method === "POST" && target.name === ""
        const refused = yield* isGenerated ? fatal(request, serve(target)) : prepared(request, target)
        if (refused !== undefined) return refusal(request, refused, part)
        const creates = target.namespace !== "" && request.method !== "DELETE" && find(target) === undefined
        if (creates) yield* fatal(request, snapshot.namespace(target.namespace))
        const isFirst = target.name !== "" && !snapshot.isTouched(target)
        // The cluster does not have the namespace.
        const isWithin = target.namespace !== "" && created.has(Target.keyOf(Snapshots.namespace(target.namespace)))
        return yield* options.dryRuns && isFirst && !isWithin
          ? dryRun(request, target, part)
          : apply(request, request.method === "POST" && path.subresource === "" ? path : target, part)
      })

    const send = (request: Request): Effect.Effect<Response, ApiError.Transport | ApiError.Fenced> =>
      Effect.contextWith((context: Context.Context<never>) => {
        const target = Target.of(request)
        const part = partOf(context)
        if (ReadOnly.isReview(request)) return live.send(request)
        const why = part?.key === undefined ? undefined : endings.reasonOf(part)
        if (why !== undefined)
          return Effect.succeed(isEventRequest(request, target) ? Answers.echo(request) : Answers.ended(why))
        if (request.method === "GET") {
          return target === undefined || !simulated.has(target.subresource)
            ? live.send(request)
            : read(request, target, part)
        }
        if (target === undefined) {
          const { method, path } = infoOf(request)
          const reason = `a plan cannot show the effect of ${method} ${path}`
          if (part !== undefined) endings.end(part, reason)
          return Effect.succeed(Answers.ended(reason))
        }
        return isEvent(target) ? Effect.succeed(Answers.echo(request)) : write(request, target, part)
      })

    const isEventRequest = ({ method }: Request, target: Target.Target | undefined): boolean =>
      method !== "GET" && target !== undefined && isEvent(target)

    return Transport.Transport.of({
      server: live.server,
      send,
      open: (request) => {
        const target = Target.of(request)
        return target === undefined
          ? live.open(request)
          : Effect.flatMap(prepared(request, target), () => transport.open(request))
      }
    })
  })
