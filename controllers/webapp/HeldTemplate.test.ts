import { describe, expect, test } from "bun:test"
import type { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import type { Desired } from "@homeostat/runtime/resource/KubernetesObject"
import * as HeldTemplate from "./HeldTemplate.ts"

const desired = (image: string, replicas = 2): Desired<Deployment> => ({
  metadata: { name: "shop", annotations: { note: "a" } },
  spec: {
    replicas,
    selector: { matchLabels: { app: "shop" } },
    template: { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "app", image }] } }
  }
})

/** The Deployment as the API server returns it: with its defaults. */
const stored = ({ metadata, spec }: Desired<Deployment>): Deployment => ({
  metadata: {
    ...metadata,
    name: "shop",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2026-11-20T08:00:00Z"
  },
  spec: {
    ...spec,
    selector: { matchLabels: { app: "shop" } },
    template: { ...spec?.template, spec: { containers: [], dnsPolicy: "ClusterFirst", ...spec?.template.spec } }
  }
})

const existing = stored(HeldTemplate.keep(desired("web:1")))

describe("a held pod template", () => {
  test("is the one that was applied last, without the defaults of the API server", () => {
    const { spec } = desired("web:1")
    expect(HeldTemplate.of(existing)).toEqual(spec?.template)
  })

  test("is unknown for a Deployment without the annotation, and after an edit of the annotation", () => {
    expect(HeldTemplate.of(stored(desired("web:1")))).toBeUndefined()
    for (const text of ["", "{", "null", "{}", '{"spec":{}}', '{"spec":{"containers":{}}}']) {
      const edited = stored({ ...desired("web:1"), metadata: { annotations: { [HeldTemplate.annotation]: text } } })
      expect(HeldTemplate.of(edited)).toBeUndefined()
    }
  })

  test("is current only for the desired template", () => {
    expect(HeldTemplate.isCurrent(desired("web:1", 5), existing)).toBe(true)
    expect(HeldTemplate.isCurrent(desired("web:2"), existing)).toBe(false)
    expect(HeldTemplate.isCurrent(desired("web:1"), stored(desired("web:1")))).toBe(false)
  })

  test("is only a hash if it has more bytes than an annotation has room for", () => {
    const most = HeldTemplate.mostBytes - JSON.stringify(desired("").spec?.template).length
    for (const [image, isRecorded] of [
      ["a".repeat(most), true],
      ["a".repeat(most + 1), false],
      ["\u00e9".repeat(most / 2), true],
      ["\u00e9".repeat(most / 2 + 1), false]
    ] as const) {
      const large = stored(HeldTemplate.keep(desired(image)))
      expect(HeldTemplate.of(large) !== undefined).toBe(isRecorded)
      expect(JSON.stringify(large.metadata.annotations).length).toBeLessThan(256 * 1024)
      expect([
        HeldTemplate.isCurrent(desired(image), large),
        HeldTemplate.isCurrent(desired(`${image}b`), large)
      ]).toEqual([true, false])
    }
  })
})
