/** The writes of a real manager on an embedded cluster, in the form of a plan, from the states of the cluster before and after each. */
import type { Request } from "@homeostat/runtime/client/Request"
import { Transport } from "@homeostat/runtime/client/Transport"
import { Reconciliation } from "@homeostat/runtime/controller/Reconciliation"
import * as Target from "@homeostat/runtime/plan/Target"
import * as Write from "@homeostat/runtime/plan/Write"
import type * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import { Context, Effect, Layer, Option } from "effect"

/** The kinds that are no part of a plan. */
const ignored = new Set(["events", "leases"])

/** A cluster whose transport records the writes. */
export interface Recorded {
  readonly transport: Layer.Layer<Transport>
  readonly writes: ReadonlyArray<Write.Write>
  /** The requests that could write, also those without an effect. */
  readonly requests: ReadonlyArray<string>
}

/** Records what goes to a cluster. */
export const over = ({ server, transport }: EmbeddedCluster.EmbeddedCluster): Recorded => {
  const writes: Array<Write.Write> = []
  const requests: Array<string> = []
  const stateOf = (target: Target.Target): object | undefined => {
    const kind = server.registry.find(target.group, target.version, target.plural)
    const stored = kind && server.store.get(kind.storage, kind.namespaced ? target.namespace : "", target.name)
    return stored && kind?.fromStorage(stored)
  }
  const record = (next: Transport["Type"]) => (request: Request) =>
    Effect.gen(function* () {
      const path = Target.of(request)
      if (request.method === "GET" || path === undefined) return yield* next.send(request)
      requests.push(`${request.method} ${request.path}`)
      if (ignored.has(path.plural)) return yield* next.send(request)
      const name = path.name === "" ? String(JSON.parse(request.body ?? "{}").metadata?.name ?? "") : path.name
      const target = { ...path, name }
      const before = stateOf(target)
      const response = yield* next.send(request)
      if (response.status >= 300) return response
      const kind = server.registry.find(path.group, path.version, path.plural)?.kind ?? ""
      const apiVersion = path.group === "" ? path.version : `${path.group}/${path.version}`
      const { namespace, subresource } = path
      const place = {
        target: { apiVersion, kind, ...(namespace !== "" && { namespace }), name },
        ...(subresource !== "" && { subresource })
      }
      const write = Write.of(request, place, before, stateOf(target))
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
