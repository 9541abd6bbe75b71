/** A kind with a set of children: a page, a migration by a Job, a Deployment that waits for it, and a Service. */
import { BuiltIn, Condition, Controller, CustomResource, Owned, Result, Status } from "@homeostat/runtime"
import { Effect, Schema } from "effect"

export const Shop = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Shop",
  spec: Schema.Struct({
    page: Schema.String,
    /** The version to migrate to and to run. Nothing runs without one. */
    version: Schema.optionalKey(Schema.String),
    /** An invalid port name, which the API server rejects. */
    port: Schema.optionalKey(Schema.String)
  }),
  status: Schema.Struct({
    observedGeneration: Schema.optionalKey(Schema.Int),
    conditions: Schema.optionalKey(Condition.list)
  })
})
export type Shop = typeof Shop.Type

const labels = { app: "shop" }

/** The desired children. */
export const childrenOf = ({ metadata: { name }, spec: { page, port, version } }: Shop) => {
  const config = Owned.child(BuiltIn.ConfigMap, { metadata: { name }, data: { page } })
  if (version === undefined) return [config]
  const image = `registry.test/shop:${version}`
  const migration = Owned.child(
    BuiltIn.Job,
    {
      metadata: { name: `${name}-${version}` },
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "migrate", image }] } } }
    },
    { after: [config] }
  )
  const web = Owned.child(
    BuiltIn.Deployment,
    {
      metadata: { name },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "web", image }] } }
      }
    },
    { after: [migration], waits: "Change" }
  )
  const service = Owned.child(BuiltIn.Service, {
    metadata: { name },
    spec: { selector: labels, ports: [{ port: 80, ...(port !== undefined && { name: port }) }] }
  })
  return [service, web, migration, config]
}

export const owns = [BuiltIn.ConfigMap, BuiltIn.Job, BuiltIn.Deployment, BuiltIn.Service].map((kind) =>
  Owned.kind(kind, { removes: true })
)

/** Keeps the children, and reports their progress. */
export const reconcile = (shop: Shop) =>
  Effect.gen(function* () {
    const children = yield* Owned.allSettled(shop, childrenOf(shop))
    yield* Status.progress(shop, Owned.progress(children))
    const failed = children.states.find((state) => state._tag === "Failed")
    return failed === undefined ? Result.done : yield* failed.error
  })

export const controller = Controller.make("shop", {
  for: Shop,
  owns,
  reconcile
})
