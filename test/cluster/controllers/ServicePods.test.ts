import { expect, test } from "bun:test"
import { portsOf } from "./ServicePods.ts"

test("A Service selects a container port by number, or by name and protocol", () => {
  const ports = [
    { name: "metrics", containerPort: 9090 },
    { name: "web", containerPort: 5353, protocol: "UDP" },
    { name: "web", containerPort: 8080 }
  ]
  const pod = { spec: { containers: [{ ports }] } }
  const service = {
    spec: {
      ports: [
        { name: "number", port: 80, targetPort: 8081 },
        { name: "name", port: 81, targetPort: "web" },
        { name: "udp", port: 82, targetPort: "web", protocol: "UDP" },
        { name: "unknown", port: 83, targetPort: "admin" }
      ]
    }
  }
  expect(portsOf(service, pod).map(({ name, port }) => [name, port])).toEqual([
    ["number", 8081],
    ["name", 8080],
    ["udp", 5353]
  ])
})
