import { expect, test } from "bun:test"
import * as PodWarnings from "./PodWarnings.ts"

const ofSpec = (spec: Parameters<typeof PodWarnings.of>[1]) => [...PodWarnings.of("", { spec })]
const withPorts = (...ports: ReadonlyArray<Parameters<typeof PodWarnings.of>[1]>) =>
  ofSpec({ containers: [{ name: "a", ports: ports.map((port) => ({ containerPort: 80, protocol: "TCP", ...port })) }] })

test("duplicate names and empty names get a warning", () => {
  expect(ofSpec({ imagePullSecrets: [{ name: "a" }, { name: "a" }, {}] })).toEqual([
    'spec.imagePullSecrets[1].name: duplicate name "a"',
    'spec.imagePullSecrets[2].name: invalid empty name ""'
  ])
  expect(ofSpec({ hostAliases: [{ ip: "1.2.3.4" }, { ip: "1.2.3.4" }] })).toEqual([
    'spec.hostAliases[1].ip: duplicate ip "1.2.3.4"'
  ])
})

test("a variable that hides an earlier one without a reference to it gets a warning", () => {
  const env = [
    { name: "A", value: "1" },
    { name: "A", value: "$(A)2" },
    { name: "A", value: "$(A)" },
    { name: "A", value: "3" },
    { name: "A", valueFrom: {} }
  ]
  expect(ofSpec({ initContainers: [{ name: "a", env }] })).toEqual(
    [2, 3, 4].map(
      (index) =>
        `spec.initContainers[0].env[${index}]: hides previous definition of "A", which may be dropped when using apply`
    )
  )
})

test.each([
  [
    "that are the same",
    [{}, {}],
    ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"]
  ],
  [
    "of which one has one of the host",
    [{}, { hostPort: 8 }],
    ["spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"]
  ],
  [
    "of which one has an address of the host",
    [{ hostPort: 8 }, { hostPort: 8, hostIP: "1.2.3.4" }],
    ["spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]"]
  ],
  ["of two protocols", [{}, { protocol: "UDP" }], []],
  [
    "of one name",
    [{ name: "a" }, { name: "a", containerPort: 81 }],
    [
      'spec.containers[0].ports[1]: duplicate port name "a" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]'
    ]
  ]
])("ports %s", (_, ports, warnings) => {
  expect(withPorts(...ports)).toEqual(warnings)
})

test("fractions of bytes, deprecated labels and negative times get a warning", () => {
  expect(
    ofSpec({
      containers: [{ name: "a", resources: { limits: { memory: "1500m", cpu: "1500m" } } }],
      nodeSelector: { "beta.kubernetes.io/os": "linux" },
      terminationGracePeriodSeconds: -1
    })
  ).toEqual([
    'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer',
    "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
  ])
})

test("warnings about a template do not repeat while the generation stays the same", () => {
  const object = (generation: number) => ({
    metadata: { generation },
    spec: { template: { spec: { imagePullSecrets: [{}] } } }
  })
  const warningsOf = (generation: number, old?: number) => [
    ...PodWarnings.ofTemplate("spec.template", object(generation), old === undefined ? undefined : object(old))
  ]
  expect([warningsOf(1).length, warningsOf(2, 1).length, warningsOf(2, 2).length]).toEqual([1, 1, 0])
})
