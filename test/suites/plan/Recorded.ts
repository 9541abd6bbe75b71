/** Records the writes of a real manager as those of a plan, from the states of the cluster before and after each write. */
import type { Request } from "@homeostat/runtime/client/Request"
import { Transport } from "@homeostat/runtime/client/Transport"
import { Reconciliation } from "@homeostat/runtime/controller/Reconciliation"
import * as Target from "@homeostat/runtime/plan/Target"
import * as Write from "@homeostat/runtime/plan/Write"
import type * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import { Context, Effect, Layer, Option } from "effect"

/** The kinds that are not part of a plan. */
const ignored = new Set(["events", "leases"])

/** A transport that records the writes. */
export interface Recorded {
  readonly transport: Layer.Layer<Transport>
  readonly writes: ReadonlyArray<Write.Write>
  /** The requests that could write, even those without an effect. */
  readonly requests: ReadonlyArray<string>
}

/** Returns the current state of an object. */
type StateOf = (target: Target.Target) => Effect.Effect<object | undefined>

/** Returns the kind of a target. */
type KindOf = (target: Target.Target) => string

/** Records the writes through a transport to a cluster with these states. */
export const through = (transport: Layer.Layer<Transport>, kindOf: KindOf, stateOf: StateOf): Recorded => {
  const writes: Array<Write.Write> = []
  const requests: Array<string> = []
  const record = (next: Transport["Service"]) => (request: Request) =>
    Effect.gen(function* () {
      const path = Target.of(request)
      if (request.method === "GET" || path === undefined) return yield* next.send(request)
      requests.push(`${request.method} ${request.path}`)
      if (ignored.has(path.plural)) return yield* next.send(request)
      const name = path.name === "" ? String(JSON.parse(request.body ?? "{}").metadata?.name ?? "") : path.name
      const target = { ...path, name }
      const before = yield* stateOf(target)
      const response = yield* next.send(request)
      if (response.status >= 300) return response
      const apiVersion = path.group === "" ? path.version : `${path.group}/${path.version}`
      const { namespace, subresource } = path
      const place = {
        target: { apiVersion, kind: kindOf(target), ...(namespace !== "" && { namespace }), name },
        ...(subresource !== "" && { subresource })
      }
      const write = Write.of(request, place, before, yield* stateOf(target))
      const by = yield* Effect.map(Effect.context<never>(), (context) =>
        Context.getOption(context as Context.Context<Reconciliation>, Reconciliation)
      )
      if (write !== undefined) {
        const reconcile = Option.map(by, ({ controller, object, resource }) => ({
          controller,
          object: { kind: resource.kind, namespace: object.metadata.namespace, name: object.metadata.name }
        }))
        writes.push({ ...Option.getOrUndefined(reconcile), ...write })
      }
      return response
    })
  return {
    writes,
    requests,
    transport: Layer.effect(
      Transport,
      Effect.map(Transport, (next) => ({ ...next, send: record(next) }))
    ).pipe(Layer.provide(transport))
  }
}

/** Records the writes to an embedded cluster. */
export const over = ({ server, transport }: EmbeddedCluster.EmbeddedCluster): Recorded => {
  const kindAt = ({ group, plural, version }: Target.Target) => server.registry.find(group, version, plural)
  return through(
    transport,
    (target) => kindAt(target)?.kind ?? "",
    (target) =>
      Effect.sync(() => {
        const kind = kindAt(target)
        const stored = kind && server.store.get(kind.storage, kind.namespaced ? target.namespace : "", target.name)
        return stored && kind?.fromStorage(stored)
      })
  )
}

/** Returns a write as JSON, without the values that differ between two runs from the same moment: times, and uids of new objects. */
export const plain = (write: Write.Write): string =>
  JSON.stringify(write)
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uid>")
