/** Entries of the catalogue: what containers say. */
import { type Entry, pod, withContainer } from "./Entry.ts"

/** What containers say. */
export const containers: ReadonlyArray<Entry> = [
  { name: "a port out of range", object: withContainer({ ports: [{ containerPort: 70000 }] }) },
  { name: "a port of nothing", object: withContainer({ ports: [{ name: "x" }] }) },
  { name: "a bad name of a port", object: withContainer({ ports: [{ containerPort: 1, name: "-A--" }] }) },
  {
    name: "ports of the same name",
    object: withContainer({
      ports: [
        { containerPort: 1, name: "x" },
        { containerPort: 2, name: "x" }
      ]
    })
  },
  {
    name: "host ports that conflict",
    object: withContainer({
      ports: [
        { containerPort: 1, hostPort: 1 },
        { containerPort: 2, hostPort: 1 }
      ]
    })
  },
  { name: "an unknown protocol", object: withContainer({ ports: [{ containerPort: 1, protocol: "ICMP" }] }) },
  { name: "a variable without a name", object: withContainer({ env: [{ value: "x" }] }) },
  { name: "a variable with a bad name", object: withContainer({ env: [{ name: "a=b", value: "x" }] }) },
  {
    name: "a variable with a value of two kinds",
    object: withContainer({ env: [{ name: "a", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] })
  },
  { name: "a variable from nothing", object: withContainer({ env: [{ name: "a", valueFrom: {} }] }) },
  {
    name: "a variable from an unknown field",
    object: withContainer({ env: [{ name: "a", valueFrom: { fieldRef: { fieldPath: "spec.foo" } } }] })
  },
  {
    name: "a variable from a field that it may not be of",
    object: withContainer({ env: [{ name: "a", valueFrom: { fieldRef: { fieldPath: "status.phase" } } }] })
  },
  {
    name: "a variable from no key",
    object: withContainer({ env: [{ name: "a", valueFrom: { secretKeyRef: { name: "s", key: "" } } }] })
  },
  {
    name: "a variable from a bad resource",
    object: withContainer({ env: [{ name: "a", valueFrom: { resourceFieldRef: { resource: "limits.foo" } } }] })
  },
  { name: "variables from nothing", object: withContainer({ envFrom: [{ prefix: "a" }] }) },
  { name: "a mount of no volume", object: withContainer({ volumeMounts: [{ name: "x", mountPath: "/x" }] }) },
  { name: "a mount nowhere", object: withContainer({ volumeMounts: [{ name: "x" }] }, { volumes: [{ name: "x" }] }) },
  {
    name: "two mounts in one place",
    object: withContainer(
      {
        volumeMounts: [
          { name: "x", mountPath: "/x" },
          { name: "x", mountPath: "/x", subPath: "../y" }
        ]
      },
      { volumes: [{ name: "x" }] }
    )
  },
  { name: "volumes of the same name", object: pod({ volumes: [{ name: "x" }, { name: "x" }] }) },
  {
    name: "a volume of two kinds",
    object: pod({ volumes: [{ name: "x", emptyDir: {}, secret: { secretName: "s" } }] })
  },
  { name: "a secret without a name", object: pod({ volumes: [{ name: "x", secret: {} }] }) },
  {
    name: "files with bad paths",
    object: pod({
      volumes: [{ name: "x", configMap: { name: "m", defaultMode: 1000, items: [{ key: "", path: "../x" }] } }]
    })
  },
  { name: "a probe of nothing", object: withContainer({ livenessProbe: {} }) },
  {
    name: "a probe with bad numbers",
    object: withContainer({
      livenessProbe: { httpGet: { port: 0, scheme: "FTP" }, successThreshold: 2, periodSeconds: -1 }
    })
  },
  {
    name: "a probe of two kinds",
    object: withContainer({ readinessProbe: { exec: { command: [] }, tcpSocket: { port: "x y" } } })
  },
  {
    name: "a readiness probe with a grace period",
    object: withContainer({ readinessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 1 } })
  },
  { name: "a negative amount", object: withContainer({ resources: { limits: { cpu: "-1" } } }) },
  {
    name: "more requested than the limit",
    object: withContainer({ resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } })
  },
  { name: "an unknown resource", object: withContainer({ resources: { limits: { foo: "1" } } }) },
  { name: "part of a piece", object: withContainer({ resources: { limits: { "example.com/gpu": "500m" } } }) },
  { name: "a user out of range", object: withContainer({ securityContext: { runAsUser: -1 } }) },
  { name: "a bad node selector", object: pod({ nodeSelector: { "a b": "c" } }) },
  {
    name: "a bad toleration",
    object: pod({ tolerations: [{ operator: "Equal", effect: "Never", tolerationSeconds: 1 }] })
  },
  { name: "a deadline of nothing", object: pod({ activeDeadlineSeconds: 0 }) },
  { name: "a bad service account", object: pod({ serviceAccountName: "A" }) },
  { name: "a priority by hand", object: pod({ priority: 5 }) },
  { name: "an unknown priority class", object: pod({ priorityClassName: "nope" }) },
  { name: "a system priority class", object: pod({ priorityClassName: "system-node-critical" }) },
  {
    name: "lifecycle of an init container",
    object: pod({ initContainers: [{ name: "i", image: "x", livenessProbe: { tcpSocket: { port: 1 } } }] })
  },
  { name: "scheduling gates", object: pod({ schedulingGates: [{ name: "a.b/c" }] }) }
]
