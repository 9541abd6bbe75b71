/** The test that explores the Widget of the guide. */
import { BuiltIn, Controller, CustomResource, Owned, Result, Status } from "@homeostat/runtime"
import * as Explore from "@homeostat/testkit/Explore"
import { Effect, Schema } from "effect"

const Widget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({
    replicas: Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 10 }))).pipe(
      Schema.withDecodingDefaultType(Effect.succeed(1))
    )
  }),
  status: Schema.Struct({
    availableReplicas: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)))
  })
})

const controller = Controller.make("widget", {
  for: Widget,
  owns: [BuiltIn.Deployment],
  reconcile: (widget) =>
    Effect.gen(function* () {
      const { name } = widget.metadata
      const labels = { widget: name }
      const deployment = yield* Owned.apply(widget, BuiltIn.Deployment, {
        metadata: { name },
        spec: {
          replicas: widget.spec.replicas,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: "nginx", image: "nginx:1.27" }] } }
        }
      })
      yield* Status.update(widget, { availableReplicas: deployment.status?.availableReplicas ?? 0 })
      return Result.done
    })
})

/** Declares the test. */
export const test = (options: Explore.Options): void =>
  Explore.kind("a Widget survives every fault", Widget, {
    ...options,
    controllers: [controller],
    specs: [{ replicas: 3 }, { replicas: 1 }]
  })
