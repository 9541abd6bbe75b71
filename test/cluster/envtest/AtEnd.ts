/**
 * Actions for the end of a test run. `preload.ts` makes `bun test` run them.
 * This module does not import the shared control planes, so a run that shares nothing does not load them.
 */

const actions: Array<() => Promise<void>> = []

/** Adds an action for the end of the run. */
export const add = (action: () => Promise<void>): void => {
  actions.push(action)
}

/** Runs the added actions, the last one first. */
export const run = async (): Promise<void> => {
  for (const action of actions.splice(0).reverse()) await action()
}
