/** Objects that are too large for etcd, as dialogues. */
import type { JsonObject } from "@homeostat/apiserver/model/Json"
import { deployments, merge, post } from "../admission/Objects.ts"
import type { Dialogue } from "../comparison/Dialogue.ts"

const mebibyte = 1024 * 1024

const container = (bytes: number): JsonObject => ({
  name: "web",
  image: "nginx",
  env: [{ name: "A", value: "x".repeat(bytes) }]
})

const deployment = (bytes: number): JsonObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [container(bytes)] } }
  }
})

/** All dialogues of this module. */
export const size: ReadonlyArray<Dialogue> = [
  {
    name: "an object that etcd does not store",
    steps: [
      post(deployments, deployment(1.6 * mebibyte)),
      post(deployments, deployment(4 * mebibyte)),
      post(deployments, deployment(1)),
      {
        method: "PATCH",
        path: `${deployments}/web`,
        ...merge({ spec: { template: { spec: { containers: [container(1.6 * mebibyte)] } } } })
      },
      { method: "GET", path: `${deployments}/web` }
    ]
  }
]
