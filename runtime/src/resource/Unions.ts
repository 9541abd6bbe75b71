/**
 * The fields of built-in kinds that exclude each other: the API server refuses an object that has both. Lists and structs that an apply
 * replaces as a whole are left out.
 *
 * A test compares this table with the OpenAPI of the API server.
 */
import * as Resource from "./Resource.ts"

/** Fields of one struct that exclude each other. */
export type Union =
  /** At most one of the fields has a value. */
  | { readonly oneOf: ReadonlyArray<string> }
  /** With another value of the field, the fields of `excludes` have no value but the harmless one. */
  | {
      readonly field: string
      readonly allows: ReadonlyArray<string | boolean>
      readonly excludes: ReadonlyArray<string>
      readonly harmless?: boolean | undefined
    }
  /** The maps share no key. */
  | { readonly disjoint: readonly [string, string] }

/** A struct with unions, or the items of a list of such structs. */
export interface Shape {
  readonly unions?: ReadonlyArray<Union> | undefined
  readonly fields?: { readonly [name: string]: Shape } | undefined
  /** The field that identifies an item of a list. Default `name`. */
  readonly key?: string | undefined
}

const rollingUpdate: Shape = { unions: [{ field: "type", allows: ["RollingUpdate"], excludes: ["rollingUpdate"] }] }
const localhostProfile: Shape = { unions: [{ field: "type", allows: ["Localhost"], excludes: ["localhostProfile"] }] }

const handler: Shape = { unions: [{ oneOf: ["exec", "httpGet", "tcpSocket", "sleep"] }] }
const probe: Shape = { unions: [{ oneOf: ["exec", "httpGet", "tcpSocket", "grpc"] }] }

const container: Shape = {
  fields: {
    env: {
      unions: [{ oneOf: ["value", "valueFrom"] }],
      fields: {
        valueFrom: {
          unions: [{ oneOf: ["configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"] }]
        }
      }
    },
    lifecycle: { fields: { postStart: handler, preStop: handler } },
    livenessProbe: probe,
    readinessProbe: probe,
    startupProbe: probe,
    securityContext: {
      unions: [
        { field: "allowPrivilegeEscalation", allows: [true], excludes: ["privileged"], harmless: false },
        { field: "privileged", allows: [false], excludes: ["allowPrivilegeEscalation"], harmless: true }
      ],
      fields: { appArmorProfile: localhostProfile, seccompProfile: localhostProfile }
    },
    volumeMounts: {
      key: "mountPath",
      unions: [
        { oneOf: ["subPath", "subPathExpr"] },
        { field: "readOnly", allows: [true], excludes: ["recursiveReadOnly"] }
      ]
    }
  }
}

/** The sources of volumes that PersistentVolumes have, too. */
const storage = [
  "awsElasticBlockStore",
  "azureDisk",
  "azureFile",
  "cephfs",
  "cinder",
  "csi",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "glusterfs",
  "hostPath",
  "iscsi",
  "nfs",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume"
]

const sources: { readonly [name: string]: Shape } = {
  fc: { unions: [{ oneOf: ["targetWWNs", "wwids"] }, { oneOf: ["lun", "wwids"] }] },
  flocker: { unions: [{ oneOf: ["datasetName", "datasetUUID"] }] }
}

const volume: Shape = {
  unions: [
    {
      oneOf: [
        ...storage,
        "configMap",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "gitRepo",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret"
      ]
    }
  ],
  fields: sources
}

const pod: Shape = {
  unions: [
    { field: "shareProcessNamespace", allows: [false], excludes: ["hostPID"], harmless: false },
    { field: "hostPID", allows: [false], excludes: ["shareProcessNamespace"], harmless: false },
    { field: "hostUsers", allows: [true], excludes: ["hostNetwork", "hostPID", "hostIPC"], harmless: false },
    ...["hostNetwork", "hostPID", "hostIPC"].map((field) => ({
      field,
      allows: [false],
      excludes: ["hostUsers"],
      harmless: true
    })),
    { field: "setHostnameAsFQDN", allows: [false], excludes: ["hostnameOverride"] },
    { field: "hostNetwork", allows: [false], excludes: ["hostnameOverride"] },
    { field: "hostnameOverride", allows: [], excludes: ["setHostnameAsFQDN", "hostNetwork"], harmless: false }
  ],
  fields: {
    containers: container,
    initContainers: container,
    resourceClaims: { unions: [{ oneOf: ["resourceClaimName", "resourceClaimTemplateName"] }] },
    securityContext: { fields: { appArmorProfile: localhostProfile, seccompProfile: localhostProfile } },
    volumes: volume
  }
}

/** A kind whose spec has a pod template and these fields. */
const withPods = (fields: { readonly [name: string]: Shape } = {}): Shape => ({
  fields: { spec: { fields: { ...fields, template: { fields: { spec: pod } } } } }
})

const clientConfig: Shape = { unions: [{ oneOf: ["service", "url"] }] }
const webhooks: Shape = { fields: { webhooks: { fields: { clientConfig } } } }

/** The unions of each kind, by `Resource.nameOf`. */
const kinds: { readonly [name: string]: Shape } = {
  pods: { fields: { spec: pod } },
  "deployments.apps": withPods({ strategy: rollingUpdate }),
  "daemonsets.apps": withPods({ updateStrategy: rollingUpdate }),
  "statefulsets.apps": withPods({ updateStrategy: rollingUpdate }),
  "replicasets.apps": withPods(),
  "jobs.batch": withPods(),
  "cronjobs.batch": { fields: { spec: { fields: { jobTemplate: withPods() } } } },
  configmaps: { unions: [{ disjoint: ["data", "binaryData"] }] },
  services: {
    fields: {
      spec: {
        unions: [
          // The API server wipes the other fields that depend on the type.
          { field: "type", allows: ["LoadBalancer"], excludes: ["loadBalancerSourceRanges"] },
          { field: "type", allows: ["ExternalName"], excludes: ["externalName"] }
        ]
      }
    }
  },
  persistentvolumes: {
    fields: { spec: { unions: [{ oneOf: [...storage, "local"] }], fields: sources } }
  },
  "poddisruptionbudgets.policy": { fields: { spec: { unions: [{ oneOf: ["maxUnavailable", "minAvailable"] }] } } },
  "ingresses.networking.k8s.io": {
    fields: {
      spec: {
        fields: {
          defaultBackend: { unions: [{ oneOf: ["resource", "service"] }] }
        }
      }
    }
  },
  "ingressclasses.networking.k8s.io": {
    fields: {
      spec: {
        fields: { parameters: { unions: [{ field: "scope", allows: ["Namespace"], excludes: ["namespace"] }] } }
      }
    }
  },
  "customresourcedefinitions.apiextensions.k8s.io": {
    fields: {
      spec: {
        fields: {
          conversion: {
            unions: [{ field: "strategy", allows: ["Webhook"], excludes: ["webhook"] }],
            fields: { webhook: { fields: { clientConfig } } }
          }
        }
      }
    }
  },
  "mutatingwebhookconfigurations.admissionregistration.k8s.io": webhooks,
  "validatingwebhookconfigurations.admissionregistration.k8s.io": webhooks
}

/**
 * The unions of a kind; undefined if it has none, or is not built in.
 *
 * @internal
 */
export const of = (kind: Pick<Resource.Any, "group" | "plural">): Shape | undefined => {
  const name = Resource.nameOf(kind)
  return Object.hasOwn(kinds, name) ? kinds[name] : undefined
}
