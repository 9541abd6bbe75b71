/** Sequences on which the two servers once differed, by the cause of each difference. */
import * as J from "@homeostat/apiserver/model/Json"
import * as BuiltIns from "./BuiltIns.ts"
import { create, of, remove, spec, write } from "./Regression.ts"
import { services } from "./ServiceRegressions.ts"

const { configMap, deployment, job } = BuiltIns

const owner = { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "other" }

const parcels = of("Parcel", {
  "an apply to the scale of an object whose replicas have no manager": [
    create({ spec: {} }),
    write("apply", {}, { subresource: "scale" })
  ],
  "a patch without replicas of the scale of an object without replicas": [
    create({ spec: {} }),
    write("merge", {}, { subresource: "scale" })
  ],
  "an unknown field in the scale with strict validation": [
    create({ spec: {} }),
    write("edit", { unknown: "a" }, { version: "live", query: { fieldValidation: "Strict" }, subresource: "scale" })
  ],
  "an apply of a selfLink": [create({ spec: {} }), write("apply", { spec: {}, metadata: { selfLink: "/a" } })],
  "a create with a generateName and a name that exists": [
    create({ spec: {} }),
    create({ spec: {}, metadata: { generateName: "a-" } })
  ],
  "a deletion with a precondition that removes the finalizers and the object": [
    create({ spec: {} }),
    { verb: "delete", body: { propagationPolicy: "Foreground" }, version: "live" },
    { verb: "delete", body: { orphanDependents: false }, version: "live" }
  ],
  "a dry run of a deletion that removes the finalizers and the object of a custom kind": [
    create({ spec: {} }),
    { verb: "delete", body: { propagationPolicy: "Foreground" } },
    { verb: "delete", body: { orphanDependents: false, dryRun: ["All"] } }
  ],
  "a deletion of an object with the same finalizer twice": [
    create({ spec: {} }),
    write("merge", { metadata: { finalizers: ["orphan", "orphan"] } }),
    remove
  ],
  "an apply of a null status that the scale reads replicas from": [
    create({ spec: {} }),
    write("apply", { status: null }, { by: "cem", subresource: "status" })
  ],
  "an apply of an owner whose controller is null": [
    create({ spec: {} }),
    write("apply", { metadata: { ownerReferences: [{ ...owner, controller: null }] } })
  ],
  "applies of empty labels and of an owner whose controller is null, one as a dry run": [
    create({ spec: {} }),
    write("apply", { metadata: { labels: { a: null } } }),
    write(
      "apply",
      { metadata: { labels: {}, ownerReferences: [{ ...owner, controller: null }] } },
      { by: "bob", query: { dryRun: "All" } }
    )
  ],
  "an embedded resource whose metadata is null": [
    create({ spec: { embedded: { apiVersion: "v1", kind: "ConfigMap", metadata: null } } })
  ],
  "an embedded resource with every mistake in its metadata": [
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
  ],
  "an embedded resource with unreadable metadata, which the message quotes with sorted members": [
    create({
      spec: {
        embedded: {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { ownerReferences: [{ ...owner, blockOwnerDeletion: "true" }], name: "a" }
        }
      }
    })
  ],
  "an embedded resource whose labels are a number": [
    create({ spec: { embedded: { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: 1 } } } })
  ]
})

const jobs = of("Job", {
  "an empty patch of a job, which copies the labels of the template to the job": [
    create(job.base),
    write("merge", { spec: {} })
  ],
  "a replaced status without the labels of the job": [
    create(job.base),
    write("replace", { status: {} }, { subresource: "status" })
  ],
  "a dry run of a replaced status without the labels of the job": [
    create(job.base),
    write("replace", { spec: {}, status: {} }, { query: { dryRun: "All" }, subresource: "status" })
  ],
  "the deletion of a job, which orphans its pods": [create(job.base), remove],
  "an apply of an invalid generateName to an object with a name": [
    create(job.base),
    write("apply", { spec: {}, metadata: { generateName: "A_" } })
  ],
  "an apply of half a second": [write("apply", spec(job.base, { activeDeadlineSeconds: 1.5 }))],
  "an indexed job without completions": [
    create(job.base),
    write("replace", spec(job.base, { completionMode: "Indexed", parallelism: 0 }))
  ],
  "a negative number of active pods": [
    create(job.base),
    write("edit", { status: { active: -1 } }, { version: "live", subresource: "status" })
  ],
  "a deletion with an option that is null": [
    create(job.base),
    { verb: "delete", body: { orphanDependents: null, propagationPolicy: "Foreground" } }
  ],
  "a dry run of a deletion that removes the finalizers and the object of a job": [
    create(job.base),
    remove,
    { verb: "delete", body: { dryRun: ["All"], propagationPolicy: "Background" } }
  ]
})

const configMaps = of("ConfigMap", {
  "binary data that is null": [
    create({ binaryData: { d: "YQ==" } }),
    write("json", [{ op: "add", path: "/binaryData/d", value: null }])
  ],
  "an owner that a patch names twice": [create(), write("merge", { metadata: { ownerReferences: [owner, owner] } })],
  "an apply of binary data that is not base64": [
    create(configMap.base),
    write("apply", { binaryData: { e: "no base64" } })
  ],
  "two controllers and an invalid generateName, in the order of their errors": [
    create(configMap.base),
    write("merge", {
      metadata: {
        generateName: "A_",
        ownerReferences: [
          { ...owner, controller: true },
          { ...owner, name: "b", controller: true }
        ]
      }
    })
  ],
  "a change of an immutable ConfigMap and an invalid generateName, in the order of their errors": [
    create({ immutable: true }),
    write("replace", { metadata: { generateName: "A_" } }, { version: "live" })
  ],
  "a patch of a wrong type that replaces the whole object": [
    create(configMap.base),
    write("strategic", { $patch: "replace", immutable: "true" })
  ]
})

const deployments = of("Deployment", {
  "an update that removes the managed fields": [
    create(deployment.base),
    write("edit", { metadata: { managedFields: [] } })
  ],
  "a valid template that gets warnings": [
    create(deployment.base),
    write(
      "edit",
      {
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
      { version: "live" }
    ),
    write("merge", { metadata: { labels: { a: "b" } } })
  ],
  "a dry run of a deletion that removes the finalizers and the object of a Deployment": [
    create(deployment.base),
    { verb: "delete", body: { orphanDependents: true } },
    { verb: "delete", body: { propagationPolicy: "Background", dryRun: ["All"] } }
  ],
  "a deletion with a body of another kind": [create(deployment.base), { verb: "delete", body: { kind: "Other" } }],
  "a patch that removes the selector, after an apply of an empty one": [
    create(deployment.base),
    write("apply", { spec: { selector: {} } }, { by: "cem", query: { force: "true" } }),
    write("json", [{ op: "remove", path: "/spec/selector" }])
  ],
  "two values of a wrong type, the first by name in the second operation": [
    create(deployment.base),
    write("json", [
      { op: "add", path: "/spec/template/spec/containers/0/env", value: [1] },
      { op: "add", path: "/spec/paused", value: [1] }
    ])
  ],
  "conflicts with two managers": [
    write("apply", { spec: { ...J.object(deployment.base.spec), minReadySeconds: 1 } }),
    write("apply", { spec: { ...J.object(deployment.base.spec), revisionHistoryLimit: 3 } }, { by: "bob" }),
    write("apply", { spec: { minReadySeconds: 3, revisionHistoryLimit: 4, selector: {} } }, { by: "cem" })
  ]
})

export const regressions = [...parcels, ...jobs, ...configMaps, ...deployments, ...services]
