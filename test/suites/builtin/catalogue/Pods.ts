/** Pods. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { container, core, type Entries, now, pod, template, withContainer } from "./Entry.ts"

const reports = (ready: boolean, state: JsonObject): JsonObject => ({
  containerStatuses: [{ name: "app", image: "x", imageID: "", ready, restartCount: 0, state }]
})

export const pods: Entries = {
  "a minimal pod": pod({}),
  "a pod with many fields": pod({
    restartPolicy: "OnFailure",
    terminationGracePeriodSeconds: 0,
    hostNetwork: false,
    nodeSelector: {},
    serviceAccountName: "sa",
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, fsGroup: 1000, seccompProfile: { type: "RuntimeDefault" } },
    tolerations: [{ key: "node.kubernetes.io/not-ready", operator: "Exists" }],
    imagePullSecrets: [{ name: "pull" }],
    initContainers: [{ name: "init", image: "busybox:latest", resources: { limits: { cpu: "1" } } }],
    volumes: [
      { name: "a" },
      { name: "b", secret: { secretName: "s", items: [{ key: "k", path: "p" }] } },
      { name: "c", configMap: { name: "m", optional: false } },
      { name: "d", persistentVolumeClaim: { claimName: "pvc" } },
      { name: "e", emptyDir: { sizeLimit: "1024Mi" } },
      { name: "f", hostPath: { path: "/x" } },
      { name: "g", projected: { sources: [{ serviceAccountToken: { path: "t" } }, { configMap: { name: "m" } }] } },
      { name: "h", downwardAPI: { items: [{ path: "l", fieldRef: { fieldPath: "metadata.labels" } }] } }
    ],
    containers: [
      {
        ...container,
        image: "registry:5000/nginx:1.25@sha256:0123456789012345678901234567890123456789012345678901234567890123",
        command: [],
        args: ["a"],
        env: [
          { name: "A", value: "" },
          { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "C", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
          { name: "D", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } }
        ],
        envFrom: [{ configMapRef: { name: "m" } }, { prefix: "P_", secretRef: { name: "s", optional: true } }],
        ports: [
          { containerPort: 80, name: "http" },
          { containerPort: 53, protocol: "UDP" }
        ],
        resources: { limits: { cpu: "1000m", memory: "1024Ki" }, requests: { cpu: 0.25 } },
        livenessProbe: { httpGet: { port: "http" } },
        readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 3, initialDelaySeconds: 0 },
        startupProbe: { grpc: { port: 80 } },
        lifecycle: {
          preStop: { exec: { command: ["sleep", "1"] } },
          postStart: { httpGet: { port: 80, path: "/x" } }
        },
        securityContext: {
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] }
        },
        volumeMounts: [
          { name: "a", mountPath: "/a", readOnly: false },
          { name: "b", mountPath: "/b", subPath: "x" }
        ],
        stdin: false
      }
    ]
  }),
  "quantities in every notation": withContainer({
    resources: {
      requests: { cpu: "0.5", memory: "1e9", "ephemeral-storage": "1.5Gi", "example.com/foo": 2 },
      limits: { cpu: 2, memory: "1500000000", "ephemeral-storage": "2048Mi", "example.com/foo": "2" }
    }
  }),
  "rounded quantities": withContainer({ resources: { requests: { cpu: "0.0001", memory: "123456789" } } }),
  "a guaranteed pod": withContainer({ resources: { limits: { cpu: "1", memory: "1Gi" } } }),
  "a burstable pod": withContainer({ resources: { requests: { cpu: "10m" } } }),
  "host network": withContainer({ ports: [{ containerPort: 80 }] }, { hostNetwork: true }),
  "no container": pod({ containers: [] }),
  "no image": pod({ containers: [{ name: "a" }] }),
  "no name of a container": pod({ containers: [{ image: "a" }] }),
  "two containers with the same name": pod({ containers: [container, container] }),
  "an init container with the name of another container": pod({ initContainers: [container] }),
  "a bad name": pod({}, { name: "P_1" }),
  "a bad name of a container": pod({ containers: [{ name: "A.b", image: "x" }] }),
  "a container's name with dots": pod({ containers: [{ name: "a.b", image: "x" }] }),
  "a long name of a container": pod({ containers: [{ name: "a".repeat(64), image: "x" }] }),
  "an image with blanks around it": pod({ containers: [{ name: "a", image: " x " }] }),
  "an unknown restart policy": pod({ restartPolicy: "Sometimes" }),
  "an unknown dns policy": pod({ dnsPolicy: "Some" }),
  "an unknown pull policy": withContainer({ imagePullPolicy: "Maybe" }),
  "changes of a pod": [
    pod({}),
    { change: { metadata: { labels: { a: "b" } } } },
    { change: { spec: { containers: [{ name: "app", image: "other:1" }] } } },
    { change: { spec: { activeDeadlineSeconds: 10 } } },
    { change: { spec: { activeDeadlineSeconds: 20 } } },
    { change: { spec: { tolerations: [] } } },
    { change: { spec: { containers: [container, { name: "b", image: "x" }] } } },
    { change: { status: { phase: "Running" } } },
    {
      to: "status",
      change: {
        spec: { nodeName: "n" },
        metadata: { labels: { c: "d" } },
        status: { phase: "Running", podIP: "10.1.1.1" }
      }
    },
    { to: "status", change: { status: { qosClass: "Guaranteed" } } },
    {
      to: "status",
      change: {
        status: {
          startTime: now,
          conditions: [{ type: "Ready", status: "True", lastTransitionTime: now }],
          ...reports(true, { running: { startedAt: now } })
        }
      }
    }
  ],
  "a succeeded pod whose container runs again": [
    pod({ restartPolicy: "Never" }),
    {
      to: "status",
      change: {
        status: {
          phase: "Succeeded",
          ...reports(false, { terminated: { exitCode: 0, startedAt: now, finishedAt: now } })
        }
      }
    },
    {
      to: "status",
      change: {
        status: reports(true, { running: { startedAt: now } })
      }
    }
  ],
  "a pod template": core("PodTemplate", { template: template() })
}
