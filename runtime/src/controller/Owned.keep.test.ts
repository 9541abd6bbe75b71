/** Children that `Owned.all` neither changes nor removes. */
import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import { keyOf } from "../resource/KubernetesObject.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import { counted, run, settle, Widget, widget, withWorld } from "./World.fixture.ts"

/** A Widget of size 1 applies a ConfigMap of its name. One of size 2 keeps it, and one of size 3 lists no child. */
const keeps = {
  owns: [Owned.kind(ConfigMap, { removes: true })],
  ...counted((_, owner) =>
    Effect.gen(function* () {
      const { name } = owner.metadata
      const existing = Option.getOrUndefined(yield* Cache.get(ConfigMap, keyOf(owner)))
      if (owner.spec.size === 1)
        yield* Owned.all(owner, [Owned.child(ConfigMap, { metadata: { name }, data: { a: "1" } })])
      else yield* Owned.all(owner, existing && owner.spec.size === 2 ? [Owned.keep(ConfigMap, existing)] : [])
      return Result.done
    })
  )
}

describe("a child that is kept", () => {
  effect(
    "is not changed, whatever others change, and not removed before it leaves the list",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run(keeps)
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        server.change(ConfigMap, "a", { data: { a: "2" } })
        yield* settle
        expect(server.get(ConfigMap, "a")?.data).toEqual({ a: "2" })
        expect(server.writes().filter(({ path }) => path.includes("configmaps"))).toHaveLength(1)
        server.change(Widget, "a", { spec: { size: 3 } })
        yield* settle
        expect(server.get(ConfigMap, "a")).toBeUndefined()
      })
    )
  )
})
