/** The children of an object: the objects that it controls, of the kinds that the controllers own. */
import { isUnserved } from "@homeostat/runtime/client/ApiError"
import * as Client from "@homeostat/runtime/client/Client"
import { controllerOf, keyOf, type ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as Effect from "effect/Effect"
import type { Step, Story } from "./Story.ts"

/** Deletes the children of an object. The cluster may lack an optional kind. */
export const remove = (kind: Resource.Any, key: ObjectKey, controllers: Story["controllers"]): Step["act"] =>
  Effect.gen(function* () {
    const owner = yield* Client.get(Resource.metadataOnly(kind), key)
    const owned = controllers.flatMap(({ triggers }) => triggers.filter(({ relation }) => relation === "owned"))
    for (const { optional, resource } of owned) {
      const list = Client.list(Resource.metadataOnly(resource), { namespace: key.namespace })
      const { items } = yield* Effect.catchTag(list, "NotFound", (error) =>
        optional && isUnserved(error) ? Effect.succeed({ items: [] }) : error
      )
      for (const item of items) {
        if (controllerOf(item)?.uid === owner.metadata.uid) yield* Client.delete(resource, keyOf(item))
      }
    }
  })
