/** The cluster of a world: the embedded cluster in virtual time, or a real cluster. */

import * as Json from "@homeostat/apiserver/model/Json"
import type * as Store from "@homeostat/apiserver/storage/Store"
import type * as Client from "@homeostat/runtime/client/Client"
import type * as Transport from "@homeostat/runtime/client/Transport"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as EmbeddedCluster from "../EmbeddedCluster.ts"
import type * as VirtualTime from "../VirtualTime.ts"
import type { Story } from "./Story.ts"
import * as Views from "./Views.ts"
import type * as Wire from "./Wire.ts"

/** The clock of a world. */
export interface Time extends Pick<VirtualTime.VirtualTime, "pass" | "during" | "process" | "within"> {
  readonly clock: Clock.Clock
}

/** Returns the path of the collection of a kind: `/apis/apps/v1/deployments`. */
export const collectionOf = ({ group, plural, version }: Pick<Resource.Any, "group" | "plural" | "version">): string =>
  group === "" ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`

/** The storages whose changes do not prevent rest. A leader renews its Lease, for example. */
const ignored = new Set(["coordination.k8s.io/leases", "/events", "events.k8s.io/events"])

/** Whether a change in this storage means that the cluster is not at rest. */
export const matters = (storage: string): boolean => !ignored.has(storage)

/** The Lease of the program. */
export const lease = { namespace: "default", name: "explored" }

/** The cluster of a world. */
export interface Ground {
  readonly time: Time
  /** The delays of the watches. On a real cluster, they are unknown and always empty. */
  readonly views: Views.Views
  /** The transport of the users. */
  readonly transport: Layer.Layer<Transport.Transport>
  readonly client: Layer.Layer<Client.Client>
  /** The transport of the program, with the permissions of its roles. */
  readonly own: Effect.Effect<Layer.Layer<Transport.Transport>>
  /** Creates objects. */
  readonly create: (objects: ReadonlyArray<object>) => Effect.Effect<void>
  readonly saved: Effect.Effect<Store.Saved>
  /** Returns a new value after each change of an object that prevents rest. */
  readonly changes: Effect.Effect<number | string>
  /** Returns a new value after each change of the object of a request. */
  readonly revision: Wire.Hooks["revision"]
  /** The holder of the program's Lease; undefined if the Lease has no holder. */
  readonly leader: Effect.Effect<string | undefined>
  /** Returns the same value as long as no time passes. */
  readonly instant: () => number
  /** Continues the uids and generated names with those of another seed. A real cluster ignores it. */
  readonly reseed: (seed: number) => void
  /** Whether the program sends requests without end. */
  readonly isRestless: () => boolean
}

/** Returns the holder of a Lease; undefined if the Lease has no holder. */
export const holderOf = (lease: Json.JsonObject | undefined): string | undefined =>
  Json.text(Json.at(lease, "spec", "holderIdentity"))

/** The start of a world. */
export interface Beginning {
  readonly saved?: Store.Saved | undefined
  readonly seed: number
}

/**
 * Whether the roles let the program read Events. Otherwise the cluster leaves Events out, because most clusters write more Events than
 * other objects.
 */
const readsEvents = ({ roles }: Story): boolean => {
  const rules = Json.objects(JSON.parse(JSON.stringify(roles))).flatMap((role) => Json.objects(role.rules))
  const names = (rule: Json.JsonObject, member: string, wanted: ReadonlyArray<string>) =>
    Json.list(rule[member]).some((name) => typeof name === "string" && wanted.includes(name))
  return rules.some(
    (rule) => names(rule, "resources", ["events", "*"]) && names(rule, "verbs", ["get", "list", "watch", "*"])
  )
}

/** Starts the embedded cluster, new or from a saved state. */
export const embedded = (
  story: Story,
  { saved, seed }: Beginning,
  time: VirtualTime.VirtualTime
): Effect.Effect<Ground, never, Scope.Scope> =>
  Effect.gen(function* () {
    const whole = { events: readsEvents(story), ...story.cluster }
    const base = saved === undefined ? whole : { ...whole, crds: [], converted: [], saved }
    const { as, bind, client, server, transport } = yield* EmbeddedCluster.make({ ...base, seed })
    const views = Views.make()
    let changes = 0
    const unsubscribe = server.store.subscribe((change) => {
      views.changed(change)
      if (matters(change.storage)) changes++
    })
    yield* Effect.addFinalizer(() => Effect.sync(unsubscribe))
    return {
      time,
      views,
      transport,
      client,
      own:
        saved === undefined
          ? Effect.map(bind(story.roles), (own) => own.transport)
          : Effect.sync(() => as(EmbeddedCluster.subjectOf(story.roles)).transport),
      create: (objects) => EmbeddedCluster.create(server, objects),
      saved: Effect.sync(() => server.saved()),
      changes: Effect.sync(() => changes),
      revision: () => Effect.sync(() => server.store.revision),
      leader: Effect.sync(() => holderOf(server.store.get("coordination.k8s.io/leases", lease.namespace, lease.name))),
      instant: () => time.clock.currentTimeMillisUnsafe(),
      reseed: server.reseed,
      isRestless: () => false
    }
  })
