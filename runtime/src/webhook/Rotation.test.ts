/** The rules of a rotation, each for the view of one replica. */
import { describe, expect, test } from "bun:test"
import type { Ca, Contents, Serving } from "./Contents.ts"
import * as Rotation from "./Rotation.ts"

const day = 24 * 60 * 60 * 1000
const now = 1000 * day

const ca = (id: string, from: number): Ca => ({ id, certificate: id, from, to: from + 365 * day })
const first = ca("first", now - 10 * day)
const second = ca("second", now)
const serving = (id: string, by: Ca, from = now - 10 * day): Serving => ({
  id,
  certificate: id,
  key: id,
  ca: by,
  from,
  to: from + 90 * day,
  names: ["hooks.default.svc"]
})
const mine = serving("mine", first)

const contents = (changes: Partial<Contents> = {}): Contents => ({
  cas: [first],
  issuer: { ...first, key: "" },
  next: undefined,
  serving: mine,
  ...changes
})
const view = (changes: Partial<Rotation.View> = {}): Rotation.View => ({
  secret: contents(),
  published: [first],
  isSettled: () => true,
  mine,
  names: mine.names,
  ...changes
})
const idsOf = (cas: ReadonlyArray<Ca> | undefined) => cas?.map(({ id }) => id)

describe("A replica", () => {
  test("does nothing while all is well", () => {
    expect(Rotation.next(view(), now)).toMatchObject({ change: undefined, publish: undefined, serve: undefined })
  })

  const changes: ReadonlyArray<readonly [string, Partial<Rotation.View>, number, string]> = [
    ["creates the Secret that does not exist", { secret: "absent" }, now, "create"],
    ["deletes a Secret that it cannot change", { secret: "unsuitable" }, now, "delete"],
    [
      "creates a CA if the Secret has none",
      { secret: contents({ cas: [], issuer: undefined, serving: undefined }) },
      now,
      "create"
    ],
    ["renews a missing certificate by the same CA", { secret: contents({ serving: undefined }) }, now, "renew"],
    [
      "promotes the next CA if the Secret has no certificate, even if it is not published",
      { secret: contents({ next: { ...second, key: "" }, serving: undefined }) },
      now,
      "promote"
    ],
    ["renews a certificate of another CA", { secret: contents({ issuer: { ...second, key: "" } }) }, now, "renew"],
    [
      "announces the next CA before it renews the certificate",
      { secret: contents({ issuer: { ...ca("due", now - 300 * day), key: "" } }) },
      mine.from + 60 * day,
      "announce"
    ],
    ["renews at two thirds of the lifetime", {}, mine.from + 60 * day, "renew"],
    ["renews for another name", { names: ["other.default.svc"] }, now, "renew"],
    ["announces the next CA at two thirds of the lifetime", {}, first.from + 244 * day, "announce"],
    ["announces a CA if the key of the last one is lost", { secret: contents({ issuer: undefined }) }, now, "announce"]
  ]
  test.each(changes)("%s", (_, change, at, kind) => {
    expect(Rotation.next(view(change), at).change?.kind).toBe(kind as Rotation.Change)
  })

  test("does not renew an hour early", () => {
    expect(Rotation.next(view(), mine.from + 60 * day - 1).change).toBeUndefined()
  })

  test("issues with the next CA only when all configurations have it", () => {
    const secret = contents({ cas: [second, first], next: { ...second, key: "" } })
    const early = Rotation.next(view({ secret }), now)
    expect(early.change).toBeUndefined()
    expect(idsOf(early.publish)).toEqual(["second", "first"])
    expect(Rotation.next(view({ secret, published: [second, first] }), now).change?.kind).toBe("promote")
  })

  const other = serving("other", second, now)
  const promoted = contents({ cas: [second, first], issuer: { ...second, key: "" }, serving: other })

  test("keeps its certificate until the CA of the new one is published and settled", () => {
    const serves = (change: Partial<Rotation.View>) =>
      Rotation.next(view({ secret: promoted, ...change }), now).serve?.id
    expect(serves({ published: [first] })).toBeUndefined()
    expect(serves({ published: [second, first], isSettled: () => false })).toBeUndefined()
    expect(serves({ published: [second, first] })).toBe("other")
  })

  test("serves a published certificate at once if it has none, or if its own does not work", () => {
    const unsettled = { secret: promoted, isSettled: () => false }
    expect(Rotation.next(view({ ...unsettled, published: [second], mine: undefined }), now).serve?.id).toBe("other")
    expect(Rotation.next(view({ ...unsettled, published: [second] }), now).serve?.id).toBe("other")
    const expired = serving("expired", first, now - 91 * day)
    expect(Rotation.next(view({ ...unsettled, published: [second, first], mine: expired }), now).serve?.id).toBe(
      "other"
    )
  })

  test("keeps its certificate until the new one is valid by its own clock", () => {
    const late = serving("late", second, now + 1)
    const state = { secret: { ...promoted, serving: late }, published: [second, first] }
    expect(Rotation.next(view(state), now).serve).toBeUndefined()
    expect(Rotation.next(view(state), now + 1).serve?.id).toBe("late")
    expect(Rotation.next(view({ ...state, mine: undefined }), now).serve?.id).toBe("late")
  })

  test("serves a renewed certificate of the same CA at once", () => {
    const renewed = contents({ serving: serving("renewed", first, now) })
    expect(Rotation.next(view({ secret: renewed, isSettled: () => false }), now).serve?.id).toBe("renewed")
  })

  test("publishes the CA of its own certificate again if a configuration or the Secret has lost it", () => {
    expect(idsOf(Rotation.next(view({ published: [] }), now).publish)).toEqual(["first"])
    const replaced = Rotation.next(view({ secret: "absent", published: [] }), now)
    expect(idsOf(replaced.bundle)).toEqual(["first"])
  })

  test("removes an old CA when its last certificate has expired on every clock", () => {
    const late = second.from + Rotation.retention
    const secret = { ...promoted, cas: [second, first], serving: serving("later", second, late - day) }
    const at = (time: number) =>
      Rotation.next(view({ secret, published: [second, first], mine: secret.serving }), time).publish
    expect(at(late - 3 * 60 * 60 * 1000)).toBeUndefined()
    expect(idsOf(at(late + 2 * 60 * 60 * 1000))).toEqual(["second"])
  })

  test("adds published CAs to the Secret, the newest first, and changes nothing else", () => {
    const twins = [ca("b", second.from), ca("a", second.from)]
    const plan = Rotation.next(view({ published: [first, ...twins] }), now)
    expect(plan.change?.kind).toBe("trust")
    expect(idsOf(plan.bundle)).toEqual(["a", "b", "first"])
    expect(plan.publish).toBeUndefined()
  })

  test("does not add a CA that expires within two hours, and removes it only when it has expired", () => {
    const dying = ca("dying", now - 365 * day + 60 * 60 * 1000)
    const inSecret = { secret: contents({ cas: [first, dying] }) }
    expect(idsOf(Rotation.next(view(inSecret), now).bundle)).toEqual(["first", "dying"])
    expect(Rotation.next(view(inSecret), now).publish).toBeUndefined()
    expect(Rotation.next(view({ published: [first, dying] }), now).change).toBeUndefined()
    const gone = Rotation.next(view({ ...inSecret, published: [first, dying] }), dying.to)
    expect(idsOf(gone.bundle)).toEqual(["first"])
    expect(idsOf(gone.publish)).toEqual(["first"])
  })

  test("keeps the CA of its own certificate as long as that has not expired", () => {
    const own = ca("own", now - 370 * day)
    const serves = serving("old", own, now - 10 * day)
    expect(idsOf(Rotation.next(view({ mine: serves }), now).publish)).toEqual(["first", "own"])
    expect(Rotation.next(view({ mine: serves }), serves.to).publish).toBeUndefined()
  })

  test("keeps at most 32 CAs: those that it needs, and the newest", () => {
    const many = Array.from({ length: 40 }, (_, at) => ca(`other${at}`, first.from + at + 1))
    const plan = Rotation.next(view({ published: [first, ...many] }), now)
    expect(plan.bundle).toHaveLength(Rotation.mostCas)
    expect(idsOf(plan.bundle)).toContain("first")
    expect(idsOf(plan.bundle)?.[0]).toBe("other39")
    expect(idsOf(plan.bundle)).not.toContain("other8")
    expect(idsOf(plan.publish)).toEqual(idsOf(plan.bundle))
  })
})
