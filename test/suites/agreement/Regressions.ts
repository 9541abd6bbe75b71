/** Sequences on which the two servers once disagreed, as they were shrunk from the seed that found them. */
import type { JsonObject } from "@homeostat/testkit/server/Json"
import * as J from "@homeostat/testkit/server/Json"
import type { Sequence } from "./Agreement.ts"
import * as BuiltIns from "./BuiltIns.ts"
import type { Step } from "./Step.ts"

/** A sequence, the seed that found it (0: it was thought of), and what was wrong. */
export interface Regression extends Sequence {
  readonly seed: number
  readonly name: string
}

const { configMap, deployment, job, service } = BuiltIns

const create = (body: JsonObject = {}): Step => ({ verb: "create", by: "ann", body })
const remove: Step = { verb: "delete", body: {}, version: "live" }

const owner = { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "other" }

/** The spec of a base, and more of it. */
const spec = (base: JsonObject, more: JsonObject = {}): JsonObject => ({
  spec: { ...J.object(base.spec), ...more }
})

const parcels: ReadonlyArray<Regression> = [
  {
    seed: 1000,
    name: "an apply to the scale of an object whose replicas nobody owns",
    kind: "Parcel",
    steps: [create({ spec: {} }), { verb: "apply", by: "ann", body: {}, subresource: "scale" }]
  },
  {
    seed: 2078,
    name: "a patch of the scale of an object that has no replicas, which says none either",
    kind: "Parcel",
    steps: [create({ spec: {} }), { verb: "merge", by: "ann", body: {}, subresource: "scale" }]
  },
  {
    seed: 4012,
    name: "an unknown field in the scale, strictly",
    kind: "Parcel",
    steps: [
      create({ spec: {} }),
      {
        verb: "edit",
        by: "ann",
        body: { unknown: "a" },
        version: "live",
        query: { fieldValidation: "Strict" },
        subresource: "scale"
      }
    ]
  },
  {
    seed: 1012,
    name: "an apply of a selfLink",
    kind: "Parcel",
    steps: [create({ spec: {} }), { verb: "apply", by: "ann", body: { spec: {}, metadata: { selfLink: "/a" } } }]
  },
  {
    seed: 100557,
    name: "a name that is taken, of an object that could have had another one",
    kind: "Parcel",
    steps: [create({ spec: {} }), create({ spec: {}, metadata: { generateName: "a-" } })]
  },
  {
    seed: 200544,
    name: "a deletion with a precondition that takes finalizers and object at once",
    kind: "Parcel",
    steps: [
      create({ spec: {} }),
      { verb: "delete", body: { propagationPolicy: "Foreground" }, version: "live" },
      { verb: "delete", body: { orphanDependents: false }, version: "live" }
    ]
  },
  {
    seed: 300913,
    name: "the same without a precondition, tried only",
    kind: "Parcel",
    steps: [
      create({ spec: {} }),
      { verb: "delete", body: { propagationPolicy: "Foreground" } },
      { verb: "delete", body: { orphanDependents: false, dryRun: ["All"] } }
    ]
  },
  {
    seed: 400265,
    name: "a finalizer that is named twice, and asked for again",
    kind: "Parcel",
    steps: [
      create({ spec: {} }),
      { verb: "merge", by: "ann", body: { metadata: { finalizers: ["orphan", "orphan"] } } },
      remove
    ]
  },
  {
    seed: 500597,
    name: "a status of null, from which the replicas are to be read",
    kind: "Parcel",
    steps: [create({ spec: {} }), { verb: "apply", by: "cem", body: { status: null }, subresource: "status" }]
  },
  {
    seed: 600026,
    name: "an owner of whom is applied that it may or may not control",
    kind: "Parcel",
    steps: [
      create({ spec: {} }),
      { verb: "apply", by: "ann", body: { metadata: { ownerReferences: [{ ...owner, controller: null }] } } }
    ]
  },
  {
    seed: 0,
    name: "labels and owners of whom nothing is said, applied and tried only",
    kind: "Parcel",
    steps: [
      create({ spec: {} }),
      { verb: "apply", by: "ann", body: { metadata: { labels: { a: null } } } },
      {
        verb: "apply",
        by: "bob",
        body: { metadata: { labels: {}, ownerReferences: [{ ...owner, controller: null }] } },
        query: { dryRun: "All" }
      }
    ]
  },
  {
    seed: 0,
    name: "metadata of an embedded resource that are null",
    kind: "Parcel",
    steps: [create({ spec: { embedded: { apiVersion: "v1", kind: "ConfigMap", metadata: null } } })]
  },
  {
    seed: 0,
    name: "metadata of an embedded resource with all that can be wrong with it",
    kind: "Parcel",
    steps: [
      create({
        spec: {
          embedded: {
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: {
              namespace: "A",
              generateName: "a/b",
              generation: -1,
              labels: { "no label": "no!" },
              annotations: { "a/b/c": "1" },
              finalizers: [null],
              ownerReferences: [null],
              managedFields: [null, { manager: "\n", operation: "Other", fieldsType: "FieldsV2", subresource: "a" }]
            }
          }
        }
      })
    ]
  },
  {
    seed: 200821,
    name: "metadata of an embedded resource that cannot be read",
    kind: "Parcel",
    steps: [create({ spec: { embedded: { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: 1 } } } })]
  }
]

const workloads: ReadonlyArray<Regression> = [
  {
    seed: 1010,
    name: "a patch that says nothing: the labels of the template become those of the job",
    kind: "Job",
    steps: [create(job.base), { verb: "merge", by: "ann", body: { spec: {} } }]
  },
  {
    seed: 2108,
    name: "a status without the labels that a job has when it is read",
    kind: "Job",
    steps: [create(job.base), { verb: "replace", by: "ann", body: { status: {} }, subresource: "status" }]
  },
  {
    seed: 4068,
    name: "the same, tried only",
    kind: "Job",
    steps: [
      create(job.base),
      { verb: "replace", by: "ann", body: { spec: {}, status: {} }, query: { dryRun: "All" }, subresource: "status" }
    ]
  },
  { seed: 2008, name: "the deletion of a job, whose pods stay", kind: "Job", steps: [create(job.base), remove] },
  {
    seed: 2016,
    name: "a prefix that is no name, for an object that has one",
    kind: "Job",
    steps: [create(job.base), { verb: "apply", by: "ann", body: { spec: {}, metadata: { generateName: "A_" } } }]
  },
  {
    seed: 100299,
    name: "half a second, applied",
    kind: "Job",
    steps: [{ verb: "apply", by: "ann", body: spec(job.base, { activeDeadlineSeconds: 1.5 }) }]
  },
  {
    seed: 100975,
    name: "an indexed job without completions",
    kind: "Job",
    steps: [
      create(job.base),
      { verb: "replace", by: "ann", body: spec(job.base, { completionMode: "Indexed", parallelism: 0 }) }
    ]
  },
  {
    seed: 200485,
    name: "fewer pods than none",
    kind: "Job",
    steps: [
      create(job.base),
      { verb: "edit", by: "ann", body: { status: { active: -1 } }, version: "live", subresource: "status" }
    ]
  },
  {
    seed: 200667,
    name: "options of a deletion that are null",
    kind: "Job",
    steps: [create(job.base), { verb: "delete", body: { orphanDependents: null, propagationPolicy: "Foreground" } }]
  },
  {
    seed: 300913,
    name: "a deletion that takes finalizers and object at once, tried only",
    kind: "Job",
    steps: [create(job.base), remove, { verb: "delete", body: { dryRun: ["All"], propagationPolicy: "Background" } }]
  },
  {
    seed: 300088,
    name: "no bytes",
    kind: "ConfigMap",
    steps: [
      create({ binaryData: { d: "YQ==" } }),
      { verb: "json", by: "ann", body: [{ op: "add", path: "/binaryData/d", value: null }] }
    ]
  },
  {
    seed: 201534,
    name: "an owner that a patch names twice",
    kind: "ConfigMap",
    steps: [create(), { verb: "merge", by: "ann", body: { metadata: { ownerReferences: [owner, owner] } } }]
  },
  {
    seed: 2048,
    name: "an object that is to forget its managers",
    kind: "Deployment",
    steps: [create(deployment.base), { verb: "edit", by: "ann", body: { metadata: { managedFields: [] } } }]
  },
  {
    seed: 400548,
    name: "a template that is valid and hardly meant so",
    kind: "Deployment",
    steps: [
      create(deployment.base),
      {
        verb: "edit",
        by: "ann",
        body: {
          spec: {
            template: {
              spec: {
                imagePullSecrets: [{ name: "c" }, { name: "c" }, {}],
                hostAliases: [{ ip: "1.2.3.4" }, { ip: "1.2.3.4" }],
                nodeSelector: { "beta.kubernetes.io/os": "linux" },
                terminationGracePeriodSeconds: -1,
                initContainers: [{ name: "a", image: "a", ports: [{ containerPort: 80, name: "http" }] }],
                containers: [
                  {
                    name: "b",
                    image: "a",
                    env: [
                      { name: "A", value: "1" },
                      { name: "A", value: "$(A)2" },
                      { name: "A", value: "3" }
                    ],
                    ports: [
                      { containerPort: 80, name: "http" },
                      { containerPort: 80, hostPort: 80 },
                      { containerPort: 80, hostPort: 80, hostIP: "1.2.3.4" }
                    ],
                    resources: { requests: { memory: "100m" }, limits: { memory: "1500m" } }
                  }
                ]
              }
            }
          }
        },
        version: "live"
      },
      { verb: "merge", by: "ann", body: { metadata: { labels: { a: "b" } } } }
    ]
  },
  {
    seed: 1100108,
    name: "a deletion that takes finalizers and object at once, tried only, of what has replicas",
    kind: "Deployment",
    steps: [
      create(deployment.base),
      { verb: "delete", body: { orphanDependents: true } },
      { verb: "delete", body: { propagationPolicy: "Background", dryRun: ["All"] } }
    ]
  },
  {
    seed: 1014,
    name: "a deletion with a body of another kind",
    kind: "Deployment",
    steps: [create(deployment.base), { verb: "delete", body: { kind: "Other" } }]
  },
  {
    seed: 101135,
    name: "bytes that are none, applied",
    kind: "ConfigMap",
    steps: [create(configMap.base), { verb: "apply", by: "ann", body: { binaryData: { e: "no base64" } } }]
  }
]

const services: ReadonlyArray<Regression> = [
  {
    seed: 1017,
    name: "two families on a cluster of one",
    kind: "Service",
    steps: [
      create(service.base),
      { verb: "replace", by: "ann", body: spec(service.base, { ipFamilyPolicy: "RequireDualStack" }) }
    ]
  },
  {
    seed: 4069,
    name: "a family that there is not, told before all else",
    kind: "Service",
    steps: [create({ ...spec(service.base, { ipFamilies: ["IPv6"] }), metadata: { generation: -1 } })]
  },
  {
    seed: 4120,
    name: "another family than that of the address",
    kind: "Service",
    steps: [create(service.base), { verb: "apply", by: "ann", body: { spec: { ipFamilies: ["IPv6"] } } }]
  },
  {
    seed: 3137,
    name: "one family where there were two",
    kind: "Service",
    steps: [
      create(spec(service.base, { clusterIP: "None" })),
      { verb: "merge", by: "ann", body: { spec: { ipFamilyPolicy: "SingleStack" } }, version: "live" }
    ]
  },
  {
    seed: 1049,
    name: "ranges without a balancer",
    kind: "Service",
    steps: [create(spec(service.base, { loadBalancerSourceRanges: ["10.1.0.0/16"] }))]
  },
  {
    seed: 2063,
    name: "an external name that is ignored",
    kind: "Service",
    steps: [create(spec(service.base, { externalName: "a.example.com" }))]
  },
  {
    seed: 5117,
    name: "a service that is made by its status has no address, nor later",
    kind: "Service",
    steps: [
      { verb: "edit", by: "ann", body: { status: {} }, subresource: "status" },
      { verb: "edit", by: "ann", body: { spec: {} } }
    ]
  },
  {
    seed: 100200,
    name: "a PUT of a service that is gone makes it anew, whatever its version",
    kind: "Service",
    steps: [create(service.base), remove, { verb: "edit", by: "ann", body: {}, version: "first" }]
  },
  {
    seed: 400356,
    name: "a selector for a service of two families",
    kind: "Service",
    steps: [
      create(spec(service.base, { clusterIP: "None" })),
      { verb: "replace", by: "ann", body: spec(service.base, { selector: { a: "a" } }), version: "live" }
    ]
  },
  {
    seed: 1000053,
    name: "two families by name, and no policy",
    kind: "Service",
    steps: [create(spec(service.base, { clusterIP: "None", ipFamilies: ["IPv4", "IPv6"] }))]
  },
  {
    seed: 930929,
    name: "two families for an address that is to go, over which a kube-apiserver panics",
    kind: "Service",
    steps: [
      create(service.base),
      { verb: "merge", by: "ann", body: { spec: { clusterIP: "None", ipFamilyPolicy: "RequireDualStack" } } },
      { verb: "merge", by: "ann", body: { spec: { clusterIP: "None", ipFamilyPolicy: null, ipFamilies: ["IPv6"] } } },
      {
        verb: "merge",
        by: "ann",
        body: { spec: { clusterIP: "None", ipFamilyPolicy: "PreferDualStack", ipFamilies: ["IPv6", "IPv4"] } }
      }
    ]
  },
  {
    seed: 0,
    name: "ports of the nodes: new ones, given back, the same one twice",
    kind: "Service",
    steps: [
      create(spec(service.base, { type: "NodePort" })),
      { verb: "merge", by: "ann", body: { spec: { ports: [{ port: 80 }, { port: 81 }] } } },
      {
        verb: "merge",
        by: "ann",
        body: {
          spec: {
            ports: [
              { name: "a", port: 80 },
              { name: "b", port: 81 }
            ]
          }
        }
      },
      { verb: "json", by: "ann", body: [{ op: "remove", path: "/spec/ports/0" }] },
      { verb: "merge", by: "ann", body: { spec: { type: "ClusterIP" } } },
      { verb: "merge", by: "ann", body: { spec: { type: "NodePort" } } }
    ]
  },
  {
    seed: 0,
    name: "a port by which a balancer asks the nodes, which stays",
    kind: "Service",
    steps: [
      create(spec(service.base, { type: "LoadBalancer", externalTrafficPolicy: "Local", loadBalancerClass: "a" })),
      { verb: "merge", by: "ann", body: { spec: { healthCheckNodePort: 31_000, loadBalancerClass: "-" } } },
      { verb: "merge", by: "ann", body: { spec: { externalTrafficPolicy: "Cluster" } } }
    ]
  },
  {
    seed: 0,
    name: "what is said of the traffic of a name is not shown, yet known when it is more than a name",
    kind: "Service",
    steps: [
      create(spec(service.base, { internalTrafficPolicy: "Local" })),
      { verb: "merge", by: "ann", body: { spec: { type: "ExternalName", externalName: "a.example.com" } } },
      { verb: "merge", by: "ann", body: { spec: { type: "ClusterIP" } } }
    ]
  },
  {
    seed: 2201116,
    name: "a balancer's address of which is not said how it is reached, and others",
    kind: "Service",
    steps: [
      create(spec(service.base, { type: "LoadBalancer" })),
      {
        verb: "replace",
        by: "ann",
        body: { status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } },
        subresource: "status"
      },
      {
        verb: "merge",
        by: "ann",
        body: {
          status: {
            loadBalancer: {
              ingress: [
                { ip: "a" },
                { ip: "1.2.3.4", ipMode: "Other" },
                { ipMode: "VIP", hostname: "1.2.3.4" },
                { hostname: "a_b" }
              ]
            }
          }
        },
        subresource: "status"
      }
    ]
  },
  {
    seed: 0,
    name: "a headless service that is made by its status",
    kind: "Service",
    steps: [
      {
        verb: "edit",
        by: "ann",
        body: { status: {}, ...spec(service.base, { clusterIP: "None" }) },
        subresource: "status"
      },
      { verb: "apply", by: "bob", body: { spec: { ipFamilies: ["IPv4"] } } }
    ]
  },
  {
    seed: 6195,
    name: "a type that there is not",
    kind: "Service",
    steps: [create(service.base), { verb: "strategic", by: "ann", body: { spec: { type: "Other" } }, version: "live" }]
  },
  {
    seed: 100329,
    name: "two ports of one number",
    kind: "Service",
    steps: [create({ spec: { type: "LoadBalancer", ports: [{ port: 80 }, { port: 80 }, { port: 81 }] } })]
  }
]

/** All of them. */
export const regressions: ReadonlyArray<Regression> = [...parcels, ...workloads, ...services]
