/** The test that explores the Widget of the guide. */
import { BuiltIn, Controller, CustomResource, Owned, Result, Status } from "@homeostat/runtime"
import * as Explore from "@homeostat/testkit/Explore"
import { Effect, Schema } from "effect"

const Widget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({
    replicas: Schema.optionalWith(Schema.Int.pipe(Schema.between(0, 10)), { default: () => 1 })
  }),
  status: Schema.Struct({
    availableReplicas: Schema.optionalWith(Schema.NonNegativeInt, { exact: true })
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
