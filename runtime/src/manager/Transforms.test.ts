import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Transform from "../cache/Transform.ts"
import * as Controller from "../controller/Controller.ts"
import * as Intent from "../controller/Intent.ts"
import * as Result from "../controller/Result.ts"
import * as RunnerFixture from "../controller/Runner.fixture.ts"
import * as Trigger from "../controller/Trigger.ts"
import { settle, Widget, widget, withWorld } from "../controller/World.fixture.ts"
import { ConfigMap, Deployment, Pod, Secret } from "../resource/BuiltIn.ts"
import type { KubernetesObject, ObjectMeta } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Transforms from "./Transforms.ts"

const reconcile = () => Effect.succeed(Result.done)
const widgets = Controller.make("widgets", {
  for: Widget,
  owns: [Deployment, ConfigMap, Resource.metadataOnly(Secret)],
  watches: [Trigger.on(Pod, { map: () => [] })],
  reconcile
})

const object = (metadata: Partial<ObjectMeta> = {}): KubernetesObject & { readonly spec: object } => ({
  metadata: { namespace: "a", name: "x", uid: "u", resourceVersion: "1", creationTimestamp: "", ...metadata },
  spec: { replicas: 1 }
})

const ownedBy = (apiVersion: string, kind: string) =>
  object({ ownerReferences: [{ apiVersion, kind, name: "o", uid: "any", controller: true }] })

describe("The cache of a program", () => {
  const keep = (resource: Resource.Any, kept: KubernetesObject) => {
    const transform = Transforms.of([widgets])(resource)
    return transform === undefined ? kept : transform.apply(kept)
  }
  const { apiVersion, kind } = { apiVersion: Resource.apiVersionOf(Widget), kind: Widget.kind }

  test("keeps reconciled and watched objects whole, and metadata unchanged", () => {
    for (const resource of [Widget, Pod, Resource.metadataOnly(Secret)]) {
      expect(Transforms.of([widgets])(resource)).toBeUndefined()
    }
  })

  test("keeps whole objects that one of its controllers owns or owned, in any version", () => {
    const [group = ""] = apiVersion.split("/")
    for (const whole of [
      ownedBy(apiVersion, kind),
      ownedBy(`${group}/v9`, kind),
      object({ annotations: { [Intent.intentAnnotation]: "abc" } })
    ]) {
      expect(keep(Deployment, whole)).toBe(whole)
    }
  })

  test("keeps only the identity of objects with another owner", () => {
    for (const others of [
      object(),
      ownedBy("apps/v1", "ReplicaSet"),
      ownedBy("v1", kind),
      ownedBy(apiVersion, "Gadget"),
      object({ labels: { a: "b" }, annotations: { "example.com/adopt": "true" } })
    ]) {
      const kept = keep(Deployment, others)
      expect(Transform.isPartial(Deployment, kept)).toBe(true)
      expect(kept.metadata).toEqual(object().metadata)
    }
  })

  test("keeps whole objects that another controller watches", () => {
    const others = Controller.make("others", {
      for: Widget,
      watches: [Trigger.on(Deployment, { select: { labels: "a=b" }, map: () => [] })],
      reconcile
    })
    expect(Transforms.of([widgets, others])(Deployment)).toBeUndefined()
    expect(Transforms.of([widgets, others])(ConfigMap)).toBeDefined()
  })

  test("uses the transform of a controller, which two controllers must share", () => {
    const nothing = Transform.of(Deployment, (deployment) => deployment)
    const using = (name: string, transform: Transform.Transform) =>
      Controller.make(name, { for: Widget, owns: [Deployment], transforms: [transform], reconcile })
    expect(Transforms.of([widgets, using("one", nothing), using("two", nothing)])(Deployment)).toBe(nothing)
    expect(() =>
      Transforms.of([
        using("one", nothing),
        using(
          "two",
          Transform.of(Deployment, ({ metadata }) => ({ metadata }))
        )
      ])
    ).toThrow("controller two has another transform for deployments.apps than a controller before it")
  })
})

describe("The caches of two managers", () => {
  effect(
    "share an informer only if both keep the same objects",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.put(ConfigMap, { metadata: { name: "settings", labels: { widget: "a" } } })
        const owning = Controller.make("owning", { for: Widget, owns: [ConfigMap], reconcile })
        const watching = Controller.make("watching", {
          for: Widget,
          predicate: () => false,
          watches: [
            Trigger.on(ConfigMap, {
              map: ({ metadata: { labels, namespace } }) =>
                labels?.widget === undefined ? [] : [{ namespace, name: labels.widget }]
            })
          ],
          reconcile
        })
        const start = (controller: typeof owning) =>
          RunnerFixture.start(controller, { gracePeriod: 0, transformOf: Transforms.of([controller]) })
        const [first, second] = [yield* start(owning), yield* start(owning)]
        expect(first.informers).toEqual(second.informers)
        yield* start(watching)
        yield* settle
        expect(attempts.filter(({ controller }) => controller === "watching").map(({ key }) => key)).toEqual([
          "default/a"
        ])
      })
    )
  )
})
