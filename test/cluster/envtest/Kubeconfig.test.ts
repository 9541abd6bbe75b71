import { describe, expect, test } from "bun:test"
import * as Kubeconfig from "./Kubeconfig.ts"

const encoded = (text: string) => Buffer.from(text).toString("base64")

describe("Kubeconfig", () => {
  test("contains the given certificates and names, with any characters", () => {
    const yaml = Kubeconfig.render({
      server: "https://127.0.0.1:1",
      ca: "CA",
      user: 'system: "x" #1',
      cert: "CERT",
      key: "KEY"
    })
    expect(Bun.YAML.parse(yaml)).toEqual({
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        { name: "envtest", cluster: { server: "https://127.0.0.1:1", "certificate-authority-data": encoded("CA") } }
      ],
      users: [
        {
          name: 'system: "x" #1',
          user: { "client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY") }
        }
      ],
      contexts: [{ name: "envtest", context: { cluster: "envtest", user: 'system: "x" #1' } }],
      "current-context": "envtest"
    })
  })

  test("omits unknown fields", () => {
    const yaml = Kubeconfig.render({ server: "https://example", ca: undefined, user: "a", token: "t" })
    expect(Bun.YAML.parse(yaml)).toMatchObject({
      clusters: [{ cluster: { server: "https://example" } }],
      users: [{ user: { token: "t" } }]
    })
    expect(yaml).not.toContain("certificate")
  })
})
