/** Sequences on which the two servers once disagreed, as they were shrunk from the seed that found them. */
import * as J from "@homeostat/testkit/server/Json"
import * as BuiltIns from "./BuiltIns.ts"
import { create, type Regression, remove, spec } from "./Regression.ts"
import { services } from "./ServiceRegressions.ts"

const { configMap, deployment, job } = BuiltIns

const owner = { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "other" }

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
  },
  {
    seed: 500011,
    name: "a selector that is absent, after one that is not",
    kind: "Deployment",
    steps: [
      create(deployment.base),
      { verb: "apply", by: "cem", body: { spec: { selector: {} } }, query: { force: "true" } },
      { verb: "json", by: "ann", body: [{ op: "remove", path: "/spec/selector" }] }
    ]
  },
  {
    seed: 700400,
    name: "an owner too many and the beginning of a name, in their order",
    kind: "ConfigMap",
    steps: [
      create(configMap.base),
      {
        verb: "merge",
        by: "ann",
        body: {
          metadata: {
            generateName: "A_",
            ownerReferences: [
              { ...owner, controller: true },
              { ...owner, name: "b", controller: true }
            ]
          }
        }
      }
    ]
  },
  {
    seed: 52000898,
    name: "a change of a map that is immutable, and the beginning of a name, in their order",
    kind: "ConfigMap",
    steps: [
      create({ immutable: true }),
      { verb: "replace", by: "ann", body: { metadata: { generateName: "A_" } }, version: "live" }
    ]
  },
  {
    seed: 701598,
    name: "a patch of a wrong type that replaces all",
    kind: "ConfigMap",
    steps: [create(configMap.base), { verb: "strategic", by: "ann", body: { $patch: "replace", immutable: "true" } }]
  },
  {
    seed: 700950,
    name: "two values of a wrong type, of which the second comes first by its name",
    kind: "Deployment",
    steps: [
      create(deployment.base),
      {
        verb: "json",
        by: "ann",
        body: [
          { op: "add", path: "/spec/template/spec/containers/0/env", value: [1] },
          { op: "add", path: "/spec/paused", value: [1] }
        ]
      }
    ]
  },
  {
    seed: 701612,
    name: "conflicts with two managers",
    kind: "Deployment",
    steps: [
      { verb: "apply", by: "ann", body: { spec: { ...J.object(deployment.base.spec), minReadySeconds: 1 } } },
      { verb: "apply", by: "bob", body: { spec: { ...J.object(deployment.base.spec), revisionHistoryLimit: 3 } } },
      { verb: "apply", by: "cem", body: { spec: { minReadySeconds: 3, revisionHistoryLimit: 4, selector: {} } } }
    ]
  }
]

/** All of them. */
export const regressions: ReadonlyArray<Regression> = [...parcels, ...workloads, ...services]
