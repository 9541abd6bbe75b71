/**
 * How many requests Bun sends at once: 256 in a process unless `BUN_CONFIG_MAX_HTTP_REQUESTS` says otherwise, all others wait
 * for their turn. A watch counts for as long as it is open, so that many watches leave little for reconciles, and at worst
 * nothing for the renewal of the Lease.
 */
import type { Runner } from "../controller/Runner.ts"

/** What a manager may have under way at once. */
export interface Plan {
  /** Reconciles, each of which makes one request at a time, as a rule. */
  readonly workers: number
  readonly watches: number
}

/** The Lease and its watch, events, credentials, preflight. */
const reserve = 8

/** More than this share of the cap is too near: a reconcile may make several requests side by side. */
const comfortable = 0.9

/** What runners plan in these namespaces; none means all, which takes one watch. */
export const planOf = (runners: ReadonlyArray<Runner>, namespaces: ReadonlyArray<string>): Plan => {
  const places = Math.max(1, new Set(namespaces).size)
  const informers = [...new Set(runners.flatMap(({ informers }) => informers))]
  return {
    workers: runners.reduce((sum, { concurrency }) => sum + concurrency, 0),
    watches: informers.reduce((sum, { resource }) => sum + (resource.namespaced ? places : 1), 0)
  }
}

/**
 * One line if a plan comes near the cap: what to set, and to what.
 *
 * @param setting the value of `BUN_CONFIG_MAX_HTTP_REQUESTS`, if it is set
 */
export const problem = ({ watches, workers }: Plan, setting: string | undefined): string | undefined => {
  const cap = /^[1-9]\d*$/.test(setting ?? "") ? Number(setting) : 256
  const planned = workers + watches + reserve
  if (planned <= cap * comfortable) return undefined
  const fitting = 2 ** Math.ceil(Math.log2(planned / comfortable))
  return `${workers} workers and ${watches} watches may want ${planned} requests at once, of which Bun allows ${cap}: set BUN_CONFIG_MAX_HTTP_REQUESTS=${fitting}`
}
