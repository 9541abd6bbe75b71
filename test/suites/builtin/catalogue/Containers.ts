/** Fields of containers and Pods. */
import { type Entries, pod, withContainer } from "./Entry.ts"

export const containers: Entries = {
  "a port out of range": withContainer({ ports: [{ containerPort: 70000 }] }),
  "a port without a number": withContainer({ ports: [{ name: "x" }] }),
  "a bad name of a port": withContainer({ ports: [{ containerPort: 1, name: "-A--" }] }),
  "ports of the same name": withContainer({
    ports: [
      { containerPort: 1, name: "x" },
      { containerPort: 2, name: "x" }
    ]
  }),
  "host ports that conflict": withContainer({
    ports: [
      { containerPort: 1, hostPort: 1 },
      { containerPort: 2, hostPort: 1 }
    ]
  }),
  "an unknown protocol": withContainer({ ports: [{ containerPort: 1, protocol: "ICMP" }] }),
  "a variable without a name": withContainer({ env: [{ value: "x" }] }),
  "a variable with a bad name": withContainer({ env: [{ name: "a=b", value: "x" }] }),
  "a variable with both value and valueFrom": withContainer({
    env: [{ name: "a", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }]
  }),
  "a variable with an empty valueFrom": withContainer({ env: [{ name: "a", valueFrom: {} }] }),
  "a variable from an unknown field": withContainer({
    env: [{ name: "a", valueFrom: { fieldRef: { fieldPath: "spec.foo" } } }]
  }),
  "a variable from an unsupported field": withContainer({
    env: [{ name: "a", valueFrom: { fieldRef: { fieldPath: "status.phase" } } }]
  }),
  "a variable from an empty key": withContainer({
    env: [{ name: "a", valueFrom: { secretKeyRef: { name: "s", key: "" } } }]
  }),
  "a variable from a bad resource": withContainer({
    env: [{ name: "a", valueFrom: { resourceFieldRef: { resource: "limits.foo" } } }]
  }),
  "an envFrom without a source": withContainer({ envFrom: [{ prefix: "a" }] }),
  "a mount of an unknown volume": withContainer({ volumeMounts: [{ name: "x", mountPath: "/x" }] }),
  "a mount without a path": withContainer({ volumeMounts: [{ name: "x" }] }, { volumes: [{ name: "x" }] }),
  "two mounts with the same path": withContainer(
    {
      volumeMounts: [
        { name: "x", mountPath: "/x" },
        { name: "x", mountPath: "/x", subPath: "../y" }
      ]
    },
    { volumes: [{ name: "x" }] }
  ),
  "volumes of the same name": pod({ volumes: [{ name: "x" }, { name: "x" }] }),
  "a volume with two sources": pod({ volumes: [{ name: "x", emptyDir: {}, secret: { secretName: "s" } }] }),
  "a secret without a name": pod({ volumes: [{ name: "x", secret: {} }] }),
  "files with bad paths": pod({
    volumes: [{ name: "x", configMap: { name: "m", defaultMode: 1000, items: [{ key: "", path: "../x" }] } }]
  }),
  "an empty probe": withContainer({ livenessProbe: {} }),
  "a probe with bad numbers": withContainer({
    livenessProbe: { httpGet: { port: 0, scheme: "FTP" }, successThreshold: 2, periodSeconds: -1 }
  }),
  "a probe with two handlers": withContainer({ readinessProbe: { exec: { command: [] }, tcpSocket: { port: "x y" } } }),
  "a readiness probe with a grace period": withContainer({
    readinessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 1 }
  }),
  "a negative quantity": withContainer({ resources: { limits: { cpu: "-1" } } }),
  "a request above the limit": withContainer({ resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } }),
  "an unknown resource": withContainer({ resources: { limits: { foo: "1" } } }),
  "a fraction of an extended resource": withContainer({ resources: { limits: { "example.com/gpu": "500m" } } }),
  "a user out of range": withContainer({ securityContext: { runAsUser: -1 } }),
  "a bad node selector": pod({ nodeSelector: { "a b": "c" } }),
  "a bad toleration": pod({ tolerations: [{ operator: "Equal", effect: "Never", tolerationSeconds: 1 }] }),
  "a deadline of zero": pod({ activeDeadlineSeconds: 0 }),
  "a bad service account": pod({ serviceAccountName: "A" }),
  "a pod with a priority number": pod({ priority: 5 }),
  "an unknown priority class": pod({ priorityClassName: "nope" }),
  "a system priority class": pod({ priorityClassName: "system-node-critical" }),
  "an init container with a probe": pod({
    initContainers: [{ name: "i", image: "x", livenessProbe: { tcpSocket: { port: 1 } } }]
  }),
  "scheduling gates": pod({ schedulingGates: [{ name: "a.b/c" }] })
}
