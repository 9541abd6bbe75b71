/** Values of fields that exclude others, which the API server accepts. */
import type * as Drift from "@homeostat/runtime/controller/Drift"

type Fields = { readonly [name: string]: Drift.Json }

/** The values of members of `oneOf`. */
export const samples: Fields = {
  // Handlers.
  exec: { command: ["true"] },
  httpGet: { port: 80, path: "/" },
  tcpSocket: { port: 80 },
  grpc: { port: 80 },
  sleep: { seconds: 1 },
  // Variables.
  value: "1",
  valueFrom: { fieldRef: { fieldPath: "metadata.name" } },
  configMapKeyRef: { name: "settings", key: "a" },
  fieldRef: { fieldPath: "metadata.name" },
  fileKeyRef: { volumeName: "scratch", path: "a", key: "a" },
  resourceFieldRef: { resource: "limits.cpu" },
  secretKeyRef: { name: "settings", key: "a" },
  // Mounts and claims.
  subPath: "a",
  subPathExpr: "b",
  resourceClaimName: "a",
  resourceClaimTemplateName: "a",
  // Volumes.
  awsElasticBlockStore: { volumeID: "a" },
  azureDisk: { diskName: "a", diskURI: "/subscriptions/a", kind: "Managed" },
  azureFile: { secretName: "a", shareName: "a" },
  cephfs: { monitors: ["a"] },
  cinder: { volumeID: "a" },
  configMap: { name: "settings" },
  csi: { driver: "a.example.com" },
  downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "metadata.name" } }] },
  emptyDir: {},
  ephemeral: {
    volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } }
  },
  fc: { targetWWNs: ["a"], lun: 1 },
  flexVolume: { driver: "a/b" },
  flocker: { datasetName: "a" },
  gcePersistentDisk: { pdName: "a" },
  gitRepo: { repository: "https://example.com/a" },
  glusterfs: { endpoints: "a", path: "a" },
  hostPath: { path: "/a" },
  image: { reference: "registry.test/a" },
  iscsi: { targetPortal: "10.0.0.1:3260", iqn: "iqn.2001-04.com.example:a", lun: 1 },
  local: { path: "/a" },
  nfs: { server: "a", path: "/a" },
  persistentVolumeClaim: { claimName: "a" },
  photonPersistentDisk: { pdID: "a" },
  portworxVolume: { volumeID: "a" },
  projected: { sources: [{ configMap: { name: "settings" } }] },
  quobyte: { registry: "a:1", volume: "a" },
  rbd: { monitors: ["a"], image: "a" },
  scaleIO: { gateway: "a", system: "a", secretRef: { name: "a" }, volumeName: "a" },
  secret: { secretName: "settings" },
  storageos: { volumeName: "a", secretRef: { name: "a" } },
  vsphereVolume: { volumePath: "a" },
  targetWWNs: ["a"],
  wwids: ["a"],
  lun: 1,
  datasetName: "a",
  datasetUUID: "a",
  // Others.
  maxUnavailable: 1,
  minAvailable: 1,
  resource: { apiGroup: "example.com", kind: "Bucket", name: "a" },
  service: { name: "a", port: { number: 80 } },
  "clientConfig.service": { name: "a", namespace: "default" },
  url: "https://example.com/a"
}

/** Fields that a member needs. */
export const partners: { readonly [member: string]: Fields } = { targetWWNs: { lun: 1 }, lun: { targetWWNs: ["a"] } }

/** For each field that decides about others, or the struct of a `type`: a value that excludes them, and one that allows them; `null` for none. */
export const deciders: { readonly [field: string]: readonly [Drift.Json, Drift.Json] } = {
  updateStrategy: ["OnDelete", "RollingUpdate"],
  strategy: ["Recreate", "RollingUpdate"],
  seccompProfile: ["RuntimeDefault", "Localhost"],
  appArmorProfile: ["RuntimeDefault", "Localhost"],
  spec: ["ClusterIP", "LoadBalancer"],
  allowPrivilegeEscalation: [false, true],
  privileged: [true, false],
  readOnly: [false, true],
  shareProcessNamespace: [true, false],
  hostPID: [true, false],
  hostIPC: [true, false],
  hostNetwork: [true, false],
  hostUsers: [false, true],
  setHostnameAsFQDN: [true, false],
  hostnameOverride: ["a", null],
  scope: ["Cluster", "Namespace"]
}

/** The values of excluded fields. */
export const excluded: Fields = {
  rollingUpdate: { maxUnavailable: 1 },
  localhostProfile: "a.json",
  privileged: true,
  allowPrivilegeEscalation: false,
  recursiveReadOnly: "Enabled",
  hostPID: true,
  hostIPC: true,
  hostNetwork: true,
  shareProcessNamespace: true,
  hostUsers: false,
  setHostnameAsFQDN: true,
  hostnameOverride: "a",
  externalName: "example.com",
  loadBalancerSourceRanges: ["10.0.0.0/8"],
  namespace: "default"
}
