/**
 * The rules by which replicas renew a certificate that they share, as a function of the view of one replica.
 *
 * A new CA is first added to the bundle of the Secret and published next to the old ones. It issues certificates only when all
 * configurations contain it. From then on the old CA issues nothing. So its last certificate expires at most one
 * lifetime of a serving certificate after the creation of the new CA. The old CA stays in all bundles until then: replicas that cannot reach the API server
 * keep the old certificate, and the API server can still verify it.
 *
 * @internal
 */
import * as Authority from "./Authority.ts"
import type { Ca, Contents, Serving } from "./Contents.ts"
import { covers } from "./Contents.ts"

const hour = 60 * 60 * 1000

/** The view of a replica. */
export interface View {
  /** The content of the Secret; `unsuitable` if the Secret is immutable or has another type. */
  readonly secret: Contents | "absent" | "unsuitable"
  /** The CAs that every configuration contains. */
  readonly published: ReadonlyArray<Ca>
  /** Whether all configurations have contained a CA for long enough that a delayed write can no longer remove it. */
  readonly isSettled: (ca: Ca) => boolean
  /** The certificate that the replica serves. */
  readonly mine: Serving | undefined
  /** The names that the certificate needs. */
  readonly names: ReadonlyArray<string>
}

/**
 * A change of the Secret: `delete` it; `create` a CA and a certificate of it; `announce` the next CA; `promote` the next CA, with a
 * certificate of it; `renew` the certificate with the same CA; `trust` other CAs.
 */
export type Change = "delete" | "create" | "announce" | "promote" | "renew" | "trust"

/** The next steps of a replica. */
export interface Plan {
  readonly change: { readonly kind: Change; readonly reason: string } | undefined
  /** The CAs of the Secret's bundle after the change, in addition to a CA that the change creates. */
  readonly bundle: ReadonlyArray<Ca>
  /** The CAs to publish, if the published ones differ. */
  readonly publish: ReadonlyArray<Ca> | undefined
  /** The certificate to serve from now on. */
  readonly serve: Serving | undefined
}

/** Replicas remove a CA from bundles at the end of its use, and stop adding it this long before: their clocks may differ. */
const skew = 2 * hour

/** The time after which the certificates of an old CA have expired, from the creation of the CA that replaced it, in ms. */
export const retention = Authority.servingLifetime + 24 * hour

/** The maximum number of CAs in a bundle, if a Secret is deleted again and again. */
export const mostCas = 32

/** The renewal is due at two thirds of the lifetime. */
export const isDue = ({ from, to }: { readonly from: number; readonly to: number }, now: number): boolean =>
  now >= from + ((to - from) * 2) / 3

const has = (cas: ReadonlyArray<Ca>, { id }: Ca): boolean => cas.some((ca) => ca.id === id)

/** All CAs, each once, the newest first. */
const union = (...lists: ReadonlyArray<ReadonlyArray<Ca>>): ReadonlyArray<Ca> =>
  [...new Map(lists.flat().map((ca) => [ca.id, ca])).values()].toSorted(
    (one, other) => other.from - one.from || (one.id < other.id ? -1 : 1)
  )

const areSame = (one: ReadonlyArray<Ca>, other: ReadonlyArray<Ca>): boolean =>
  one.length === other.length && one.every((ca) => has(other, ca))

/** The change of the Secret that its content asks for, apart from the bundle. */
const changeOf = ({ names, published, secret }: View, now: number): Plan["change"] => {
  if (secret === "unsuitable") return { kind: "delete", reason: "the Secret is immutable or has another type" }
  if (secret === "absent") return { kind: "create", reason: "the Secret does not exist" }
  const { issuer, next, serving } = secret
  if (serving === undefined) {
    const reason = "the Secret does not contain a valid certificate"
    return { kind: next !== undefined ? "promote" : issuer !== undefined ? "renew" : "create", reason }
  }
  if (next !== undefined) {
    // The old CA issues nothing from now on: see retention.
    return has(published, next) ? { kind: "promote", reason: "the next CA is published" } : undefined
  }
  if (issuer === undefined) return { kind: "announce", reason: "the Secret does not contain a valid CA" }
  if (isDue(issuer, now)) return { kind: "announce", reason: "two thirds of the CA's lifetime have passed" }
  if (isDue(serving, now)) return { kind: "renew", reason: "two thirds of its lifetime have passed" }
  if (!covers(serving, names)) return { kind: "renew", reason: "its names have changed" }
  if (serving.ca.id !== issuer.id) return { kind: "renew", reason: "the CA has changed" }
  return undefined
}

const servedOf = ({ isSettled, mine, published, secret }: View, now: number): Serving | undefined => {
  const found = typeof secret === "string" ? undefined : secret.serving
  if (found === undefined || found.id === mine?.id || !has(published, found.ca)) return undefined
  const works = mine !== undefined && now < mine.to && has(published, mine.ca)
  // A CA that already verifies the replica's own certificate needs no further time.
  const isSafe = mine !== undefined && (mine.ca.id === found.ca.id || isSettled(found.ca))
  return works && (now < found.from || !isSafe) ? undefined : found
}

/** The next steps of a replica at `now`, in milliseconds since 1970 by its own clock. */
export const next = (view: View, now: number): Plan => {
  const { mine, published, secret } = view
  const contents = typeof secret === "string" ? undefined : secret
  const { issuer, next, serving } = contents ?? {}
  const current = mine !== undefined && now < mine.to ? mine.ca : undefined
  const needed = union(
    [issuer, next, serving?.ca, current].flatMap((ca) =>
      ca === undefined ? [] : [{ certificate: ca.certificate, id: ca.id, from: ca.from, to: ca.to }]
    )
  )
  const isOver = (ca: Ca, at: number): boolean =>
    !has(needed, ca) &&
    (ca.to <= at ||
      (issuer !== undefined && ca.from < issuer.from && issuer.from + Authority.backdated + retention <= at))

  const wanted = union(contents?.cas ?? [], published, needed).filter((ca) => !isOver(ca, now + skew))
  /** A list with the wanted CAs and without those whose use has ended. */
  const updated = (cas: ReadonlyArray<Ca>): ReadonlyArray<Ca> => {
    const all = union(
      wanted,
      cas.filter((ca) => !isOver(ca, now))
    )
    if (all.length <= mostCas) return all
    return union(needed, all.filter((ca) => !has(needed, ca)).slice(0, mostCas - needed.length))
  }

  const bundle = updated(contents?.cas ?? [])
  const toPublish = updated(published)
  const change = changeOf(view, now)
  return {
    change:
      change ??
      (contents !== undefined && !areSame(bundle, contents.cas)
        ? { kind: "trust", reason: "the trusted CAs have changed" }
        : undefined),
    bundle,
    publish: areSame(toPublish, published) ? undefined : toPublish,
    serve: servedOf(view, now)
  }
}
