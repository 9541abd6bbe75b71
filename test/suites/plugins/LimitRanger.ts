/** Pods and claims in a namespace with LimitRanges, as dialogues. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { merge, post } from "../admission/Objects.ts"
import type { Dialogue, Step } from "../comparison/Dialogue.ts"

const space = "/api/v1/namespaces/NAMESPACE"

const range = (...limits: ReadonlyArray<JsonObject>): Step => ({
  ...post(`${space}/limitranges`, {
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: { name: "limits" },
    spec: { limits }
  }),
  pauseMillis: 1000
})

const container = (resources: JsonObject = {}, name = "c"): JsonObject => ({ name, image: "i", resources })

const pod = (spec: JsonObject): Step =>
  post(`${space}/pods?dryRun=All`, { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec })

const containers = (...resources: ReadonlyArray<JsonObject>): Step =>
  pod({ containers: resources.map((each, index) => container(each, `c${index}`)) })

const claim = (storage: string): Step =>
  post(`${space}/persistentvolumeclaims?dryRun=All`, {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } }
  })

const dialogue = (about: string, ...steps: ReadonlyArray<Step>): Dialogue => ({ name: `LimitRanger: ${about}`, steps })

/** All dialogues of this module. */
export const limitRanger: ReadonlyArray<Dialogue> = [
  dialogue(
    "defaults",
    range({
      type: "Container",
      default: { cpu: "500m", memory: "1Gi" },
      defaultRequest: { cpu: "100m", memory: "256Mi", "ephemeral-storage": "1Gi" }
    }),
    containers({}),
    containers({ requests: { cpu: "200m" } }, { limits: { memory: "2Gi" } }),
    containers({ requests: { cpu: "1" } }),
    pod({ containers: [container()], initContainers: [container({ limits: { cpu: "1" } }, "first")] }),
    post(`${space}/pods`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p", annotations: { mine: "yes" } },
      spec: { containers: [container()] }
    }),
    { method: "PATCH", path: `${space}/pods/p`, ...merge({ metadata: { labels: { a: "b" } } }) }
  ),
  dialogue(
    "bounds of containers",
    range({ type: "Container", min: { cpu: "100m" }, max: { cpu: "2" }, maxLimitRequestRatio: { cpu: "4" } }),
    containers({}),
    containers({ requests: { cpu: "50m" }, limits: { cpu: "100m" } }),
    containers({ requests: { cpu: "1" }, limits: { cpu: "3" } }),
    containers({ requests: { cpu: "100m" }, limits: { cpu: "1" } }),
    containers({ requests: { cpu: "500m" }, limits: { cpu: "2" } }),
    pod({
      containers: [container({ limits: { cpu: "1" } })],
      initContainers: [container({ limits: { cpu: "5" } }, "i")]
    })
  ),
  dialogue(
    "bounds without a request",
    range({ type: "Pod", min: { memory: "1Gi" } }),
    containers({}),
    containers({ requests: { memory: "512Mi" } }, { requests: { memory: "256Mi" } }),
    containers({ requests: { memory: "512Mi" } }, { requests: { memory: "512Mi" } })
  ),
  dialogue(
    "bounds of pods",
    range({ type: "Pod", max: { cpu: "2", memory: "1Gi" } }),
    containers({ limits: { cpu: "1", memory: "1Gi" } }),
    containers({ limits: { cpu: "1500m", memory: "512Mi" } }, { limits: { cpu: "1", memory: "512Mi" } }),
    containers({ limits: { memory: "512Mi" } }),
    pod({
      containers: [container({ limits: { cpu: "1", memory: "256Mi" } })],
      initContainers: [container({ limits: { cpu: "4", memory: "256Mi" } }, "first")]
    })
  ),
  dialogue(
    "bounds of claims",
    range({ type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "10Gi" } }),
    claim("512Mi"),
    claim("1Gi"),
    claim("11Gi")
  )
]
