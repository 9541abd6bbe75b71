/** The steps of the life of an object. */
import * as Client from "@homeostat/runtime/client/Client"
import type * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"
import * as Children from "./Children.ts"
import type { Step, Story } from "./Story.ts"

/** The parts of a life. */
export interface Life<Spec> {
  readonly controllers: Story["controllers"]
  readonly key: { readonly namespace: string; readonly name: string }
  /** The specs that the object gets, one after the other. */
  readonly specs: readonly [Spec, ...ReadonlyArray<Spec>]
  /** Further steps before the deletion. */
  readonly steps?: ReadonlyArray<Step> | undefined
  /** The time that passes after each step without a time of its own. */
  readonly passes?: Step["passes"]
}

/** Returns the steps of an object, and those of a new object with its name. */
export const steps = <Spec, SpecEncoded, Status>(
  kind: CustomResource.CustomResource<Spec, SpecEncoded, Status>,
  { controllers, key, passes, specs, steps = [] }: Life<SpecEncoded>
): ReadonlyArray<Step> => {
  const [first, ...others] = specs
  const last = specs.at(-1) ?? first
  const all: ReadonlyArray<Step> = [
    { name: "create", act: Client.create(kind, { metadata: key, spec: first }) },
    ...others.map((spec, index) => ({
      name: `spec ${index + 2}`,
      act: Effect.flatMap(Client.get(Resource.metadataOnly(kind), key), ({ metadata }) =>
        Client.replace(kind, { metadata, spec } as never)
      )
    })),
    { name: "children deleted", act: Children.remove(kind, key, controllers) },
    ...steps,
    { name: "delete", act: Client.delete(kind, key) },
    {
      name: "create again",
      // A finalizer may still keep the old object, which is a violation of its own.
      act: Effect.catchTag(Client.create(kind, { metadata: key, spec: last }), "AlreadyExists", () => Effect.void),
      // Only the memory of a process can confuse the new object with the old one.
      faults: false
    },
    { name: "delete again", act: Client.delete(kind, key), faults: false }
  ]
  return all.map((one) => ({ ...one, passes: one.passes ?? passes }))
}
