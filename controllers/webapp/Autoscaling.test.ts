import { describe, expect, test } from "bun:test"
import type { Deployment, HorizontalPodAutoscaler } from "@homeostat/runtime/resource/BuiltIn"
import * as Autoscaling from "./Autoscaling.ts"
import type { WebApp } from "./WebApp.ts"

const metadata = {
  name: "shop",
  namespace: "default",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-11-20T08:00:00Z"
}
const range = { min: 3, max: 6 }

const app = (spec: Partial<WebApp["spec"]> = {}): WebApp => ({
  metadata,
  spec: { image: "nginx:1.27", replicas: 2, port: 8080, ...spec }
})

const running = (replicas: number, annotation?: string): Deployment => ({
  metadata: {
    ...metadata,
    ...(annotation === undefined ? {} : { annotations: { [Autoscaling.replicasAnnotation]: annotation } })
  },
  spec: { replicas, selector: {}, template: {} }
})

type Status = HorizontalPodAutoscaler["status"]

const autoscaler = (over: object = {}, kind = "Deployment", status?: Status): HorizontalPodAutoscaler => ({
  metadata: { ...metadata, name: "other", ...over },
  spec: { scaleTargetRef: { apiVersion: "apps/v1", kind, name: "shop" }, maxReplicas: 9 },
  ...(status === undefined ? {} : { status })
})

const controlled = (uid: string) => ({
  name: "shop",
  ownerReferences: [{ apiVersion: "apps.kubedojo.io/v1beta1", kind: "WebApp", name: "shop", uid, controller: true }]
})
const own = autoscaler(controlled("u"))
const orphan = autoscaler({ name: "shop", annotations: { "homeostat.dev/intent": "h" } })
const foreign = autoscaler()
const ofWebApp = autoscaler({}, "WebApp")
const wanting = (of: HorizontalPodAutoscaler, desiredReplicas: number) => ({ ...of, status: { desiredReplicas } })

describe("the replicas of the Deployment", () => {
  for (const [title, spec, existing, autoscalers, by, replicas] of [
    ["come from the spec", {}, undefined, [], "Spec", 2],
    ["come from another autoscaler", {}, running(5), [foreign], "Others", 2],
    ["come from the spec as long as another autoscaler has no Deployment", {}, undefined, [foreign], "Spec", 2],
    ["stay when another autoscaler is deleted", {}, running(5, "2"), [], "Others", 2],
    ["come from the spec again once it asks for another number", {}, running(5, "3"), [], "Spec", 2],
    ["come from the spec if an autoscaler sets the spec", {}, running(2), [ofWebApp], "Spec", 2],
    ["start within the range of the autoscaler", { autoscaling: range }, undefined, [], "Spec", 3],
    ["start with those of the spec", { autoscaling: range, replicas: 5 }, undefined, [], "Spec", 5],
    ["start with the most of the autoscaler at most", { autoscaling: range, replicas: 9 }, undefined, [], "Spec", 6],
    ["start with two without a minimum", { autoscaling: { max: 6 }, replicas: 1 }, undefined, [], "Spec", 2],
    ["start with those of the own autoscaler", { autoscaling: range }, undefined, [wanting(own, 5)], "Spec", 5],
    ["start within its present range", { autoscaling: range }, undefined, [wanting(own, 9)], "Spec", 6],
    ["start without it before it has a number", { autoscaling: range }, undefined, [wanting(own, 0)], "Spec", 3],
    ["start without it if the spec does not want it", {}, undefined, [wanting(own, 5)], "Spec", 2],
    ["start with 0", { autoscaling: range, replicas: 0 }, undefined, [wanting(own, 5)], "Spec", 0],
    ["start with those of another autoscaler", {}, undefined, [wanting(foreign, 5)], "Spec", 5],
    ["start without an autoscaler of the WebApp", {}, undefined, [wanting(ofWebApp, 5)], "Spec", 2],
    ["come from the own autoscaler", { autoscaling: range }, running(5), [own], "Autoscaler", 3],
    ["come from the own autoscaler before it exists", { autoscaling: range }, running(5), [], "Autoscaler", 3],
    ["are 0 if the spec says so", { autoscaling: range, replicas: 0 }, running(5), [own], "Spec", 0],
    ["start again", { autoscaling: range, replicas: 4 }, running(0), [own], "Spec", 4],
    ["come from the own autoscaler until it is gone", {}, running(5), [own], "Autoscaler", 2],
    ["come from the spec when the own autoscaler is gone", {}, running(5), [], "Spec", 2],
    ["are 0 although the own autoscaler is not gone", { replicas: 0 }, running(5), [own], "Spec", 0],
    ["come from another autoscaler before the own", { autoscaling: range }, running(5), [own, foreign], "Others", 2],
    [
      "come from the spec if an autoscaler of the WebApp comes first",
      { autoscaling: range },
      running(5),
      [ofWebApp],
      "Spec",
      2
    ]
  ] as const) {
    test(title, () => expect(Autoscaling.of(app(spec), existing, autoscalers)).toMatchObject({ by, replicas }))
  }
})

describe("the controller keeps an autoscaler", () => {
  for (const [title, spec, autoscalers, isWanted] of [
    ["not by default", {}, [], false],
    ["for the field", { autoscaling: range }, [own], true],
    ["while the application is stopped", { autoscaling: range, replicas: 0 }, [own], true],
    ["that it left behind", { autoscaling: range }, [orphan], true],
    ["not beside one of the Deployment", { autoscaling: range }, [own, foreign], false],
    ["not beside one of the WebApp", { autoscaling: range }, [ofWebApp], false],
    ["not beside one of an earlier WebApp", { autoscaling: range }, [autoscaler(controlled("v"))], false]
  ] as const) {
    test(title, () => expect(Autoscaling.of(app(spec), running(3), autoscalers).isWanted).toBe(isWanted))
  }
  const metricsOf = (fields: object) => Autoscaling.desired(app(), { max: 6, ...fields }, { app: "shop" }).spec?.metrics
  const metric = (name: string, averageUtilization: number) => ({
    type: "Resource",
    resource: { name, target: { type: "Utilization", averageUtilization } }
  })
  test("of its Deployment, with 80% of the CPU", () =>
    expect(Autoscaling.desired(app(), range, { app: "shop" })).toEqual({
      metadata: { name: "shop", labels: { app: "shop" } },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "shop" },
        minReplicas: 3,
        maxReplicas: 6,
        metrics: [metric("cpu", 80)]
      }
    }))
  test("with the utilization of the spec", () => {
    expect(metricsOf({ cpu: 50 })).toEqual([metric("cpu", 50)])
    expect(metricsOf({ memory: 70 })).toEqual([metric("memory", 70)])
    expect(metricsOf({ cpu: 50, memory: 70 })).toEqual([metric("cpu", 50), metric("memory", 70)])
  })
})

describe("the condition Autoscaled", () => {
  const conditions = (
    ...all: ReadonlyArray<readonly [type: string, status: string, reason?: string, message?: string]>
  ) => ({
    object: autoscaler(controlled("u"), "Deployment", {
      currentMetrics: [],
      desiredReplicas: 3,
      conditions: all.map(([type, status, reason = "", message = ""]) => ({ type, status, reason, message }))
    })
  })
  const conditionOf = (
    seen: Parameters<typeof Autoscaling.condition>[2],
    spec: Partial<WebApp["spec"]> = { autoscaling: range },
    others: ReadonlyArray<HorizontalPodAutoscaler> = []
  ) => {
    const found = Autoscaling.condition(app(spec), Autoscaling.of(app(spec), running(3), others), seen)
    return found && `${found.type} ${found.status} ${found.reason}: ${found.message}`
  }
  const failed = "the HPA was unable to compute the replica count: failed to get cpu utilization: "

  for (const [title, text, of] of [
    ["is absent without the field", undefined, conditionOf({}, {})],
    [
      "is Unknown before the HPA controller has reported",
      "Autoscaled Unknown ScalingUnknown: HorizontalPodAutoscaler shop has no status yet",
      conditionOf({ object: own })
    ],
    [
      "is True while the autoscaler works",
      "Autoscaled True ScalingActive: HorizontalPodAutoscaler shop keeps 3 to 6 replicas",
      conditionOf(conditions(["AbleToScale", "True"], ["ScalingActive", "True", "ValidMetricFound", "able"]))
    ],
    [
      "has the reason and the message of the autoscaler",
      "Autoscaled False FailedGetResourceMetric: no metrics returned",
      conditionOf(
        conditions(
          ["AbleToScale", "True"],
          ["ScalingActive", "False", "FailedGetResourceMetric", "no metrics returned"]
        )
      )
    ],
    [
      "names the missing request, and no pod",
      "Autoscaled False FailedGetResourceMetric: container app has no request for cpu (set spec.resources.requests.cpu)",
      conditionOf(
        conditions([
          "ScalingActive",
          "False",
          "FailedGetResourceMetric",
          `${failed}missing request for cpu in container app of Pod shop-5-x`
        ])
      )
    ],
    [
      "says that the autoscaler cannot scale",
      "Autoscaled False FailedUpdateScale: forbidden",
      conditionOf(conditions(["AbleToScale", "False", "FailedUpdateScale", "forbidden"], ["ScalingActive", "True"]))
    ],
    [
      "says that the application is stopped",
      "Autoscaled False ScaledToZero: spec.replicas is 0",
      conditionOf(conditions(["ScalingActive", "False", "ScalingDisabled"]), { autoscaling: range, replicas: 0 })
    ],
    [
      "names another autoscaler of the Deployment",
      "Autoscaled False OtherAutoscaler: HorizontalPodAutoscaler other already scales Deployment shop (delete it, or remove spec.autoscaling)",
      conditionOf({}, { autoscaling: range }, [foreign])
    ],
    [
      "names another autoscaler of the WebApp",
      "Autoscaled False OtherAutoscaler: HorizontalPodAutoscaler other already scales WebApp shop (delete it, or remove spec.autoscaling)",
      conditionOf({}, { autoscaling: range }, [ofWebApp])
    ],
    [
      "says why the autoscaler was not applied",
      "Autoscaled False NotOwned: taken",
      conditionOf({ problem: { reason: "NotOwned", message: "taken" } })
    ]
  ] as const) {
    test(title, () => expect(of).toBe(text))
  }
})
