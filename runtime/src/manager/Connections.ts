/**
 * Bun's limit of concurrent requests: 256 per process, or `BUN_CONFIG_MAX_HTTP_REQUESTS`. Further requests wait. An open watch counts
 * as a request, so many watches delay reconciles and, at worst, the renewal of the Lease.
 */
import type { Runner } from "../controller/Runner.ts"

/** The requests that a manager may have in progress. */
export interface Plan {
  /** Concurrent reconciles, usually with one request each. */
  readonly workers: number
  readonly watches: number
}

/** For the Lease and its watch, Events, credentials and preflight. */
const reserve = 8

/** The share of the limit above which the manager warns, because a reconcile may send several requests at once. */
const comfortable = 0.9

/** The plan of these runners in these namespaces; no namespaces means all, which takes one watch per kind. */
export const planOf = (runners: ReadonlyArray<Runner>, namespaces: ReadonlyArray<string>): Plan => {
  const places = Math.max(1, new Set(namespaces).size)
  const informers = [...new Set(runners.flatMap(({ informers }) => informers))]
  return {
    workers: runners.reduce((sum, { concurrency }) => sum + concurrency, 0),
    watches: informers.reduce((sum, { resource }) => sum + (resource.namespaced ? places : 1), 0)
  }
}

/**
 * One line if a plan comes near the limit: the setting and its value.
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
