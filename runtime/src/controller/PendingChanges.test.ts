import { describe, expect, test } from "bun:test"
import * as PendingChanges from "./PendingChanges.ts"
import type { TriggerEvent } from "./Trigger.ts"

const fired = (at: number): TriggerEvent => ({ kind: "watch.modified", at })

const handedOver = (recent: PendingChanges.PendingChanges): ReadonlyArray<readonly [string, number]> => {
  const all: Array<readonly [string, number]> = []
  recent.handOver((key, { at }) => all.push([key, at]))
  return all
}

describe("Pending changes", () => {
  test("are returned once, each key with its latest change, in the order of the changes", () => {
    const recent = PendingChanges.make()
    for (const [key, at] of [
      ["a", 1],
      ["b", 2],
      ["a", 3]
    ] as const) {
      recent.add(key, fired(at))
    }
    expect(handedOver(recent)).toEqual([
      ["b", 2],
      ["a", 3]
    ])
    expect(handedOver(recent)).toEqual([])
  })

  test("are limited to the latest 1,000 keys", () => {
    const recent = PendingChanges.make()
    for (let number = 0; number < 1500; number++) recent.add(`key-${number}`, fired(number))
    const kept = handedOver(recent)
    expect([kept.length, kept[0]?.[0], kept.at(-1)?.[0]]).toEqual([1000, "key-500", "key-1499"])
  })
})
