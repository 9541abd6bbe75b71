/** Each section of an explanation as text, beyond the cases of `docs/why.md`. */
import { describe, expect, test } from "bun:test"
import * as Text from "./Text.ts"
import { cases, now } from "./Why.fixture.ts"
import { type Explanation, explain, type Reviewed } from "./Why.ts"

const usual = explain(cases.reconciled)

const at = (secondsAgo: number): string => new Date(now - secondsAgo * 1000).toISOString()

/** The lines of one section of the usual explanation with some changes, without the section's name. */
const section = (name: string, over: Partial<Explanation>): ReadonlyArray<string> => {
  const [, facts = ""] = Text.render({ ...usual, ...over }).split("\n\n")
  const lines = facts.split("\n")
  const first = lines.findIndex((line) => line.startsWith(`${name} `))
  if (first < 0) return []
  const rest = lines.slice(first + 1)
  const end = rest.findIndex((line) => !line.startsWith("  "))
  return [lines[first] ?? "", ...(end < 0 ? rest : rest.slice(0, end))].map((line) => line.slice(12))
}

const notReady = { type: "Ready", status: "False", reason: "No" } as const

const [run] = usual.runs
const theRun = (over: Partial<Explanation["runs"][number]>): Partial<Explanation> =>
  run === undefined ? {} : { runs: [{ ...run, corrections: [], writes: [], trace: undefined, ...over }] }

const ignored = (over: Partial<Explanation["ignored"][number]>): Explanation["ignored"][number] => ({
  kind: "owned.modified",
  source: { kind: "Pod", key: "default/a", resourceVersion: "1" },
  uid: "",
  at: at(5),
  predicate: "generationChanged",
  times: 1,
  own: false,
  ...over
})

const writer = (over: Partial<Explanation["writers"][number]>): Explanation["writers"][number] => ({
  manager: "kubectl",
  operation: "update",
  subresource: undefined,
  at: at(5),
  fields: ["spec.a", "spec.b"],
  ...over
})

describe("the text of an explanation", () => {
  test("starts with the answer and its hints, and omits empty sections", () => {
    const none = { ...usual.object, createdAt: undefined, generation: undefined, resourceVersion: undefined }
    const text = Text.render({
      ...usual,
      answer: "The answer.",
      hints: ["A hint.", "Another one."],
      object: none,
      conditions: [],
      next: undefined,
      wokenBy: { waiting: false, count: 0, triggers: [] },
      runs: [],
      ignored: [],
      writers: [],
      children: [],
      unknown: ["one", "two"],
      controller: { ...usual.controller, caches: [], election: undefined, busy: 1, workers: 1 }
    })
    expect(text).toBe(`The answer.
A hint.
Another one.

Process     controller webapp, 1 of 1 worker busy
            reads : all in step with the API server
Not known   one
            two`)
  })

  test("prints the generations, the version and the age of an object", () => {
    const { object } = usual
    const line = (over: Partial<Explanation["object"]>) =>
      section("Object", { object: { ...object, ...over } })[0]?.trimEnd()
    expect(line({ generation: 3, observedGeneration: 3 })).toBe(
      "generation 3, resourceVersion 48213, created 1d2h ago (2026-11-20 08:21:13Z)"
    )
    expect(line({ generation: 3, observedGeneration: 2, createdAt: "?" })).toBe(
      "generation 3, its status still speaks of generation 2, resourceVersion 48213, created"
    )
    expect(line({ generation: undefined, observedGeneration: 2, createdAt: undefined })).toBe("resourceVersion 48213")
    expect(line({ exists: false, seen: false })).toBe("does not exist")
    expect(line({ exists: false, seen: true, createdAt: undefined })).toBe("generation 3, resourceVersion 48213")
    expect(line({ exists: undefined, seen: false, createdAt: undefined })).toBe("generation 3, resourceVersion 48213")
  })

  test("prints the finalizers that a deletion waits for", () => {
    const finalizers = [
      { name: "example.com/tap", ours: true, by: "webapp" },
      { name: "example.com/a", ours: false, by: "auditor" },
      { name: "b", ours: false, by: undefined }
    ]
    const object = { ...usual.object, deletionRequestedAt: at(60) }
    expect(section("Deletion", { object, finalizers })).toEqual([
      "asked for 1m ago (10:20:13Z)",
      "example.com/tap  controller webapp's own",
      "example.com/a    not its own; added by auditor",
      "b                not its own"
    ])
    expect(section("Deletion", { finalizers })).toEqual([])
  })

  test("prints a message in one line, truncates a long one, and does not repeat the answer", () => {
    const printed = (message: string, answer: string) => {
      const condition = { ...notReady, message, lastTransitionTime: at(3) }
      return section("Conditions", { answer, conditions: [condition] })[0]?.replace("Ready  False  No  3s ago  ", "")
    }
    expect(printed(" a\n\n  b ", "")).toBe("a b")
    expect(printed("x".repeat(200), "")).toBe("x".repeat(200))
    expect(printed("x".repeat(201), "")).toBe(`${"x".repeat(200)}…`)
    const short = "a".repeat(40)
    expect(printed(short, `because: ${short}`)).toBe(short)
    const long = "a".repeat(40).concat(".")
    expect(printed(long, `because: ${"a".repeat(40)}, and so on`)).toBe("(see above)")
    expect(printed(long, "because: b")).toBe(long)
  })

  test("omits the age of a condition without a time", () => {
    const condition = { ...notReady, message: "m", lastTransitionTime: "?" }
    expect(section("Conditions", { conditions: [condition] })).toEqual(["Ready  False  No    m"])
  })

  test("prints the time of the next attempt if it is known", () => {
    expect(section("Next", { next: { at: at(-12), why: "a retry" } })).toEqual(["in 12s (10:21:25Z): a retry"])
    expect(section("Next", { next: { at: undefined, why: "some day" } })).toEqual(["some day"])
  })

  test("prints the latest trigger first, and the number of earlier ones", () => {
    const woken = (secondsAgo: number, text: string) => ({
      kind: "resync" as const,
      source: undefined,
      own: false,
      at: at(secondsAgo),
      text
    })
    const triggers = [woken(100, "one"), woken(9, "two")]
    expect(section("Woken by", { wokenBy: { waiting: true, count: 5, triggers } })).toEqual([
      "9s ago (10:21:04Z)     two",
      "1m40s ago (10:19:33Z)  one",
      "and 3 more before"
    ])
    expect(section("Woken by", { wokenBy: { waiting: true, count: 2, triggers } })).toHaveLength(2)
  })

  test("prints the result of an attempt in words", () => {
    const words = (
      ["Done", "RequeueAfter", "Requeue", "Vanished", "Interrupted", "Unreachable", "Terminal", "Failed"] as const
    ).map((outcome) => section("Attempts", theRun({ outcome, message: undefined, triggers: [] }))[0])
    const begin = "10:19:13Z  2m ago"
    expect(words).toEqual([
      `${begin}  ok  25ms    nothing to do`,
      `${begin}  ok  25ms    nothing to do`,
      `${begin}  not yet  25ms    nothing to do`,
      `${begin}  gone  25ms`,
      `${begin}  interrupted  25ms    nothing to do`,
      `${begin}  no server  25ms    nothing to do`,
      `${begin}  failed permanently  25ms    nothing to do`,
      `${begin}  failed  25ms    nothing to do`
    ])
  })

  test("prints the trigger of an attempt, its repeats and its writes", () => {
    const all = theRun({
      outcome: "Failed",
      message: "the tap is dry",
      times: 2,
      since: at(200),
      coalesced: 3,
      moreWrites: 1,
      trace: { id: "abc", exported: true }
    })
    expect(section("Attempts", all)).toEqual([
      "10:19:13Z  2m ago  failed ×2  25ms  its Deployment shop was changed (+2)  since 10:17:53Z; the tap is dry; 1 more write; trace abc"
    ])
    const trigger = { kind: "resync", source: undefined, own: true, at: at(9) } as const
    const own = theRun({
      coalesced: 1,
      triggers: [
        { ...trigger, text: "a" },
        { ...trigger, text: "b" },
        { ...trigger, text: "c" }
      ]
    })
    expect(section("Attempts", own)).toEqual(["10:19:13Z  2m ago  ok  25ms  c  nothing to do"])
    const alone = theRun({ coalesced: 1, trace: { id: "abc", exported: false } })
    expect(section("Attempts", alone)).toEqual([
      "10:19:13Z  2m ago  ok  25ms  its Deployment shop was changed  nothing to do"
    ])
  })

  test("names the recording of an attempt, once with its trace", () => {
    const ends: ReadonlyArray<readonly [over: Partial<Explanation["runs"][number]>, end: string]> = [
      [{ recording: "abc" }, "; replay abc"],
      [{ recording: "abc", trace: { id: "abc", exported: false } }, "; replay abc"],
      [{ recording: "abc", trace: { id: "abc", exported: true } }, "; trace and replay abc"],
      [{ recording: "def", trace: { id: "abc", exported: true } }, "; trace abc; replay def"]
    ]
    for (const [over, end] of ends) {
      const [line] = section("Attempts", theRun(over))
      expect(line).toEndWith(`nothing to do${end}`)
    }
  })
  test("prints at most four ignored changes", () => {
    const lines = section("Ignored", {
      ignored: [
        ignored({ times: 2 }),
        ignored({ kind: "startup", source: { kind: "WebApp", key: "default/shop", resourceVersion: "1" } }),
        ignored({ own: true, at: at(70) }),
        ignored({ source: { kind: "Node", key: "n", resourceVersion: "1" } }),
        ignored({}),
        ignored({})
      ]
    })
    expect(lines).toEqual([
      "5s ago (10:21:08Z)     Pod a   modified ×2         generationChanged",
      "5s ago (10:21:08Z)     it      found at the start  generationChanged",
      "1m10s ago (10:20:03Z)  Pod a   modified            generationChanged (the controller's own write)",
      "5s ago (10:21:08Z)     Node n  modified            generationChanged",
      "and 2 more before"
    ])
    expect(section("Ignored", { ignored: Array.from({ length: 4 }, () => ignored({})) })).toHaveLength(4)
  })

  test("prints the answers of admission webhooks", () => {
    const webhook = (over: Partial<Reviewed>): Reviewed => ({
      at: at(5),
      result: "warned",
      operation: "update",
      dryRun: false,
      username: "ann",
      message: "spec.image: the tag latest can change",
      trace: undefined,
      unverified: undefined,
      times: 1,
      since: at(5),
      ...over
    })
    const webhooks = [
      webhook({ times: 3, since: at(65), trace: { id: "42", exported: true } }),
      webhook({ result: "changed", message: "spec.a,\nspec.b", dryRun: true, trace: { id: "42", exported: false } }),
      webhook({ unverified: "10.0.0.7" }),
      webhook({ result: "failed", operation: "delete", username: "", message: "x".repeat(201), at: at(70) })
    ]
    expect(section("Webhook", { webhooks })).toEqual([
      "5s ago (10:21:08Z)     warned ×3  update by ann                                  since 10:20:08Z; spec.image: the tag latest can change; trace 42",
      "5s ago (10:21:08Z)     changed    update by ann (dry run)                        spec.a, spec.b",
      "5s ago (10:21:08Z)     warned     update by ann, unauthenticated, from 10.0.0.7  spec.image: the tag latest can change",
      `1m10s ago (10:20:03Z)  failed     delete                                         ${"x".repeat(200)}…`
    ])
    expect(section("Webhook", {})).toEqual([])
  })

  test("prints the managers of the object, with their subresources", () => {
    const writers = [
      writer({}),
      writer({ manager: "a", operation: "apply", subresource: "scale", at: undefined, fields: ["spec.replicas"] }),
      writer({ manager: "b", subresource: "status", fields: ["status"] })
    ]
    expect(section("Written by", { writers })).toEqual([
      "kubectl  update  5s ago  spec.a, spec.b",
      "a        apply           scale: spec.replicas",
      "b        update  5s ago  status"
    ])
  })

  test("prints whether each child exists, and its other managers", () => {
    const child = (name: string, exists: boolean | undefined, others: Explanation["children"][number]["others"]) => ({
      kind: "Pod",
      key: `default/${name}`,
      exists,
      others
    })
    const children = [
      child("a", undefined, []),
      child("b", false, []),
      child("c", true, []),
      child("d", true, [writer({})])
    ]
    expect(section("Children", { children })).toEqual([
      "Pod a  unknown",
      "Pod b  is gone",
      "Pod c  only by webapp-controller",
      "Pod d  kubectl  update  5s ago  spec.a, spec.b"
    ])
  })

  test("prints what the process does, and what it waits for", () => {
    const { controller } = usual
    const process = (over: Partial<Explanation["controller"]>) =>
      section("Process", { controller: { ...controller, ...over } })
    const caches = [
      { resource: "pods", synced: true, problem: undefined },
      { resource: "jobs", synced: true, problem: "refused" }
    ]
    const election = { leading: true, holder: "me", identity: "me", lease: { namespace: "a", name: "b" } }
    expect(process({ caches, election, busy: 2, workers: 16 })).toEqual([
      "controller webapp, 2 of 16 workers busy, leads as me",
      "reads pods and jobs; not in step: jobs"
    ])
    const unsynced = [...caches, { resource: "nodes", synced: false, problem: undefined }]
    expect(process({ caches: unsynced, election: { ...election, leading: false }, busy: 2, reachable: false })).toEqual(
      [
        "controller webapp, not started, stands by as me",
        "reads pods, jobs and nodes; not in step: jobs and nodes",
        "no API server answers"
      ]
    )
    const absent = [...caches.slice(0, 1), { resource: "routes", synced: true, problem: undefined, absent: true }]
    expect(process({ caches: absent, election: undefined, busy: 2 })).toEqual([
      expect.stringContaining("2 of"),
      "reads pods: all in step with the API server",
      "runs without routes, which the API server does not serve"
    ])
    expect(process({ caches: [], election: undefined, busy: undefined })[0]).toBe("controller webapp, not at work")
    // A controller can have two caches of one kind: with and without a label selector.
    expect(process({ caches: [...caches, ...caches], busy: 2 })[1]).toBe("reads pods and jobs; not in step: jobs")
  })

  test("names the last attempt for the log", () => {
    expect(section("In the log", theRun({ id: "42" }))).toEqual(["reconcileID=42"])
  })
})
