import { describe, expect, test } from "bun:test"
import type { Change } from "../cache/Store.ts"
import type { KubernetesObject, ObjectMeta } from "../resource/KubernetesObject.ts"
import * as Predicate from "./Predicate.ts"

const object = (metadata: Partial<ObjectMeta> = {}): KubernetesObject => ({
  metadata: { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "2026-11-20T00:00:00Z", ...metadata }
})

const change = (type: Change["type"], now: Partial<ObjectMeta> = {}, before?: Partial<ObjectMeta>): Change => ({
  type,
  object: object(now),
  ...(before === undefined ? {} : { previous: object(before) }),
  initial: false,
  relisted: false,
  receivedAt: 0
})

const yes: Predicate.Predicate = () => true
const no: Predicate.Predicate = () => false
const any = change("added")

describe("Predicate", () => {
  test("and is true if all are true, including none", () => {
    expect([[], [yes, yes], [yes, no], [no, no]].map((of) => Predicate.and(...of)(any))).toEqual([
      true,
      true,
      false,
      false
    ])
  })
  test("or is true if one is true", () => {
    expect([[], [yes, yes], [yes, no], [no, no]].map((of) => Predicate.or(...of)(any))).toEqual([
      false,
      true,
      true,
      false
    ])
  })
  test("refusalOf returns the reason: the first predicate of and, each predicate of or", () => {
    const red = Predicate.named("red: it is not red", no)
    const blue = Predicate.named("blue: it is not blue", no)
    const reasonOf = (predicate: Predicate.Predicate | undefined) => Predicate.refusalOf(predicate, any)
    expect(red(any)).toBe(false)
    expect(reasonOf(Predicate.and(yes, blue, red))).toBe("blue: it is not blue")
    expect(reasonOf(Predicate.or(blue, red))).toBe("blue: it is not blue; red: it is not red")
    expect(reasonOf(Predicate.labels({ app: "web" }))).toBe("labels: it does not have app=web")
    expect(reasonOf(no)).toBe("a predicate without a name")
    expect(reasonOf(undefined)).toBe("a predicate without a name")
    const throwing = Predicate.and(() => {
      throw new Error("no")
    })
    expect(reasonOf(throwing)).toBe("a predicate that threw when it was asked why")
  })
  test("not inverts its predicate", () => {
    expect([Predicate.not(yes)(any), Predicate.not(no)(any)]).toEqual([false, true])
  })
  test("and and or stop at the first decisive predicate", () => {
    const asked = (): boolean => {
      throw new Error("asked")
    }
    expect(Predicate.and(no, asked)(any)).toBe(false)
    expect(Predicate.or(yes, asked)(any)).toBe(true)
  })
})

describe("A change passes", () => {
  const updated = (now: Partial<ObjectMeta>, before: Partial<ObjectMeta>) => change("updated", now, before)
  const { annotationsChanged, generationChanged, labels, labelsChanged } = Predicate

  const table: ReadonlyArray<readonly [string, Predicate.Predicate, Change, boolean]> = [
    [
      "generationChanged: an update of the spec",
      generationChanged,
      updated({ generation: 2 }, { generation: 1 }),
      true
    ],
    [
      "generationChanged: not an update of the status",
      generationChanged,
      updated({ generation: 1 }, { generation: 1 }),
      false
    ],
    [
      "generationChanged: a requested deletion",
      generationChanged,
      updated({ generation: 1, deletionTimestamp: "2026-11-20T01:00:00Z" }, { generation: 1 }),
      true
    ],
    ["generationChanged: every update of a kind without generations", generationChanged, updated({}, {}), true],
    ["generationChanged: a creation", generationChanged, change("added", { generation: 1 }), true],
    ["generationChanged: a deletion", generationChanged, change("deleted", { generation: 1 }), true],
    ["labelsChanged: a new label", labelsChanged, updated({ labels: { a: "1" } }, {}), true],
    ["labelsChanged: another value", labelsChanged, updated({ labels: { a: "1" } }, { labels: { a: "2" } }), true],
    ["labelsChanged: a removed label", labelsChanged, updated({ labels: {} }, { labels: { a: "2" } }), true],
    [
      "labelsChanged: not another order",
      labelsChanged,
      updated({ labels: { a: "1", b: "2" } }, { labels: { b: "2", a: "1" } }),
      false
    ],
    ["labelsChanged: not an annotation", labelsChanged, updated({ annotations: { a: "1" } }, {}), false],
    ["annotationsChanged: a new annotation", annotationsChanged, updated({ annotations: { a: "1" } }, {}), true],
    ["annotationsChanged: not a label", annotationsChanged, updated({ labels: { a: "1" } }, {}), false],
    [
      "labels: an object with all labels",
      labels({ a: "1", b: "2" }),
      change("added", { labels: { a: "1", b: "2", c: "3" } }),
      true
    ],
    [
      "labels: not an object without one of the labels",
      labels({ a: "1", b: "2" }),
      change("added", { labels: { a: "1" } }),
      false
    ],
    [
      "labels: a deleted object with the labels in its last state",
      labels({ a: "1" }),
      change("deleted", { labels: { a: "1" } }),
      true
    ],
    ["labels: not an object that has lost them", labels({ a: "1" }), updated({}, { labels: { a: "1" } }), false]
  ]
  for (const [name, predicate, of, passes] of table) test(name, () => expect(predicate(of)).toBe(passes))
})
