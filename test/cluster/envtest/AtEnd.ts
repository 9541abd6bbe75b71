/**
 * What is done once when a test run is over. `preload.ts` has `bun test` do it; apart from the things that tests share,
 * so that a run which shares nothing loads nothing.
 */

const actions: Array<() => Promise<void>> = []

/** Has `action` done at the end of the run. */
export const add = (action: () => Promise<void>): void => {
  actions.push(action)
}

/** Does what was added, the last first. */
export const run = async (): Promise<void> => {
  for (const action of actions.splice(0).reverse()) await action()
}
