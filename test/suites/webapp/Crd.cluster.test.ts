/** Tests of the WebApp kind, as the API server validates it by its CRD. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { CustomResourceDefinition } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Schema } from "effect"
import * as Scene from "./Scene.ts"

/** The part of a response of the API server that the tests compare. */
const Answer = Schema.fromJsonString(
  Schema.Struct({
    message: Schema.optional(Schema.String),
    details: Schema.optional(
      Schema.Struct({
        causes: Schema.optional(Schema.Array(Schema.Struct({ field: Schema.optional(Schema.String) })))
      })
    )
  })
)

/** Creates a WebApp. Returns the status code, and the fields in the error of the API server. */
const ask = (scene: Scene.Scene, spec: object, name = "shop") =>
  Effect.gen(function* () {
    const { body, status } = yield* scene.cluster.request(
      "POST",
      `/apis/apps.kubedojo.io/v1beta1/namespaces/${scene.namespace}/webapps?fieldValidation=Strict`,
      { body: { apiVersion: "apps.kubedojo.io/v1beta1", kind: "WebApp", metadata: { name }, spec } }
    )
    const answer = yield* Schema.decodeUnknownEffect(Answer)(body)
    const complaints = answer.details?.causes?.map(({ field = "" }) => field.replace(/^\./, "")) ?? []
    // `<nil>` means that the API server skipped some rules because of other errors.
    const fields = new Set(complaints.filter((field) => field !== "<nil>"))
    return { status, fields: [...fields], message: answer.message ?? "" }
  })

/** Expects that the API server rejects each spec because of its field, and stores nothing. */
const refused = (scene: Scene.Scene, specs: ReadonlyArray<readonly [field: string, spec: object]>) =>
  Effect.gen(function* () {
    for (const [field, spec] of specs) {
      expect([spec, yield* ask(scene, spec)]).toMatchObject([spec, { status: 422, fields: [field] }])
    }
    expect((yield* Client.list(WebApp, { namespace: scene.namespace })).items).toEqual([])
  })

const image = "registry.test/web:1"

/** Returns an environment variable with this source. */
const from = (valueFrom: object) => ({ name: "A", valueFrom })

describe.concurrent("the WebApp kind", () => {
  Scene.empty("the definition is accepted, with a structural schema", () =>
    Effect.gen(function* () {
      const { status } = yield* Client.get(CustomResourceDefinition, { name: "webapps.apps.kubedojo.io" })
      const conditions = new Map(status?.conditions?.map(({ status, type }) => [type, status]))
      expect(Object.fromEntries(conditions)).toMatchObject({ NamesAccepted: "True", Established: "True" })
      expect(conditions.has("NonStructuralSchema")).toBe(false)
    })
  )

  Scene.empty("it rejects an invalid range of replicas, and a budget with no field or with both", (scene) =>
    refused(scene, [
      ["spec.autoscaling", { image, autoscaling: { min: 3, max: 2 } }],
      ["spec.autoscaling", { image, autoscaling: { max: 1 } }],
      ["spec.autoscaling.min", { image, autoscaling: { min: 0, max: 2 } }],
      ["spec.autoscaling.cpu", { image, autoscaling: { max: 2, cpu: 0 } }],
      ["spec.disruptionBudget", { image, disruptionBudget: {} }],
      ["spec.disruptionBudget", { image, disruptionBudget: { maxUnavailable: 1, none: {} } }],
      ["spec.disruptionBudget.maxUnavailable", { image, disruptionBudget: { maxUnavailable: 0 } }],
      ["spec.disruptionBudget.maxUnavailable", { image, disruptionBudget: { maxUnavailable: "0%" } }],
      ["spec.disruptionBudget.maxUnavailable", { image, disruptionBudget: { maxUnavailable: "2" } }]
    ])
  )

  Scene.empty(
    "it has the names, columns, defaults and bounds of the tutorial's definition, and accepts 0 replicas",
    () =>
      Effect.gen(function* () {
        const { spec } = yield* Client.get(CustomResourceDefinition, { name: "webapps.apps.kubedojo.io" })
        expect(spec).toMatchObject({
          group: "apps.kubedojo.io",
          scope: "Namespaced",
          names: { kind: "WebApp", listKind: "WebAppList", plural: "webapps", singular: "webapp", shortNames: ["wa"] }
        })
        expect(spec.versions).toHaveLength(1)
        expect(spec.versions[0]).toMatchObject({
          name: "v1beta1",
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
            { name: "Reason", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
            { name: "Since", type: "date", jsonPath: '.status.conditions[?(@.type=="Ready")].lastTransitionTime' },
            { name: "Paused", type: "string", jsonPath: '.status.conditions[?(@.type=="Paused")].status' },
            { name: "Image", type: "string", jsonPath: ".spec.image" },
            { name: "Replicas", type: "integer", jsonPath: ".spec.replicas" },
            { name: "Ready Pods", type: "integer", jsonPath: ".status.readyReplicas" },
            { name: "URL", type: "string", jsonPath: ".status.url" },
            { name: "Phase", type: "string", jsonPath: ".status.phase", priority: 1 },
            { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
          ],
          schema: {
            openAPIV3Schema: {
              properties: {
                spec: {
                  required: ["image"],
                  properties: {
                    image: { type: "string" },
                    replicas: { type: "integer", minimum: 0, maximum: 50, default: 2 },
                    port: { type: "integer", minimum: 1, maximum: 65_535, default: 8080 }
                  }
                },
                status: { properties: { readyReplicas: { type: "integer" }, phase: { type: "string" } } }
              }
            }
          }
        })
      })
  )

  Scene.empty("a WebApp with only an image gets two replicas and port 8080, which are stored", (scene) =>
    Effect.gen(function* () {
      expect(yield* ask(scene, { image })).toMatchObject({ status: 201 })
      const { spec, status } = yield* Scene.app(scene, "shop")
      expect(spec).toEqual({ image, replicas: 2, port: 8080 })
      expect(status).toEqual({ observedGeneration: -1 })
    })
  )

  Scene.empty("the spec of the tutorial's manifest is stored field for field", (scene) =>
    Effect.gen(function* () {
      const spec = { image: "nginx:1.27", replicas: 3, port: 80 }
      expect(yield* ask(scene, spec)).toMatchObject({ status: 201 })
      expect((yield* Scene.app(scene, "shop")).spec).toEqual(spec)
    })
  )

  Scene.empty("the API server rejects replicas outside 0 to 50 and ports outside 1 to 65535", (scene) =>
    refused(scene, [
      ["spec.replicas", { image, replicas: -1 }],
      ["spec.replicas", { image, replicas: 51 }],
      ["spec.replicas", { image, replicas: 1.5 }],
      ["spec.port", { image, port: 0 }],
      ["spec.port", { image, port: 65_536 }],
      ["spec.port", { image, port: "http" }]
    ])
  )

  Scene.empty("their bounds are not", (scene) =>
    Effect.gen(function* () {
      expect(yield* ask(scene, { image, replicas: 0, port: 1 }, "low")).toMatchObject({ status: 201 })
      expect(yield* ask(scene, { image, replicas: 50, port: 65_535 }, "high")).toMatchObject({ status: 201 })
    })
  )

  Scene.empty("an image that is missing, empty or has blanks is refused by name", (scene) =>
    refused(scene, [
      ["spec.image", {}],
      ["spec.image", { image: "" }],
      ["spec.image", { image: "web 1" }]
    ])
  )

  Scene.empty("names that a Service cannot have are rejected at once, with the reason", (scene) =>
    Effect.gen(function* () {
      for (const name of ["1app", "my.app", "a".repeat(64)]) {
        const answer = yield* ask(scene, { image }, name)
        expect([name, answer]).toMatchObject([name, { status: 422, fields: ["metadata.name"] }])
        expect(answer.message).toContain("the name becomes a Service's")
      }
      for (const name of ["a", "my-app", "app1", "a".repeat(63)]) {
        expect([name, yield* ask(scene, { image }, name)]).toMatchObject([name, { status: 201 }])
      }
    })
  )

  Scene.empty(
    "variables with two sources, none that is known, twice the same name, or a bad name are refused",
    (scene) =>
      refused(scene, [
        [
          "spec.env[0]",
          { image, env: [{ name: "A", value: "1", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] }
        ],
        ["spec.env[0].valueFrom", { image, env: [{ name: "A", valueFrom: {} }] }],
        [
          "spec.env[0].valueFrom",
          {
            image,
            env: [
              {
                name: "A",
                valueFrom: { secretKeyRef: { name: "s", key: "k" }, configMapKeyRef: { name: "c", key: "k" } }
              }
            ]
          }
        ],
        [
          "spec.env[0].valueFrom.secretKeyRef.key",
          { image, env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s" } } }] }
        ],
        [
          "spec.env[1]",
          {
            image,
            env: [
              { name: "A", value: "1" },
              { name: "A", value: "2" }
            ]
          }
        ],
        ["spec.env[0].name", { image, env: [{ name: "1A", value: "1" }] }],
        ["spec.env[0].name", { image, env: [{ value: "1" }] }]
      ])
  )

  Scene.empty("an invalid quantity is rejected by name", (scene) =>
    refused(scene, [
      ["spec.resources.requests.cpu", { image, resources: { requests: { cpu: "much" } } }],
      ["spec.resources.limits.memory", { image, resources: { limits: { memory: "-1 GB" } } }]
    ])
  )

  Scene.empty("what the Deployment would refuse is refused at once, by name", (scene) =>
    refused(scene, [
      ["spec.resources", { image, resources: { requests: { cpu: "1500m" }, limits: { cpu: 1 } } }],
      ["spec.resources", { image, resources: { requests: { memory: "1Gi" }, limits: { memory: "1G" } } }],
      [
        "spec.resources",
        { image, resources: { requests: { "ephemeral-storage": 2 }, limits: { "ephemeral-storage": "1" } } }
      ],
      ["spec.resources.requests.cpu", { image, resources: { requests: { cpu: -1 } } }],
      ["spec.resources.limits.memory", { image, resources: { limits: { memory: "-1Mi" } } }],
      ["spec.env[0].valueFrom.secretKeyRef.key", { image, env: [from({ secretKeyRef: { name: "s", key: "a/b" } })] }],
      ["spec.env[0].valueFrom.secretKeyRef.key", { image, env: [from({ secretKeyRef: { name: "s", key: "..a" } })] }],
      [
        "spec.env[0].valueFrom.configMapKeyRef.key",
        { image, env: [from({ configMapKeyRef: { name: "c", key: "." } })] }
      ],
      [
        "spec.env[0].valueFrom.configMapKeyRef.name",
        { image, env: [from({ configMapKeyRef: { name: "A_B", key: "k" } })] }
      ],
      ["spec.env[0].valueFrom.secretKeyRef.name", { image, env: [from({ secretKeyRef: { name: "A B", key: "k" } })] }],
      ["spec.env[0].name", { image, env: [{ name: "..", value: "1" }] }]
    ])
  )

  Scene.empty("the API server rejects probes, volumes and times that contradict themselves", (scene) =>
    refused(scene, [
      ["spec.probes.readiness", { image, probes: { readiness: {} } }],
      ["spec.probes.readiness", { image, probes: { readiness: { tcp: {}, none: {} } } }],
      ["spec.probes.liveness", { image, probes: { liveness: { http: { path: "/" }, command: ["true"] } } }],
      ["spec.probes.startup.http.path", { image, probes: { startup: { http: { path: "up" } } } }],
      ["spec.probes.liveness.tcp.port", { image, probes: { liveness: { tcp: { port: 0 } } } }],
      ["spec.volumes[0]", { image, volumes: [{ name: "a", mountPath: "/a" }] }],
      ["spec.volumes[0]", { image, volumes: [{ name: "a", mountPath: "/a", claim: "c", emptyDir: {} }] }],
      ["spec.volumes[0].mountPath", { image, volumes: [{ name: "a", mountPath: "a", emptyDir: {} }] }],
      [
        "spec.volumes",
        {
          image,
          volumes: [
            { name: "a", mountPath: "/a", emptyDir: {} },
            { name: "b", mountPath: "/a", emptyDir: {} }
          ]
        }
      ],
      ["spec.volumes[0].subPath", { image, volumes: [{ name: "a", mountPath: "/a", subPath: "/b", emptyDir: {} }] }],
      ["spec.volumes[0].subPath", { image, volumes: [{ name: "a", mountPath: "/a", subPath: "b/..", emptyDir: {} }] }],
      [
        "spec.env[0].valueFrom.fieldRef.fieldPath",
        { image, env: [from({ fieldRef: { fieldPath: "metadata.labels['a b']" } })] }
      ],
      ["spec.termination", { image, termination: { drainSeconds: 30 } }],
      ["spec.termination", { image, termination: { gracePeriodSeconds: 5 } }],
      ["spec.strategy", { image, strategy: "Fast" }],
      ["spec.security", { image, security: "Privileged" }],
      ["spec.command", { image, command: [] }],
      ["spec.podTemplate.metadata.labels.a", { image, podTemplate: { metadata: { labels: { a: " " } } } }],
      [
        "spec.env[0].valueFrom",
        { image, env: [from({ fieldRef: { fieldPath: "spec.nodeName" }, secretKeyRef: { name: "s", key: "k" } })] }
      ],
      ["spec.env[0].valueFrom.fieldRef.fieldPath", { image, env: [from({ fieldRef: { fieldPath: "spec.volumes" } })] }]
    ])
  )

  Scene.empty("the API server rejects a configuration that contradicts itself", (scene) =>
    refused(scene, [
      ["spec.config[0]", { image, config: [{ mountPath: "/a" }] }],
      ["spec.config[0]", { image, config: [{ configMap: "a", secret: "a", mountPath: "/a" }] }],
      ["spec.config[0]", { image, config: [{ configMap: "a" }] }],
      ["spec.config[0]", { image, config: [{ configMap: "a", mountPath: "/a", env: {} }] }],
      ["spec.config[0].mountPath", { image, config: [{ configMap: "a", mountPath: "a" }] }],
      ["spec.config[0].configMap", { image, config: [{ configMap: "A", env: {} }] }],
      ["spec.config[0].keys", { image, config: [{ configMap: "a", env: {}, keys: [] }] }],
      ["spec.config[0].keys[0]", { image, config: [{ configMap: "a", env: {}, keys: ["a/b"] }] }],
      ["spec.config[0].env.prefix", { image, config: [{ configMap: "a", env: { prefix: "1" } }] }],
      [
        "spec.config",
        {
          image,
          config: [
            { configMap: "a", mountPath: "/a" },
            { secret: "b", mountPath: "/a" }
          ]
        }
      ],
      [
        "spec",
        {
          image,
          config: [{ configMap: "a", mountPath: "/a" }],
          volumes: [{ name: "a", mountPath: "/a", emptyDir: {} }]
        }
      ]
    ])
  )

  Scene.empty("what it would accept is accepted", (scene) =>
    Effect.gen(function* () {
      const amounts = { cpu: "1000m", memory: "0.5Gi", "ephemeral-storage": 0 }
      const spec = {
        image,
        resources: { requests: amounts, limits: { cpu: 1, memory: "512Mi", "ephemeral-storage": "1Ki" } },
        volumes: [
          { name: "a", mountPath: "/a", subPath: "b/..c", emptyDir: { sizeLimit: 0 } },
          { name: "b", mountPath: "/a/", emptyDir: {} }
        ],
        env: [
          { ...from({ fieldRef: { fieldPath: "metadata.annotations['a.example/b_C']" } }), name: "C" },
          from({ secretKeyRef: { name: "my.secret-1", key: ".dot_-Key" } }),
          { ...from({ configMapKeyRef: { name: "c", key: "k..k" } }), name: ".B" }
        ]
      }
      expect(yield* ask(scene, spec, "all")).toMatchObject({ status: 201 })
      expect(yield* ask(scene, { image, resources: { requests: { cpu: 2 } } }, "part")).toMatchObject({ status: 201 })
    })
  )
})
