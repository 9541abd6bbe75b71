/** Entries of the catalogue: pods. */
import { container, core, type Entry, now, pod, template, withContainer } from "./Entry.ts"

/** Pods. */
export const pods: ReadonlyArray<Entry> = [
  { name: "a pod with nothing said", object: pod({}) },
  {
    name: "a pod with much said",
    object: pod({
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
    })
  },
  {
    name: "amounts in all ways of writing them",
    object: withContainer({
      resources: {
        requests: { cpu: "0.5", memory: "1e9", "ephemeral-storage": "1.5Gi", "example.com/foo": 2 },
        limits: { cpu: 2, memory: "1500000000", "ephemeral-storage": "2048Mi", "example.com/foo": "2" }
      }
    })
  },
  {
    name: "amounts that are rounded",
    object: withContainer({ resources: { requests: { cpu: "0.0001", memory: "123456789" } } })
  },
  {
    name: "a pod whose all is guaranteed",
    object: withContainer({ resources: { limits: { cpu: "1", memory: "1Gi" } } })
  },
  { name: "a pod that is burstable", object: withContainer({ resources: { requests: { cpu: "10m" } } }) },
  { name: "host network", object: withContainer({ ports: [{ containerPort: 80 }] }, { hostNetwork: true }) },
  { name: "no container", object: pod({ containers: [] }) },
  { name: "no image", object: pod({ containers: [{ name: "a" }] }) },
  { name: "no name of a container", object: pod({ containers: [{ image: "a" }] }) },
  { name: "twice the same name", object: pod({ containers: [container, container] }) },
  { name: "init container with the name of another", object: pod({ initContainers: [container] }) },
  { name: "a bad name", object: pod({}, { name: "P_1" }) },
  { name: "a bad name of a container", object: pod({ containers: [{ name: "A.b", image: "x" }] }) },
  { name: "a container's name with dots", object: pod({ containers: [{ name: "a.b", image: "x" }] }) },
  { name: "a long name of a container", object: pod({ containers: [{ name: "a".repeat(64), image: "x" }] }) },
  { name: "an image between blanks", object: pod({ containers: [{ name: "a", image: " x " }] }) },
  { name: "an unknown restart policy", object: pod({ restartPolicy: "Sometimes" }) },
  { name: "an unknown dns policy", object: pod({ dnsPolicy: "Some" }) },
  { name: "an unknown pull policy", object: withContainer({ imagePullPolicy: "Maybe" }) },
  {
    name: "changes of a pod",
    object: pod({}),
    steps: [
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
            containerStatuses: [
              {
                name: "app",
                image: "x",
                imageID: "",
                ready: true,
                restartCount: 0,
                state: { running: { startedAt: now } }
              }
            ]
          }
        }
      }
    ]
  },
  {
    name: "a pod that has ended for good",
    object: pod({ restartPolicy: "Never" }),
    steps: [
      {
        to: "status",
        change: {
          status: {
            phase: "Succeeded",
            containerStatuses: [
              {
                name: "app",
                image: "x",
                imageID: "",
                ready: false,
                restartCount: 0,
                state: { terminated: { exitCode: 0, startedAt: now, finishedAt: now } }
              }
            ]
          }
        }
      },
      {
        to: "status",
        change: {
          status: {
            containerStatuses: [
              {
                name: "app",
                image: "x",
                imageID: "",
                ready: true,
                restartCount: 0,
                state: { running: { startedAt: now } }
              }
            ]
          }
        }
      }
    ]
  },
  { name: "a pod template", object: core("PodTemplate", { template: template() }) }
]
