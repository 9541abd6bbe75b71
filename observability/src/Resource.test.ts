import { expect, test } from "bun:test"
import * as Resource from "./Resource.ts"

const service = { name: "homeostat", version: "1.2.3", instance: "homeostat-0" }
const named = {
  "service.name": "homeostat",
  "service.version": "1.2.3",
  "service.instance.id": "homeostat-0"
}

test("The resource contains the namespace, pod and node from the downward API", () => {
  const environment = { POD_NAMESPACE: "system", POD_NAME: "homeostat-0", POD_UID: "u", NODE_NAME: "n", HOSTNAME: "h" }
  expect(Resource.attributesOf(service, environment)).toEqual({
    ...named,
    "k8s.namespace.name": "system",
    "k8s.pod.name": "homeostat-0",
    "k8s.pod.uid": "u",
    "k8s.node.name": "n"
  })
})

test("Without the downward API, the resource contains the host name as the pod name only in a cluster", () => {
  const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1", HOSTNAME: "homeostat-0", POD_NAME: "" }
  expect(Resource.attributesOf(service, pod)).toEqual({ ...named, "k8s.pod.name": "homeostat-0" })
  expect(Resource.attributesOf(service, { HOSTNAME: "laptop" })).toEqual(named)
})

test("The resource omits empty variables", () => {
  expect(Resource.attributesOf(service, { POD_NAMESPACE: "", POD_UID: "", NODE_NAME: "" })).toEqual(named)
})
